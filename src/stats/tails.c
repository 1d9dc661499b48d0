#include "stats/tails.h"
#include "base/calc.h"
#include "base/mem.h"
#include "stats/repeats.h"

#include <math.h>
#include <string.h>

static double mean_of(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return sum / (double)n;
}

static size_t count_above(const double *v, size_t n, double limit)
{
    size_t above = 0;
    for (size_t i = 0; i < n; i++)
        above += v[i] > limit;
    return above;
}

static double squares_of(const double *v, size_t n, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (v[i] - mean) * (v[i] - mean);
    return sum;
}

/* Welch's: what differs between the means, in standard errors. 0 where nothing scatters. */
static double tails_mean_z(const double *a, size_t m, const double *b, size_t n)
{
    double before = mean_of(a, m), after = mean_of(b, n);
    if (m < 2 || n < 2)
        return 0;
    double error = sqrt(squares_of(a, m, before) / ((double)m * (double)(m - 1)) +
                        squares_of(b, n, after) / ((double)n * (double)(n - 1)));
    return error > 0 ? (after - before) / error : 0;
}

/* Fisher's: A of M and B of N. All deals that are as improbable as this one or more so. */
static double tails_fisher(size_t a, size_t m, size_t b, size_t n)
{
    size_t k = a + b, from = k > n ? k - n : 0, to = k < m ? k : m;
    double all = stats_log_choose((double)(m + n), (double)k), sum = 0;
    double seen =
        stats_log_choose((double)m, (double)a) + stats_log_choose((double)n, (double)b) - all;
    for (size_t i = from; i <= to; i++) {
        double p = stats_log_choose((double)m, (double)i) +
                   stats_log_choose((double)n, (double)(k - i)) - all;
        sum += p <= seen + 1e-9 ? calc_exp(p) : 0;
    }
    return sum < 1 ? sum : 1;
}

struct tails tails_compare(const double *before, size_t n_before, const double *after,
                           size_t n_after)
{
    size_t all = n_before + n_after;
    autofree double *pool = mem_calloc(all + 1, sizeof *pool);
    if (!n_before || !n_after)
        return (struct tails){.mean_ratio = NAN, .p = 1};
    memcpy(pool, before, n_before * sizeof *pool);
    memcpy(pool + n_before, after, n_after * sizeof *pool);
    repeats_sort(pool, all);
    double limit = TAILS_SLOW * repeats_quantile(pool, all, 0.5);
    size_t a = count_above(before, n_before, limit), b = count_above(after, n_after, limit);
    return (struct tails){.slow_before = (double)a / (double)n_before,
                          .slow_after = (double)b / (double)n_after,
                          .mean_ratio = mean_of(after, n_after) / mean_of(before, n_before),
                          .mean_z = tails_mean_z(before, n_before, after, n_after),
                          .p = tails_fisher(a, n_before, b, n_after)};
}
