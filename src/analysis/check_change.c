/* check_change.c - rules about what changed since the profile before. */
#include "analysis/check_inner.h"
#include "analysis/diff.h"
#include "analysis/difftest.h"
#include "analysis/runcost.h"
#include "base/calc.h"
#include "base/units.h"

#include <math.h>

/*
 * What the runs cost, where that compares: a function that has the same share of a run twice as
 * long costs twice as much.
 */
struct sides {
    struct flat_share before, after;
    struct runcost cost_before, cost_after;
    struct pairchance chance;
};

static bool sides_have_costs(const struct sides *s)
{
    return s->cost_before.kind != RUNCOST_UNKNOWN && s->cost_before.kind == s->cost_after.kind;
}

static double growth_of_whole(const struct sides *s)
{
    return sides_have_costs(s) ? s->cost_after.value / s->cost_before.value : 1;
}

static struct difftest_share share_of_side(const struct flat_share *s)
{
    return (struct difftest_share){s->share, s->n_effective};
}

/* The same interval as `kelvin diff` has. */
static struct interval change_of_cost(const struct sides *s)
{
    struct difftest_typical whole = {-calc_log(growth_of_whole(s)), 0};
    struct interval i =
        difftest_pair_ratio(share_of_side(&s->before), share_of_side(&s->after), whole);
    return (struct interval){i.low - 1, s->before.share > 0 ? i.high - 1 : INFINITY};
}

/*
 * What the two runs can differ by without any change of the program is the same as in `kelvin
 * diff`, and what is judged reaches to where that is taken off, and to where what the whole run
 * changed by is: a faster machine hides growth. A rule that asks for a change holds one that is too
 * small against the program only where more than that is missing.
 */
static struct interval wider_by(struct interval is, struct interval left)
{
    return (struct interval){is.low - left.low, isinf(is.high) ? 0 : left.high - is.high};
}

static struct interval cost_wider_by(const struct sides *s, struct interval change,
                                     struct interval bounds)
{
    struct interval cost = {change.low + 1, change.high + 1};
    struct interval left = pairchance_take_off(&s->chance, cost);
    double factor = s->chance.factor;
    double whole = fmin(fmax(growth_of_whole(s), 1 / PAIR_ALL), PAIR_ALL);
    left.low = fmin(left.low, cost.low / fmax(whole, 1));
    left.high = fmax(left.high, cost.high / fmin(whole, 1));
    if (bounds.high < 0)
        left.low = fmin(left.low, cost.low / factor);
    if (bounds.low > 0)
        left.high = fmax(left.high, cost.high * factor);
    return wider_by(cost, left);
}

/* Shares are relative to the rest already. POINTS: how far they are apart. */
static struct interval points_wider_by(const struct sides *s, struct interval points)
{
    double before = s->before.share, factor = s->chance.factor;
    struct interval left = points;
    if (points.low > 0)
        left.low = s->chance.same ? 0 : fmax(0, (before + points.low) / factor - before);
    if (points.high < 0)
        left.high = s->chance.same ? 0 : fmin(0, (before + points.high) * factor - before);
    return wider_by(points, left);
}

static const char *remedy_for(const struct sides *s, const struct check_value *v)
{
    if (v->wider_by.low > 0 || v->wider_by.high > 0)
        return "'kelvin diff' with four recordings per side proves smaller changes";
    return sides_have_costs(s) ? "several longer recordings on both sides would decide"
                               : "longer recordings on both sides would decide";
}

static struct check_value change_of(const struct sides *s, const struct rule *rule)
{
    const struct flat_share *before = &s->before, *after = &s->after;
    enum rule_unit unit = rule->range.unit;
    struct check_value v = {0};
    if (unit == RULE_POINTS) {
        struct difftest t = difftest_pair(share_of_side(before), share_of_side(after));
        v.value = after->share - before->share;
        v.interval = (struct interval){t.low, t.high};
        v.wider_by = points_wider_by(s, v.interval);
    } else {
        double share = before->share > 0 ? after->share / before->share : INFINITY;
        v.value = growth_of_whole(s) * share - 1;
        v.interval = change_of_cost(s);
        v.wider_by = cost_wider_by(s, v.interval, rule_bounds(rule));
    }
    v.remedy = remedy_for(s, &v);
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

/* Once, for all rules of a job. */
static const struct diff *pair_of(struct check_job *job)
{
    const struct selection *runs[] = {job->in->before, job->in->selection};
    if (!job->pair)
        job->pair = diff_build(
            &(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2, .min_share = 0.005});
    return job->pair;
}

int check_change(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    struct text name = {0};
    if (find_in_both(job, rule, &name) != 0)
        return -1;
    struct sides s = {share_of_name(job->before, name, rule), share_of_name(job->list, name, rule),
                      runcost_of(job->in->before), runcost_of(job->in->selection),
                      diff_pairchance(pair_of(job))};
    struct check_value v = change_of(&s, rule);
    v.exact = check_is_exact(job->in->selection) && check_is_exact(job->in->before);
    if (!v.exact && !(s.before.n_effective > 0 && s.after.n_effective > 0))
        v.doubt = CHECK_NO_SAMPLES;
    check_decide(job, &v, rule_bounds(rule), ret);
    tell_sides(job, &s, ret);
    return 0;
}
