#include "analysis/scopediff.h"

#include "analysis/diff.h"
#include "analysis/scopequantile.h"
#include "base/calc.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A quantile of a histogram is off by this at most; see histogram.h. */
#define CLASS_ERROR 0.008
#define PROVEN_P 0.01

const double scopediff_quantiles[] = {0.5, 0.9, 0.99};
const char *const scope_verdict_names[] = {"not proven", "slower", "faster", "same"};

/* --- logarithms --- */

struct scope_log {
    double is, low, high;
};

static double log_of_ns(double ns)
{
    return calc_log(fmax(ns, 1));
}

static struct scope_log log_of_quantile(const struct scope_quantile *q)
{
    return (struct scope_log){
        .is = log_of_ns(q->ns),
        .low = q->interval.low > 0 ? log_of_ns(q->interval.low) - CLASS_ERROR : -INFINITY,
        .high = log_of_ns(q->interval.high) + CLASS_ERROR,
    };
}

static void change_set(struct scope_change *c, double log_change, struct interval logs)
{
    c->change = calc_expm1(log_change);
    c->interval = (struct interval){calc_expm1(logs.low), calc_expm1(logs.high)};
}

/* --- one run per side --- */

static void compare_pair(struct scope_change *c, const struct scope_quantile *before,
                         const struct scope_quantile *after)
{
    struct scope_log a = log_of_quantile(before), b = log_of_quantile(after);
    double d = b.is - a.is;
    struct interval i = {d - calc_hypot(b.is - b.low, a.high - a.is),
                         d + calc_hypot(b.high - b.is, a.is - a.low)};
    change_set(c, d, i);
    c->p = 1; /* until the rest is known */
}

/* That the change is beyond what two runs can differ by. */
static double pair_p(const struct scope_change *c)
{
    double d = calc_log1p(c->change);
    double half = d > 0 ? d - calc_log1p(c->interval.low) : calc_log1p(c->interval.high) - d;
    double factor = 1 + c->change;
    struct interval left = pairchance_take_off(&c->chance, (struct interval){factor, factor});
    double beyond = d > 0 ? calc_log(left.low) : -calc_log(left.high);
    return beyond > 0 && isfinite(half) ? calc_erfc(STATS_Z95 * beyond / half / sqrt(2)) : 1;
}

/* --- several --- */

struct log_sum {
    size_t n;
    double mean, squares; /* squares: of distances from the mean */
};

static void log_sum_add(struct log_sum *s, double x)
{
    double from_mean = x - s->mean;
    s->n++;
    s->mean += from_mean / (double)s->n;
    s->squares += from_mean * (x - s->mean);
}

/* What the mean of a side is uncertain by: its variance. */
static double log_sum_variance(const struct log_sum *s)
{
    double n = (double)s->n;
    return s->n > 1 ? s->squares / (n - 1) / n : NAN;
}

static void compare_runs(struct scope_change *c, const struct log_sum *a, const struct log_sum *b)
{
    double va = log_sum_variance(a), vb = log_sum_variance(b), v = va + vb, d = b->mean - a->mean;
    change_set(c, d, (struct interval){-INFINITY, INFINITY});
    if (isnan(v) || a->n < SCOPEDIFF_MIN_RUNS || b->n < SCOPEDIFF_MIN_RUNS)
        return;
    /* Quantiles of runs that are all alike are still known to a class only. */
    double se = sqrt(v + CLASS_ERROR * CLASS_ERROR);
    double dof = v > 0 ? v * v / (va * va / (double)(a->n - 1) + vb * vb / (double)(b->n - 1))
                       : (double)(a->n + b->n - 2);
    double half = stats_t95(dof) * se;
    change_set(c, d, (struct interval){d - half, d + half});
    c->p = stats_t_p(d / se, dof);
}

/* --- rows --- */

static bool has_quantile(const struct scopetree *t, int flat, double q)
{
    return flat >= 0 && scope_sum_has_quantile(&t->flat.at[flat].sum, q);
}

static void compare_quantile(const struct scopediff *d, struct text name, double q,
                             struct scope_change *c)
{
    struct log_sum sides[2] = {{0}};
    struct scope_quantile last[2] = {{0}};
    *c = (struct scope_change){.before_ns = NAN,
                               .after_ns = NAN,
                               .change = NAN,
                               .interval = {-INFINITY, INFINITY},
                               .p = NAN};
    for (size_t i = 0; i < d->n_runs; i++) {
        int flat = scope_find(&d->runs[i], name), side = i >= d->n_before;
        if (!has_quantile(&d->runs[i], flat, q))
            continue;
        last[side] = scope_quantile_of(&d->runs[i], (size_t)flat, q);
        log_sum_add(&sides[side], log_of_ns(last[side].ns));
    }
    c->before_ns = sides[0].n ? calc_exp(sides[0].mean) : NAN;
    c->after_ns = sides[1].n ? calc_exp(sides[1].mean) : NAN;
    if (sides[0].n + sides[1].n < d->n_runs)
        return; /* not in every run */
    if (scopediff_is_pair(d))
        compare_pair(c, &last[0], &last[1]);
    else
        compare_runs(c, &sides[0], &sides[1]);
}

