/* check_heap.c - rules about the heap: bytes and blocks, of all of it or below a function. */
#include "analysis/check_inner.h"
#include "analysis/heapstory.h"
#include "analysis/heapwrappers.h"
#include "analysis/scopejoin.h"
#include "analysis/suppressions.h"
#include "base/calc.h"
#include "model/heapstream.h"
#include "model/meta.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum heap_column column_of_rule(enum rule_kind kind)
{
    switch (kind) {
    case RULE_PEAK:
        return HEAP_PEAK;
    case RULE_LEAKED:
        return HEAP_LEAKED;
    case RULE_ALLOCATED:
        return HEAP_ALLOCATED;
    case RULE_TEMPORARY:
        return HEAP_TEMPORARY;
    default:
        return HEAP_ALLOCATIONS;
    }
}

static enum rule_unit unit_of_rule(enum rule_kind kind)
{
    return kind == RULE_ALLOCATIONS || kind == RULE_TEMPORARY ? RULE_BLOCKS
           : kind == RULE_ALLOCS_PER_OP                       ? RULE_PER_OP
                                                              : RULE_BYTES;
}

/* What of the column is below a function. */
struct below {
    double share;
    bool found;     /* on a stack of the column */
    bool elsewhere; /* in the profile at least: it is no misspelled name */
};

static bool is_scope(const void *name, const char *scope)
{
    return strcmp(name, scope) == 0;
}

/* What of the column was allocated in a scope of the program. */
static struct below share_in_scope(const struct selection *s, const char *scope)
{
    autofree uint8_t *in = scopejoin_label_sets(s->profile, is_scope, scope);
    const struct attrs_id *labels = s->stream->rows.attrs;
    double sum = 0;
    for (size_t i = 0; labels && i < s->n_rows; i++) {
        size_t row = selection_row(s, i);
        sum += in[labels[row].i] ? (double)selection_values(s)[row] : 0;
    }
    return (struct below){s->total ? sum / (double)s->total : 0, sum > 0, true};
}

static struct below share_below(struct check_job *job, const struct selection *s,
                                const char *function, struct err *err)
{
    struct below b = {0};
    struct flat *list = flat_build(s, FLAT_FUNCTION);
    autofree bool *in_set = check_find(list, function, err);
    autofree bool *elsewhere = in_set ? NULL : check_find(job->list, function, err);
    b.share = in_set ? flat_share_of_set(list, in_set, FLAT_TOTAL).share : 0;
    b.found = in_set != NULL;
    b.elsewhere = elsewhere ||
                  (!in_set && job->in->has_function && job->in->has_function(s->profile, function));
    flat_free(list);
    return b;
}

/* Blocks are sampled one by one: their number is that of a Poisson distribution, few or many. */
static struct interval interval_of(const struct selection *s, double value, double share)
{
    double n = (double)s->n_samples * share;
    if (!(n > 0))
        return (struct interval){0, INFINITY};
    struct interval seen = stats_poisson(n, STATS_Z95);
    return (struct interval){value * seen.low / n, value * seen.high / n};
}

/* Numbers of blocks rest on the few samples of small ones: heapstory_counts.c. */
static struct interval count_interval_of(const struct selection *s, double value, double share)
{
    const struct rows *rows = &s->stream->rows;
    uint64_t sample_bytes = 0;
    int samples = heapstream_find_column(s->profile, s->value.stream, HEAP_SAMPLES);
    int blocks = heapstream_find_column(s->profile, s->value.stream, HEAP_ALLOCATIONS);
    meta_find_u64(&s->profile->meta, META_HEAP_SAMPLE_BYTES, &sample_bytes);
    if (samples < 0 || blocks < 0 || !sample_bytes)
        return interval_of(s, value, share);
    double variance[STORY_COUNTS] = {0}, unit = calc_ten_to(s->stream->types[blocks].decimals);
    for (size_t i = 0; i < rows->n; i++) {
        int64_t row[STORY_VALUES] = {[STORY_ALLOCATIONS] = rows->value[blocks][i],
                                     [STORY_SAMPLES] = rows->value[samples][i]};
        heapstory_add_variance(variance, row, unit);
    }
    return heapstory_weighted_interval(value, variance[STORY_COUNT_ALLOCATIONS] * share,
                                       heapstory_unseen_weight(sample_bytes));
}

