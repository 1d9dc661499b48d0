/* support_waitsum.h - sums and insights of a program that support_waits.h has played. */
#pragma once
#include "analysis/parallel.h"
#include "analysis/waitinsight.h"
#include "model/standin.h"
#include "support_waits.h"
#include "view/document.h"
#include "view/waitpath.h"
#include "view/waitsum.h"

/* The ids of what stands out, "a b". */
static inline char *insights_of(struct stage *s)
{
    struct waitsum w;
    struct waitinsight list[WAITINSIGHTS_MAX];
    struct err err;
    char *all = mem_strdup("");
    struct selection waits = selection_all(s->profile, (struct value_ref){s->streams.waits, 0});
    struct selection states = selection_all(s->profile, (struct value_ref){s->streams.states, 0});
    assert_int_equal(waitsum_build(&w, &waits, &states, &err), 0);
    for (size_t i = 0, n = waitinsight_find(&w, list); i < n; i++) {
        autofree char *before = all;
        all = mem_printf("%s%s%s", before, *before ? " " : "", list[i].id);
    }
    waitsum_done(&w);
    return all;
}

/* What is said under the id; "" where it is not. */
static inline char *told_of(struct stage *s, const char *id, bool advice)
{
    struct waitsum w;
    struct waitinsight list[WAITINSIGHTS_MAX];
    struct err err;
    char *found = mem_strdup("");
    struct selection waits = selection_all(s->profile, (struct value_ref){s->streams.waits, 0});
    struct selection states = selection_all(s->profile, (struct value_ref){s->streams.states, 0});
    assert_int_equal(waitsum_build(&w, &waits, &states, &err), 0);
    for (size_t i = 0, n = waitinsight_find(&w, list); i < n; i++)
        if (strcmp(list[i].id, id) == 0) {
            free(found);
            found = mem_strdup(advice ? list[i].advice : list[i].evidence);
        }
    waitsum_done(&w);
    return found;
}

static inline char *evidence_of(struct stage *s, const char *id)
{
    return told_of(s, id, false);
}

/* A frame of a module. */
static inline struct frame_id frame_in(struct stage *s, const char *module, const char *name)
{
    struct mapping m = {.path = profile_add_str(s->profile, text_of(module))};
    struct line line = {profile_add_function(
        s->profile, &(struct function){.name = profile_add_str(s->profile, text_of(name))})};
    struct frame_key key = {
        .mapping = profile_add_mapping(s->profile, &m), .lines = &line, .n_lines = 1};
    return profile_add_frame(s->profile, &key);
}

#define LIBC "/lib/libc.so.6"
