/*
 * past.h - what a benchmark took in earlier sessions.
 */
#pragma once
#include "base/vec.h"
#include "stats/stats.h"

#include <stdbool.h>

struct past_run {
    int64_t time_s; /* since 1970 */
    char commit[16], baseline[40];
    double median;
    struct interval interval;
    bool change_point; /* the level changed here */
};

/* Past medians of a benchmark, oldest first. */
struct past {
    const char *name; /* of the series */
    struct past_run *runs;
    size_t n_runs;
};

struct pasts { /* a VEC */
    struct past *at;
    size_t n, cap;
};
