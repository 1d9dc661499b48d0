/* check.c - shares, quality and presence against rules; see check.h. */
#include "analysis/check.h"

#include "analysis/canon.h"
#include "analysis/check_inner.h"
#include "analysis/diff.h"
#include "analysis/insight.h"
#include "base/clone.h"
#include "base/shortname.h"
#include "base/units.h"

#include <math.h>
#include <stdarg.h>

/* Past this many times the samples nobody would wait for a decision. */
enum { MOST_MORE = 100, LISTED = 4 };

const char *const check_verdict_names[] = {"passed", "failed", "inconclusive", "not applicable"};

/* --- words --- */

const char *check_text(struct check_job *job, const char *fmt, ...)
{
    char text[1000];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return arena_text(&job->check->arena, text_of(text)).at;
}

int check_fail(struct check_job *job, const struct rule *rule, const char *text)
{
    return rules_fail(job->rules, rule->line, rule->column, text);
}

/* "1 block", "2 blocks" */
static const char *suffix_of(enum rule_unit unit, bool one)
{
    switch (unit) {
    case RULE_SHARE:
    case RULE_SCATTERED:
    case RULE_RELATIVE:
        return "%";
    case RULE_POINTS:
        return " points";
    case RULE_BITS:
        return one ? " bit" : " bits";
    case RULE_BLOCKS:
        return one ? " block" : " blocks";
    case RULE_SPANS:
        return one ? " call" : " calls";
    case RULE_PER_OP:
        return one ? " block per iteration" : " blocks per iteration";
    case RULE_PER_SECOND:
        return "/s";
    case RULE_GFLOPS:
        return " GFLOP/s";
    case RULE_PER_1000:
        return " per 1000 instructions";
    default:
        return "";
    }
}

static bool is_counted(enum rule_unit unit)
{
    return unit == RULE_COUNT || unit == RULE_BLOCKS || unit == RULE_SPANS || unit == RULE_EVENTS;
}

static bool is_change(enum rule_unit unit)
{
    return unit == RULE_RELATIVE || unit == RULE_POINTS;
}

/* Small shares get a digit more, so that 0.04% is not shown as none. */
static int decimals_of(double value)
{
    return fabs(value) < 0.00995 && value != 0 ? 2 : 1;
}

/* The number alone. */
static void add_digits(struct buf *b, double value, enum rule_unit unit)
{
    char s[UNITS_MAX];
    if (isinf(value))
        buf_str(b, value < 0 ? "-\xe2\x88\x9e" : "\xe2\x88\x9e");
    else if (is_counted(unit))
        buf_str(b, units_count(s, (uint64_t)value));
    else if (unit == RULE_BYTES || unit == RULE_TIME)
        buf_str(b, units_scaled(s, value, unit == RULE_TIME ? SCALED_NS : SCALED_BYTES));
    else if (unit == RULE_PER_SECOND || unit == RULE_GFLOPS || unit == RULE_PER_1000 ||
             unit == RULE_PER_OP)
        buf_str(b, units_number(s, value));
    else if (unit == RULE_NUMBER)
        buf_printf(b, "%.6g", value);
    else if (unit == RULE_FIT)
        buf_printf(b, "%.4f", value);
    else if (unit == RULE_BITS)
        buf_printf(b, "%.0f", value);
    else if (unit == RULE_EXPONENT)
        buf_printf(b, "%.2f", value);
    else
        buf_printf(b, is_change(unit) ? "%+.*f" : "%.*f", decimals_of(value), 100 * value);
}

void check_number(struct buf *b, double value, enum rule_unit unit)
{
    size_t from = b->n;
    add_digits(b, value, unit);
    buf_str(b, suffix_of(unit, strcmp(buf_cstr(b) + from, "1") == 0));
}

static void add_between(struct buf *b, struct interval i, enum rule_unit unit)
{
    add_digits(b, i.low, unit);
    buf_str(b, " to ");
    check_number(b, i.high, unit);
}

/* As people write bounds: no more digits than needed. */
static void add_bound(struct buf *b, double value, enum rule_unit unit)
{
    char s[UNITS_MAX];
    bool percent = unit == RULE_SHARE || unit == RULE_SCATTERED || is_change(unit);
    if (unit == RULE_BYTES || unit == RULE_TIME)
        buf_str(b, units_scaled(s, value, unit == RULE_TIME ? SCALED_NS : SCALED_BYTES));
    else if (is_counted(unit) || (!percent && value >= 1e5 && value < 1e15))
        buf_str(b, units_count(s, (uint64_t)value));
    else
        buf_printf(b, is_change(unit) ? "%+.5g" : "%.5g", percent ? 100 * value : value);
}

