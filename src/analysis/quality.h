/*
 * quality.h - how good a profile is: how many samples, how deep, how much of it has names.
 *
 * Shares are weighted by the selected value, so that a frame seen once counts once.
 */
#pragma once
#include "analysis/selection.h"

/* Below this many samples a share is a rough guess: at 200, 5% means 2 to 8%. */
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

/*
 * What the periods of the samples are to be multiplied by so that they add up to the CPU time that
 * the kernel counted: a few percent off 1, by chance or as a hypervisor took the CPU away. 1 where
 * it is not known, or where part of the CPU time was not sampled.
 */
double quality_cpu_scale(const struct selection *s);
double quality_sampled_share(const struct selection *s);

/* The processes that may have too few samples, as far as the recording shows. */
const char *quality_missed(const struct profile *p);

/* Whether a higher rate may help: it does for short threads, not where interrupts are off. */
bool quality_misses_threads(const struct profile *p);

struct quality quality_of(const struct selection *s);