static struct scope_side side_of(const struct scopediff *d, struct text name, bool after)
{
    struct scope_side s = {0};
    size_t first = after ? d->n_before : 0, end = after ? d->n_runs : d->n_before;
    for (size_t i = first; i < end; i++) {
        int flat = scope_find(&d->runs[i], name);
        if (flat < 0)
            continue;
        s.calls += (double)d->runs[i].flat.at[flat].sum.calls / (double)(end - first);
        s.total_ns += (double)d->runs[i].flat.at[flat].sum.total_ns / (double)(end - first);
    }
    return s;
}

static void scopediff_add_row(struct scopediff *d, struct text name)
{
    for (size_t i = 0; i < d->rows.n; i++)
        if (d->rows.at[i].name.n == name.n && memcmp(d->rows.at[i].name.at, name.at, name.n) == 0)
            return;
    *vec_push(&d->rows) = (struct scopediff_row){
        .name = name, .before = side_of(d, name, false), .after = side_of(d, name, true)};
}

static int compare_row_totals(const void *a, const void *b)
{
    const struct scopediff_row *x = a, *y = b;
    double t = x->before.total_ns + x->after.total_ns, u = y->before.total_ns + y->after.total_ns;
    if (t != u)
        return t > u ? -1 : 1;
    size_t n = x->name.n < y->name.n ? x->name.n : y->name.n;
    int by = memcmp(x->name.at, y->name.at, n);
    return by ? by : x->name.n < y->name.n ? -1 : x->name.n > y->name.n;
}

/* --- the rest of a pair --- */

static size_t row_called(const struct scopediff *d, struct text name)
{
    size_t i = 0;
    while (i < d->rows.n &&
           (d->rows.at[i].name.n != name.n || memcmp(d->rows.at[i].name.at, name.at, name.n) != 0))
        i++;
    return i;
}