void check_range(struct buf *b, struct interval i, enum rule_unit unit)
{
    if (unit == RULE_SHARE)
        i = (struct interval){isinf(i.low) ? i.low : fmax(i.low, 0),
                              isinf(i.high) ? i.high : fmin(i.high, 1)};
    if (isinf(i.low) || isinf(i.high)) {
        buf_str(b, isinf(i.low) ? "at most " : "at least ");
        add_bound(b, isinf(i.low) ? i.high : i.low, unit);
    } else if (i.low == i.high) {
        buf_str(b, "exactly ");
        add_bound(b, i.low, unit);
    } else {
        add_bound(b, i.low, unit);
        buf_str(b, "..");
        add_bound(b, i.high, unit);
    }
    buf_str(b, suffix_of(unit, i.high == 1 || (isinf(i.high) && i.low == 1)));
}

/* --- verdicts --- */

static enum check_verdict check_compare(struct interval is, struct interval bounds)
{
    if (is.low >= bounds.low && is.high <= bounds.high)
        return CHECK_HOLDS;
    return is.high < bounds.low || is.low > bounds.high ? CHECK_FAILS : CHECK_INCONCLUSIVE;
}

static struct interval widened(const struct check_value *v)
{
    return (struct interval){v->interval.low - v->wider_by.low,
                             v->interval.high + v->wider_by.high};
}

/*
 * How many times the samples would shrink the interval to one side of a bound in it: by the root of
 * their number, but what was never or always seen has an interval to one side, which shrinks by the
 * number itself.
 */
static double more_needed(const struct check_value *v, double bound)
{
    if (isinf(bound) || bound <= v->interval.low || bound >= v->interval.high)
        return 1;
    bool above = v->value > bound;
    double reach = above ? v->value - v->interval.low : v->interval.high - v->value;
    double room = fabs(v->value - bound);
    if (room > 0 && (v->value == v->interval.low || v->value == v->interval.high))
        return reach / room;
    return room > 0 ? reach * reach / (room * room) : INFINITY;
}

static void add_remedy(struct buf *b, const struct check_value *v, struct interval bounds)
{
    double more = fmax(more_needed(v, bounds.low), more_needed(v, bounds.high));
    if (v->remedy)
        buf_printf(b, "; %s", v->remedy);
    else if (more <= MOST_MORE)
        buf_printf(b, "; if it stays there, %.0f times as many %s would decide", ceil(more),
                   v->noun ? v->noun : "samples");
    else if (v->noun)
        buf_printf(b, "; it is so near the bound that more %s would hardly help", v->noun);
    else
        buf_str(b, "; it is so near the bound that a tolerance would help more than samples");
}

static void check_explain(struct buf *b, const struct check_value *v, struct interval bounds,
                          const struct check_result *ret)
{
    static const char *const words[] = {"inside", "outside", "partly inside"};
    if (v->exact) {
        check_number(b, v->value, ret->unit);
    } else {
        buf_str(b, "its 95% interval, ");
        add_between(b, v->interval, ret->unit);
        buf_str(b, ",");
        if (v->wider_by.low > 0 || v->wider_by.high > 0) {
            buf_str(b, " widened to ");
            add_between(b, widened(v), ret->unit);
            buf_str(b, " for run-to-run variation,");
        }
    }
    buf_printf(b, " is %s the expected range, ", words[ret->verdict]);
    check_range(b, bounds, ret->unit);
    if (ret->verdict == CHECK_INCONCLUSIVE)
        add_remedy(b, v, bounds);
}

/* "5.0% ±1.4": as many digits as the narrower of the two needs. */
static void add_share(struct buf *b, const struct check_value *v)
{
    double half = (v->interval.high - v->interval.low) / 2;
    int decimals = half < 0.0005 ? 2 : decimals_of(v->value);
    buf_printf(b, "%.*f%% ", decimals, 100 * v->value);
    insight_interval(b, v->value, v->interval, decimals);
}

static void add_observed(struct buf *b, const struct check_value *v, enum rule_unit unit)
{
    bool bare = v->exact || v->doubt;
    if (!bare && unit == RULE_SHARE) {
        add_share(b, v);
        return;
    }
    check_number(b, v->value, unit);
    if (bare)
        return;
    buf_str(b, " (");
    add_between(b, v->interval, unit);
    buf_str(b, ")");
}

