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
    bool has_time;
    uint64_t first_ns, last_ns;
};

struct quality quality_of(const struct selection *s);
