/*
 * loop.h - a body runs once, and its BENCH_LOOP is timed again and again.
 *
 * The loop asks for its next number of iterations whenever the last are done. First it is warmed
 * up, with numbers that double; then come the rounds that count. After each round an empty loop,
 * built as the body's was, goes round too: what the loop itself costs is then known for the same
 * conditions, also where other programs steal time.
 *
 * The timed loop is plain code that counts down a register; set-up runs once, and a call for each
 * iteration is not measured. An empty loop measured once at start would have been at another clock
 * frequency, with other neighbours. A loop's cost depends on where it lies and what it overlaps
 * with, so the interval is wider by that cost at both ends: a null benchmark reads 0, and no claim
 * below a cycle is made.
 *
 * Each round reads its thread's CPU clock outside of the timed part: on a busy machine wall times
 * are several times too long and CPU times are not.
 */
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct loop_target {
    const char *name; /* for messages */
    void (*body)(size_t value);
    void (*empty)(size_t value);
    size_t value;
    size_t threads; /* 1 = in the caller's */
};

struct loop_plan {
    double warm_up_ns, time_ns;
    size_t samples; /* at least 1 */
};

struct loop_result {
    size_t n;
    double *counts,
        *times;        /* iterations and nanoseconds of each round, in the order they were made */
    double *cpu_times; /* CPU time of each round: the mean of its threads */
    bool has_cpu;      /* false where the body pauses: reading that clock takes too long for it */
    bool flat;         /* all rounds as long: linear sampling would have taken too long */
    size_t disturbed;  /* rounds in which another program took the CPU; of one thread only */
    double items, bytes, flops;    /* as reported by the body */
    double loop_ns;                /* what the empty loop took, an iteration */
    double loop_cpu_ns;            /* the same in CPU time */
    double pauses;                 /* kelvin_pause() an iteration */
    bool has_heap;                 /* somebody counts allocations */
    double allocations, allocated; /* blocks and bytes an iteration, of all threads */
    double pause_ns;               /* what a pair of pause and resume leaves in the time, each */
};

/* The error is about the body: it has no loop, two of them, leaves it early... */
int loop_measure(struct loop_result *ret, const struct loop_target *target,
                 const struct loop_plan *plan, struct err *err);
void loop_result_done(struct loop_result *r);
