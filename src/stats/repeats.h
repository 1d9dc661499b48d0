/*
 * repeats.h - what a handful of repeated measurements say: middle, spread, outliers, and intervals
 * that need no bell curve.
 *
 * Also linked into the library that benchmarks are built with, so it uses nothing but libm and
 * base/mem. Resampling has a fixed seed: the same measurements give the same interval.
 */
#pragma once
#include "stats/stats.h"

#include <math.h>

struct repeats_summary {
    size_t n;
    double mean, sd, median, min, max, q1, q3;
    double mad; /* median distance from the median, times 1.4826: a deviation that outliers spare */
    size_t mild_low, mild_high, severe_low, severe_high; /* beyond 1.5 and 3 times q3 - q1; kept */
    struct interval mean_interval, median_interval;      /* 95% */
};

/* Above this part of the mean a standard deviation is marked in tables, and below this a fit is. */
#define REPEATS_SCATTER_LIMIT 0.05
#define REPEATS_R2_LIMIT 0.95

/* Standard deviation by mean; NAN where the mean is not above 0, or there is one value. */
static inline double repeats_scatter(const struct repeats_summary *s)
{
    return s->n > 1 && s->mean > 0 ? s->sd / s->mean : NAN;
}

/* Median and friends of N values in any order; N may be 0, which gives NANs. */
void repeats_summarize(struct repeats_summary *s, const double *values, size_t n);

/* Sort values upwards. */
void repeats_sort(double *values, size_t n);

/* By linear interpolation between order statistics; Q from 0 to 1; N > 0. */
double repeats_quantile(const double *sorted, size_t n, double q);

/* Of N > 0 values in any order. */
double repeats_median(const double *values, size_t n);

/*
 * The interval of the median between two order statistics, exact whatever the distribution:
 * it misses at most with probability MISS. Needs n >= 6 for 0.05; with fewer it is
 * -INFINITY to INFINITY.
 */
struct interval repeats_median_interval(const double *sorted, size_t n, double miss);

/* Percentile bootstrap of the mean and of the median: misses with probability MISS. */
enum { REPEATS_RESAMPLES = 10000 };
struct interval repeats_bootstrap_mean(const double *values, size_t n, size_t resamples,
                                       double miss);
struct interval repeats_bootstrap_median(const double *values, size_t n, size_t resamples,
                                         double miss);

/* A line through the origin, TIMES over COUNTS: time of one iteration. */
struct slope {
    double slope;
    double r2;                /* 1 = all points on the line */
    struct interval interval; /* 95%, pairs resampled */
};

void repeats_slope(struct slope *s, const double *counts, const double *times, size_t n);

/* How much of the scatter of TIMES a line of that slope explains: below 0 where a constant would
 * explain more. */
double repeats_r2(double slope, const double *counts, const double *times, size_t n);
