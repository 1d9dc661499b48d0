/* difftest_runs.c - permutation tests over several runs per side; see difftest.h. */
#include "analysis/difftest.h"
#include "base/calc.h"
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

/* Squares around the means of both sides, for each degree of freedom. */
static double row_scatter(const struct row *r)
{
    double nb = (double)r->n_before, na = (double)(r->n - r->n_before), sum = sum_of(r, NULL);
    double within = fmax(0, r->squares - sum * sum / nb - sum * sum / na);
    return nb + na > 2 ? within / (nb + na - 2) : 0;
}

/* --- how much quantities scatter --- */

/*
 * What all quantities together say about how much one scatters: FACTOR times the scatter of the
 * whole, which all share, what sampling gives, and what quantities have on top of it. DOF is how
 * many degrees of freedom that is worth.
 */
struct prior {
    double common, on_top, factor, dof;
};

static double prior_of(const struct prior *p, double noise)
{
    return p->factor * (p->common + noise + p->on_top);
}

/* A row by what is known of its scatter, and which it is. */
struct ranked {
    double within, noise;
    size_t i;
};

static int by_scatter(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->within != y->within)
        return x->within < y->within ? -1 : 1;
    return x->noise < y->noise ? -1 : x->noise > y->noise;
}

/* From 25 samples per run on. */
#define WELL_SAMPLED 0.04

/*
 * A function and the one that only calls it are the same row twice, a chain of ten ten times. Each
 * such row counts once: RET gets the part that each is of it. What has few samples scatters in ways
 * of its own, and has less to say about the others.
 */
static void find_parts(const double *within, const double *noise, size_t m, double *ret)
{
    autofree struct ranked *rows = mem_calloc(m, sizeof *rows);
    for (size_t i = 0; i < m; i++)
        rows[i] = (struct ranked){within[i], noise[i], i};
    qsort(rows, m, sizeof *rows, by_scatter);
    for (size_t from = 0, to; from < m; from = to) {
        for (to = from + 1; to < m && by_scatter(&rows[from], &rows[to]) == 0; to++)
            ;
        for (size_t k = from; k < to; k++)
            ret[rows[k].i] = fmin(1, WELL_SAMPLED / rows[k].noise) / (double)(to - from);
    }
}

/* The mean of what is seen beyond sampling; what is sampled well counts most. */
static double find_on_top(const double *apart, const double *noise, const double *parts, size_t m)
{
    double on_top = 0;
    for (int round = 0; round < 3; round++) {
        double sum = 0, weights = 0;
        for (size_t i = 0; i < m; i++) {
            double v = noise[i] + on_top, weight = noise[i] > 0 ? parts[i] / (v * v) : 0;
            sum += weight * (apart[i] - noise[i]);
            weights += weight;
        }
        on_top = weights > 0 ? fmax(0, sum / weights) : 0;
    }
    return on_top;
}

/*
 * How well the prior fits is seen in the ratios of what quantities scatter by to what it says. The
 * log of a mean of D squares has a variance of about 2 / (D - 1); more than that is how much
 * quantities differ (the first two moments, as Smyth's limma takes them). Two or fewer cannot say:
 * KNOWN. That no two differ is never believed: MOST.
 */
enum { KNOWN = 4, MOST = 40 };

static void fit_prior(struct prior *p, const double *within, const double *noise,
                      const double *parts, size_t m, double dof)
{
    double n = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < m; i++)
        if (noise[i] > 0) {
            double x = calc_log(fmax(within[i] / prior_of(p, noise[i]), 1e-6));
            n += parts[i], sum += parts[i] * x, squares += parts[i] * x * x;
        }
    p->dof = KNOWN;
    if (n < 3 || dof <= 1)
        return;
    double more = (squares - sum * sum / n) / (n - 1) - 2 / (dof - 1);
    p->dof = more > 0 ? fmin(MOST, 1 + 2 / more) : MOST;
    p->factor = fmax(1, calc_exp(sum / n + 1 / dof));
}

struct scatter {
    double variance, dof;
};

/*
 * A quantity that scatters by more than the prior and chance would have it speaks for itself. Of
 * one that has fewer than five samples per run the variance is not all that matters.
 */
#define UNLIKE 2
#define FEW_SAMPLES 0.2

/*
 * Few runs may be close by chance, so the scatter counts at least as what sampling alone would
 * give. The whole's scatter is known from these runs only, whatever else is known.
 */
static struct scatter find_scatter(const struct prior *p, double within, double noise, double dof)
{
    if (!(noise > 0))
        return (struct scatter){within, dof};
    double prior = prior_of(p, noise), more = within > UNLIKE * prior ? 0 : p->dof;
    if (noise > FEW_SAMPLES)
        more = fmin(more, KNOWN), prior = fmax(prior, within);
    double v = fmax(noise, (more * prior + dof * within) / (more + dof));
    double common = fmin(p->common, v), rest = v - common;
    return (struct scatter){v, v * v / (common * common / dof + rest * rest / (dof + more))};
}