/* What a rule is about, in one profile. */
struct heap_value {
    struct check_value v;
    struct below below;
    bool in_scope;    /* the rule's name is a scope of the program, not a function */
    double known;     /* bytes that leaked as they are known to: in no other number */
    const char *most; /* who leaked most of the others; NULL = nobody */
};

/* --- leaks that are known --- */

/* Whether the rest of the stream's stacks below each stack are known: 0 = not asked, 1 = no. */
static bool is_known_stack(const struct suppressions *known, const struct profile *p,
                           struct stack_id stack, uint8_t *seen)
{
    if (!seen[stack.i])
        seen[stack.i] = suppressions_match(known, p, stack) ? 2 : 1;
    return seen[stack.i] == 2;
}

/* Take rows out of S that leaked as KNOWN says; returns what they leaked, in S's own decimals. */
static int64_t leave_out_known(struct selection *s, const struct suppressions *known)
{
    autofree uint8_t *seen = mem_calloc(s->profile->stacks.nodes.n + 1, 1);
    const int64_t *values = selection_values(s), *counts = selection_counts(s);
    uint32_t *rows = mem_calloc(s->n_rows + 1, sizeof *rows);
    int64_t left_out = 0;
    size_t n = 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t row = selection_row(s, i);
        if (!values[row] || !is_known_stack(known, s->profile, s->stream->rows.stack[row], seen)) {
            rows[n++] = (uint32_t)row;
            continue;
        }
        left_out += values[row];
        s->n_samples -= counts ? counts[row] : 0;
    }
    free(s->rows);
    s->rows = rows;
    s->n_rows = n;
    s->total -= left_out;
    return left_out;
}

static int64_t leave_out_leaks(const struct check_job *job, struct selection *s)
{
    struct suppressions reserves = {0};
    suppressions_add_reserves(&reserves);
    int64_t bytes = leave_out_known(s, &reserves);
    if (job->in->known_leaks)
        bytes += leave_out_known(s, job->in->known_leaks);
    suppressions_done(&reserves);
    return bytes;
}

/* The function that asked for most of S, by place as 'kelvin heap' has it; NULL = nobody did. */
static const char *asks_most(struct check_job *job, const struct selection *s)
{
    const struct profile *p = s->profile;
    struct heapwrappers wrappers = {0};
    struct labels labels;
    VEC(int64_t) sums = {0};
    uint32_t best = LABEL_NONE;
    labels_init(&labels, p, &(struct label_opts){0});
    heapwrappers_find(&wrappers, &labels, p, &s->stream->rows);
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t row = selection_row(s, i);
        uint32_t at = heapwrappers_place(&wrappers, &labels, p, s->stream->rows.stack[row]);
        while (at != LABEL_NONE && sums.n <= at)
            *vec_push(&sums) = 0;
        if (at == LABEL_NONE)
            continue;
        sums.at[at] += selection_values(s)[row];
        best = best == LABEL_NONE || sums.at[at] > sums.at[best] ? at : best;
    }
    bool any = best != LABEL_NONE && sums.at[best] > 0;
    const char *name = any ? check_text(job, "%.*s", TEXT_ARG(labels_text(&labels, best))) : NULL;
    vec_done(&sums);
    heapwrappers_done(&wrappers);
    labels_done(&labels);
    return name;
}

/* --- values --- */

/* Benchmarks whose figures P has: "parse/n=64, scan". */
static void add_counting_benchmarks(struct buf *b, const struct profile *p)
{
    struct text prefix = text_of(META_ALLOCS_PER_OP " ");
    for (size_t i = 0; i < p->meta.entries.n; i++) {
        struct text key = text_of(p->meta.entries.at[i].key);
        if (text_starts(key, META_ALLOCS_PER_OP " "))
            buf_printf(b, "%s%.*s", b->n ? ", " : "", (int)(key.n - prefix.n), key.at + prefix.n);
    }
}

/* What an iteration of a benchmark allocates: the benchmark counted it. -1 after noting an error.
 */