void check_decide(struct check_job *job, const struct check_value *v, struct interval bounds,
                  struct check_result *ret)
{
    autobuf struct buf why = {0}, observed = {0};
    ret->value = v->value;
    ret->interval = v->exact ? (struct interval){v->value, v->value} : v->interval;
    ret->verdict = v->doubt   ? CHECK_INCONCLUSIVE
                   : v->exact ? check_compare(ret->interval, bounds)
                              : check_compare(widened(v), bounds);
    if (v->doubt)
        buf_str(&why, v->doubt);
    else
        check_explain(&why, v, bounds, ret);
    if (isfinite(v->value))
        add_observed(&observed, v, ret->unit);
    ret->observed = check_text(job, "%s", observed.n ? buf_cstr(&observed) : "not known");
    ret->why = check_text(job, "%s", buf_cstr(&why));
}

/* --- functions --- */

bool *check_find(const struct flat *list, const char *function, struct err *err)
{
    bool *in_set = mem_calloc(list->rows.n + 1, sizeof *in_set);
    if (flat_find_canonical(list, text_of(function), in_set) ||
        flat_find(list, function, in_set, err) == 0)
        return in_set;
    free(in_set);
    return NULL;
}

struct text check_name(struct check_job *job, const struct flat *list, const bool *in_set)
{
    autobuf struct buf b = {0};
    uint32_t row = 0;
    while (row < list->rows.n && !in_set[row])
        row++;
    if (row < list->rows.n)
        canon_add(&b, flat_name(list, row));
    return arena_text(&job->check->arena, buf_text(&b));
}

/* --- shares --- */

/*
 * The program has the function, and no sample does: of N samples that says how little it takes.
 * Part of another function's name is no reason to take that one.
 */
static bool is_never_sampled(const struct check_job *job, const char *function)
{
    const struct flat *list = job->list;
    autofree bool *in_set = mem_calloc(list->rows.n + 1, sizeof *in_set);
    bool seen = flat_find_canonical(list, text_of(function), in_set) > 0;
    for (uint32_t i = 0; !seen && i < list->rows.n; i++)
        seen = list->rows.at[i].total > 0 && shortname_is(flat_name(list, i), text_of(function));
    return !seen && job->in->has_function &&
           job->in->has_function(job->in->selection->profile, function);
}

static void decide_never_sampled(struct check_job *job, const struct rule *rule,
                                 struct check_result *ret)
{
    double n = job->list->time.n_samples;
    struct check_value v = {.exact = check_is_exact(job->in->selection)};
    v.interval = v.exact || !(n > 0) ? (struct interval){0, 0} : stats_wilson(0, n, STATS_Z95);
    if (!v.exact && !(n > 0))
        v.doubt = CHECK_NO_SAMPLES;
    check_decide(job, &v, rule_bounds(rule), ret);
    if (!v.exact && !v.doubt) {
        autobuf struct buf most = {0};
        check_number(&most, v.interval.high, RULE_SHARE);
        ret->observed = check_text(job, "at most %s", buf_cstr(&most));
    }
    ret->why = check_text(job, "the program has it, but no sample does: %s", ret->why);
}

static int check_share(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    struct err err;
    if (is_never_sampled(job, rule->function)) {
        decide_never_sampled(job, rule, ret);
        return 0;
    }
    autofree bool *in_set = check_find(job->list, rule->function, &err);
    if (!in_set)
        return check_fail(job, rule, err.text);
    struct flat_share s =
        flat_share_of_set(job->list, in_set, rule->kind == RULE_SELF ? FLAT_SELF : FLAT_TOTAL);
    struct check_value v = {.value = s.share, .interval = s.interval};
    v.exact = check_is_exact(job->in->selection);
    if (!v.exact && !(s.n_effective > 0))
        v.doubt = CHECK_NO_SAMPLES;
    check_decide(job, &v, rule_bounds(rule), ret);
    return 0;
}

/* --- quality --- */

/* Lost or unfinished samples of the whole stream: a part of it is not known to have some. */
static struct check_value part_of_samples(const struct check_job *job, bool lost)
{
    const struct stream *s = job->in->selection->stream;
    struct check_value v = {.value = NAN, .exact = true};
    int counts = stream_samples(s);
    if (counts < 0) {
        v.doubt = CHECK_NO_SAMPLES;
    } else if (lost && !s->lost_known) {
        v.doubt = "the input does not say how many samples were lost";
    } else if (!lost && !s->unfinished_known) {
        v.doubt = "the input does not say how many stacks are unfinished";
    } else {
        double n = (double)(lost ? s->lost : stream_unfinished(s));
        double of = (double)s->types[counts].total + (lost ? n : 0);
        v.value = of > 0 ? n / of : 0;
    }
    return v;
}

