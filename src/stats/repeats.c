/* repeats.c - summaries of repeated measurements; see repeats.h. */
#include "stats/repeats.h"
#include "base/calc.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* --- order --- */

static int repeats_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void repeats_sort(double *values, size_t n)
{
    if (n > 1)
        qsort(values, n, sizeof *values, repeats_by_value);
}

double repeats_quantile(const double *sorted, size_t n, double q)
{
    double at = fmin(fmax(q, 0), 1) * (double)(n - 1);
    size_t below = (size_t)at;
    double part = at - (double)below;
    return part > 0 ? sorted[below] + part * (sorted[below + 1] - sorted[below]) : sorted[below];
}

double repeats_median(const double *values, size_t n)
{
    autofree double *sorted = mem_calloc(n, sizeof *sorted);
    memcpy(sorted, values, n * sizeof *sorted);
    repeats_sort(sorted, n);
    return repeats_quantile(sorted, n, 0.5);
}

static void swap(double *a, double *b)
{
    double t = *a;
    *a = *b;
    *b = t;
}

/* The K-th smallest (0 = the smallest), found by reordering VALUES: no need to sort them all. */
static double select_nth(double *values, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;; i++, j--) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j)
                break;
            swap(&values[i], &values[j]);
        }
        /* Now all up to j are <= pivot, all from j + 1 on >= pivot. */
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[k];
}

/* --- the median's interval --- */

/*
 * How many order statistics may be cut off at each end: the largest k with P(Bin(n, 1/2) < k) at
 * most TAIL. Further than 20 deviations of the binomial from its middle nothing adds up.
 */
static size_t cut_off(size_t n, double tail)
{
    double from = fmax(0, floor((double)n / 2 - 10 * sqrt((double)n) - 1)), sum = 0;
    double log_p = stats_log_choose((double)n, from) - (double)n * M_LN2;
    size_t k = (size_t)from;
    for (; k <= n / 2; k++) {
        sum += calc_exp(log_p);
        if (sum > tail)
            break;
        log_p += calc_log((double)(n - k) / (double)(k + 1));
    }
    return k;
}

struct interval repeats_median_interval(const double *sorted, size_t n, double miss)
{
    size_t k = n ? cut_off(n, miss / 2) : 0;
    if (k == 0)
        return (struct interval){-INFINITY, INFINITY};
    return (struct interval){sorted[k - 1], sorted[n - k]};
}

/* --- resampling --- */

/* A Weyl sequence, mixed by one wide multiplication. */
static uint64_t repeats_next_random(uint64_t *state)
{
    *state += 0xa0761d6478bd642fu;
    __uint128_t wide = (__uint128_t)*state * (*state ^ 0xe7037ed1a0b428dbu);
    return (uint64_t)(wide >> 64) ^ (uint64_t)wide;
}

/* Two of 0..n-1 from one random word; N below 2^31. */
#define PICK_1(random, n) ((size_t)((((random)&0xffffffffu) * (n)) >> 32))
#define PICK_2(random, n) ((size_t)((((random) >> 32) * (n)) >> 32))

static double resample_mean(const double *values, size_t n, uint64_t *rng)
{
    double sum_1 = 0, sum_2 = 0;
    for (size_t i = 0; i + 1 < n; i += 2) {
        uint64_t random = repeats_next_random(rng);
        sum_1 += values[PICK_1(random, n)];
        sum_2 += values[PICK_2(random, n)];
    }
    if (n % 2)
        sum_1 += values[PICK_1(repeats_next_random(rng), n)];
    return (sum_1 + sum_2) / (double)n;
}

/* The K-th of the values (0 = the smallest) when each is there COUNTS times. */
static double nth_of_counts(const double *sorted, const uint32_t *counts, size_t k)
{
    size_t i = 0;
    for (size_t seen = counts[0]; seen <= k; seen += counts[i])
        i++;
    return sorted[i];
}

static double resample_median(const double *sorted, size_t n, uint32_t *counts, uint64_t *rng)
{
    memset(counts, 0, n * sizeof *counts);
    for (size_t i = 0; i + 1 < n; i += 2) {
        uint64_t random = repeats_next_random(rng);
        counts[PICK_1(random, n)]++;
        counts[PICK_2(random, n)]++;
    }
    if (n % 2)
        counts[PICK_1(repeats_next_random(rng), n)]++;
    double upper = nth_of_counts(sorted, counts, n / 2);
    return n % 2 ? upper : (upper + nth_of_counts(sorted, counts, n / 2 - 1)) / 2;
}

/* The middle part of RESULTS, which are reordered: MISS / 2 of them lie beyond each end. */
static struct interval percentiles(double *results, size_t n, double miss)
{
    size_t k = (size_t)(miss / 2 * (double)(n - 1) + 0.5);
    double low = select_nth(results, n, k);
    return (struct interval){low, select_nth(results, n, n - 1 - k)};
}

enum { SEED = 5 };

struct interval repeats_bootstrap_mean(const double *values, size_t n, size_t resamples,
                                       double miss)
{
    if (n == 0 || resamples == 0)
        return (struct interval){-INFINITY, INFINITY};
    uint64_t rng = SEED;
    autofree double *means = mem_calloc(resamples, sizeof *means);
    for (size_t i = 0; i < resamples; i++)
        means[i] = resample_mean(values, n, &rng);
    return percentiles(means, resamples, miss);
}

