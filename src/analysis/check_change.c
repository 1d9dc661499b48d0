/* check_change.c - rules about what changed since the profile before. */
#include "analysis/check_inner.h"
#include "analysis/difftest.h"

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

static struct check_value change_of(const struct flat_share *before, const struct flat_share *after,
                                    enum rule_unit unit)
{
    struct check_value v = {.remedy = "longer recordings on both sides would decide"};
    struct difftest t = difftest_pair((struct difftest_share){before->share, before->n_effective},
                                      (struct difftest_share){after->share, after->n_effective});
    if (unit == RULE_POINTS) {
        v.value = after->share - before->share;
        v.interval = (struct interval){t.low, t.high};
    } else {
        v.value = before->share > 0 ? after->share / before->share - 1 : INFINITY;
        v.interval = relative(before, after);
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

/* "12.0% before, 14.1% now: its 95% interval..." */
static void tell_sides(struct check_job *job, const struct flat_share *before,
                       const struct flat_share *after, struct check_result *ret)
{
    autobuf struct buf b = {0};
    check_number(&b, before->share, RULE_SHARE);
    buf_str(&b, " before, ");
    check_number(&b, after->share, RULE_SHARE);
    buf_str(&b, " now");
    if (isinf(ret->value)) { /* there is no factor from nothing */
        ret->observed = "new";
        ret->why = check_text(job, "%s: it was on no stack before%s", buf_cstr(&b),
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
    struct flat_share before = share_of_name(job->before, name, rule);
    struct flat_share after = share_of_name(job->list, name, rule);
    struct check_value v = change_of(&before, &after, rule->range.unit);
    v.exact = check_is_exact(job->in->selection) && check_is_exact(job->in->before);
    if (!v.exact && !(before.n_effective > 0 && after.n_effective > 0))
        v.doubt = CHECK_NO_SAMPLES;
    check_decide(job, &v, rule_bounds(rule), ret);
    tell_sides(job, &before, &after, ret);
    return 0;
}
