/*
 * spanlanes.h - spans of time on threads, as traces have them, into a profile.
 *
 * Spans of a thread that lie in one another are calls. Two streams come of them:
 *
 *     ""        each stretch of time between two ends is a row of the stack that is open
 *     "scopes"  each span is a row with its duration and self time, as of kelvin.h
 *
 * And "events", what happened at a moment, and counters. Where rows are merged they have no times,
 * and there are no counters.
 */
#pragma once
#include "source/import.h"

struct span_lane {
    uint64_t key[2];
    int64_t pid, tid; /* -1 = not known */
    struct str_id name, process_name;
    VEC(struct span_begun) begun;
    uint64_t last_ns;
    struct thread_id thread; /* when it is built */
};

struct span_begun {
    uint64_t start_ns;
    struct frame_id frame;
    struct attrs_id attrs;
};

struct span {
    uint64_t start_ns, end_ns;
    uint32_t lane, order; /* the thread; its place in the file */
    struct frame_id frame;
    struct attrs_id attrs;
};

/* An event at one moment. */
struct span_moment {
    uint64_t time_ns;
    uint32_t lane;
    struct frame_id frame;
};

struct span_open {
    uint64_t end_ns, children_ns;
    const struct span *span;
    struct stack_id stack;
};

/* Zero-initialised but for IM: empty. */
struct spanlanes {
    struct import *im;
    VEC(struct span_lane) lanes;
    struct idmap lane_map;
    VEC(struct span) spans, async; /* async: those that belong to no stack of calls */
    VEC(struct span_moment) moments;
    VEC(struct span_open) open;
    int calls, scopes; /* streams; scopes -1 = none */
    uint64_t unclosed, overlapping;
};

/* The thread of a key, made if there is none. */
uint32_t spanlanes_lane(struct spanlanes *l, uint64_t a, uint64_t b);

/* A span, or its beginning and its end. False: nothing was begun. */
void spanlanes_add(struct spanlanes *l, uint32_t lane, const struct span_begun *b, uint64_t end_ns);
void spanlanes_begin(struct spanlanes *l, uint32_t lane, const struct span_begun *b);
bool spanlanes_end(struct spanlanes *l, uint32_t lane, uint64_t time_ns, struct attrs_id more);

/* A span that may overlap with others of its thread. */
void spanlanes_add_async(struct spanlanes *l, uint32_t lane, const struct span_begun *b,
                         uint64_t end_ns);
void spanlanes_add_moment(struct spanlanes *l, uint32_t lane, struct frame_id frame,
                          uint64_t time_ns);

/* A point of a counter of a process, which is made if there is none. Points may come in any order.
 */
void spanlanes_add_point(struct spanlanes *l, struct text name, int64_t pid, uint64_t time_ns,
                         int64_t value);

/* All into the profile. */
int spanlanes_build(struct spanlanes *l, struct err *err);
void spanlanes_done(struct spanlanes *l);
