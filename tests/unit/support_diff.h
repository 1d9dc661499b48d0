/* support_diff.h - profiles to compare: "main;f" N times. */
#pragma once
#include "analysis/diff.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "support.h"

static inline void add(struct profile *p, const char *path, int64_t n)
{
    struct err err;
    struct stack_id stack = {0};
    struct text rest = text_of(path);
    while (rest.n)
        stack = stacks_push(&p->stacks, stack,
                            profile_add_named_frame(p, text_cut(&rest, ';'), FRAME_USER));
    assert_int_equal(profile_add_row(p, 0, &(struct row){.stack = stack, .values = &n}, &err), 0);
}

static inline struct profile *profile_of(int64_t f, int64_t g)
{
    struct profile *p = profile_new();
    support_value(p, "", "samples", "count");
    add(p, "main;f", f);
    add(p, "main;g;g", g);
    return p;
}

static inline const struct diff_entry *find(const struct diff *d, const char *name)
{
    for (size_t i = 0; i < d->functions.n; i++)
        if (text_is(diff_name(d, &d->functions.at[i]), name))
            return &d->functions.at[i];
    return NULL;
}

static inline void set_program(struct profile *p, const char *command, const char *path,
                               const char *build)
{
    meta_set_str(&p->meta, META_COMMAND, command);
    meta_set_str(&p->meta, META_KERNEL, "Linux 6.1");
    struct mapping m = {.path = profile_add_str(p, text_of(path)),
                        .build_id = profile_add_str(p, text_of(build))};
    profile_add_mapping(p, &m);
    m = (struct mapping){.path = profile_add_str(p, text_of("/lib/libc.so.6")),
                         .build_id = profile_add_str(p, text_of("c1"))};
    profile_add_mapping(p, &m);
}

static inline struct profile *profile_of_four(int64_t f, int64_t rest)
{
    struct profile *p = profile_of(f, rest);
    add(p, "main;h", rest);
    add(p, "main;i", rest);
    return p;
}