static int value_per_op(struct check_job *job, const struct rule *rule, const struct profile *p,
                        struct heap_value *ret)
{
    const char *what = rule->kind == RULE_BYTES_PER_OP ? META_BYTES_PER_OP : META_ALLOCS_PER_OP;
    autofree char *key = mem_printf("%s %s", what, rule->function);
    const char *value = meta_find(&p->meta, key);
    autobuf struct buf others = {0};
    *ret = (struct heap_value){.below = {1, true, true}};
    if (value) {
        ret->v = (struct check_value){.value = strtod(value, NULL), .exact = true};
        ret->v.interval = (struct interval){ret->v.value, ret->v.value};
        return 0;
    }
    add_counting_benchmarks(&others, p);
    return check_fail(job, rule,
                      others.n ? check_text(job,
                                            "no benchmark '%s' reported what it allocates; "
                                            "there are: %s",
                                            rule->function, buf_cstr(&others))
                               : "no benchmark of kelvin_bench.h reported what it allocates: "
                                 "record one with its heap, every block of it");
}

/* -1 after noting an error. */
static int heap_value_of(struct check_job *job, const struct rule *rule, const struct profile *p,
                         struct heap_value *ret)
{
    struct value_ref ref;
    struct err err;
    if (rule->kind == RULE_ALLOCS_PER_OP || rule->kind == RULE_BYTES_PER_OP)
        return value_per_op(job, rule, p, ret);
    *ret = (struct heap_value){.below = {1, true, true}};
    if (!heapstream_find(p, column_of_rule(rule->kind), &ref))
        return check_fail(job, rule, "there is no heap in the profile: record it with its heap");
    struct selection s = selection_all(p, ref);
    double unit = calc_ten_to(profile_value(p, ref)->decimals);
    if (rule->kind == RULE_LEAKED) {
        ret->known = (double)leave_out_leaks(job, &s) / unit;
        ret->most = rule->function ? NULL : asks_most(job, &s);
    }
    ret->in_scope =
        rule->function && scopejoin_has_labels(p) && scopejoin_has_scope(p, rule->function);
    if (rule->function)
        ret->below = ret->in_scope ? share_in_scope(&s, rule->function)
                                   : share_below(job, &s, rule->function, &err);
    /* Before a change a function may not have been there yet. */
    bool known = ret->below.found || ret->below.elsewhere || rule->change;
    double value = round(ret->below.share * (double)s.total / unit);
    ret->v = (struct check_value){.value = value, .exact = check_is_exact(&s)};
    bool counts = rule->kind == RULE_ALLOCATIONS || rule->kind == RULE_TEMPORARY;
    ret->v.interval = counts && !ret->v.exact ? count_interval_of(&s, value, ret->below.share)
                                              : interval_of(&s, value, ret->below.share);
    if (!ret->below.found && !ret->v.exact)
        ret->v.doubt = "no sampled block was allocated below it, which does not show that none was";
    selection_done(&s);
    return known ? 0 : check_fail(job, rule, err.text);
}

/* Part of what it was, from 0 to 0 being no change. */
static double heap_change_of(double before, double now)
{
    return before > 0 ? (now - before) / before : now > 0 ? INFINITY : 0;
}

static double *self_values(const struct flat *list)
{
    double *values = mem_calloc(list->rows.n + 1, sizeof *values);
    for (size_t i = 0; i < list->rows.n; i++)
        values[i] = (double)list->rows.at[i].self;
    return values;
}

/* Who asks for more than before; NULL = not known, or nobody. */
static const char *heap_grown_by(struct check_job *job, const struct rule *rule,
                                 const struct profile *before, const struct profile *now)
{
    struct value_ref old_ref, ref;
    if (rule->function || rule->kind == RULE_ALLOCS_PER_OP || rule->kind == RULE_BYTES_PER_OP ||
        !heapstream_find(before, column_of_rule(rule->kind), &old_ref) ||
        !heapstream_find(now, column_of_rule(rule->kind), &ref))
        return NULL;
    struct selection old_all = selection_all(before, old_ref), all = selection_all(now, ref);
    struct flat *old = flat_build(&old_all, FLAT_FUNCTION), *list = flat_build(&all, FLAT_FUNCTION);
    autofree double *was = self_values(old), *is = self_values(list);
    const char *name = check_most_grown(job, old, was, list, is);
    flat_free(old);
    flat_free(list);
    return name;
}

