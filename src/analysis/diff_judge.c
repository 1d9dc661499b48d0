/*
 * diff_judge.c - what all tests together say. A verdict never says the opposite of the CPU time.
 */
#include "analysis/diff_inner.h"

#include "base/units.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

const char *const diff_verdict_names[] = {"improved", "regressed", "unchanged", "inconclusive"};

/* Shares closer than this are as good as equal. */
#define SAME_SHARE 0.01

static void __attribute__((format(printf, 3, 4)))
judge(struct diff *d, enum diff_verdict v, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(d->why, sizeof d->why, fmt, args);
    va_end(args);
    d->verdict = v;
}

/* --- words --- */

static void add_seconds(struct buf *b, double s, double largest)
{
    if (largest >= 0.1)
        buf_printf(b, largest >= 100 ? "%.1f s" : largest >= 10 ? "%.2f s" : "%.3f s", s);
    else
        buf_printf(b, largest >= 0.01 ? "%.1f ms" : "%.3f ms", s * 1e3);
}

/* Small counts are means of runs with their decimals. */
static void add_amounts(struct buf *b, enum scaled unit, double before, double after)
{
    char from[UNITS_MAX], to[UNITS_MAX];
    if (unit == SCALED_COUNT && fmax(before, after) < 1e6)
        buf_printf(b, "%.6g -> %.6g", before, after);
    else
        buf_printf(b, "%s -> %s", units_scaled(from, before, unit), units_scaled(to, after, unit));
}

void diff_add_costs(struct buf *b, const struct diff *d, double before, double after)
{
    double largest = fmax(before, after);
    if (!d->has_cpu) {
        add_amounts(b, d->unit, before, after);
        return;
    }
    add_seconds(b, before, largest);
    buf_str(b, " -> ");
    add_seconds(b, after, largest);
}

/* "CPU 1.480 s -> 0.800 s (-45.9%, 95% interval -47.1 to -44.8%)" */
static void add_whole(struct buf *b, const struct diff *d)
{
    const struct diff_value *w = &d->whole;
    buf_str(b, d->has_cpu ? "CPU " : "total ");
    diff_add_costs(b, d, w->before, w->after);
    buf_printf(b, " (%+.1f%%", units_change(w->cost));
    if (isfinite(w->cost_high))
        buf_printf(b, ", 95%% interval %+.1f to %+.1f%%", units_change(w->cost_low),
                   units_change(w->cost_high));
    buf_str(b, ")");
}

/* "'parse' 1.200 s -> 0.540 s (-55.0%)" */
static void add_change(struct buf *b, const struct diff *d, const struct diff_entry *e)
{
    struct text name = diff_name(d, e);
    const struct diff_value *v = &e->self;
    buf_printf(b, "'%.*s' ", name.n < 100 ? (int)name.n : 100, name.at);
    if (e->total.before <= 0)
        buf_printf(b, "was not seen before and now has %.2f%% of the %s", v->after * 100, d->noun);
    else if (e->total.after <= 0)
        buf_printf(b, "was not seen after (it had %.2f%% of the %s)", v->before * 100, d->noun);
    else if (d->scale == DIFF_BY_TYPICAL)
        buf_printf(b, "got %.1f%% %s relative to the rest of the program", fabs(v->cost - 1) * 100,
                   v->cost > 1 ? "more expensive" : "cheaper");
    else {
        diff_add_costs(b, d, v->before_cost, v->after_cost);
        if (v->before <= 0) /* it only called others before */
            return;
        if (v->cost >= 3)
            buf_printf(b, " (x%.3g)", v->cost);
        else
            buf_printf(b, " (%+.1f%%)", (v->cost - 1) * 100);
    }
}

/* What every reason starts with: the whole where it is known. */
static void add_whole_first(struct buf *b, const struct diff *d)
{
    if (d->scale == DIFF_BY_TYPICAL)
        return;
    add_whole(b, d);
    buf_str(b, "; ");
}

/* --- functions --- */

/* What the proven changes add up to, as a part of the whole before; and the largest of them. */
struct moved {
    double sum, most;
    const struct diff_entry *largest;
    size_t n;
};

static double change_of(const struct diff *d, const struct diff_value *v)
{
    return d->scale == DIFF_BY_TYPICAL ? v->after / d->typical - v->before
                                       : (v->after_cost - v->before_cost) / d->whole.before;
}

