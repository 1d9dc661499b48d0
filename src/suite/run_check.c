/*
 * run_check.c - the phase of a run that judges: against the baseline, the rules, and the number of
 * findings that is allowed.
 */
#include "base/reader.h"
#include "code/program_names.h"
#include "suite/culprit.h"
#include "suite/hotcode.h"
#include "suite/judge.h"
#include "suite/knownleaks.h"
#include "suite/run_inner.h"

/* --- compare --- */

static void compare_recordings(struct run *r, struct suite_result *w)
{
    VEC(const struct selection *) runs = {0};
    autobuf struct buf unlike = {0};
    if (!w->before.n || !w->recordings.n)
        return;
    for (size_t i = 0; i < w->before.n; i++)
        *vec_push(&runs) = &w->before.at[i].selection;
    for (size_t i = 0; i < w->recordings.n; i++)
        *vec_push(&runs) = &w->recordings.at[i].selection;
    struct diff_opts opts = {
        .runs = runs.at, .n_before = w->before.n, .n_runs = runs.n, .min_share = 0.005};
    diff_unlike(&opts, &unlike);
    if (unlike.n && !w->unlike)
        w->unlike = mem_strdup(buf_cstr(&unlike));
    if (!unlike.n || r->opts.force) {
        w->diff = diff_build(&opts);
        culprit_by_time(w);
    }
    vec_done(&runs);
}

/* --- rules --- */

/* What rules compare with; NULL = nothing. */
static const struct selection *rules_before(const struct suite_result *w)
{
    return w->before.n              ? &w->before.at[0].selection
           : w->heap_before.profile ? &w->heap_before.selection
                                    : NULL;
}

static int read_rules(struct run *r, struct suite_result *w, const char *path)
{
    struct reader in;
    struct err err;
    if (reader_open_file(&in, path, &err) != 0) {
        suite_fail(w, err.text, NULL);
        return -1;
    }
    int rc = rules_parse(&w->rules, reader_peek(&in, RULES_MAX_BYTES + 1));
    reader_close(&in);
    if (rc == 0)
        rc = rules_require(&w->rules, &(struct rules_have){.before = rules_before(w),
                                                           .counts_before = w->before_cache,
                                                           .may_lack_before = true,
                                                           .sizes = r->suite.has_scaling});
    w->rules_file = mem_strdup(path);
    return rc;
}

/* What is wrong in the file PATH, in the order of its lines. */
static void check_rules_file(const char *path, struct buf *errors)
{
    struct rules rules = {0};
    struct reader in;
    struct err err;
    if (reader_open_file(&in, path, &err) != 0) {
        buf_printf(errors, "%s\n", err.text);
        return;
    }
    rules_parse(&rules, reader_peek(&in, RULES_MAX_BYTES + 1));
    for (size_t i = 0; i < rules.errors.n && i < 20; i++) {
        const struct rule_error *e = &rules.errors.at[i];
        buf_printf(errors, "%s:%u:%u: %s\n", path, e->line, e->column, e->text);
    }
    reader_close(&in);
    rules_done(&rules);
}

static int read_known_leaks(struct suite *s, struct err *err)
{
    struct words files = conf_words(&s->conf, "", "check.suppressions");
    int rc = knownleaks_read((const char *const *)files.at.at, files.at.n, &s->known_leaks, err);
    words_done(&files);
    return rc;
}

/* Of all files; one that several workloads have is read once. */
int run_check_rules(struct run *r, struct err *err)
{
    const struct suite *s = &r->suite;
    if (read_known_leaks(&r->suite, err) != 0)
        return -1;
    for (size_t i = 0; i < s->results.n; i++) {
        const char *path = judge_rules_path(s, &s->results.at[i]);
        bool seen = !*path;
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(path, judge_rules_path(s, &s->results.at[k])) == 0;
        if (!seen)
            check_rules_file(path, &r->errors);
    }
    return r->errors.n ? err_set(err, EXIT_ERROR, "the rules have errors") : 0;
}