/* There is a profile to compare with: rules_require() has seen to that. */
static int check_heap_change(struct check_job *job, const struct rule *rule,
                             const struct heap_value *now, struct check_result *ret)
{
    const struct check_input *in = job->in;
    const struct profile *before = in->heap_before ? in->heap_before : in->before->profile;
    struct heap_value old;
    struct err err;
    if (heap_value_of(job, rule, before, &old) != 0)
        return -1;
    bool found = now->below.found || old.below.found;
    autofree bool *somewhere = found ? NULL : check_find(job->list, rule->function, &err);
    if (!found && !somewhere)
        return check_fail(job, rule, err.text);
    struct check_value v = {.value = heap_change_of(old.v.value, now->v.value),
                            .exact = old.v.exact && now->v.exact,
                            .doubt = old.v.doubt ? old.v.doubt : now->v.doubt};
    v.interval = (struct interval){heap_change_of(old.v.interval.high, now->v.interval.low),
                                   heap_change_of(old.v.interval.low, now->v.interval.high)};
    check_decide(job, &v, rule_bounds(rule), ret);
    autobuf struct buf why = {0};
    enum rule_unit unit = unit_of_rule(rule->kind);
    buf_str(&why, "from ");
    check_number(&why, old.v.value, unit);
    buf_str(&why, " to ");
    check_number(&why, now->v.value, unit);
    ret->why = check_text(job, "%s: %s", buf_cstr(&why), ret->why);
    const char *by =
        ret->verdict == CHECK_FAILS && now->v.value > old.v.value
            ? heap_grown_by(job, rule, before, in->heap ? in->heap : in->selection->profile)
            : NULL;
    if (by)
        ret->why = check_text(job, "%s; most of the growth is by %s", ret->why, by);
    if (!isfinite(v.value))
        ret->observed = check_text(job, "there was none before");
    return 0;
}

/* Who leaked, and what is not counted. */
static void say_leaks(struct check_job *job, const struct heap_value *now, struct check_result *ret)
{
    autobuf struct buf known = {0};
    if (ret->verdict != CHECK_HOLDS && now->most)
        ret->why = check_text(job, "%s; most by %s", ret->why, now->most);
    check_number(&known, now->known, RULE_BYTES);
    if (now->known > 0)
        ret->observed =
            check_text(job, "%s, without %s that runtimes keep on purpose or a list suppresses",
                       ret->observed, buf_cstr(&known));
}

/* The whole may be more than what was seen: then a limit is not known to be kept. */
static void doubt_limit(struct check_job *job, const struct rule *rule, const struct profile *p,
                        struct check_result *ret)
{
    const char *unseen = meta_find(&p->meta, META_HEAP_UNSEEN),
               *own = meta_find(&p->meta, META_HEAP_OWN_MALLOC), *names = unseen ? unseen : own;
    if (!names || rule->function || ret->verdict != CHECK_HOLDS ||
        !isfinite(rule_bounds(rule).high))
        return;
    ret->verdict = CHECK_INCONCLUSIVE;
    ret->why = check_text(job, "allocations of %s were not recorded, so there may be more", names);
}

static int check_heap_of(struct check_job *job, const struct rule *rule, const struct profile *p,
                         struct check_result *ret)
{
    struct heap_value now;
    if (heap_value_of(job, rule, p, &now) != 0)
        return -1;
    if (rule->change)
        return check_heap_change(job, rule, &now, ret);
    check_decide(job, &now.v, rule_bounds(rule), ret);
    if (!now.below.found && now.v.exact && now.in_scope)
        ret->why = check_text(job, "nothing was allocated in scope %s", rule->function);
    else if (!now.below.found && now.v.exact)
        ret->why = check_text(job, "%s was never seen allocating", rule->function);
    if (rule->kind == RULE_LEAKED)
        say_leaks(job, &now, ret);
    return 0;
}

int check_heap(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    const struct check_input *in = job->in;
    const struct profile *p = in->heap ? in->heap : in->selection->profile;
    if (check_heap_of(job, rule, p, ret) != 0)
        return -1;
    doubt_limit(job, rule, p, ret);
    return 0;
}
