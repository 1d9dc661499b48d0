/* check_more.c - rules that need more than one profile: changes, code and growth. */
#include "analysis/check_inner.h"
#include "analysis/difftest.h"
#include "analysis/scaling.h"

#include <math.h>

/* --- changes --- */

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
    struct check_value v = {.remedy = "longer recordings on both sides would tell"};
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

/* --- code --- */

/* With this many samples in a function its hot blocks are known. */
enum { ENOUGH_FOR_BLOCKS = 30 };

struct code_sum {
    struct simd_mix all, hot;
    size_t n;        /* functions found */
    int64_t samples; /* in them; 0 = not known */
    struct text inlined_into;
};

static bool holds_pc(const struct simd_row *row, const struct frame *f)
{
    return row->mapping.i == f->mapping.i && f->pc - row->start < row->size_bytes;
}

static void add_code_at(struct code_sum *sum, const struct check_input *in, const struct frame *f,
                        bool *seen)
{
    for (size_t i = 0; i < in->n_code; i++) {
        if (seen[i] || !holds_pc(&in->code[i], f))
            continue;
        seen[i] = true;
        simd_add(&sum->all, &in->code[i].mix);
        simd_add(&sum->hot, &in->code[i].hot);
        sum->n++;
    }
}

/* By address: names in symbol tables and in debug information need not be the same. */
static struct code_sum sum_code(const struct check_job *job, const bool *in_set)
{
    const struct profile *p = job->in->selection->profile;
    struct code_sum sum = {0};
    autofree bool *seen = mem_calloc(job->in->n_code + 1, sizeof *seen);
    for (uint32_t i = 0; i < p->frames.n; i++) {
        const struct frame *f = &p->frames.at[i];
        struct frame_id id = {i};
        uint32_t outer = flat_row_of(job->list, id, 0);
        if (outer == FLAT_NOBODY)
            continue;
        if (in_set[outer] && f->pc)
            add_code_at(&sum, job->in, f, seen);
        for (size_t k = 1; k < flat_count(f); k++) {
            uint32_t row = flat_row_of(job->list, id, k);
            if (row != FLAT_NOBODY && in_set[row])
                sum.inlined_into = flat_name(job->list, outer);
        }
    }
    for (uint32_t i = 0; i < job->list->rows.n; i++)
        if (in_set[i])
            sum.samples += job->list->rows.at[i].self_count;
    return sum;
}

/* The width that at least half of the vector instructions have. */
static double width_of(const struct simd_mix *m)
{
    uint64_t n512 = m->width[2], n256 = n512 + m->width[1], n = n256 + m->width[0];
    return !n ? 0 : 2 * n512 >= n ? 512 : 2 * n256 >= n ? 256 : 128;
}

/* NAN where nothing computes with floating point. */
static double packed_of(const struct simd_mix *m)
{
    uint64_t math = m->packed_math + m->scalar_math;
    return math ? (double)m->packed_math / (double)math : NAN;
}

static bool is_in(double value, const struct rule_range *r)
{
    return r->unit == RULE_NONE || (value >= r->is.low && value <= r->is.high);
}

static bool keeps(const struct rule *rule, const struct simd_mix *m)
{
    return is_in(packed_of(m), &rule->range) && is_in(width_of(m), &rule->width);
}

static const char *no_code(struct check_job *job, const struct code_sum *sum)
{
    if (sum->inlined_into.n)
        return check_text(job, "it is inlined wherever it ran: write the rule for '%.*s'",
                          TEXT_ARG(sum->inlined_into));
    if (*job->in->no_code)
        return check_text(job, "its code cannot be read: %s", job->in->no_code);
    return "no sample is in code of its own, so it is not known which code that is";
}

