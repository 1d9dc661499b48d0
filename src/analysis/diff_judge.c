/* diff_judge.c - CPU time, and what all tests together say. */
#include "analysis/diff_inner.h"

#include "analysis/difftest.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

const char *const diff_verdict_names[] = {"improved", "regressed", "unchanged", "inconclusive"};

/* Closer than this is as good as equal: of the CPU time; in shares of a function. */
#define SAME_CPU 0.02
#define SAME_SHARE 0.01

/*
 * One run a side does not show how much runs differ. On shared machines functions that wait for
 * memory cost a tenth to a fifth more in one run than in the next. So a cost has to change by more
 * than RUNS_DIFFER, at the near end of its interval, to count in the verdict on such a pair, and
 * all that counts must add up to LEAST_OF_PAIR of the time before: interrupts alone make a few
 * percent in one run and nothing in the next. With several runs LEAST_OF_RUNS will do.
 */
#define RUNS_DIFFER 1.2
#define LEAST_OF_PAIR 0.05
#define LEAST_OF_RUNS 0.002

static void __attribute__((format(printf, 3, 4)))
judge(struct diff *d, enum diff_verdict v, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(d->why, sizeof d->why, fmt, args);
    va_end(args);
    d->verdict = v;
}

/* --- CPU time --- */

static double mean_of(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return n ? sum / (double)n : 0;
}

static void test_cpu(struct diff_value *v, const double *seconds, const struct diff_opts *o)
{
    double fine, noise = 0;
    struct interval i = difftest_runs_interval(seconds, o->n_before, o->n_runs);
    struct difftest_family f = {
        .values = seconds, .noise = &noise, .m = 1, .n = o->n_runs, .n_before = o->n_before};
    difftest_runs(&f, &v->p, &fine);
    v->low = i.low;
    v->high = i.high;
    v->q = v->p;
    v->proven = v->p <= DIFF_LEVEL;
}

static void compare_cpu(struct diff *d, const struct diff_opts *o, const double *cpu_s)
{
    size_t nb = o->n_before;
    d->has_cpu = true;
    d->cpu_s = (struct diff_value){
        .before = mean_of(cpu_s, nb),
        .after = mean_of(cpu_s + nb, o->n_runs - nb),
        .low = NAN,
        .high = NAN,
        .cost_low = NAN,
        .cost_high = NAN,
        .p = NAN,
        .q = NAN,
    };
    d->cpu_s.cost = d->cpu_s.after / d->cpu_s.before;
    if (d->by_runs)
        test_cpu(&d->cpu_s, cpu_s, o);
}

/* Whether the CPU time alone decides. */
static bool judge_cpu(struct diff *d)
{
    const struct diff_value *c = &d->cpu_s;
    if (!d->by_runs || !d->has_cpu || !c->proven || !(c->before > 0))
        return false;
    judge(d, c->after < c->before ? DIFF_IMPROVED : DIFF_REGRESSED,
          "CPU time of a run changed by %+.1f %% (p = %.3g)", (c->cost - 1) * 100, c->p);
    return true;
}

/* --- costs --- */

/* What the proven changes add up to, in shares of the total before; and the largest of them. */
struct moved {
    double sum, most;
    const struct diff_entry *largest;
    size_t n;
};

static bool counts(const struct diff *d, const struct diff_value *v)
{
    bool far = v->cost_low > RUNS_DIFFER || v->cost_high < 1 / RUNS_DIFFER;
    return v->proven && (d->by_runs || far);
}

static struct moved add_up(const struct diff *d)
{
    struct moved m = {0};
    for (size_t i = 0; i < d->functions.n; i++) {
        const struct diff_entry *e = &d->functions.at[i];
        double change = e->self.after / d->typical - e->self.before;
        if (!counts(d, &e->self))
            continue;
        m.n++;
        m.sum += change;
        if (fabs(change) > m.most) {
            m.most = fabs(change);
            m.largest = e;
        }
    }
    return m;
}

