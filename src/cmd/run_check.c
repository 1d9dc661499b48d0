/*
 * run_check.c - the phase of `kelvin run` that judges: against the baseline, the rules, and the
 * number of findings that is allowed.
 */
#include "base/reader.h"
#include "cmd/hotcode.h"
#include "cmd/run.h"

#include <math.h>

/* --- compare --- */

/* Fewer runs made at different times prove nothing (paired.h): a single recording is no series. */
enum { LEAST_RUNS = 6 };

static size_t values_of(const struct series *s, enum measure m, double **ret)
{
    *ret = mem_calloc(s->runs.n + 1, sizeof **ret);
    return series_values(s, m, *ret);
}

static double max_regression(const struct run *r)
{
    return conf_number(&r->suite.conf, "", "check.max-regression") / 100;
}

/* The baseline's series of the same name; NULL where there is none, or of another command. */
static const struct series *find_before(struct run *r, struct suite_result *w,
                                        const struct series *now)
{
    const struct series *before = now ? series_find(&r->suite.beside, now->name) : NULL;
    if (before)
        return before;
    before = now ? series_find(&r->suite.before, now->name) : NULL;
    if (!before || r->opts->force || strcmp(before->command, now->command) == 0)
        return before;
    if (!w->unlike)
        w->unlike = mem_printf("the baseline ran '%s'", before->command);
    return NULL;
}

/* Then times of another hour prove nothing: what else ran, now or then, is part of them. */
static bool is_busy(const struct fingerprint *h)
{
    return h->has_load && h->load[0] > h->cpus_usable * 0.5;
}

static bool compare_series(struct run *r, struct suite_result *w, const struct series *now,
                           struct bench_comparison *c)
{
    const struct series *before = find_before(r, w, now);
    autofree double *b = NULL, *a = NULL;
    if (!before)
        return false;
    size_t n_before = values_of(before, c->measure, &b), n_after = values_of(now, c->measure, &a);
    if (c->measure == MEASURE_CPU && (n_before < LEAST_RUNS || n_after < LEAST_RUNS))
        return false;
    struct paired_opts opts = {PAIRED_BAND, PAIRED_RISK, 2 * r->suite.results.n};
    c->before = before;
    c->after = now;
    c->band = PAIRED_BAND;
    c->apart = !series_find(&r->suite.beside, now->name);
    c->max_regression = max_regression(r);
    if (!c->apart)
        paired_compare(&c->paired, b, a, n_before < n_after ? n_before : n_after, &opts,
                       PAIRED_ONLY_LOOK);
    else if (c->measure == MEASURE_INSTRUCTIONS)
        paired_compare_counts(&c->paired, b, a, n_before < n_after ? n_before : n_after, &opts);
    else
        paired_compare_apart(&c->paired, b, n_before, a, n_after, &opts);
    enum gate g = paired_gate(&c->paired, c->max_regression, PAIRED_BAND);
    c->broken = g == GATE_BROKEN;
    c->undecided = g == GATE_UNDECIDED;
    if (c->broken && c->apart && c->measure != MEASURE_INSTRUCTIONS && is_busy(&r->suite.host)) {
        c->broken = false;
        c->undecided = true;
    }
    return true;
}

static void compare_bench(struct run *r, struct suite_result *w)
{
    static const enum measure measures[] = {MEASURE_TIME, MEASURE_CPU, MEASURE_INSTRUCTIONS};
    autofree char *recorded = mem_printf("%s recorded", w->workload.name);
    for (int i = 0; i < COMPARISONS; i++) {
        const struct series *now = i == BY_INSTRUCTIONS ? w->instructions : w->bench;
        if (i == BY_CPU && !now)
            now = series_find(&r->suite.series, recorded); /* of the recordings */
        w->compared[i].measure = measures[i];
        w->has_compared[i] = compare_series(r, w, now, &w->compared[i]);
    }
}

/* Forges know files by their place in the repository. */
static void locate_culprit(struct suite_result *w, struct text name)
{
    const struct profile *p = w->recordings.n ? w->recordings.at[0].profile : w->cache;
    const char *root = getenv("GITHUB_WORKSPACE");
    autofree char *here = root ? mem_strdup(root) : getcwd(NULL, 0);
    size_t n = here ? strlen(here) : 0;
    for (size_t i = 1; i < p->functions.n && !w->culprit_file; i++) {
        const struct function *f = &p->functions.at[i];
        struct text file = profile_str(p, f->file);
        if (!text_is(name, profile_str(p, f->name).at) || !n || !text_starts(file, here) ||
            file.n <= n + 1 || file.at[n] != '/')
            continue;
        w->culprit_file = mem_strndup(file.at + n + 1, file.n - n - 1);
        w->culprit_line = f->line;
    }
}