/* Why the code, which is there, does not decide the rule; NULL = it does. */
static const char *doubt_about(const struct rule *rule, const struct code_sum *sum)
{
    if (sum->samples < ENOUGH_FOR_BLOCKS && keeps(rule, &sum->hot) != keeps(rule, &sum->all))
        return "too few samples are in it to know its hot loops, and its code as a whole says "
               "otherwise";
    bool has_math = rule->range.unit == RULE_NONE || !isnan(packed_of(&sum->hot));
    if (!has_math && is_in(width_of(&sum->hot), &rule->width))
        return "its hot code does not compute with floating point, so none of it is packed or "
               "scalar";
    return NULL;
}

/* "100% packed, 256 bits" */
static void add_code(struct buf *b, const struct rule *rule, const struct simd_mix *m)
{
    if (rule->range.unit != RULE_NONE) {
        if (isnan(packed_of(m)))
            buf_str(b, "no floating point");
        else
            check_number(b, packed_of(m), RULE_SHARE);
        buf_str(b, isnan(packed_of(m)) ? "" : " packed");
    }
    if (rule->width.unit != RULE_NONE) {
        buf_str(b, rule->range.unit != RULE_NONE ? ", " : "");
        if (width_of(m) > 0)
            check_number(b, width_of(m), RULE_BITS);
        else
            buf_str(b, "no vectors");
    }
}

static void expect_code(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    autobuf struct buf b = {0};
    if (rule->range.unit != RULE_NONE) {
        check_range(&b, rule->range.is, RULE_SHARE);
        buf_str(&b, rule->width.unit != RULE_NONE ? " packed, " : " packed");
    }
    if (rule->width.unit != RULE_NONE)
        check_range(&b, rule->width.is, RULE_BITS);
    ret->expected = check_text(job, "%s", buf_cstr(&b));
}

int check_code(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    struct err err;
    autofree bool *in_set = check_find(job->list, rule->function, &err);
    if (!in_set)
        return check_fail(job, rule, err.text);
    struct code_sum sum = sum_code(job, in_set);
    const char *doubt = sum.n ? doubt_about(rule, &sum) : no_code(job, &sum);
    autobuf struct buf b = {0};
    add_code(&b, rule, &sum.hot);
    expect_code(job, rule, ret);
    bool by_width = rule->range.unit == RULE_NONE;
    ret->unit = sum.n ? by_width ? RULE_BITS : RULE_SHARE : RULE_NONE;
    ret->value = by_width ? width_of(&sum.hot) : packed_of(&sum.hot);
    ret->interval = (struct interval){ret->value, ret->value};
    ret->verdict = doubt ? CHECK_INCONCLUSIVE : keeps(rule, &sum.hot) ? CHECK_HOLDS : CHECK_FAILS;
    ret->observed = check_text(job, "%s", sum.n ? buf_cstr(&b) : "not known");
    ret->why = doubt
                   ? doubt
                   : check_text(job, "its hot code is %s the expected range, %s",
                                ret->verdict == CHECK_HOLDS ? "inside" : "outside", ret->expected);
    return 0;
}

/* --- growth --- */

static int growth_of(struct check_job *job, const struct rule *rule, struct scaling_cost *ret)
{
    struct err err;
    if (!rule->function) {
        *ret = job->in->scaling->whole;
        return 0;
    }
    autofree bool *in_set = check_find(job->list, rule->function, &err);
    if (!in_set)
        return check_fail(job, rule, err.text);
    *ret = scaling_of(job->in->scaling, check_name(job, job->list, in_set),
                      rule->kind == RULE_GROWTH_SELF ? FLAT_SELF : FLAT_TOTAL);
    return 0;
}

int check_growth(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    struct scaling_cost c = {0};
    if (growth_of(job, rule, &c) != 0)
        return -1;
    struct check_value v = {.value = c.fits ? c.growth.exponent : NAN,
                            .interval = c.growth.interval,
                            .remedy = "more sizes, or longer runs, would tell"};
    if (!c.fits)
        v.doubt = "it was met at fewer than two sizes";
    else if (isinf(c.growth.interval.low))
        v.doubt = "two sizes have an exponent but no interval: a third is needed";
    check_decide(job, &v, rule_bounds(rule), ret);
    return 0;
}
