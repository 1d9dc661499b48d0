/* check_growth.c - rules about how cost grows with the input. */
#include "analysis/check_inner.h"
#include "analysis/scaling.h"

#include <math.h>

/* A name is a function's, or else that of a scope of the program. */
static int growth_of(struct check_job *job, const struct rule *rule, struct scaling_cost *ret)
{
    enum flat_what what = rule->kind == RULE_GROWTH_SELF ? FLAT_SELF : FLAT_TOTAL;
    struct scaling *s = job->in->scaling;
    struct err err;
    if (!rule->function) {
        *ret = s->whole;
        return 0;
    }
    autofree bool *in_set = check_find(job->list, rule->function, &err);
    if (!in_set)
        return scaling_of_scope(s, text_of(rule->function), what, ret)
                   ? 0
                   : check_fail(job, rule, err.text);
    *ret = scaling_of(s, check_name(job, job->list, in_set), what);
    return 0;
}

int check_growth(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    struct scaling_cost c = {0};
    if (growth_of(job, rule, &c) != 0)
        return -1;
    struct check_value v = {.value = c.fits ? c.growth.exponent : NAN,
                            .interval = c.growth.interval,
                            .remedy = "more sizes, or longer runs, would decide"};
    if (!c.fits)
        v.doubt = "it was seen at fewer than two sizes";
    else if (isinf(c.growth.interval.low))
        v.doubt = "two sizes have an exponent but no interval: a third is needed";
    check_decide(job, &v, rule_bounds(rule), ret);
    return 0;
}
