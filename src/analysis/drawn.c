#include "analysis/drawn.h"

#include "base/calc.h"
#include "model/heapstream.h"

#include <math.h>

double drawn_mean(const struct selection *s)
{
    uint64_t mean = 0;
    enum heap_column column = heapstream_column_of(s->profile, s->value);
    bool bytes = column == HEAP_ALLOCATED || column == HEAP_LEAKED || column == HEAP_PEAK;
    if (!bytes || s->count_type < 0 ||
        heapstream_find_column(s->profile, s->value.stream, HEAP_SAMPLES) < 0)
        return 0;
    meta_find_u64(&s->profile->meta, META_HEAP_SAMPLE_BYTES, &mean);
    return (double)mean;
}

/* Of one sample that stands for WEIGHT times the mean: solves weight = x / (1 - exp(-x)) for x. */
static double variance_of_one(double weight)
{
    enum { STEPS = 30 };
    if (weight < 1.0001) /* the size is next to nothing */
        return 1;
    double x = weight; /* Newton from the right of the root, where the function is convex */
    for (int i = 0; i < STEPS; i++)
        x -= (x + weight * calc_expm1(-x)) / (1 - weight * calc_exp(-x));
    return calc_exp(-x) * weight * weight;
}

double drawn_variance(double mean, double bytes, double samples)
{
    if (!(samples >= 1) || !(bytes > 0))
        return 0;
    return mean * mean * (samples - 1 + variance_of_one(bytes / mean - (samples - 1)));
}

double drawn_effective_n(double mean, double whole, double share, double inside, double outside)
{
    double rest = 1 - share, least = mean * mean; /* of a block that was not drawn */
    if (!(share > 0) || !(rest > 0))
        return whole / mean;
    double variance = fmax(inside, least) * rest * rest + fmax(outside, least) * share * share;
    return share * rest * whole * whole / variance;
}
