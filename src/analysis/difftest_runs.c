/* difftest_runs.c - permutation tests over several runs a side; see difftest.h. */
#include "analysis/difftest.h"
#include "base/vec.h"

#include <math.h>

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

static uint64_t difftest_next_random(uint64_t *state)
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
            size_t from = d->n ? k + difftest_next_random(&state) % (n - k) : k;
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

/* --- tests of one quantity --- */

/* A quantity, its mean taken off. */
struct row {
    double *values;
    double squares;
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

/* With both sides' sizes and the squares fixed, t grows with the sum of one side alone. */
static double sum_of(const struct row *r, const uint32_t *before)
{
    double sum = 0;
    for (size_t k = 0; k < r->n_before; k++)
        sum += r->values[before ? before[k] : k];
    return fabs(sum);
}

/* A sum as good as another, up to rounding. */
#define NEARLY (1 - 1e-9)

static double permutation_p(const struct row *r, const struct deals *d)
{
    size_t reached = 0;
    double seen = sum_of(r, NULL) * NEARLY;
    for (size_t k = 0; k < d->n; k++)
        reached += sum_of(r, d->runs.at + k * d->n_before) >= seen;
    return (double)reached / (double)d->n;
}

/*
 * Few runs may be close by chance, so their scatter counts at least as what sampling alone would
 * give: without that, the smallest functions would stand out. Knowing that much of the scatter is
 * worth KNOWN more runs.
 */
enum { KNOWN = 4 };

static double student_p(const struct row *r, double noise)
{
    double nb = (double)r->n_before, na = (double)(r->n - r->n_before), sum = sum_of(r, NULL);
    double dof = nb + na - 2, within = fmax(0, r->squares - sum * sum / nb - sum * sum / na);
    if (dof < 1)
        return 1;
    double variance = fmax(within / dof, noise) * (1 / nb + 1 / na);
    double error2 = variance + 1e-12 * r->squares + 1e-300;
    return stats_t_p((sum / nb + sum / na) / sqrt(error2), noise > 0 ? dof + KNOWN : dof);
}

void difftest_runs(const struct difftest_family *f, double *ret_p, double *ret_fine)
{
    if (!f->m)
        return;
    struct deals d = deal(f);
    autofree double *values = mem_calloc(f->n, sizeof *values);
    struct row row = {.values = values, .n = f->n, .n_before = f->n_before};
    for (size_t i = 0; i < f->m; i++) {
        row_set(&row, f->values + i * f->n);
        ret_p[i] = permutation_p(&row, &d);
        ret_fine[i] = student_p(&row, f->noise[i]);
    }
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