/* "'parse' costs 10.2 % more" */
static void add_change(struct buf *b, const struct diff *d, const struct diff_entry *e)
{
    struct text name = diff_name(d, e);
    const struct diff_value *v = &e->self;
    buf_printf(b, "'%.*s' ", name.n < 100 ? (int)name.n : 100, name.at);
    if (v->before <= 0)
        buf_printf(b, "is new with %.2f %% of the %s", v->after * 100, d->noun);
    else if (v->after <= 0)
        buf_printf(b, "is gone, which had %.2f %% of the %s", v->before * 100, d->noun);
    else
        buf_printf(b, "costs %.1f %% %s next to the typical function", fabs(v->cost - 1) * 100,
                   v->cost > 1 ? "more" : "less");
}

static void judge_moved(struct diff *d, const struct moved *m)
{
    autofree char *rest =
        m->n > 1 ? mem_printf(", and %zu other%s changed", m->n - 1, m->n > 2 ? "s" : "") : NULL;
    autobuf struct buf what = {0};
    add_change(&what, d, m->largest);
    if (fabs(m->sum) < (d->by_runs ? LEAST_OF_RUNS : LEAST_OF_PAIR))
        judge(d, DIFF_INCONCLUSIVE, "%s%s, but all that adds up to %+.1f %% of the %s before%s",
              buf_cstr(&what), rest ? rest : "", m->sum * 100, d->noun,
              d->by_runs ? "" : ", which one run a side cannot tell from chance");
    else
        judge(d, m->sum > 0 ? DIFF_REGRESSED : DIFF_IMPROVED,
              "%s%s; that is %+.1f %% of the %s before", buf_cstr(&what), rest ? rest : "",
              m->sum * 100, d->noun);
}

/* --- nothing moved --- */

static bool is_same(const struct diff_value *v)
{
    return isnan(v->p) || (v->low >= -SAME_SHARE && v->high <= SAME_SHARE);
}

static bool shares_are_same(const struct diff *d)
{
    for (size_t i = 0; i < d->functions.n; i++)
        if (!is_same(&d->functions.at[i].self) || !is_same(&d->functions.at[i].total))
            return false;
    return d->n_tested > 0;
}

/* With several runs the CPU time has to be the same too. */
static bool cpu_is_same(const struct diff *d)
{
    const struct diff_value *c = &d->cpu_s;
    return !d->by_runs || !d->has_cpu ||
           (c->low >= -SAME_CPU * c->before && c->high <= SAME_CPU * c->before);
}

static void judge_rest(struct diff *d)
{
    if (!d->has_samples)
        judge(d, DIFF_INCONCLUSIVE, "the number of samples is not recorded: nothing to test with");
    else if (d->least_p > DIFF_LEVEL)
        judge(d, DIFF_INCONCLUSIVE, "so few runs cannot prove anything: p is at least %.3g",
              d->least_p);
    else if (shares_are_same(d) && cpu_is_same(d))
        judge(d, DIFF_UNCHANGED, "every share is the same within %g points%s", SAME_SHARE * 100,
              d->by_runs && d->has_cpu ? ", and the CPU time within 2 %" : "");
    else if (!d->by_runs)
        judge(
            d, DIFF_INCONCLUSIVE,
            "no cost changed by more than runs of one program may differ, a factor of %g, and the "
            "shares are not known to be equal",
            RUNS_DIFFER);
    else if (d->has_cpu)
        judge(d, DIFF_INCONCLUSIVE,
              "no cost changed by more than chance would, and CPU time changed by %+.1f %%, which "
              "may be chance too (p = %.3g)",
              (d->cpu_s.cost - 1) * 100, d->cpu_s.p);
    else
        judge(d, DIFF_INCONCLUSIVE,
              "no cost changed by more than chance would, and the runs differ too much to call "
              "them equal");
}

void diff_judge(struct diff *d, const struct diff_opts *o, const double *cpu_s)
{
    if (cpu_s)
        compare_cpu(d, o, cpu_s);
    struct moved m = add_up(d);
    if (judge_cpu(d))
        return;
    if (m.n)
        judge_moved(d, &m);
    else
        judge_rest(d);
}
