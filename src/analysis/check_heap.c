/* check_heap.c - rules about the heap: bytes and blocks, of all of it or below a function. */
#include "analysis/check_inner.h"

#include <math.h>

static const char *column_of_rule(enum rule_kind kind)
{
    switch (kind) {
    case RULE_PEAK:
        return "peak";
    case RULE_LEAKED:
        return "leaked";
    case RULE_ALLOCATED:
        return "allocated";
    case RULE_TEMPORARY:
        return "temporary";
    default:
        return "allocations";
    }
}

/* The column of the stream "heap". */
static bool find_heap(const struct profile *p, const char *column, struct value_ref *ret)
{
    for (int i = 0; i < (int)p->streams.n; i++) {
        const struct stream *s = profile_stream(p, i);
        for (int k = 0; text_is(profile_str(p, s->event), "heap") && k < s->n_types; k++) {
            *ret = (struct value_ref){i, k};
            if (text_is(profile_str(p, s->types[k].name), column))
                return true;
        }
    }
    return false;
}

/* What of the column is below a function. */
struct below {
    double share;
    bool found;     /* on a stack of the column */
    bool elsewhere; /* in the profile at least: it is no misspelled name */
};

static struct below share_below(struct check_job *job, const struct selection *s,
                                const char *function, struct err *err)
{
    struct below b = {0};
    struct flat *list = flat_build(s, FLAT_FUNCTION);
    autofree bool *in_set = check_find(list, function, err);
    autofree bool *elsewhere = in_set ? NULL : check_find(job->list, function, err);
    b.share = in_set ? flat_share_of_set(list, in_set, FLAT_TOTAL).share : 0;
    b.found = in_set != NULL;
    b.elsewhere = elsewhere != NULL;
    flat_free(list);
    return b;
}

/* Blocks are sampled one by one: the error of a sum goes with the root of their number. */
static struct interval interval_of(const struct selection *s, double value, double share)
{
    double n = (double)s->n_samples * share;
    double half = n > 0 ? 1.96 / sqrt(n) : INFINITY;
    return (struct interval){value * fmax(0, 1 - half), n > 0 ? value * (1 + half) : INFINITY};
}

int check_heap(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    const struct profile *p = job->in->heap ? job->in->heap : job->in->selection->profile;
    struct value_ref ref;
    struct err err;
    struct below below = {1, true, true};
    if (!find_heap(p, column_of_rule(rule->kind), &ref))
        return check_fail(job, rule,
                          "there is no heap in the profile: record with 'kelvin record --heap'");
    struct selection s = selection_all(p, ref);
    if (rule->function)
        below = share_below(job, &s, rule->function, &err);
    if (!below.found && !below.elsewhere)
        return check_fail(job, rule, err.text);
    double whole = (double)s.total / pow(10, profile_value(p, ref)->decimals);
    struct check_value v = {.value = round(below.share * whole), .exact = check_is_exact(&s)};
    v.interval = interval_of(&s, v.value, below.share);
    if (!below.found && !v.exact)
        v.doubt = "no sampled block was allocated below it, which does not show that none was";
    check_decide(job, &v, rule_bounds(rule), ret);
    if (!below.found && v.exact)
        ret->why = check_text(job, "%s is on no stack of an allocation", rule->function);
    selection_done(&s);
    return 0;
}