static int check_quality(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    struct check_value v = {.exact = true};
    if (rule->kind == RULE_LOST) {
        v = part_of_samples(job, true);
    } else if (rule->kind == RULE_UNFINISHED) {
        v = part_of_samples(job, false);
    } else if (rule->kind == RULE_UNNAMED) {
        v.value = job->quality.unnamed_share;
    } else if (job->quality.has_samples) {
        v.value = (double)job->quality.samples;
    } else {
        v.value = NAN;
        v.doubt = CHECK_NO_SAMPLES;
    }
    check_decide(job, &v, rule_bounds(rule), ret);
    return 0;
}

/* --- presence --- */

/* Names that have the function's in them, for whom a rule about absence may be meant. */
static void add_similar(struct buf *b, const struct flat *list, const char *function)
{
    size_t n = 0;
    for (uint32_t i = 0; i < list->rows.n && n < LISTED; i++) {
        struct text name = flat_name(list, i);
        if (list->rows.at[i].total > 0 && memmem(name.at, name.n, function, strlen(function)))
            buf_printf(b, "%s%.*s", n++ ? ", " : "; names that have it in them: ",
                       (int)(name.n < 80 ? name.n : 80), name.at);
    }
}

static void explain_absence(struct check_job *job, struct buf *b, const struct rule *rule)
{
    double n = job->list->time.n_samples;
    buf_str(b, "never seen");
    if (n > 0 && !check_is_exact(job->in->selection)) {
        struct interval i = stats_wilson(0, n, STATS_Z95);
        buf_str(b, "; with this many samples it could still be up to ");
        check_number(b, i.high, RULE_SHARE);
    }
    if (job->in->has_function)
        buf_str(b, job->in->has_function(job->in->selection->profile, rule->function)
                       ? "; the program has a function of that name"
                       : "; no symbol of its files that are here has that name");
    add_similar(b, job->list, rule->function);
}

static int check_presence(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    autobuf struct buf why = {0};
    autofree bool *in_set = mem_calloc(job->list->rows.n + 1, sizeof *in_set);
    bool seen = flat_find_canonical(job->list, text_of(rule->function), in_set) > 0;
    for (uint32_t i = 0; !seen && i < job->list->rows.n; i++)
        seen = in_set[i] = job->list->rows.at[i].total > 0 &&
                           (text_is(flat_name(job->list, i), rule->function) ||
                            clone_is_variant(flat_name(job->list, i), text_of(rule->function)));
    /* A name that is misspelled is absent, too. */
    bool is_known = seen || !job->in->has_function ||
                    job->in->has_function(job->in->selection->profile, rule->function);
    struct flat_share s = flat_share_of_set(job->list, in_set, FLAT_TOTAL);
    ret->verdict = seen == (rule->kind == RULE_PRESENT) ? CHECK_HOLDS : CHECK_FAILS;
    ret->unit = RULE_SHARE;
    ret->value = s.share;
    ret->interval = s.interval;
    if (seen) {
        buf_str(&why, "it is on ");
        check_number(&why, s.share, RULE_SHARE);
        buf_str(&why, " of the stacks");
    } else {
        explain_absence(job, &why, rule);
    }
    ret->observed = seen ? "seen" : is_known ? "not seen" : "not seen; no such symbol here";
    ret->expected = rule->kind == RULE_PRESENT ? "seen" : "not seen";
    ret->why = check_text(job, "%s", buf_cstr(&why));
    return 0;
}

/* --- all --- */

typedef int evaluate_fn(struct check_job *job, const struct rule *rule, struct check_result *ret);

static evaluate_fn *const evaluators[] = {
    [RULE_TOTAL] = check_share,
    [RULE_SELF] = check_share,
    [RULE_SAMPLES] = check_quality,
    [RULE_LOST] = check_quality,
    [RULE_UNFINISHED] = check_quality,
    [RULE_UNNAMED] = check_quality,
    [RULE_PRESENT] = check_presence,
    [RULE_ABSENT] = check_presence,
    [RULE_DIFF_TOTAL] = check_change,
    [RULE_DIFF_SELF] = check_change,
    [RULE_SIMD] = check_code,
    [RULE_GROWTH_TOTAL] = check_growth,
    [RULE_GROWTH_SELF] = check_growth,
    [RULE_PEAK] = check_heap,
    [RULE_LEAKED] = check_heap,
    [RULE_ALLOCATED] = check_heap,
    [RULE_ALLOCATIONS] = check_heap,
    [RULE_TEMPORARY] = check_heap,
    [RULE_ALLOCS_PER_OP] = check_heap,
    [RULE_BYTES_PER_OP] = check_heap,
    [RULE_QUANTILE] = check_scopes,
    [RULE_MEAN] = check_scopes,
    [RULE_MAX] = check_scopes,
    [RULE_CALLS] = check_scopes,
    [RULE_RATE] = check_scopes,
    [RULE_RUN_TIME] = check_runs,
    [RULE_RUN_CPU] = check_runs,
    [RULE_SCATTER] = check_runs,
    [RULE_R2] = check_runs,
    [RULE_FLOPS] = check_runs,
    [RULE_MEMORY] = check_runs,
    [RULE_METRIC] = check_runs,
    [RULE_CACHE_MISSES] = check_events,
    [RULE_L1_MISSES] = check_events,
    [RULE_BRANCH_MISSES] = check_events,
    [RULE_HOTSPOT] = check_hotspot,
};