/* The function whose self time grew most, proven ones first. */
static void name_culprit(struct suite_result *w)
{
    const struct diff *d = w->diff;
    const struct diff_entry *worst = NULL;
    for (size_t i = 0; i < d->functions.n; i++) {
        const struct diff_entry *e = &d->functions.at[i];
        if (diff_points(&e->self) <= 0)
            continue;
        if (!worst || e->self.proven > worst->self.proven ||
            (e->self.proven == worst->self.proven &&
             diff_points(&e->self) > diff_points(&worst->self)))
            worst = e;
    }
    if (!worst)
        return;
    struct text name = diff_name(d, worst);
    w->culprit = mem_printf("%.*s: %.1f%% of the time before, %.1f%% now%s", TEXT_ARG(name),
                            100 * worst->self.before, 100 * worst->self.after,
                            worst->self.proven ? "" : " (grew most; not proven)");
    locate_culprit(w, name);
}

/* What each name of F has of its own, by the name's id. Free it. */
static int64_t *self_by_name(const struct flat *f)
{
    int64_t *sums = mem_calloc(f->names.strings.n + 1, sizeof *sums);
    for (size_t i = 0; i < f->rows.n; i++)
        sums[f->rows.at[i].name] += f->rows.at[i].self;
    return sums;
}

/* The function that executes more instructions than before, exactly: as they were simulated. */
static void name_counted_culprit(struct suite_result *w)
{
    struct err err;
    struct value_ref value;
    if (!w->has_cache_report || !w->before_cache ||
        profile_pick_value(w->before_cache, "Ir", NULL, &value, &err) != 0)
        return;
    struct selection then_all = selection_all(w->before_cache, value);
    const struct flat *now = w->misses_report.functions;
    struct flat *before = flat_build(&then_all, FLAT_FUNCTION);
    autofree int64_t *sums = self_by_name(before);
    int64_t most = 0, then = 0;
    uint32_t worst = 0;
    for (uint32_t i = 0; i < now->rows.n; i++) {
        uint32_t id = intern_find(&before->names, flat_name(now, i));
        int64_t old = id == IDMAP_NONE ? 0 : sums[id];
        if (now->rows.at[i].self - old > most) {
            most = now->rows.at[i].self - old;
            worst = i;
            then = old;
        }
    }
    if (most * 1000 > now->whole) { /* a thousandth: less is start-up and luck */
        struct text name = flat_name(now, worst);
        free(w->culprit);
        w->culprit = mem_printf("%.*s: %+.1f%% instructions, %.1f%% of all", TEXT_ARG(name),
                                then ? 100 * (double)most / (double)then : 100.0,
                                100 * (double)now->rows.at[worst].self / (double)now->whole);
        locate_culprit(w, name);
    }
    flat_free(before);
}

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
    if (!unlike.n || r->opts->force) {
        w->diff = diff_build(&opts);
        name_culprit(w);
    }
    vec_done(&runs);
}

/* --- rules --- */

