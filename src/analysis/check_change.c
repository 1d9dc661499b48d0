/* check_change.c - rules about what changed since the profile before. */
#include "analysis/check_inner.h"
#include "analysis/difftest.h"
#include "analysis/runcost.h"
#include "base/units.h"

#include <math.h>

/*
 * The interval of after / before - 1, from the intervals of both (Donner and Zou's MOVER, as
 * Newcombe's is for the difference). Without a bound above where before may be nothing.
 */
static struct interval relative(const struct flat_share *before, const struct flat_share *after)
{
    struct interval x = after->interval, y = before->interval;
    double p = after->share, q = before->share, both = p * q;
    double low_after = x.low * (2 * p - x.low), high_after = x.high * (2 * p - x.high);
    double low_before = y.low * (2 * q - y.low), high_before = y.high * (2 * q - y.high);
    struct interval r = {0, INFINITY};
    if (q <= 0)
        r.low = y.high > 0 ? x.low / y.high : 0;
    else if (x.low > 0)
        r.low = low_after / (both + sqrt(fmax(0, both * both - low_after * high_before)));
    if (q > 0 && low_before > 0)
        r.high = (both + sqrt(fmax(0, both * both - high_after * low_before))) / low_before;
    return (struct interval){r.low - 1, r.high - 1};
}

/*
 * What the runs cost, where that compares: a function that has the same share of a run twice as
 * long costs twice as much.
 */
struct sides {
    struct flat_share before, after;
    struct runcost cost_before, cost_after;
};

static bool sides_have_costs(const struct sides *s)
{
    return s->cost_before.kind != RUNCOST_UNKNOWN && s->cost_before.kind == s->cost_after.kind;
}

static double growth_of_whole(const struct sides *s)
{
    return sides_have_costs(s) ? s->cost_after.value / s->cost_before.value : 1;
}

/*
 * The cost of one run per side may differ by so much without any change of the program (see
 * diff.h), so the interval reaches to where that much of it is taken off.
 */
#define RUNS_DIFFER 1.2

static struct interval change_of_cost(const struct sides *s)
{
    struct interval shares = relative(&s->before, &s->after);
    double whole = growth_of_whole(s);
    double rest = whole / fmin(fmax(whole, 1 / RUNS_DIFFER), RUNS_DIFFER);
    return (struct interval){fmin(whole, rest) * (shares.low + 1) - 1,
                             fmax(whole, rest) * (shares.high + 1) - 1};
}

static struct check_value change_of(const struct sides *s, enum rule_unit unit)
{
    const struct flat_share *before = &s->before, *after = &s->after;
    struct check_value v = {.remedy = sides_have_costs(s) && unit != RULE_POINTS
                                          ? "several longer recordings on both sides would decide"
                                          : "longer recordings on both sides would decide"};
    struct difftest t = difftest_pair((struct difftest_share){before->share, before->n_effective},
                                      (struct difftest_share){after->share, after->n_effective});
    if (unit == RULE_POINTS) {
        v.value = after->share - before->share;
        v.interval = (struct interval){t.low, t.high};
    } else {
        double share = before->share > 0 ? after->share / before->share : INFINITY;
        v.value = growth_of_whole(s) * share - 1;
        v.interval = change_of_cost(s);
    }
    return v;
}

/* Where the function is in either profile. */
static int find_in_both(struct check_job *job, const struct rule *rule, struct text *ret_name)
{
    struct err err, other;
    autofree bool *after = check_find(job->list, rule->function, &err);
    autofree bool *before = after ? NULL : check_find(job->before, rule->function, &other);
    if (!after && !before)
        return check_fail(job, rule, err.text);
    *ret_name = after ? check_name(job, job->list, after) : check_name(job, job->before, before);
    return 0;
}

static struct flat_share share_of_name(const struct flat *list, struct text name,
                                       const struct rule *rule)
{
    autofree bool *in_set = mem_calloc(list->rows.n + 1, sizeof *in_set);
    flat_find_canonical(list, name, in_set);
    return flat_share_of_set(list, in_set, rule->kind == RULE_DIFF_SELF ? FLAT_SELF : FLAT_TOTAL);
}

/* "1.21 s (95.5%)", or the share alone. */
static void add_side(struct buf *b, const struct sides *s, const struct flat_share *share,
                     double cost)
{
    char text[UNITS_MAX];
    bool seconds = sides_have_costs(s) && s->cost_before.kind == RUNCOST_CPU;
    if (seconds)
        buf_printf(b, "%s (", units_scaled(text, 1e9 * share->share * cost, SCALED_NS));
    check_number(b, share->share, RULE_SHARE);
    buf_str(b, seconds ? ")" : "");
}

/* "1.21 s (12.0%) before, 1.45 s (14.1%) now: its 95% interval..." */
static void tell_sides(struct check_job *job, const struct sides *s, struct check_result *ret)
{
    autobuf struct buf b = {0};
    add_side(&b, s, &s->before, s->cost_before.value);
    buf_str(&b, " before, ");
    add_side(&b, s, &s->after, s->cost_after.value);
    buf_str(&b, " now");
    if (isinf(ret->value)) { /* there is no factor from nothing */
        ret->observed = "new";
        ret->why = check_text(job, "%s: never seen before%s", buf_cstr(&b),
                              ret->verdict == CHECK_INCONCLUSIVE ? ", which may be chance" : "");
    } else {
        ret->why = check_text(job, "%s: %s", buf_cstr(&b), ret->why);
    }
}

int check_change(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    struct text name = {0};
    if (find_in_both(job, rule, &name) != 0)
        return -1;
    struct sides s = {share_of_name(job->before, name, rule), share_of_name(job->list, name, rule),
                      runcost_of(job->in->before), runcost_of(job->in->selection)};
    struct check_value v = change_of(&s, rule->range.unit);
    v.exact = check_is_exact(job->in->selection) && check_is_exact(job->in->before);
    if (!v.exact && !(s.before.n_effective > 0 && s.after.n_effective > 0))
        v.doubt = CHECK_NO_SAMPLES;
    check_decide(job, &v, rule_bounds(rule), ret);
    tell_sides(job, &s, ret);
    return 0;
}
