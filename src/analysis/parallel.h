/*
 * parallel.h - how parallel a program was: how many threads ran at once, who ran alone, and what
 * the others waited for meanwhile.
 *
 * From the life of each thread (its states) and its waits: whoever lives and does not wait, runs.
 * Where records were lost that is not so: over 1 % of unknown time, and nothing is built; nor where
 * waits are summed up. One pass over all waits in the order of time.
 */
#pragma once
#include "analysis/waitsum.h"

enum { PARALLEL_LEVELS = 65, PARALLEL_SLICES = 12, PARALLEL_NAMES = 5 };

/* A thread that ran alone, or a function that ran meanwhile. */
struct parallel_alone {
    char name[80];
    int32_t tid;      /* of a thread */
    int64_t ns;       /* of a thread */
    uint64_t samples; /* of a function */
};

struct parallel {
    bool known;                        /* else all else means nothing */
    int64_t wall_ns;                   /* from the first thread's start to the last one's end */
    int64_t level_ns[PARALLEL_LEVELS]; /* how long so many threads ran at once; the last: or more */
    double mean;                       /* threads that ran, on average */
    size_t threads_most;               /* that lived at once */
    int64_t serial_ns;                 /* just one ran */
    int64_t others_ns[WAIT_REASONS + 1]; /* meanwhile, by reason; the last had no CPU */
    double slice[PARALLEL_SLICES]; /* threads that ran on average, in equal parts of the time */
    struct parallel_alone threads[PARALLEL_NAMES];   /* longest alone first; ns 0 = no more */
    struct parallel_alone functions[PARALLEL_NAMES]; /* most samples first; samples 0 = no more */
    uint64_t samples;                                /* of CPU time, while one ran alone */
};

/* Of the streams of waits and states of P. Functions that S hides are not named; NULL = none is
 * hidden. */
void parallel_build(struct parallel *ret, const struct profile *p, const struct selection *s);

/* The time in which at least one thread ran. */
int64_t parallel_busy_ns(const struct parallel *q);