static const char *expected_of(struct check_job *job, const struct rule *rule)
{
    autobuf struct buf b = {0};
    if (rule->range.unit != RULE_NONE)
        check_range(&b, rule_bounds(rule), rule->range.unit);
    return check_text(job, "%s", buf_cstr(&b));
}

/* Whether a rule can be decided without a recording. */
static bool needs_no_recording(const struct check_job *job, const struct rule *rule)
{
    return rule_is_of_runs(rule) || (rule_is_of_events(rule) && job->in->counts) ||
           (rule->kind == RULE_RATE &&
            (check_find_rate(job, rule->function) || check_find_items(job, rule->function)));
}

/* A diff rule without anything to compare with, where that is no error. */
static void check_rule_alone(struct check_job *job, struct check_result *r)
{
    struct check_value none = {.value = NAN, .doubt = job->in->no_before};
    check_decide(job, &none, rule_bounds(r->rule), r);
    if (job->in->skip_diffs)
        r->verdict = CHECK_SKIPPED;
    else
        job->check->n[r->verdict]++;
    *vec_push(&job->check->results) = *r;
}

static bool lacks_before(const struct check_job *job, const struct rule *rule)
{
    const struct check_input *in = job->in;
    if (rule_compares(rule) && rule_is_of_runs(rule))
        return check_runs_lack_before(job);
    return rule_compares(rule) && !in->before && !(rule_is_of_events(rule) && in->counts_before);
}

/* A rate may be of a scope, for which a recording is missing, or of runs, which have another name.
 */
static const char *why_no_recording(struct check_job *job, const struct rule *rule)
{
    autobuf struct buf rates = {0};
    size_t n = 0;
    if (rule->kind == RULE_RATE)
        check_list_rates(job, &rates, &n);
    if (!n)
        return "there is no recording to check it against";
    return check_text(job,
                      "there is no recording to check it against, and the runs have rates of: %s",
                      buf_cstr(&rates));
}

static void check_rule(struct check_job *job, const struct rule *rule)
{
    struct check_result r = {.rule = rule, .unit = rule->range.unit};
    struct check_value none = {.value = NAN, .doubt = why_no_recording(job, rule)};
    r.expected = expected_of(job, rule);
    if (lacks_before(job, rule)) {
        check_rule_alone(job, &r);
        return;
    }
    if (!job->in->selection && !needs_no_recording(job, rule))
        check_decide(job, &none, rule_bounds(rule), &r);
    else if (evaluators[rule->kind](job, rule, &r) != 0)
        return;
    job->check->n[r.verdict]++;
    *vec_push(&job->check->results) = r;
}

int check_build(struct check *c, struct rules *rules, const struct check_input *in)
{
    *c = (struct check){0};
    if (rules_require(rules, &(struct rules_have){.before = in->before,
                                                  .counts_before = in->counts_before,
                                                  .may_lack_before = in->no_before != NULL,
                                                  .sizes = in->scaling}) != 0)
        return -1;
    struct check_job job = {
        .check = c,
        .rules = rules,
        .in = in,
        .list = in->selection ? flat_build(in->selection, FLAT_FUNCTION) : NULL,
        .before = in->before ? flat_build(in->before, FLAT_FUNCTION) : NULL,
    };
    if (in->selection)
        job.quality = quality_of(in->selection);
    for (size_t i = 0; i < rules->at.n; i++)
        check_rule(&job, &rules->at.at[i]);
    flat_free(job.list);
    flat_free(job.before);
    check_scopes_done(&job);
    diff_free(job.pair);
    c->verdict = c->n[CHECK_FAILS]          ? CHECK_FAILS
                 : c->n[CHECK_INCONCLUSIVE] ? CHECK_INCONCLUSIVE
                                            : CHECK_HOLDS;
    return rules->errors.n ? -1 : 0;
}

void check_done(struct check *c)
{
    vec_done(&c->results);
    arena_done(&c->arena);
}
