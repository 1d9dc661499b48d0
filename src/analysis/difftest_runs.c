/* difftest_runs.c - permutation tests over several runs a side; see difftest.h. */
#include "analysis/difftest.h"
#include "base/vec.h"

#include <math.h>
#include <stdbool.h>

/* --- intervals --- */

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

struct interval difftest_runs_interval(const double *values, size_t n_before, size_t n)
{
    struct moments a = moments_of(values, n_before);
    struct moments b = moments_of(values + n_before, n - n_before);
    double diff = b.mean - a.mean, error2 = a.error2 + b.error2;
    if (a.n < 2 || b.n < 2)
        return (struct interval){-INFINITY, INFINITY};
    double df = error2 > 0 ? error2 * error2 /
                                 (a.error2 * a.error2 / (double)(a.n - 1) +
                                  b.error2 * b.error2 / (double)(b.n - 1))
                           : 1e9;
    double half = stats_t95(df) * sqrt(error2);
    return (struct interval){diff - half, diff + half};
}

/* --- deals --- */

/* Ways to deal out the runs: of each, which runs are called before. */
struct deals {
    VEC(uint32_t) runs; /* n_before each */
    size_t n, n_before;
};

/* How many ways there are to choose, or more than DIFFTEST_DEALS. */
static double ways(size_t n, size_t k)
{
    double w = 1;
    for (size_t i = 0; i < k && w <= DIFFTEST_DEALS; i++)
        w = w * (double)(n - i) / (double)(i + 1);
    return round(w);
}

/* Every choice in order: the last run that can move up does, and those behind it follow. */
static void deal_all(struct deals *d, size_t n)
{
    size_t k = d->n_before;
    autofree uint32_t *at = mem_calloc(k, sizeof *at);
    for (size_t i = 0; i < k; i++)
        at[i] = (uint32_t)i;
    for (;; d->n++) {
        for (size_t i = 0; i < k; i++)
            *vec_push(&d->runs) = at[i];
        size_t i = k;
        while (i > 0 && at[i - 1] == n - k + i - 1)
            i--;
        if (i == 0)
            break;
        at[i - 1]++;
        for (; i < k; i++)
            at[i] = (uint32_t)(at[i - 1] + 1);
    }
    d->n++;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 0x2545f4914f6cdd1du >> 32;
}

/* The first is how the runs were really dealt. */
static void deal_some(struct deals *d, size_t n, size_t n_deals)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    autofree uint32_t *runs = mem_calloc(n, sizeof *runs);
    for (size_t i = 0; i < n; i++)
        runs[i] = (uint32_t)i;
    for (d->n = 0; d->n < n_deals; d->n++)
        for (size_t k = 0; k < d->n_before && k < n; k++) {
            size_t from = d->n ? k + next_random(&state) % (n - k) : k;
            uint32_t chosen = runs[from];
            runs[from] = runs[k];
            runs[k] = chosen;
            *vec_push(&d->runs) = chosen;
        }
}

/* So many quantities that even this many deals take long get fewer of them. */
static struct deals deal(const struct difftest_family *f)
{
    const double budget = 4e8, least = 1000;
    double most = fmax(least, fmin(DIFFTEST_DEALS, budget / (double)(f->m * f->n_before)));
    struct deals d = {.n_before = f->n_before};
    if (ways(f->n, f->n_before) <= most)
        deal_all(&d, f->n);
    else
        deal_some(&d, f->n, (size_t)most);
    return d;
}

/* --- scores --- */

/* A quantity, its mean taken off. */
struct row {
    double *values;
    double squares, noise;
    size_t n, n_before;
};

static void row_set(struct row *r, const double *from)
{
    double mean = moments_of(from, r->n).mean;
    r->squares = 0;
    for (size_t k = 0; k < r->n; k++) {
        r->values[k] = from[k] - mean;
        r->squares += r->values[k] * r->values[k];
    }
}

/*
 * How far apart the sides are, in terms of the scatter within them. Few runs tell little about
 * their scatter, so what is known of it from sampling counts like PRIOR more of them: without that,
 * quantities whose runs happen to be close would stand out.
 */
static double score(const struct row *r, const uint32_t *before)
{
    const double prior = r->noise > 0 ? 4 : 0;
    double nb = (double)r->n_before, na = (double)(r->n - r->n_before), sum = 0;
    for (size_t k = 0; k < r->n_before; k++)
        sum += r->values[before[k]];
    double within = fmax(0, r->squares - sum * sum / nb - sum * sum / na);
    double variance = (within + prior * r->noise) / (nb + na - 2 + prior);
    double diff = fabs(sum / nb + sum / na);
    return diff / sqrt(variance * (1 / nb + 1 / na) + 1e-12 * r->squares + 1e-300);
}

