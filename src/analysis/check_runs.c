/* check_runs.c - rules about measured runs: times, scatter, fit, rates, memory, metrics. */
#include "analysis/check_inner.h"
#include "base/units.h"
#include "stats/repeats.h"

#include <math.h>

/* Scatter of fewer runs than this is a guess, unless the rule names another number. */
enum { LEAST_RUNS = 5 };

/* --- which runs --- */

static bool is_metric(const struct check_runs *r)
{
    return r->measure == MEASURE_METRIC;
}

static const struct check_runs *find_runs(const struct check_job *job, const char *name,
                                          bool metric)
{
    for (size_t i = 0; i < job->in->n_runs; i++) {
        const struct check_runs *r = &job->in->runs[i];
        if (is_metric(r) == metric && strcmp(r->name, name) == 0)
            return r;
    }
    return NULL;
}

bool check_runs_lack_before(const struct check_job *job)
{
    const struct check_runs *whole = find_runs(job, "", false);
    return whole ? !whole->before : job->in->skip_diffs;
}

static int no_such_runs(struct check_job *job, const struct rule *rule)
{
    bool metric = rule->kind == RULE_METRIC;
    autobuf struct buf b = {0};
    if (!rule->function)
        return check_fail(job, rule, "no whole runs of the command were measured");
    size_t n = 0;
    for (size_t i = 0; i < job->in->n_runs && n < 12; i++) {
        const struct check_runs *r = &job->in->runs[i];
        if (is_metric(r) == metric && *r->name)
            buf_printf(&b, "%s%.80s", n++ ? ", " : "; there are: ", r->name);
    }
    const char *what = metric ? "metric" : "benchmark";
    const char *text = check_text(job, "there is no %s '%s'%s", what, rule->function, buf_cstr(&b));
    return check_fail(job, rule,
                      job->in->n_runs ? text
                                      : check_text(job, "there are no measured runs with a %s '%s'",
                                                   what, rule->function));
}

/* --- values --- */

/* On a busy machine, where CPU time decides, the fit of wall times is that of the others. */
static bool is_fit_by_cpu(const struct check_runs *r, const struct series_run *run)
{
    return r->measure == MEASURE_CPU && isfinite(run->value[MEASURE_CPU_R2]);
}

/* What a benchmark says that it does in one iteration: items, or else bytes. */
static double work_of(const struct series *s)
{
    return s->items > 0 ? s->items : s->bytes;
}

static bool may_be_scope(const struct check_job *job)
{
    struct value_ref ref;
    const struct selection *s = job->in->selection;
    return s && (job->in->scopes || scopetree_find(s->profile, &ref));
}

/* A benchmark that declares no work is the last to be meant by NAME. */
const struct check_runs *check_find_rate(const struct check_job *job, const char *name)
{
    const struct check_runs *r = find_runs(job, name, false), *m = find_runs(job, name, true);
    if (r && work_of(r->series) > 0)
        return r;
    return m || may_be_scope(job) ? m : r;
}

const struct check_runs *check_find_items(const struct check_job *job, const char *name)
{
    autofree char *per_second = mem_printf("%s/s", name);
    return find_runs(job, per_second, true);
}

void check_list_rates(const struct check_job *job, struct buf *b, size_t *n)
{
    for (size_t i = 0; i < job->in->n_runs && *n < 12; i++) {
        const struct check_runs *r = &job->in->runs[i];
        if (is_metric(r) || (*r->name && work_of(r->series) > 0))
            buf_printf(b, "%s%.80s", (*n)++ ? ", " : "", r->name);
    }
}

static bool is_rate(enum rule_kind kind)
{
    return kind == RULE_RATE || kind == RULE_FLOPS;
}

/* The same clock as that of the rates on the page. */
static bool is_rate_by_cpu(const struct check_runs *r, const struct series_run *run)
{
    return r->measure == MEASURE_CPU && run->value[MEASURE_CPU] > 0;
}

static double rate_of_run(const struct check_runs *r, const struct series_run *run, double work)
{
    double time_ns = run->value[is_rate_by_cpu(r, run) ? MEASURE_CPU : MEASURE_TIME];
    return work > 0 && time_ns > 0 ? work / time_ns : NAN;
}

