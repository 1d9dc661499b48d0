/*
 * support.h - what several unit tests do. Include it after cmocka.h.
 */
#pragma once
#include "analysis/selection.h"
#include "base/mem.h"
#include "source/import.h"

/* A profile of folded lines. Free it. */
static inline struct profile *support_folded(const char *text)
{
    struct reader in;
    struct import im;
    struct err err;
    struct profile *p = NULL;
    struct import_opts opts = {.format = "folded"};
    reader_open_memory(&in, text, strlen(text));
    assert_int_equal(import_reader(&im, &in, "test", &opts, &p, &err), 0);
    import_done(&im);
    reader_close(&in);
    return p;
}

/* A stack of functions, "main;parse;read". */
static inline struct stack_id support_path(struct profile *p, const char *names)
{
    struct stack_id id = {0};
    struct text rest = text_of(names);
    while (rest.n) {
        struct frame_id f = profile_add_named_frame(p, text_cut(&rest, ';'), FRAME_USER);
        id = stacks_push(&p->stacks, id, f);
    }
    return id;
}

/* Another column of the first stream, which is made if there is none. Returns its number. */
static inline int support_value(struct profile *p, const char *event, const char *name,
                                const char *unit)
{
    if (!p->streams.n)
        profile_add_stream(p, event, event_obtained(text_of(event)));
    return profile_add_value(p, 0, name, unit);
}

/* A pointer to the selection of all of column TYPE of the first stream; good until the block ends.
 */
#define SUPPORT_ALL(p, type) \
    (&(struct selection[]){selection_all(p, (struct value_ref){0, type})}[0])

/* Remove a folder with all that is in it; for tear-downs. */
static inline int support_remove(const char *folder)
{
    autofree char *line = mem_printf("rm -rf '%s'", folder);
    return system(line);
}
