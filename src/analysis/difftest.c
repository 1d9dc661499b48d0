/* difftest.c - tests of one run per side, and of many things at once; see difftest.h. */
#include "analysis/difftest.h"
#include "base/calc.h"
#include "base/vec.h"

#include <math.h>
#include <stdbool.h>

/* --- one run per side --- */

struct table {
    double n1, n2, hits; /* samples per side, and hits on both together */
};

static double log_probability(const struct table *t, double k)
{
    return stats_log_choose(t->n1, k) + stats_log_choose(t->n2, t->hits - k) -
           stats_log_choose(t->n1 + t->n2, t->hits);
}

/* Two-sided: all tables with these margins that are no likelier than the one with K. */
static double difftest_fisher(const struct table *t, double k)
{
    double seen = log_probability(t, k), p = 0;
    double first = fmax(0, t->hits - t->n2), last = fmin(t->hits, t->n1);
    for (double i = first; i <= last; i++) {
        double l = log_probability(t, i);
        p += l <= seen + 1e-7 ? calc_exp(l) : 0;
    }
    return fmin(p, 1);
}

/* Counts near 0 and 1 are tested exactly; near 1 the misses are counted instead. */
static double exact_p(struct difftest_share a, struct difftest_share b, bool flip)
{
    struct table t = {round(a.n_effective), round(b.n_effective), 0};
    double k1 = round((flip ? 1 - a.share : a.share) * t.n1);
    t.hits = k1 + round((flip ? 1 - b.share : b.share) * t.n2);
    return t.hits < 10000 ? difftest_fisher(&t, k1) : NAN;
}

/*
 * What SHARE is expected to be beside others that changed: as sure, relative to its size, as the
 * samples that it rests on. Ten samples stay ten, however small a part of the whole they become.
 */
static struct difftest_share scaled_share(struct difftest_share share, double log_factor)
{
    double to = fmin(1, share.share * calc_exp(log_factor));
    if (!(share.share > 0 && share.share < 1 && to < 1))
        return (struct difftest_share){to, share.n_effective};
    double odds = share.share / (1 - share.share), to_odds = to / (1 - to);
    return (struct difftest_share){to, share.n_effective * odds / to_odds};
}

double difftest_pair_p(struct difftest_share before, struct difftest_share after,
                       struct difftest_typical typical)
{
    if (!(before.n_effective >= 1 && after.n_effective >= 1))
        return NAN;
    if (typical.log > 0) /* always downwards: nothing has more than all of the time */
        return difftest_pair_p(after, before,
                               (struct difftest_typical){-typical.log, typical.variance});
    struct difftest_share expected = scaled_share(before, typical.log);
    double n = expected.n_effective + after.n_effective;
    double pooled = (expected.share * expected.n_effective + after.share * after.n_effective) / n;
    double rare = fmin(pooled, 1 - pooled), p = NAN;
    if (rare <= 0)
        return 1;
    if (rare * fmin(expected.n_effective, after.n_effective) < 5 &&
        (pooled < 0.5 || !typical.variance))
        p = exact_p(expected, after, pooled > 0.5);
    double variance = pooled * (1 - pooled) * (1 / expected.n_effective + 1 / after.n_effective) +
                      expected.share * expected.share * typical.variance;
    return isnan(p) ? calc_erfc(fabs(after.share - expected.share) / sqrt(variance) / M_SQRT2) : p;
}

struct difftest difftest_pair(struct difftest_share before, struct difftest_share after)
{
    double p = difftest_pair_p(before, after, (struct difftest_typical){0, 0});
    if (isnan(p))
        return (struct difftest){-1, 1, NAN};
    struct interval a = stats_wilson(before.share, before.n_effective, STATS_Z95);
    struct interval b = stats_wilson(after.share, after.n_effective, STATS_Z95);
    double diff = after.share - before.share;
    return (struct difftest){
        .low = diff - calc_hypot(after.share - b.low, a.high - before.share),
        .high = diff + calc_hypot(b.high - after.share, before.share - a.low),
        .p = p,
    };
}

struct interval difftest_pair_ratio(struct difftest_share before, struct difftest_share after,
                                    struct difftest_typical typical)
{
    double n = before.n_effective, m = after.n_effective;
    double x = before.share * n + 0.5, y = after.share * m + 0.5;
    double middle = calc_log(y / m) - calc_log(x / n) - typical.log;
    double variance = fmax(0, 1 / x - 1 / (n + 1)) + fmax(0, 1 / y - 1 / (m + 1));
    double reach = STATS_Z95 * sqrt(variance + typical.variance);
    return (struct interval){after.share > 0 ? calc_exp(middle - reach) : 0,
                             calc_exp(middle + reach)};
}

/* --- what moved together --- */

static int by_log(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* How much of [AT, AT + TIME] is inside of [LOW, HIGH], as a part of TIME. */
static double part_inside(double at, double time, double low, double high)
{
    double inside = fmin(at + time, high) - fmax(at, low);
    return inside > 0 && time > 0 ? inside / time : 0;
}

struct difftest_typical difftest_typical(const struct difftest_change *at, size_t n)
{
    double all = 0, before = 0, sum = 0, weight = 0;
    if (n < 3)
        return (struct difftest_typical){0, 0};
    autofree struct difftest_change *sorted = mem_calloc(n, sizeof *sorted);
    memcpy(sorted, at, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_log);
    for (size_t i = 0; i < n; i++)
        all += sorted[i].time;
    for (size_t i = 0; i < n; before += sorted[i++].time) {
        double part = part_inside(before, sorted[i].time, 0.3 * all, 0.7 * all);
        sum += part * sorted[i].log / sorted[i].variance;
        weight += part / sorted[i].variance;
    }
    if (!(weight > 0))
        return (struct difftest_typical){0, 0};
    return (struct difftest_typical){sum / weight, 1 / weight};
}

/* --- many tests --- */

static int by_p(const void *a, const void *b, void *context)
{
    const double *p = context;
    double x = p[*(const size_t *)a], y = p[*(const size_t *)b];
    return x < y ? -1 : x > y;
}

void difftest_adjust(double *p, size_t n)
{
    VEC(size_t) order = {0};
    for (size_t i = 0; i < n; i++)
        if (!isnan(p[i]))
            *vec_push(&order) = i;
    if (order.n)
        qsort_r(order.at, order.n, sizeof *order.at, by_p, p);
    double least = 1;
    for (size_t rank = order.n; rank > 0; rank--) {
        double *at = &p[order.at[rank - 1]];
        least = fmin(least, *at * (double)order.n / (double)rank);
        *at = least;
    }
    vec_done(&order);
}

void difftest_adjust_weighted(double *p, const double *weight, size_t n)
{
    double sum = 0, tests = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(p[i])) {
            sum += weight[i];
            tests++;
        }
    for (size_t i = 0; i < n; i++)
        if (!isnan(p[i]))
            p[i] = weight[i] > 0 ? fmin(1, p[i] * sum / (tests * weight[i])) : 1;
    difftest_adjust(p, n);
}
