/* support_heap.h - a heap made row by row, for tests of what is told of it. */
#pragma once
#include "model/event.h"
#include "model/profile.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "support.h"

enum { KIB = 1024, MIB = KIB * KIB };

struct heap_row {
    const char *place;
    uint64_t time_ms;
    int64_t allocations, allocated, frees, freed, temporary, leaked, peak;
};

static inline struct stack_id stack_of(struct profile *p, const char *place)
{
    struct stack_id id = {0};
    const char *names[] = {"main", place, "operator new(unsigned long)"};
    for (size_t i = 0; i < 3; i++)
        id = stacks_push(&p->stacks, id, profile_add_named_frame(p, text_of(names[i]), FRAME_USER));
    return id;
}

static inline struct profile *new_heap(void)
{
    static const char *const names[][2] = {
        {"allocations", "count"}, {"allocated", "bytes"}, {"frees", "count"}, {"freed", "bytes"},
        {"temporary", "count"},   {"leaked", "bytes"},    {"peak", "bytes"}};
    struct profile *p = profile_new();
    int stream = profile_add_stream(p, "heap", event_obtained(text_of("heap")));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(profile_add_value(p, stream, names[i][0], names[i][1]), i);
    return p;
}

static inline void heap_took(struct profile *p, const struct heap_row *r)
{
    struct err err;
    int64_t values[] = {r->allocations, r->allocated, r->frees, r->freed,
                        r->temporary,   r->leaked,    r->peak};
    struct row row = {.stack = stack_of(p, r->place),
                      .has_time = true,
                      .time_ns = (1000 + r->time_ms) * 1000000,
                      .values = values};
    assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
}