static int read_rules(struct run *r, struct suite_result *w, const char *path)
{
    struct reader in;
    struct err err;
    if (reader_open(&in, path, &err) != 0) {
        suite_fail(w, err.text, NULL);
        return -1;
    }
    int rc = rules_parse(&w->rules, reader_peek(&in, RULES_MAX_BYTES + 1));
    reader_close(&in);
    if (rc == 0)
        rc = rules_require(&w->rules, w->before.n > 0, r->suite.has_scaling);
    w->rules_file = mem_strdup(path);
    return rc;
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

static const char *rules_path(const struct run *r, const struct suite_result *w)
{
    const char *own = conf_text(&r->suite.conf, w->workload.name, "workload.rules");
    return *own ? own : conf_text(&r->suite.conf, "", "check.rules");
}

static void check_rules(struct run *r, struct suite_result *w)
{
    const char *path = rules_path(r, w);
    struct hotcode code = {0};
    if (!*path || !w->recordings.n)
        return;
    if (read_rules(r, w, path) != 0) {
        if (w->rules_file)
            rules_are_wrong(r, w);
        return;
    }
    const struct suite_recording *rec = &w->recordings.at[0];
    if (rules_need_code(&w->rules))
        hotcode_read_profile(&code, &rec->selection, &(struct hotcode_opts){.least = 0.001});
    struct check_input in = {
        .selection = &rec->selection,
        .before = w->before.n ? &w->before.at[0].selection : NULL,
        .code = code.rows.at,
        .n_code = code.rows.n,
        .no_code = code.notes.n ? code.notes.at[0] : "",
        .scaling = r->suite.has_scaling ? &r->suite.scaling : NULL,
    };
    w->has_check = check_build(&w->check, &w->rules, &in) == 0;
    if (!w->has_check) {
        check_done(&w->check);
        rules_are_wrong(r, w);
    }
    hotcode_done(&code);
}

/* --- findings --- */

/*
 * Whether more was found than check.max-findings allows. What was asked for and could not be had is
 * in doubt only where the suite itself names a number: else it is just absent.
 */
static enum gate findings_gate(const struct run *r, const struct suite_result *w)
{
    struct conf_value most = conf_find(&r->suite.conf, "", "check.max-findings");
    bool unknown = w->absent[COLLECT_MEMCHECK] || w->absent[COLLECT_HELGRIND];
    if ((double)(w->memcheck.n + w->helgrind.n) > strtod(most.text, NULL))
        return GATE_BROKEN;
    return unknown && strcmp(most.origin, "default") != 0 ? GATE_UNDECIDED : GATE_HOLDS;
}

/* --- the verdict on a workload --- */

static bool regressed(const struct suite_result *w)
{
    bool broken = false;
    for (int i = 0; i < COMPARISONS; i++)
        broken |= w->has_compared[i] && w->compared[i].broken;
    return broken;
}

/* Also rules without a recording to hold them against. */
static bool in_doubt(const struct run *r, const struct suite_result *w)
{
    if (suite_undecided(w))
        return true;
    return w->has_check ? w->check.verdict == CHECK_INCONCLUSIVE : *rules_path(r, w) != '\0';
}

static void judge(const struct run *r, struct suite_result *w)
{
    enum gate findings = findings_gate(r, w);
    if (w->outcome == SUITE_FAILED)
        return;
    w->too_many_findings = findings == GATE_BROKEN;
    if (regressed(w))
        w->outcome = SUITE_REGRESSED;
    else if (w->too_many_findings || (w->has_check && w->check.verdict == CHECK_FAILS))
        w->outcome = SUITE_RULES;
    else if (in_doubt(r, w) || findings == GATE_UNDECIDED)
        w->outcome = SUITE_INCONCLUSIVE;
}

static void tell_comparison(const struct run *r, const struct suite_result *w,
                            const struct bench_comparison *c)
{
    const struct paired *p = &c->paired;
    if (!isfinite(p->interval.high)) {
        run_say(r, "%s: %s against '%s': %+.1f%%, too few runs to tell anything: raise its 'runs'",
                w->workload.name, measure_infos[c->measure].title, r->suite.against,
                100 * (p->ratio - 1));
        return;
    }
    run_say(r, "%s: %s against '%s': %s, %+.1f%% (%+.1f to %+.1f)%s", w->workload.name,
            measure_infos[c->measure].title, r->suite.against, suite_verdict(c),
            100 * (p->ratio - 1), 100 * (p->interval.low - 1), 100 * (p->interval.high - 1),
            c->broken      ? ": more than check.max-regression allows"
            : c->undecided ? ": too few runs to tell whether check.max-regression holds"
                           : "");
}

static void tell_against(const struct run *r, const struct suite_result *w)
{
    if (w->unlike)
        run_say(r, "%s: not compared with '%s': %s", w->workload.name, r->suite.against, w->unlike);
    for (int i = 0; i < COMPARISONS; i++)
        if (w->has_compared[i])
            tell_comparison(r, w, &w->compared[i]);
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
    if (!w->has_check && *rules_path(r, w) && w->outcome == SUITE_INCONCLUSIVE)
        run_say(r, "%s: there is no recording to hold the rules against", w->workload.name);
    if (w->has_check)
        run_say(r, "%s: %zu rules hold, %zu fail, %zu cannot be told", w->workload.name,
                w->check.n[CHECK_HOLDS], w->check.n[CHECK_FAILS], w->check.n[CHECK_INCONCLUSIVE]);
    if (w->memcheck.made || w->helgrind.made)
        run_say(r, "%s: %zu findings%s", w->workload.name, w->memcheck.n + w->helgrind.n,
                w->too_many_findings ? ": more than check.max-findings allows" : "");
}

int run_check(struct run *r, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < r->suite.results.n; i++) {
        struct suite_result *w = &r->suite.results.at[i];
        check_rules(r, w);
        compare_bench(r, w);
        compare_recordings(r, w);
        name_counted_culprit(w);
        judge(r, w);
        tell_against(r, w);
        tell_rules(r, w);
    }
    return 0;
}