struct interval repeats_bootstrap_median(const double *values, size_t n, size_t resamples,
                                         double miss)
{
    if (n == 0 || resamples == 0)
        return (struct interval){-INFINITY, INFINITY};
    uint64_t rng = SEED;
    autofree double *sorted = mem_calloc(n, sizeof *sorted);
    autofree uint32_t *counts = mem_calloc(n, sizeof *counts);
    autofree double *medians = mem_calloc(resamples, sizeof *medians);
    memcpy(sorted, values, n * sizeof *sorted);
    repeats_sort(sorted, n);
    for (size_t i = 0; i < resamples; i++)
        medians[i] = resample_median(sorted, n, counts, &rng);
    return percentiles(medians, resamples, miss);
}

/* --- a line through the origin --- */

static double resample_slope(const double *xy, const double *xx, size_t n, uint64_t *rng)
{
    double sum_xy = 0, sum_xx = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = PICK_2(repeats_next_random(rng), n);
        sum_xy += xy[at];
        sum_xx += xx[at];
    }
    return sum_xy / sum_xx;
}

static struct interval slope_interval(const double *xy, const double *xx, size_t n)
{
    uint64_t rng = SEED;
    autofree double *slopes = mem_calloc(REPEATS_RESAMPLES, sizeof *slopes);
    for (size_t i = 0; i < REPEATS_RESAMPLES; i++)
        slopes[i] = resample_slope(xy, xx, n, &rng);
    return percentiles(slopes, REPEATS_RESAMPLES, 0.05);
}

double repeats_r2(double slope, const double *counts, const double *times, size_t n)
{
    double mean = 0, left = 0, all = 0;
    for (size_t i = 0; i < n; i++)
        mean += times[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        double off = times[i] - slope * counts[i];
        left += off * off;
        all += (times[i] - mean) * (times[i] - mean);
    }
    return all > 0 ? 1 - left / all : 1;
}

void repeats_slope(struct slope *s, const double *counts, const double *times, size_t n)
{
    double sum_xy = 0, sum_xx = 0;
    autofree double *xy = mem_calloc(n + 1, sizeof *xy), *xx = mem_calloc(n + 1, sizeof *xx);
    for (size_t i = 0; i < n; i++) {
        sum_xy += xy[i] = counts[i] * times[i];
        sum_xx += xx[i] = counts[i] * counts[i];
    }
    *s = (struct slope){NAN, NAN, {-INFINITY, INFINITY}};
    if (!(sum_xx > 0))
        return;
    s->slope = sum_xy / sum_xx;
    s->r2 = repeats_r2(s->slope, counts, times, n);
    if (n > 1)
        s->interval = slope_interval(xy, xx, n);
}

/* --- summary --- */

static void repeats_sum_up(struct repeats_summary *s, const double *values)
{
    double n = (double)s->n, squares = 0;
    s->mean = 0;
    for (size_t i = 0; i < s->n; i++)
        s->mean += values[i] / n;
    for (size_t i = 0; i < s->n; i++)
        squares += (values[i] - s->mean) * (values[i] - s->mean);
    s->sd = s->n > 1 ? sqrt(squares / (n - 1)) : 0;
}

/* Tukey's fences. */
static void count_outliers(struct repeats_summary *s, const double *sorted)
{
    double reach = s->q3 - s->q1;
    for (size_t i = 0; i < s->n; i++) {
        double v = sorted[i];
        if (v < s->q1 - 1.5 * reach)
            *(v < s->q1 - 3 * reach ? &s->severe_low : &s->mild_low) += 1;
        else if (v > s->q3 + 1.5 * reach)
            *(v > s->q3 + 3 * reach ? &s->severe_high : &s->mild_high) += 1;
    }
}

/* Above this many values a mean is normal enough, and resampling them would take long. */
enum { RESAMPLED_MAX = 5000 };

static struct interval interval_of_mean(const struct repeats_summary *s, const double *values)
{
    if (s->n < 2)
        return (struct interval){-INFINITY, INFINITY};
    if (s->n <= RESAMPLED_MAX)
        return repeats_bootstrap_mean(values, s->n, REPEATS_RESAMPLES, 0.05);
    double half = STATS_Z95 * s->sd / sqrt((double)s->n);
    return (struct interval){s->mean - half, s->mean + half};
}

static double mad_of(const double *sorted, double median, size_t n)
{
    autofree double *off = mem_calloc(n, sizeof *off);
    for (size_t i = 0; i < n; i++)
        off[i] = fabs(sorted[i] - median);
    repeats_sort(off, n);
    return 1.4826 * repeats_quantile(off, n, 0.5);
}

void repeats_summarize(struct repeats_summary *s, const double *values, size_t n)
{
    *s = (struct repeats_summary){.n = n,
                                  .mean = NAN,
                                  .sd = NAN,
                                  .median = NAN,
                                  .min = NAN,
                                  .max = NAN,
                                  .q1 = NAN,
                                  .q3 = NAN,
                                  .mad = NAN,
                                  .mean_interval = {-INFINITY, INFINITY},
                                  .median_interval = {-INFINITY, INFINITY}};
    if (n == 0)
        return;
    autofree double *sorted = mem_calloc(n, sizeof *sorted);
    memcpy(sorted, values, n * sizeof *sorted);
    repeats_sort(sorted, n);
    repeats_sum_up(s, sorted);
    s->min = sorted[0];
    s->max = sorted[n - 1];
    s->median = repeats_quantile(sorted, n, 0.5);
    s->q1 = repeats_quantile(sorted, n, 0.25);
    s->q3 = repeats_quantile(sorted, n, 0.75);
    s->mad = mad_of(sorted, s->median, n);
    count_outliers(s, sorted);
    s->mean_interval = interval_of_mean(s, sorted);
    s->median_interval = repeats_median_interval(sorted, n, 0.05);
}