/* Of a rule's kind, of one run. */
static double value_of_run(const struct check_runs *r, const struct series_run *run,
                           enum rule_kind kind)
{
    switch (kind) {
    case RULE_RUN_TIME:
        return run->value[MEASURE_TIME];
    case RULE_RUN_CPU:
        return run->value[MEASURE_CPU];
    case RULE_R2:
        return run->value[is_fit_by_cpu(r, run) ? MEASURE_CPU_R2 : MEASURE_R2];
    case RULE_FLOPS:
        return rate_of_run(r, run, r->series->flops);
    case RULE_MEMORY:
        return run->value[MEASURE_PEAK_RSS];
    case RULE_RATE:
        return is_metric(r) ? run->value[MEASURE_METRIC]
                            : 1e9 * rate_of_run(r, run, work_of(r->series));
    default: /* scatter, metric */
        return run->value[r->measure];
    }
}

/* All that are known; RET has room for every run. */
static size_t values_of_runs(const struct check_runs *r, enum rule_kind kind, double *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < r->series->runs.n; i++) {
        double v = value_of_run(r, &r->series->runs.at[i], kind);
        if (isfinite(v))
            ret[n++] = v;
    }
    return n;
}

/*
 * Rounds of one length, as those of a slow benchmark are, have no fit that could be bad. A
 * benchmark at the edge has some in a few runs: those say nothing about the others.
 */
static bool has_fit(const struct check_runs *r)
{
    autofree double *values = mem_calloc(r->series->runs.n + 1, sizeof *values);
    return 2 * values_of_runs(r, RULE_R2, values) > r->series->runs.n;
}

static const char *why_unknown(enum rule_kind kind)
{
    switch (kind) {
    case RULE_R2:
        return "its program does not give R2: rounds of one length, or another library";
    case RULE_FLOPS:
        return "the benchmark does not declare its work: call kelvin_flops() in it";
    case RULE_RATE:
        return "the benchmark does not declare its work: call kelvin_items() or kelvin_bytes() in "
               "it, or what its library has for that";
    case RULE_RUN_CPU:
        return "its CPU time is not known";
    default:
        return "no run gave this number";
    }
}

/* Median with its interval: exact whatever the distribution, from six runs on. */
static struct check_value middle_of(struct check_job *job, const struct repeats_summary *s)
{
    struct check_value v = {.value = s->median, .interval = s->median_interval, .noun = "runs"};
    if (!isfinite(v.interval.low))
        v.doubt = check_text(job, "%zu run%s too few for an interval, which needs six", s->n,
                             s->n == 1 ? " is" : "s are");
    return v;
}

static struct check_value scatter_of(struct check_job *job, const struct repeats_summary *s,
                                     const struct rule *rule)
{
    size_t least = rule->least_runs ? rule->least_runs : LEAST_RUNS;
    struct check_value v = {.value = s->mean > 0 ? s->sd / s->mean : NAN, .exact = true};
    if (s->n < least)
        v.doubt = check_text(job, "%zu run%s made, and the rule needs %zu", s->n,
                             s->n == 1 ? " was" : "s were", least);
    else if (!(s->mean > 0))
        v.doubt = "it takes no time that could scatter";
    return v;
}

/* RET_N: of how many runs. */
static struct check_value run_value_of(struct check_job *job, const struct rule *rule,
                                       const struct check_runs *r, size_t *ret_n)
{
    struct repeats_summary s;
    autofree double *values = mem_calloc(r->series->runs.n + 1, sizeof *values);
    size_t n = *ret_n = values_of_runs(r, rule->kind, values);
    if (!n || (rule->kind == RULE_R2 && !has_fit(r)))
        return (struct check_value){.value = NAN, .doubt = why_unknown(rule->kind)};
    repeats_summarize(&s, values, n);
    if (rule->kind == RULE_SCATTER)
        return scatter_of(job, &s, rule);
    if (rule->kind == RULE_MEMORY)
        return (struct check_value){.value = s.max, .exact = true};
    if (rule->kind == RULE_R2)
        return (struct check_value){.value = s.median, .exact = true};
    return middle_of(job, &s);
}

/* --- verdicts --- */

static const char *what_is_measured(const struct check_runs *r, enum rule_kind kind)
{
    if (kind == RULE_MEMORY)
        return "largest of all runs";
    if (kind == RULE_SCATTER)
        return r->measure == MEASURE_CPU ? "standard deviation of the CPU times"
                                         : "standard deviation of the runs";
    for (size_t i = 0; i < r->series->runs.n; i++)
        if (kind == RULE_R2 ? is_fit_by_cpu(r, &r->series->runs.at[i])
                            : is_rate(kind) && is_rate_by_cpu(r, &r->series->runs.at[i]))
            return "median, by CPU time,";
    return kind == RULE_RUN_CPU ? "median CPU time" : "median";
}