static int downwards(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x > y ? -1 : x < y;
}

/* How many of the M scores, largest first, a score reaches. */
static size_t first_reached(const double *sorted, size_t m, double x)
{
    size_t low = 0, high = m;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sorted[middle] <= x)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* One quantity, measured in one way or two. */
struct quantity {
    struct row row, other;
    bool has_other;
};

static void quantity_init(struct quantity *q, const struct difftest_family *f)
{
    q->row = (struct row){.n = f->n, .n_before = f->n_before};
    q->other = q->row;
    q->row.values = mem_calloc(f->n, sizeof *q->row.values);
    q->other.values = mem_calloc(f->n, sizeof *q->other.values);
    q->has_other = f->others != NULL;
}

static void quantity_set(struct quantity *q, const struct difftest_family *f, size_t i)
{
    q->row.noise = q->other.noise = f->noise[i];
    row_set(&q->row, f->values + i * f->n);
    if (q->has_other)
        row_set(&q->other, f->others + i * f->n);
}

static void quantity_done(struct quantity *q)
{
    free(q->row.values);
    free(q->other.values);
}

struct scores {
    double own, either;
};

static struct scores scores_of(const struct quantity *q, const uint32_t *before)
{
    double own = score(&q->row, before);
    return (struct scores){own, q->has_other ? fmax(own, score(&q->other, before)) : own};
}

/* A score as good as another, up to rounding. */
#define NEARLY (1 - 1e-9)

struct pool {
    struct scores *seen; /* of the runs as they are */
    double *sorted;      /* the larger ones, from the top */
    size_t *reached; /* by place in sorted: scores of all deals that reach it, not the one above */
};

static void pool_init(struct pool *p, const struct difftest_family *f, struct quantity *q)
{
    autofree uint32_t *as_is = mem_calloc(f->n, sizeof *as_is);
    for (size_t k = 0; k < f->n; k++)
        as_is[k] = (uint32_t)k;
    p->seen = mem_calloc(f->m, sizeof *p->seen);
    p->sorted = mem_calloc(f->m, sizeof *p->sorted);
    p->reached = mem_calloc(f->m + 1, sizeof *p->reached);
    for (size_t i = 0; i < f->m; i++) {
        quantity_set(q, f, i);
        p->seen[i] = scores_of(q, as_is);
        p->sorted[i] = p->seen[i].either * NEARLY;
    }
    qsort(p->sorted, f->m, sizeof *p->sorted, downwards);
}

static void pool_done(struct pool *p)
{
    free(p->seen);
    free(p->sorted);
    free(p->reached);
}

/* How many deals show as much of quantity I as was seen; all scores go to the pool. */
static size_t deal_out(struct pool *p, const struct deals *d, const struct quantity *q, size_t i,
                       size_t m)
{
    size_t own = 0;
    for (size_t k = 0; k < d->n; k++) {
        struct scores s = scores_of(q, d->runs.at + k * d->n_before);
        own += s.own >= p->seen[i].own * NEARLY;
        p->reached[first_reached(p->sorted, m, s.either)]++;
    }
    return own;
}

void difftest_runs(const struct difftest_family *f, double *ret_p, double *ret_fine)
{
    if (!f->m)
        return;
    struct deals d = deal(f);
    struct quantity q;
    struct pool pool;
    quantity_init(&q, f);
    pool_init(&pool, f, &q);
    for (size_t i = 0; i < f->m; i++) {
        quantity_set(&q, f, i);
        ret_p[i] = (double)deal_out(&pool, &d, &q, i, f->m) / (double)d.n;
    }
    for (size_t i = 1; i < f->m; i++)
        pool.reached[i] += pool.reached[i - 1];
    for (size_t i = 0; i < f->m; i++) {
        size_t at = first_reached(pool.sorted, f->m, pool.seen[i].either);
        ret_fine[i] = (double)pool.reached[at] / (double)d.n / (double)f->m;
    }
    pool_done(&pool);
    quantity_done(&q);
    vec_done(&d.runs);
}

double difftest_least_p(size_t n_before, size_t n)
{
    if (!n_before || n_before >= n)
        return 1;
    double w = ways(n, n_before);
    if (w > DIFFTEST_DEALS)
        return 1.0 / DIFFTEST_DEALS;
    return fmin(1, (2 * n_before == n ? 2 : 1) / w);
}