/* Mark pairs of rows of which one is inside of the other in the run T, by row and row. */
static void mark_nested(const struct scopediff *d, const struct scopetree *t, bool *nested)
{
    const struct profile *p = t->selection->profile;
    for (size_t i = 0; i < t->tree.n; i++) {
        size_t row = row_called(d, profile_str(p, t->tree.at[i].name));
        uint32_t up = row < d->rows.n ? t->tree.at[i].parent : 0; /* + 1 */
        for (; up; up = t->tree.at[up - 1].parent) {
            size_t outer = row_called(d, profile_str(p, t->tree.at[up - 1].name));
            if (outer < d->rows.n)
                nested[row * d->rows.n + outer] = nested[outer * d->rows.n + row] = true;
        }
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median_of(double *at, size_t n)
{
    qsort(at, n, sizeof *at, compare_doubles);
    return (at[n / 2] + at[(n - 1) / 2]) / 2;
}

/* What quantile K of the scopes that have nothing to do with row I changed by, their median. */
static void find_rest(const struct scopediff *d, const bool *nested, size_t i, int k)
{
    struct pairchance *chance = &d->rows.at[i].at[k].chance;
    autofree double *low = mem_calloc(d->rows.n, sizeof *low);
    autofree double *high = mem_calloc(d->rows.n, sizeof *high);
    size_t n = 0;
    for (size_t other = 0; other < d->rows.n; other++) {
        const struct scope_change *c = &d->rows.at[other].at[k];
        if (other == i || nested[i * d->rows.n + other] || !isfinite(c->interval.high))
            continue;
        low[n] = 1 + c->interval.low;
        high[n++] = 1 + c->interval.high;
    }
    *chance = (struct pairchance){.same = d->same, .has_rest = n >= SCOPEDIFF_MIN_REST};
    chance->factor = pairchance_factor(chance->has_rest, d->busy);
    if (chance->has_rest)
        chance->rest = (struct interval){median_of(low, n), median_of(high, n)};
}

static void scopediff_find_chance(const struct scopediff *d)
{
    autofree bool *nested = mem_calloc(d->rows.n * d->rows.n + 1, sizeof *nested);
    for (size_t run = 0; run < d->n_runs; run++)
        mark_nested(d, &d->runs[run], nested);
    for (size_t i = 0; i < d->rows.n; i++)
        for (int k = 0; k < SCOPEDIFF_QUANTILES; k++) {
            struct scope_change *c = &d->rows.at[i].at[k];
            find_rest(d, nested, i, k);
            if (!isnan(c->p))
                c->p = pair_p(c);
        }
}

/* --- verdicts --- */

static int compare_p(const void *a, const void *b)
{
    double x = (*(struct scope_change *const *)a)->p, y = (*(struct scope_change *const *)b)->p;
    return x < y ? -1 : x > y;
}

/* Holm: the least of N times N, the next times N - 1; never less than the one before. */
static void adjust_all(struct scopediff *d)
{
    VEC(struct scope_change *) tested = {0};
    for (size_t i = 0; i < d->rows.n; i++)
        for (int k = 0; k < SCOPEDIFF_QUANTILES; k++)
            if (!isnan(d->rows.at[i].at[k].p))
                *vec_push(&tested) = &d->rows.at[i].at[k];
    if (tested.n)
        qsort(tested.at, tested.n, sizeof *tested.at, compare_p);
    double last = 0;
    for (size_t i = 0; i < tested.n; i++) {
        double p = fmin(tested.at[i]->p * (double)(tested.n - i), 1);
        tested.at[i]->p = last = fmax(p, last);
    }
    d->n_tested = tested.n;
    vec_done(&tested);
}

static enum scope_verdict verdict_of(const struct scopediff *d, const struct scope_change *c)
{
    struct interval within = {-d->band / (1 + d->band), d->band}; /* the same factor either way */
    struct interval is = c->interval, beyond = within;
    if (isnan(c->p))
        return SCOPE_UNPROVEN;
    if (is.low >= within.low && is.high <= within.high)
        return SCOPE_SAME;
    if (c->p > PROVEN_P)
        return SCOPE_UNPROVEN;
    if (scopediff_is_pair(d)) {
        is = pairchance_take_off(&c->chance, (struct interval){1 + is.low, 1 + is.high});
        beyond = (struct interval){1, 1};
    }
    return is.low > beyond.high   ? SCOPE_SLOWER
           : is.high < beyond.low ? SCOPE_FASTER
                                  : SCOPE_UNPROVEN;
}

static void scopediff_judge(struct scopediff *d)
{
    for (size_t i = 0; i < d->rows.n; i++)
        for (int k = 0; k < SCOPEDIFF_QUANTILES; k++)
            compare_quantile(d, d->rows.at[i].name, scopediff_quantiles[k], &d->rows.at[i].at[k]);
    if (scopediff_is_pair(d))
        scopediff_find_chance(d);
    adjust_all(d);
    for (size_t i = 0; i < d->rows.n; i++)
        for (int k = 0; k < SCOPEDIFF_QUANTILES; k++)
            d->rows.at[i].at[k].verdict = verdict_of(d, &d->rows.at[i].at[k]);
}

/* --- all of it --- */

static void scopediff_list(struct scopediff *d, size_t top)
{
    for (size_t i = 0; i < d->n_runs; i++)
        for (size_t k = 0; k < d->runs[i].flat.n; k++)
            scopediff_add_row(
                d, profile_str(d->runs[i].selection->profile, d->runs[i].flat.at[k].name));
    if (d->rows.n)
        qsort(d->rows.at, d->rows.n, sizeof *d->rows.at, compare_row_totals);
    d->n_left_out = d->rows.n > top ? d->rows.n - top : 0;
    d->rows.n -= d->n_left_out;
}

int scopediff_build(struct scopediff *d, const struct scopediff_opts *opts, struct err *err)
{
    *d = (struct scopediff){.n_before = opts->n_before, .n_runs = opts->n_runs};
    d->band = opts->band > 0 ? opts->band : scopediff_is_pair(d) ? 0.2 : 0.05;
    d->busy = pairchance_was_busy(opts->runs, d->n_runs);
    d->same = scopediff_is_pair(d) &&
              diff_is_same_program(&(struct diff_opts){.runs = opts->runs,
                                                       .n_before = 1,
                                                       .n_runs = 2,
                                                       .same_arguments = opts->same_arguments});
    d->runs = mem_calloc(d->n_runs, sizeof *d->runs);
    for (size_t i = 0; i < d->n_runs; i++) {
        if (scopetree_build(&d->runs[i], opts->runs[i], NULL, err) != 0)
            return -1;
        d->lost += opts->runs[i]->stream->lost;
    }
    scopediff_list(d, opts->top);
    scopediff_judge(d);
    return 0;
}

void scopediff_done(struct scopediff *d)
{
    for (size_t i = 0; d->runs && i < d->n_runs; i++)
        scopetree_done(&d->runs[i]);
    free(d->runs);
    vec_done(&d->rows);
}