static void decide_runs(struct check_job *job, const struct rule *rule, const struct check_runs *r,
                        struct check_result *ret)
{
    size_t n;
    struct check_value v = run_value_of(job, rule, r, &n);
    check_decide(job, &v, rule_bounds(rule), ret);
    if (!v.doubt)
        ret->why = check_text(job, "%s%s%s of %zu runs: %s", *r->name ? r->name : "",
                              *r->name ? ": " : "", what_is_measured(r, rule->kind), n, ret->why);
    else if (!rule->function && *r->name)
        ret->why = check_text(job, "%s: %s", r->name, ret->why);
}

/* The middle of what the runs of S had, if any of them knows. */
static bool middle_memory(const struct series *s, struct repeats_summary *ret)
{
    autofree double *values = mem_calloc(s->runs.n + 1, sizeof *values);
    size_t n = series_values(s, MEASURE_PEAK_RSS, values);
    repeats_summarize(ret, values, n);
    return n && ret->median > 0;
}

/* The most that a run needs grows with the number of runs, which may differ: medians compare. */
static struct check_value change_of_memory(struct check_job *job, const struct repeats_summary *old,
                                           const struct repeats_summary *now)
{
    struct interval was = old->median_interval, is = now->median_interval;
    size_t fewest = old->n < now->n ? old->n : now->n;
    struct check_value v = {.value = now->median / old->median - 1,
                            .interval = {is.low / was.high - 1, is.high / was.low - 1},
                            .noun = "runs"};
    if (!isfinite(was.low) || !isfinite(is.low))
        v.doubt = check_text(job, "%zu run%s too few for an interval, which needs six", fewest,
                             fewest == 1 ? " is" : "s are");
    return v;
}

/* "diff memory <= +5%": what the command's runs need, next to those of the baseline. */
static int check_memory_change(struct check_job *job, const struct rule *rule,
                               const struct check_runs *r, struct check_result *ret)
{
    char was[UNITS_MAX], is[UNITS_MAX];
    struct repeats_summary old, now;
    struct check_value v = {.value = NAN, .doubt = "the memory of one of the two is not known"};
    bool known = middle_memory(r->before, &old) && middle_memory(r->series, &now);
    if (known)
        v = change_of_memory(job, &old, &now);
    check_decide(job, &v, rule_bounds(rule), ret);
    if (known)
        ret->why = check_text(job, "from %s to %s, medians of %zu and %zu runs: %s",
                              units_scaled(was, old.median, SCALED_BYTES),
                              units_scaled(is, now.median, SCALED_BYTES), old.n, now.n, ret->why);
    return 0;
}

/* A rule without a name is about all of them: the worst decides. */
static int check_all_runs(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    static const int badness[] = {[CHECK_HOLDS] = 0, [CHECK_INCONCLUSIVE] = 1, [CHECK_FAILS] = 2};
    const struct check_runs *lacking = NULL;
    size_t n_lacking = 0;
    bool any = false;
    for (size_t i = 0; i < job->in->n_runs; i++) {
        const struct check_runs *r = &job->in->runs[i];
        struct check_result one = *ret;
        if (is_metric(r) || (rule->kind == RULE_R2 && !*r->name))
            continue;
        if (rule->kind == RULE_R2 && !has_fit(r)) {
            lacking = r;
            n_lacking++;
            continue;
        }
        decide_runs(job, rule, r, &one);
        bool same = any && badness[one.verdict] == badness[ret->verdict];
        bool farther = rule->kind == RULE_R2 ? one.value < ret->value : one.value > ret->value;
        if (!any || badness[one.verdict] > badness[ret->verdict] || (same && farther))
            *ret = one;
        any = true;
    }
    if (!any && !lacking)
        return check_fail(job, rule, "there are no measured runs");
    if (!any)
        decide_runs(job, rule, lacking, ret);
    else if (lacking)
        ret->why = check_text(job, "%s; %zu more %s no R2", ret->why, n_lacking,
                              n_lacking == 1 ? "has" : "have");
    return 0;
}

int check_run_rate(struct check_job *job, const struct rule *rule, const struct check_runs *runs,
                   struct check_result *ret)
{
    decide_runs(job, rule, runs, ret);
    return 0;
}

int check_runs(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    if (!rule->function && (rule->kind == RULE_SCATTER || rule->kind == RULE_R2))
        return check_all_runs(job, rule, ret);
    const struct check_runs *r =
        find_runs(job, rule->function ? rule->function : "", rule->kind == RULE_METRIC);
    if (!r)
        return no_such_runs(job, rule);
    if (rule->change)
        return check_memory_change(job, rule, r, ret);
    decide_runs(job, rule, r, ret);
    return 0;
}