/* WAY: 0 for all, else only those that grew (1) or shrank (-1). */
static struct moved add_up(const struct diff *d, int way)
{
    struct moved m = {0};
    for (size_t i = 0; i < d->functions.n; i++) {
        const struct diff_entry *e = &d->functions.at[i];
        double change = change_of(d, &e->self);
        if (!e->self.proven || change * way < 0)
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

const struct diff_entry *diff_most_grown(const struct diff *d)
{
    return add_up(d, 1).largest;
}

/* "'parse' ... and 3 other functions changed". The one that is named went the way of the sum: a
 * function that got faster is no reason for "regressed". */
static void add_moved(struct buf *b, const struct diff *d, const struct moved *m)
{
    add_change(b, d, add_up(d, m->sum > 0 ? 1 : -1).largest);
    if (m->n > 1)
        buf_printf(b, ", and %zu other function%s changed", m->n - 1, m->n > 2 ? "s" : "");
}

/* --- the whole --- */

static bool judge_whole(struct diff *d)
{
    autobuf struct buf b = {0};
    bool grew = d->whole.cost > 1;
    if (!d->whole.proven)
        return false;
    add_whole(&b, d);
    struct moved m = add_up(d, grew ? 1 : -1);
    if (m.n)
        buf_str(&b, "; largest proven change: ");
    if (m.n)
        add_change(&b, d, m.largest);
    judge(d, grew ? DIFF_REGRESSED : DIFF_IMPROVED, "%s", buf_cstr(&b));
    return true;
}

/* Of several runs by their interval; of a pair no interval is known, and the shares decide too. */
static bool whole_is_same(const struct diff *d)
{
    const struct diff_value *w = &d->whole;
    double band = d->no_change;
    if (d->by_runs)
        return w->cost_low >= 1 - band && w->cost_high <= 1 + band;
    return w->cost >= 1 - band && w->cost <= 1 + band;
}

/* --- what moved --- */

/* Whether the whole went the same way as the sum, and in a pair by at least half as much. */
static bool whole_agrees(const struct diff *d, const struct moved *m)
{
    double change = d->whole.cost - 1;
    if (d->scale == DIFF_BY_TYPICAL)
        return true;
    return change * m->sum > 0 && (d->by_runs || fabs(change) >= fabs(m->sum) / 2);
}

/* Where the whole is known, that says how much; else the sum has to. */
static void judge_sum(struct diff *d, const struct moved *m, const char *why)
{
    enum diff_verdict v = m->sum > 0 ? DIFF_REGRESSED : DIFF_IMPROVED;
    if (d->scale != DIFF_BY_TYPICAL)
        judge(d, v, "%s", why);
    else
        judge(d, v, "%s; together %+.1f%% of the %s before", why, m->sum * 100, d->noun);
}

static void judge_moved(struct diff *d, const struct moved *m)
{
    autobuf struct buf what = {0};
    bool known = d->scale != DIFF_BY_TYPICAL;
    double least = d->by_runs ? d->band : diff_pair_part(d);
    add_whole_first(&what, d);
    add_moved(&what, d, m);
    const char *why = buf_cstr(&what);
    if (known && d->by_runs && whole_is_same(d))
        judge(d, DIFF_UNCHANGED, "%s; the whole is within the %g%% that count as no change", why,
              d->no_change * 100);
    else if (fabs(m->sum) < least)
        judge(d, DIFF_INCONCLUSIVE, "%s; together %+.1f%% of the %s before, less than the %g%% %s",
              why, m->sum * 100, d->noun, least * 100,
              d->by_runs && d->band > d->no_change
                  ? "that a busy machine can change from one side to the other"
              : d->by_runs ? "that count as no change"
              : d->busy    ? "that two runs of the same program can differ by on a busy machine"
                           : "that two runs of the same program can differ by");
    else if (!whole_agrees(d, m))
        judge(d, DIFF_INCONCLUSIVE,
              "%s; these changes add up to %+.1f%%, which the %s does not confirm", why,
              m->sum * 100, d->has_cpu ? "CPU time" : "total");
    else
        judge_sum(d, m, why);
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

/* A whole that changed by this factor asks for a word on why that is no verdict. */
#define MUCH_OF_PAIR 1.2

/* Two runs of one program differed by as much. */
#define MUCH_OF_ALL 2.0

static bool all_moved(const struct diff *d)
{
    double cost = d->whole.cost;
    return d->has_cpu && (cost > MUCH_OF_PAIR || cost < 1 / MUCH_OF_PAIR);
}

/* A whole that grew fourfold is not explained by what runs of one program can differ by. */
static void add_why_moved_is_nothing(struct buf *b, const struct diff *d)
{
    double cost = d->whole.cost;
    if (d->has_rest)
        buf_printf(b, "no %s is proven to have changed more than the rest", d->each);
    else
        buf_printf(b, "no %s is proven to have changed by a factor of %g", d->each, PAIR_ALL);
    if (cost < MUCH_OF_ALL && cost > 1 / MUCH_OF_ALL)
        buf_printf(b,
                   ", and the CPU time of one program can differ by a factor of %g between two "
                   "runs",
                   MUCH_OF_ALL);
    else if (d->has_rest)
        buf_printf(b, ", nor by a factor of %g, which would count by itself", PAIR_ALL);
}

static void judge_unproven(struct diff *d)
{
    autobuf struct buf b = {0};
    add_whole_first(&b, d);
    if (!d->has_samples && d->exact)
        buf_str(&b, "counts are exact, but one run per side does not show by how much runs "
                    "differ");
    else if (!d->by_runs && d->no_samples)
        buf_str(&b, "there are no samples on one side, so there is nothing to compare");
    else if (!d->has_samples)
        buf_str(&b, "the number of samples is not recorded: nothing to test with");
    else if (diff_has_few_runs(d))
        buf_str(&b, "too few runs to prove anything: record at least four per side");
    else if (d->identical)
        buf_str(&b, "both sides are the same recording");
    else if (d->same)
        buf_str(&b, "both sides are the same program with the same arguments, and one run of each "
                    "does not show by how much its runs differ");
    else if (!d->by_runs && all_moved(d))
        add_why_moved_is_nothing(&b, d);
    else if (!d->by_runs)
        buf_printf(&b,
                   "no %s changed more than it can between two runs of the same program, and one "
                   "run per side cannot show that nothing changed",
                   d->each);
    else
        buf_printf(&b, "no change beyond %g%% is proven, nor are these runs enough to rule one out",
                   d->band * 100);
    judge(d, DIFF_INCONCLUSIVE, "%s", buf_cstr(&b));
}

static void judge_same(struct diff *d)
{
    autobuf struct buf b = {0};
    if (d->scale != DIFF_BY_TYPICAL) {
        add_whole(&b, d);
        buf_printf(&b, " is within the %g%% that count as no change, and ", d->no_change * 100);
    }
    if (d->scale == DIFF_BY_TYPICAL || !d->by_runs)
        buf_printf(&b, "every share is the same within %g point", SAME_SHARE * 100);
    else
        buf_str(&b, "no function is proven to have changed");
    judge(d, DIFF_UNCHANGED, "%s", buf_cstr(&b));
}

static void judge_rest(struct diff *d)
{
    bool known = d->scale != DIFF_BY_TYPICAL, runs = known && d->by_runs;
    bool tested = d->has_samples && !diff_has_few_runs(d);
    if (tested && (!known || whole_is_same(d)) && (runs || shares_are_same(d)))
        judge_same(d);
    else
        judge_unproven(d);
}

static void judge_unnamed(struct diff *d)
{
    autobuf struct buf b = {0};
    add_whole_first(&b, d);
    struct text all = buf_text(&d->unnamed), line = text_cut(&all, '\n');
    buf_printf(&b, "%.*s%s, so its functions cannot be compared", TEXT_ARG(line),
               all.n ? " (and others)" : "");
    judge(d, DIFF_INCONCLUSIVE, "%s", buf_cstr(&b));
}

static void find_common(struct diff *d)
{
    for (size_t i = 0; i < d->functions.n; i++) {
        const struct diff_entry *e = &d->functions.at[i];
        if (!e->renamed && !(e->total.before > 0 && e->total.after > 0))
            continue;
        d->common[0] += e->self.before;
        d->common[1] += e->self.after;
    }
}

/* What moved between two programs is no change of either. */
static void judge_others(struct diff *d)
{
    autobuf struct buf b = {0};
    add_whole_first(&b, d);
    buf_printf(&b, "hardly a %s is found on both sides", d->each);
    judge(d, DIFF_INCONCLUSIVE, "%s", buf_cstr(&b));
}

void diff_judge(struct diff *d)
{
    find_common(d);
    if (judge_whole(d))
        return;
    struct moved m = add_up(d, 0);
    if (d->unnamed.n)
        judge_unnamed(d);
    else if (diff_is_of_others(d))
        judge_others(d);
    else if (m.n)
        judge_moved(d, &m);
    else
        judge_rest(d);
}