static void rules_are_wrong(const struct run *r, struct suite_result *w)
{
    autobuf struct buf all = {0};
    for (size_t i = 0; i < w->rules.errors.n && i < 20; i++)
        buf_printf(&all, "  %s:%u:%u: %s\n", w->rules_file, w->rules.errors.at[i].line,
                   w->rules.errors.at[i].column, w->rules.errors.at[i].text);
    suite_fail(w, "has rules with errors", buf_cstr(&all));
    run_say(r, "%s: its rules have errors:\n%s", w->workload.name, buf_cstr(&all));
}

struct measured { /* a VEC */
    struct check_runs *at;
    size_t n, cap;
};

/* What was measured of W: whole runs, its metrics, its benchmarks. The wall times of a busy machine
 * scatter as the other programs do. */
static struct measured measured_runs(const struct run *r, struct suite_result *w)
{
    const struct suite *s = &r->suite;
    struct measured all = {0};
    enum measure whole = fingerprint_is_busy(&s->host) ? MEASURE_CPU : MEASURE_TIME;
    if (w->bench)
        *vec_push(&all) =
            (struct check_runs){"", w->bench, whole, judge_before(s, w, w->bench, r->opts.force)};
    for (size_t i = 0; i < w->metrics.n; i++)
        if (w->metrics.at[i].runs)
            *vec_push(&all) = (struct check_runs){w->metrics.at[i].metric->name,
                                                  w->metrics.at[i].runs, MEASURE_METRIC, NULL};
    for (size_t i = 0; w->benchmarks && i < w->benchmarks->outcome.session.set.series.n; i++) {
        const struct series *it = &w->benchmarks->outcome.session.set.series.at[i];
        *vec_push(&all) =
            (struct check_runs){it->name, it, w->benchmarks->outcome.session.opts.measure, NULL};
    }
    return all;
}

/* What there is to hold rules against, without code. */
static struct check_input rules_input(const struct run *r, const struct suite_result *w,
                                      const struct measured *measured)
{
    const struct suite_recording *rec = suite_checked(w);
    return (struct check_input){
        .selection = rec ? &rec->selection : NULL,
        .heap = w->has_heap ? w->heap.profile : NULL,
        .before = rules_before(w),
        .heap_before = w->heap_before.profile,
        .no_before = r->suite.against ? "the baseline has nothing to compare this with"
                                      : "a diff rule applies to a comparison with a baseline only",
        .skip_diffs = !r->suite.against,
        .no_code = "",
        .scaling = r->suite.has_scaling ? (struct scaling *)&r->suite.scaling : NULL,
        .runs = measured->at,
        .n_runs = measured->n,
        .known_leaks = &r->suite.known_leaks,
        .counts = w->cache ? &w->cache_selection : NULL,
        .has_function = program_has_function,
    };
}

static void check_rules(struct run *r, struct suite_result *w)
{
    const char *path = judge_rules_path(&r->suite, w);
    struct hotcode code = {0};
    const struct suite_recording *rec = suite_checked(w);
    struct measured measured = measured_runs(r, w);
    struct selection before = {0};
    if (!*path || (!rec && !measured.n && !w->cache)) {
        vec_done(&measured);
        return;
    }
    if (read_rules(r, w, path) != 0) {
        if (w->rules_file)
            rules_are_wrong(r, w);
        vec_done(&measured);
        return;
    }
    if (rec && rules_need_code(&w->rules))
        hotcode_read_profile(&code, &rec->selection, &(struct hotcode_opts){.least = 0.001});
    struct check_input in = rules_input(r, w, &measured);
    in.code = code.rows.at;
    in.n_code = code.rows.n;
    in.no_code = code.notes.n ? code.notes.at[0] : "";
    if (w->cache && w->before_cache) {
        before = selection_all(w->before_cache, w->before_cache->default_value);
        in.counts_before = &before;
    }
    w->has_check = check_build(&w->check, &w->rules, &in) == 0;
    if (!w->has_check) {
        check_done(&w->check);
        rules_are_wrong(r, w);
    }
    hotcode_done(&code);
    selection_done(&before);
    vec_done(&measured);
}

/* --- telling --- */

static void tell_comparison(const struct run *r, const struct suite_result *w,
                            const struct comparison *c)
{
    autobuf struct buf b = {0};
    suite_say_comparison(&b, &r->suite, w, c);
    run_say(r, "%s", buf_cstr(&b));
}

