/*
 * firefox.h - a profile's tables in the columns of the Firefox Profiler.
 *
 * The profiler keeps inlined functions as frames of their own: a frame of the model becomes as
 * many rows as it has functions, and a stack likewise. Functions are merged by name and library,
 * as the profiler's call tree does not look at names but at rows.
 */
#pragma once
#include "base/json.h"
#include "model/profile.h"

struct firefox_func {
    uint32_t name; /* in stringArray */
    struct function_id function;
    struct mapping_id mapping;
};

struct firefox_row {
    uint32_t func;
    struct frame_id frame;
    uint16_t depth; /* 0 = outermost, the rest are inlined there */
};

struct firefox_shared {
    const struct profile *p;
    VEC(struct firefox_row) rows; /* of frameTable */
    uint32_t *frame_at;           /* frame id -> its first row */
    uint32_t *stack_end;          /* stack id -> one past its last row in stackTable */
    VEC(struct firefox_func) funcs;
    struct idmap func_map;
    VEC(struct str_id) sources;
    uint32_t *source_of;  /* string id -> index in sources + 1 */
    struct intern extras; /* strings that the profile does not have */
};

void firefox_shared_init(struct firefox_shared *s, const struct profile *p);
void firefox_shared_done(struct firefox_shared *s);

void firefox_shared_write(struct firefox_shared *s, struct json *j); /* "shared": {...} */
void firefox_libs_write(const struct profile *p, struct json *j);    /* "libs": [...] */

/* Row of a stack in stackTable; the empty stack has none. */
static inline uint32_t firefox_stack_row(const struct firefox_shared *s, struct stack_id id)
{
    return s->stack_end[id.i] - 1;
}
