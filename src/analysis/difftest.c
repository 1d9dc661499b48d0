#include "analysis/difftest.h"
#include "base/vec.h"

#include <math.h>
#include <stdbool.h>

/* --- one run a side --- */

static double log_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

struct table {
    double n1, n2, hits; /* samples a side, and hits on both together */
};

static double log_probability(const struct table *t, double k)
{
    return log_choose(t->n1, k) + log_choose(t->n2, t->hits - k) -
           log_choose(t->n1 + t->n2, t->hits);
}

/* Two-sided: all tables with these margins that are no likelier than the one with K. */
static double fisher(const struct table *t, double k)
{
    double seen = log_probability(t, k), p = 0;
    double first = fmax(0, t->hits - t->n2), last = fmin(t->hits, t->n1);
    for (double i = first; i <= last; i++) {
        double l = log_probability(t, i);
        p += l <= seen + 1e-7 ? exp(l) : 0;
    }
    return fmin(p, 1);
}

/* Exact counts are needed only near 0 and 1; near 1 the misses are counted instead. */
static double pair_p(struct difftest_share a, struct difftest_share b)
{
    double n = a.n_effective + b.n_effective;
    double pooled = (a.share * a.n_effective + b.share * b.n_effective) / n;
    double rare = fmin(pooled, 1 - pooled);
    if (rare <= 0)
        return 1;
    if (rare * fmin(a.n_effective, b.n_effective) < 5) {
        bool flip = pooled > 0.5;
        struct table t = {round(a.n_effective), round(b.n_effective), 0};
        double k1 = round((flip ? 1 - a.share : a.share) * t.n1);
        t.hits = k1 + round((flip ? 1 - b.share : b.share) * t.n2);
        if (t.hits < 10000)
            return fisher(&t, k1);
    }
    double sd = sqrt(pooled * (1 - pooled) * (1 / a.n_effective + 1 / b.n_effective));
    return erfc(fabs(a.share - b.share) / sd / M_SQRT2);
}

struct difftest difftest_pair(struct difftest_share before, struct difftest_share after)
{
    if (!(before.n_effective >= 1 && after.n_effective >= 1))
        return (struct difftest){-1, 1, NAN};
    struct interval a = stats_wilson(before.share, before.n_effective, STATS_Z95);
    struct interval b = stats_wilson(after.share, after.n_effective, STATS_Z95);
    double diff = after.share - before.share;
    return (struct difftest){
        .low = diff - hypot(after.share - b.low, a.high - before.share),
        .high = diff + hypot(b.high - after.share, before.share - a.low),
        .p = pair_p(before, after),
    };
}

/* --- several runs a side --- */

struct moments {
    double mean, error2; /* of the mean, squared */
    size_t n;
};

static struct moments moments_of(const double *v, size_t n)
{
    struct moments m = {.n = n};
    for (size_t i = 0; i < n; i++)
        m.mean += v[i] / (double)n;
    for (size_t i = 0; i < n && n > 1; i++)
        m.error2 += (v[i] - m.mean) * (v[i] - m.mean) / (double)(n - 1) / (double)n;
    return m;
}

static void welch(struct difftest *t, struct moments a, struct moments b)
{
    double diff = b.mean - a.mean, error2 = a.error2 + b.error2;
    t->low = -INFINITY;
    t->high = INFINITY;
    if (a.n < 2 || b.n < 2)
        return;
    double df = error2 > 0 ? error2 * error2 /
                                 (a.error2 * a.error2 / (double)(a.n - 1) +
                                  b.error2 * b.error2 / (double)(b.n - 1))
                           : 1e9;
    double half = stats_t95(df) * sqrt(error2);
    t->low = diff - half;
    t->high = diff + half;
}

/* How many ways there are to choose, or more than DIFFTEST_DEALS. */
static double ways(size_t n, size_t k)
{
    double w = 1;
    for (size_t i = 0; i < k && w <= DIFFTEST_DEALS; i++)
        w = w * (double)(n - i) / (double)(i + 1);
    return round(w);
}

struct deal {
    const double *values;
    size_t n_before, n;
    double sum, least; /* of all values; the difference to reach */
};

static bool reaches(const struct deal *d, double sum_before)
{
    double a = sum_before / (double)d->n_before;
    double b = (d->sum - sum_before) / (double)(d->n - d->n_before);
    return fabs(b - a) >= d->least;
}

/* Every subset of n_before bits, in order: the next larger number with as many bits set. */
static double deal_all(const struct deal *d)
{
    size_t hits = 0, all = 0;
    uint64_t end = UINT64_C(1) << d->n;
    for (uint64_t set = (UINT64_C(1) << d->n_before) - 1; set < end; all++) {
        double sum = 0;
        for (uint64_t left = set; left; left &= left - 1)
            sum += d->values[__builtin_ctzll(left)];
        hits += reaches(d, sum);
        int low = __builtin_ctzll(set);
        uint64_t carry = set + (UINT64_C(1) << low);
        set = carry | (((set ^ carry) >> 2) >> low);
    }
    return (double)hits / (double)all;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 0x2545f4914f6cdd1du >> 32;
}

static double deal_some(const struct deal *d)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    size_t hits = 0;
    double *v = mem_calloc(d->n, sizeof *v);
    memcpy(v, d->values, d->n * sizeof *v);
    for (int i = 0; i < DIFFTEST_DEALS; i++) {
        double sum = 0;
        for (size_t k = 0; k < d->n_before; k++) {
            size_t from = k + next_random(&state) % (d->n - k);
            double chosen = v[from];
            v[from] = v[k];
            v[k] = chosen;
            sum += chosen;
        }
        hits += reaches(d, sum);
    }
    free(v);
    return (double)(hits + 1) / (DIFFTEST_DEALS + 1);
}

/* The bits of a set hold 62 runs; with fewer than a million ways there are never so many. */
static bool can_deal_all(size_t n_before, size_t n)
{
    return n <= 62 && ways(n, n_before) <= DIFFTEST_DEALS;
}

struct difftest difftest_runs(const double *values, size_t n_before, size_t n)
{
    struct difftest t = {-INFINITY, INFINITY, NAN};
    if (!n_before || n_before >= n)
        return t;
    struct moments a = moments_of(values, n_before);
    struct moments b = moments_of(values + n_before, n - n_before);
    welch(&t, a, b);
    struct deal d = {.values = values, .n_before = n_before, .n = n};
    for (size_t i = 0; i < n; i++)
        d.sum += values[i];
    d.least = fabs(b.mean - a.mean) - 1e-9 * (fabs(a.mean) + fabs(b.mean));
    t.p = can_deal_all(n_before, n) ? deal_all(&d) : deal_some(&d);
    return t;
}

double difftest_least_p(size_t n_before, size_t n)
{
    if (!n_before || n_before >= n)
        return 1;
    if (!can_deal_all(n_before, n))
        return 1.0 / (DIFFTEST_DEALS + 1);
    return fmin(1, (2 * n_before == n ? 2 : 1) / ways(n, n_before));
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
