/*
 * birthclock.h - clocks of threads that live for less than a period.
 *
 * The clock of a thread begins with a whole period, so that a thread that lives shorter is never
 * seen. Threads that are born while many others are (perfbirths.h) therefore have a period T of
 * anything from 0.1 to 2.5 usual ones, which they keep.
 *
 * When such threads have used t of CPU time each, their clocks tick in a moment dt as often as to
 * stand for S(t) dt, if each tick stood for its T:
 *
 *     S(t) = sum over k of f(t/k) t/k^2, f: the density of T
 *
 * So a tick stands for T / S(t): then all together are the CPU time of the threads, from lives of
 * 0.2 periods on. What a thread does before its clock can tick is counted with what it does next.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct birthclock {
    uint64_t period_ns;     /* the usual one */
    bool on;                /* that is worth while */
    uint64_t ends, samples; /* that came since it was looked whether this is worth while */
};

/* Whether threads that are born should have such periods; the counts start anew. */
bool birthclock_step(struct birthclock *b);

/* A period for those that are born next; U is any number from 0 to 1. */
uint64_t birthclock_draw(const struct birthclock *b, double u);

/* What a tick of a clock of PERIOD_NS stands for, in a thread that had used AGE_NS by then. */
uint64_t birthclock_weight(const struct birthclock *b, uint64_t period_ns, uint64_t age_ns);
