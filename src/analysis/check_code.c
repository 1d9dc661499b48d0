/* check_code.c - rules about the instructions of hot code. */
#include "analysis/check_inner.h"

#include <math.h>

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

/* A conversion or two among hundreds of instructions say nothing of how the work is done. */
static bool hardly_computes(const struct simd_mix *m)
{
    return (m->packed_math + m->scalar_math) * 100 < m->n;
}

/* Why the code, which is there, does not decide the rule; NULL = it does. */
static const char *doubt_about(const struct rule *rule, const struct code_sum *sum)
{
    if (sum->samples < ENOUGH_FOR_BLOCKS && keeps(rule, &sum->hot) != keeps(rule, &sum->all))
        return "too few samples are in it to know its hot loops, and its code as a whole says "
               "otherwise";
    bool has_math = rule->range.unit == RULE_NONE ||
                    (!isnan(packed_of(&sum->hot)) && !hardly_computes(&sum->hot));
    if (!has_math && is_in(width_of(&sum->hot), &rule->width))
        return "its hot code computes with floating point in less than 1% of its instructions, "
               "so nothing of weight is packed or scalar";
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
    ret->why =
        doubt ? doubt
              : check_text(job, "its hot code, %s, is %s the expected range, %s", ret->observed,
                           ret->verdict == CHECK_HOLDS ? "inside" : "outside", ret->expected);
    return 0;
}
