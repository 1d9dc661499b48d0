/*
 * heapstory_counts.c - how well numbers of blocks are known where blocks are sampled by bytes.
 *
 * A sample of z bytes stands for w = 1 / (1 - exp(-z / mean)) blocks: 1 of a large one, 170,000 of
 * three bytes. So the number of blocks rests on the few samples of small ones, however many samples
 * there are in all. Its variance is the sum of w * (w - 1) over the samples. Rows hold sums of
 * samples; those of one row are of one stack, mostly of one size, and each counts with their mean.
 *
 * The interval is that of Fay and Feuer for sums of weighted counts: a Poisson distribution with
 * the same mean and variance, and above, as if one block more of the weight that may be unseen were
 * in.
 */
#include "analysis/heapstory.h"

#include <math.h>

/* Blocks that no sample shows are taken to be no smaller, on average: malloc's least on most hosts.
 */
enum { UNSEEN_BYTES = 16 };

static const enum heapstory_value value_of_count[STORY_COUNTS] = {
    [STORY_COUNT_ALLOCATIONS] = STORY_ALLOCATIONS,
    [STORY_COUNT_LEAKED] = STORY_LEAKED_BLOCKS,
};

static const enum heapstory_value samples_of_count[STORY_COUNTS] = {
    [STORY_COUNT_ALLOCATIONS] = STORY_SAMPLES,
    [STORY_COUNT_LEAKED] = STORY_LEAKED_SAMPLES,
};

void heapstory_add_variance(double *variance, const int64_t *row, double block_unit)
{
    for (int c = 0; c < STORY_COUNTS; c++) {
        double blocks = (double)row[value_of_count[c]] / block_unit;
        double samples = (double)row[samples_of_count[c]];
        if (samples > 0 && blocks > samples)
            variance[c] += blocks * (blocks / samples - 1);
    }
}

double heapstory_unseen_weight(uint64_t sample_bytes)
{
    return (double)sample_bytes / UNSEEN_BYTES;
}

/* The most that one block more could stand for: in one place blocks are much alike. */
static double unseen_weight(const struct heapstory *s, const struct heapstory_place *p, double n,
                            double samples)
{
    if (p)
        return samples > 0 ? n / samples : 0;
    return heapstory_unseen_weight(s->sample_bytes);
}

struct interval heapstory_weighted_interval(double n, double variance, double weight)
{
    static const double z95 = 1.959964;
    double above = n + weight, above_variance = variance + weight * weight;
    double alike = above_variance > 0 ? above * above / above_variance - 1 : 0;
    struct interval i = {.low = n, .high = n};
    if (n > 0 && variance > 0)
        i.low = variance / n * stats_poisson(n * n / variance, z95).low;
    if (above > 0 && above_variance > 0)
        i.high = above_variance / above * stats_poisson(fmax(alike, 0), z95).high;
    return i;
}

struct interval heapstory_count_interval(const struct heapstory *s, const struct heapstory_place *p,
                                         enum heapstory_count count)
{
    const int64_t *value = p ? p->value : s->value;
    double n = (double)value[value_of_count[count]];
    double samples = (double)value[samples_of_count[count]];
    double variance = (p ? p->variance : s->variance)[count];
    if (!s->sampled || !s->sample_bytes)
        return (struct interval){n, n};
    struct interval i = heapstory_weighted_interval(n, variance, unseen_weight(s, p, n, samples));
    i.low = fmax(i.low, samples);
    return i;
}

bool heapstory_counts_well(const struct heapstory *s, const struct heapstory_place *p,
                           enum heapstory_count count)
{
    enum { FACTOR = 4 };
    struct interval i = heapstory_count_interval(s, p, count);
    return i.high <= FACTOR * i.low;
}