static struct difftest_effect effect_of(const struct row *r, struct scatter s)
{
    double nb = (double)r->n_before, na = (double)(r->n - r->n_before), sum = 0;
    for (size_t k = 0; k < r->n_before; k++)
        sum -= r->values[k];
    struct difftest_effect e = {
        .diff = sum / nb + sum / na,
        .error = sqrt(s.variance * (1 / nb + 1 / na) + 1e-12 * r->squares + 1e-300),
        .dof = s.dof,
        .fine = 1,
    };
    if (nb + na > 2)
        e.fine = stats_t_p(e.diff / e.error, e.dof);
    return e;
}

/* The scatter of each row, of each without the whole, and of the whole. */
struct scatters {
    double *within, *apart, common;
};

static void scatters_find(struct scatters *s, const struct difftest_family *f, struct row *row)
{
    autofree double *values = mem_calloc(f->n, sizeof *values);
    if (f->common) {
        row_set(row, f->common);
        s->common = row_scatter(row);
    }
    for (size_t i = 0; i < f->m; i++) {
        for (size_t k = 0; k < f->n; k++)
            values[k] = f->values[i * f->n + k] - (f->common ? f->common[k] : 0);
        row_set(row, values);
        s->apart[i] = row_scatter(row);
        row_set(row, f->values + i * f->n);
        s->within[i] = row_scatter(row);
    }
}

/* --- both tests --- */

/* What either test must reach to count alone: so much of the level is its own. */
#define STUDENT_PART 0.8
#define DEALS_PART 0.2

/* That the sides differ by just SHIFT. */
static double p_of_shift(struct row *r, const double *from, double shift, const struct deals *d)
{
    autofree double *values = mem_calloc(r->n, sizeof *values);
    for (size_t k = 0; k < r->n; k++)
        values[k] = from[k] - (k < r->n_before ? 0 : shift);
    row_set(r, values);
    return permutation_p(r, d);
}

/* The farthest difference, from AT towards FAR, that is not ruled out at 5%. */
static double deals_limit(struct row *r, const double *from, const struct deals *d, double at,
                          double far)
{
    enum { STEPS = 14 };
    for (int i = 0; i < STEPS; i++) {
        double middle = (at + far) / 2;
        *(p_of_shift(r, from, middle, d) > 0.05 ? &at : &far) = middle;
    }
    return far;
}

static void effect_add_deals(struct difftest_effect *e, struct row *r, const double *from,
                             const struct deals *d)
{
    double wide = 10 * e->error, student = e->fine / STUDENT_PART, deals = e->p / DEALS_PART;
    e->fine = fmin(1, fmin(student, deals));
    e->by_deals = deals < student && e->p <= 0.05;
    if (e->by_deals)
        e->dealt = (struct interval){deals_limit(r, from, d, e->diff, e->diff - wide),
                                     deals_limit(r, from, d, e->diff, e->diff + wide)};
}

void difftest_runs(const struct difftest_family *f, struct difftest_effect *ret)
{
    if (!f->m)
        return;
    struct deals d = deal(f);
    autofree double *values = mem_calloc(f->n, sizeof *values);
    autofree double *within = mem_calloc(f->m, sizeof *within);
    autofree double *apart = mem_calloc(f->m, sizeof *apart);
    autofree double *parts = mem_calloc(f->m, sizeof *parts);
    struct row row = {.values = values, .n = f->n, .n_before = f->n_before};
    struct scatters s = {.within = within, .apart = apart};
    double dof = fmax(1, (double)f->n - 2);
    scatters_find(&s, f, &row);
    find_parts(within, f->noise, f->m, parts);
    struct prior prior = {
        .common = s.common, .on_top = find_on_top(apart, f->noise, parts, f->m), .factor = 1};
    fit_prior(&prior, within, f->noise, parts, f->m, dof);
    for (size_t i = 0; i < f->m; i++) {
        row_set(&row, f->values + i * f->n);
        ret[i] = effect_of(&row, find_scatter(&prior, within[i], f->noise[i], dof));
        ret[i].p = permutation_p(&row, &d);
        if (difftest_least_p(f->n_before, f->n) <= DIFFTEST_DEALS_ENOUGH)
            effect_add_deals(&ret[i], &row, f->values + i * f->n, &d);
    }
    vec_done(&d.runs);
}

struct interval difftest_effect_interval(const struct difftest_effect *e)
{
    double half = stats_t95(e->dof) * e->error;
    if (e->by_deals)
        return e->dealt;
    return (struct interval){e->diff - half, e->diff + half};
}

/* Nine of ten lie above the mean less so many standard deviations. */
#define NINE_OF_TEN 1.281552

double difftest_detectable(const struct difftest_effect *e, double p, double band)
{
    double t95 = stats_t95(e->dof), error = e->error;
    if (e->by_deals) /* as if its nearer end were Student's */
        error = fmin(e->dealt.high - e->diff, e->diff - e->dealt.low) / t95;
    double proven = stats_t_above(p, e->dof) * error;
    return fmax(proven, band + t95 * error) + NINE_OF_TEN * error;
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
