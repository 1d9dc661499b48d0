#include "stats/modes.h"
#include "base/mem.h"
#include "stats/repeats.h"

#include <math.h>
#include <string.h>

/* The smaller group's share of the runs, the ratio of the medians, and the gap in widths of the
 * wider group: chosen so that of 20 runs of one group fewer than one set in a thousand is taken for
 * two. */
static const double least_share = 0.2, least_ratio = 1.05, least_gap = 1.5;

static double width(const double *sorted, size_t n)
{
    return repeats_quantile(sorted, n, 0.9) - repeats_quantile(sorted, n, 0.1);
}

/* How many values lie before the widest gap that leaves LEAST on both sides; 0 = there is none. */
static size_t widest_gap(const double *sorted, size_t n, size_t least)
{
    size_t at = 0;
    double widest = 0;
    for (size_t i = least; i + least <= n; i++)
        if (sorted[i] - sorted[i - 1] > widest) {
            widest = sorted[i] - sorted[i - 1];
            at = i;
        }
    return at;
}

bool modes_find(struct modes *ret, const double *values, size_t n)
{
    if (n < MODES_LEAST_RUNS)
        return false;
    autofree double *v = mem_calloc(n, sizeof *v);
    memcpy(v, values, n * sizeof *v);
    repeats_sort(v, n);
    size_t k = widest_gap(v, n, (size_t)ceil(least_share * (double)n));
    if (!k || !(v[0] > 0) ||
        !(v[k] - v[k - 1] > least_gap * fmax(width(v, k), width(v + k, n - k))))
        return false;
    *ret = (struct modes){
        .share = {(double)k / (double)n, (double)(n - k) / (double)n},
        .median = {repeats_quantile(v, k, 0.5), repeats_quantile(v + k, n - k, 0.5)}};
    for (size_t i = 1; i < n; i++)
        ret->changes += (values[i] >= v[k]) != (values[i - 1] >= v[k]);
    return ret->median[1] > least_ratio * ret->median[0];
}
