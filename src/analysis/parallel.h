/*
 * parallel.h - how parallel a program was: how many threads ran at once, who ran alone, and what
 * the others waited for meanwhile.
 *
 * From the life of each thread (its states) and its waits: whoever lives and does not wait, runs.
 * Where records were lost that is not so: over 1% of unknown time, and nothing is built; nor where
 * waits are summed up. One pass over all waits in the order of time.
 *
 * Time is serial where one thread runs and no other could: one that is ready and has no CPU shows
 * a want of CPUs, not of work to share.
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
    int64_t starved_ns;                /* none ran, though one was ready */
    int64_t alone_ns;                  /* just one ran */
    int64_t serial_ns;                 /* and no other was ready: what follows is of this time */
    int64_t others_ns[WAIT_REASONS];   /* meanwhile, by reason */
    double slice[PARALLEL_SLICES];     /* threads that ran on average, in equal parts of the time */
    struct parallel_alone threads[PARALLEL_NAMES];   /* longest alone first; ns 0 = no more */
    struct parallel_alone functions[PARALLEL_NAMES]; /* most samples first; samples 0 = no more */
    uint64_t samples;                                /* of CPU time */
};

/*
 * Of the threads and moments of STATES, a selection of the stream of states. Functions that HIDING
 * hides are not named; NULL = none is hidden.
 */
void parallel_build(struct parallel *ret, const struct selection *states,
                    const struct selection *hiding);

/* The time in which at least one thread ran. */
int64_t parallel_busy_ns(const struct parallel *q);
