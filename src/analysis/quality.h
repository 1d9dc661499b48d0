/*
 * quality.h - how good a profile is: how many samples, how deep, how much of it has names.
 *
 * Shares are weighted by the selected value, so that a frame seen once counts once.
 */
#pragma once
#include "analysis/selection.h"

/* Below this many samples a share is a rough guess: at 200, 5 % means 2 to 8 %. */
enum { QUALITY_FEW_SAMPLES = 200 };

struct quality {
    bool has_samples; /* whether the number of samples is recorded at all */
    int64_t samples;
    size_t distinct_stacks;
    size_t max_depth;
    double mean_depth;
    double unnamed_share; /* of frames met while walking all stacks */
    double empty_share;   /* of the total, samples without any stack */
    double sampled_share; /* of the CPU time: see quality_sampled() */
    bool has_time;
    uint64_t first_ns, last_ns;
};

/*
 * The share of OF_NS nanoseconds of CPU time that SAMPLES samples stand for, which is SAMPLED_NS: 1
 * where it is not known, or not clearly below all of it. Short processes and threads are seen too
 * rarely by clocks of threads, so that the rest is not like what was seen.
 */
double quality_sampled(uint64_t sampled_ns, uint64_t of_ns, uint64_t samples);
double quality_sampled_share(const struct selection *s);

struct quality quality_of(const struct selection *s);