static void tell_metrics(const struct run *r, const struct suite_result *w)
{
    for (size_t i = 0; i < w->metrics.n; i++) {
        autobuf struct buf b = {0};
        if (!w->metrics.at[i].has_compared)
            continue;
        metric_say(&b, w->metrics.at[i].metric, &w->metrics.at[i].compared);
        run_say(r, "%s: %s", w->workload.name, buf_cstr(&b));
    }
}

/* Only what is not as it was: there may be hundreds. */
static void tell_benchmarks(const struct run *r, const struct suite_result *w)
{
    const struct suite_benchmarks *b = w->benchmarks;
    for (size_t i = 0; b && i < b->outcome.against.n; i++) {
        const struct comparison *c = &b->outcome.against.at[i];
        if (c->gate == GATE_BROKEN || c->gate == GATE_UNDECIDED)
            tell_comparison(r, w, c);
    }
    for (size_t i = 0; b && i < b->gone.n; i++)
        run_say(r, "%s: no benchmark '%s' any more; '%s' has one", w->workload.name, b->gone.at[i],
                r->suite.against);
}

static void tell_against(const struct run *r, const struct suite_result *w)
{
    tell_metrics(r, w);
    tell_benchmarks(r, w);
    if (w->unlike)
        run_say(r, "%s: not compared with '%s': %s", w->workload.name, r->suite.against, w->unlike);
    for (int i = 0; i < COMPARISONS; i++)
        if (w->has_compared[i])
            tell_comparison(r, w, &w->compared[i]);
    if (suite_same_work(w))
        run_say(r, "%s: slower with the same number of instructions: " COMPARISON_SAME_WORK,
                w->workload.name);
    if (w->diff && w->before_beside)
        run_say(r, "%s: recordings in turns: %s; %s", w->workload.name,
                diff_verdict_names[w->diff->verdict], w->diff->why);
    else if (w->diff)
        run_say(r, "%s: recordings of '%s' are of another time: no verdict on functions",
                w->workload.name, r->suite.against);
    if (w->outcome == SUITE_REGRESSED && w->culprit)
        run_say(r, "%s: look at %s", w->workload.name, w->culprit);
}

static void tell_rules(const struct run *r, const struct suite_result *w)
{
    for (size_t i = 0; w->has_check && i < w->check.results.n; i++) {
        const struct check_result *c = &w->check.results.at[i];
        if (c->verdict != CHECK_HOLDS)
            run_say(r, "%s: rule %s: %s (%s)", w->workload.name, check_verdict_names[c->verdict],
                    c->rule->text, c->why);
    }
    if (!w->has_check && *judge_rules_path(&r->suite, w) && !w->failure)
        run_say(r, "%s: there is no recording to check the rules against", w->workload.name);
    if (w->has_check)
        run_say(r, "%s: rules: %zu passed, %zu failed, %zu inconclusive", w->workload.name,
                w->check.n[CHECK_HOLDS], w->check.n[CHECK_FAILS], w->check.n[CHECK_INCONCLUSIVE]);
    bool made = false;
    for (int i = 0; i < SUITE_FINDERS; i++)
        made |= w->findings[i].made;
    if (made)
        run_say(r, "%s: %zu finding%s%s", w->workload.name, suite_count_findings(w),
                suite_count_findings(w) == 1 ? "" : "s",
                w->too_many_findings ? ": more than check.max-findings allows" : "");
    if (made && suite_count_findings(w)) {
        autobuf struct buf b = {0};
        suite_say_findings(&b, w);
        run_say(r, "%s: found: %s", w->workload.name, buf_cstr(&b));
    }
}

int run_check(struct run *r, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < r->suite.results.n; i++) {
        struct suite_result *w = &r->suite.results.at[i];
        check_rules(r, w);
        judge_compare(&r->suite, w, r->opts.force);
        compare_recordings(r, w);
        culprit_by_count(w);
        judge_result(&r->suite, w);
        tell_against(r, w);
        tell_rules(r, w);
    }
    return 0;
}
