/*
 * run_analyse.c - the phases of `kelvin run` that think: analyse, check, compare with a baseline.
 */
#include "base/reader.h"
#include "base/units.h"
#include "cmd/hotcode.h"
#include "cmd/run.h"
#include "source/import.h"
#include "store/store.h"
#include "suite/exec.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>

/* --- analyse --- */

/* Hot code, where it was asked for or insights can use it. What it points into stays open. */
static void look_at_code(struct suite_result *w, struct hotcode *code)
{
    const struct suite_recording *rec = &w->recordings.at[0];
    hotcode_read_profile(code, rec->profile, rec->type, &(struct hotcode_opts){.least = 0.001});
}

/* "81% of the time is in packed AVX2 code". */
static void describe_code(struct suite_result *w, const struct hotcode *code)
{
    autobuf struct buf line = {0};
    int64_t known = code->total - code->elsewhere, by_class[SIMD_VERDICTS] = {0};
    char word[32];
    if (!code->total || known <= 0) {
        suite_absent(w, COLLECT_SIMD, "the code of the hot functions could not be read");
        return;
    }
    for (size_t i = 0; i < code->rows.n; i++)
        by_class[simd_verdict_of(&code->rows.at[i].mix)] += code->rows.at[i].self;
    w->simd = code->all;
    buf_printf(&line,
               "%.0f%% of the time is in functions whose floating point is packed, %.0f%% in "
               "vectors of integers, %.0f%% in scalar floating point, %.0f%% in integer code",
               100.0 * (double)by_class[SIMD_PACKED] / (double)code->total,
               100.0 * (double)by_class[SIMD_PACKED_INT] / (double)code->total,
               100.0 * (double)by_class[SIMD_SCALAR] / (double)code->total,
               100.0 * (double)by_class[SIMD_INTEGER] / (double)code->total);
    if (code->elsewhere)
        buf_printf(&line, "; %.0f%% could not be looked at",
                   100.0 * (double)code->elsewhere / (double)code->total);
    if (code->rows.n)
        buf_printf(&line, "; the hottest, %s, is %s", code->rows.at[0].name,
                   simd_describe(&code->rows.at[0].mix, word));
    w->simd_line = mem_strdup(buf_cstr(&line));
}

static int analyse_workload(struct suite_result *w, struct err *err)
{
    struct suite_recording *rec = &w->recordings.at[0];
    struct hotcode code = {0};
    look_at_code(w, &code);
    if (w->workload.collect[COLLECT_SIMD])
        describe_code(w, &code);
    struct report_opts opts = {.top = 10, .code = code.rows.at, .n_code = code.rows.n};
    int rc = report_build(&w->report, rec->profile, rec->type, &opts, err);
    w->has_report = rc == 0;
    w->report.opts.code = NULL; /* what it says is said */
    w->report.opts.n_code = 0;
    hotcode_done(&code);
    return rc;
}

static void analyse_cache(struct suite_result *w)
{
    struct report_opts opts = {.top = 10};
    struct err err;
    int type;
    if (profile_pick_type(w->cache, NULL, NULL, &type, &err) == 0 &&
        report_build(&w->cache_report, w->cache, type, &opts, &err) == 0)
        w->has_cache_report = true;
    else
        suite_absent(w, COLLECT_CACHE, err.text);
}

static void build_scaling(struct suite *s)
{
    VEC(struct scaling_run) runs = {0};
    bool differ = false;
    for (size_t i = 0; i < s->results.n; i++) {
        struct suite_result *w = &s->results.at[i];
        if (!(w->workload.size > 0) || !w->recordings.n)
            continue;
        differ |= runs.n && runs.at[0].size != w->workload.size;
        *vec_push(&runs) = (struct scaling_run){w->recordings.at[0].profile,
                                                w->recordings.at[0].type, w->workload.size};
    }
    s->has_scaling = differ;
    if (differ)
        scaling_build(&s->scaling, runs.at, runs.n, 10);
    vec_done(&runs);
}

int run_analyse(struct run *r, struct err *err)
{
    for (size_t i = 0; i < r->suite.results.n; i++) {
        struct suite_result *w = &r->suite.results.at[i];
        if (w->cache)
            analyse_cache(w);
        if (w->recordings.n) {
            if (analyse_workload(w, err) != 0)
                return -1;
        } else if (w->workload.collect[COLLECT_SIMD]) {
            suite_absent(w, COLLECT_SIMD, "there is no recording to tell which code is hot");
        }
    }
    build_scaling(&r->suite);
    return 0;
}

/* --- the baseline --- */

static char *baseline_folder(const struct run *r, const char *name)
{
    autofree char *store = mem_strdup(conf_text(&r->suite.conf, "", "history.store"));
    char *slash = strrchr(store, '/');
    if (slash)
        *slash = '\0';
    return mem_printf("%s/baselines/%s", slash ? store : ".", name);
}

static void load_recordings(struct run *r, struct suite_result *w, const char *folder)
{
    for (int i = 0;; i++) {
        autofree char *path = i ? mem_printf("%s/%s.%d.kelvin", folder, w->workload.name, i + 1)
                                : mem_printf("%s/%s.kelvin", folder, w->workload.name);
        struct profile *p;
        struct import im;
        struct err err;
        int type;
        if (access(path, R_OK) != 0)
            return;
        int rc = import_file(&im, path, &(struct import_opts){0}, &p, &err);
        import_done(&im);
        if (rc == 0 && profile_pick_type(p, NULL, NULL, &type, &err) == 0)
            *vec_push(&w->before) = (struct diff_run){p, type};
        else
            run_say(r, "%s: %s", path, err.text);
    }
}

int run_load_baseline(struct run *r, struct err *err)
{
    struct suite *s = &r->suite;
    const char *name = r->opts->against;
    struct store *store;
    if (!name)
        return 0;
    if (store_open(&store, conf_text(&s->conf, "", "history.store"), STORE_READ, err) != 0)
        return -1;
    autofree char *stored = mem_printf("suite:%s", name);
    int rc = store_load_baseline(store, stored, &s->before, err);
    store_close(store);
    if (rc != 0)
        return err_set(err, EXIT_ERROR,
                       "there is no baseline '%s': 'kelvin run --save %s' makes one", name, name);
    const char *host = meta_find(&s->before.meta, META_HOST);
    if (host && strcmp(host, s->host.name) != 0 && !r->opts->force)
        return err_set(err, EXIT_ERROR,
                       "baseline '%s' is from another machine (%s, this is %s): --force compares "
                       "all the same",
                       name, host, s->host.name);
    s->against = name;
    autofree char *folder = baseline_folder(r, name);
    for (size_t i = 0; i < s->results.n; i++)
        load_recordings(r, &s->results.at[i], folder);
    return 0;
}

static int copy_file(const char *from, const char *to, struct err *err)
{
    autofree char *temp = mem_printf("%s.new", to);
    autofclose FILE *in = fopen(from, "re"), *out = fopen(temp, "we");
    char chunk[65536];
    size_t n;
    if (!in || !out)
        return err_set_errno(err, errno, "cannot copy '%s' to '%s'", from, to);
    while ((n = fread(chunk, 1, sizeof chunk, in)) > 0)
        if (fwrite(chunk, 1, n, out) != n)
            break;
    if (ferror(in) || fflush(out) != 0 || ferror(out) || rename(temp, to) != 0) {
        int e = errno;
        unlink(temp);
        return err_set_errno(err, e, "cannot copy '%s' to '%s'", from, to);
    }
    return 0;
}

static int make_folders(const char *path, struct err *err)
{
    autofree char *copy = mem_strdup(path);
    for (char *at = copy + 1;; at++) {
        char c = *at;
        if (c && c != '/')
            continue;
        *at = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            return err_set_errno(err, errno, "cannot make the folder '%s'", copy);
        *at = c;
        if (!c)
            return 0;
    }
}

static int save_recordings(struct run *r, const char *folder, struct err *err)
{
    for (size_t i = 0; i < r->suite.results.n; i++) {
        const struct suite_result *w = &r->suite.results.at[i];
        for (size_t k = 0; k < w->recordings.n; k++) {
            autofree char *from = folder_file(&r->suite.folder, w->recordings.at[k].file);
            autofree char *to = mem_printf("%s/%s", folder, w->recordings.at[k].file);
            if (copy_file(from, to, err) != 0)
                return -1;
        }
    }
    return 0;
}

int run_save_baseline(struct run *r, struct err *err)
{
    struct suite *s = &r->suite;
    struct store *store;
    if (!r->opts->save)
        return 0;
    autofree char *folder = baseline_folder(r, r->opts->save);
    autofree char *name = mem_printf("suite:%s", r->opts->save);
    if (make_folders(folder, err) != 0 || save_recordings(r, folder, err) != 0)
        return -1;
    if (store_open(&store, conf_text(&s->conf, "", "history.store"), STORE_WRITE, err) != 0)
        return -1;
    int rc = store_save_baseline(store, name, &s->series, err);
    store_close(store);
    return rc;
}

/* --- compare --- */

static size_t values_of(const struct series *s, double **ret)
{
    *ret = mem_calloc(s->runs.n + 1, sizeof **ret);
    return series_values(s, MEASURE_TIME, *ret);
}

static double max_regression(const struct run *r)
{
    return conf_number(&r->suite.conf, "", "check.max-regression") / 100;
}

static void compare_bench(struct run *r, struct suite_result *w)
{
    const struct series *before = series_find(&r->suite.before, w->workload.name);
    struct bench_comparison *c = &w->comparison;
    autofree double *b = NULL, *a = NULL;
    if (!before || !w->bench)
        return;
    size_t n_before = values_of(before, &b), n_after = values_of(w->bench, &a);
    struct paired_opts opts = {PAIRED_BAND, PAIRED_RISK, r->suite.results.n};
    *c = (struct bench_comparison){.before = before,
                                   .after = w->bench,
                                   .measure = MEASURE_TIME,
                                   .band = PAIRED_BAND,
                                   .apart = true,
                                   .max_regression = max_regression(r)};
    paired_compare_apart(&c->paired, b, n_before, a, n_after, &opts);
    enum gate g = paired_gate(&c->paired, c->max_regression, PAIRED_BAND);
    c->broken = g == GATE_BROKEN;
    c->undecided = g == GATE_UNDECIDED;
    w->has_comparison = true;
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
}

static void compare_recordings(struct run *r, struct suite_result *w)
{
    VEC(struct diff_run) runs = {0};
    autobuf struct buf unlike = {0};
    if (!w->before.n || !w->recordings.n)
        return;
    for (size_t i = 0; i < w->before.n; i++)
        *vec_push(&runs) = w->before.at[i];
    for (size_t i = 0; i < w->recordings.n; i++)
        *vec_push(&runs) = (struct diff_run){w->recordings.at[i].profile, w->recordings.at[i].type};
    struct diff_opts opts = {
        .runs = runs.at, .n_before = w->before.n, .n_runs = runs.n, .min_share = 0.005};
    diff_unlike(&opts, &unlike);
    if (unlike.n)
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
        look_at_code(w, &code);
    struct check_input in = {
        .profile = rec->profile,
        .type = rec->type,
        .before = w->before.n ? w->before.at[0].p : NULL,
        .before_type = w->before.n ? w->before.at[0].type : 0,
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

/* --- the verdict on a workload --- */

static bool regressed(const struct run *r, const struct suite_result *w)
{
    if (w->has_comparison)
        return w->comparison.broken;
    const struct diff *d = w->diff;
    return d && d->by_runs && d->has_cpu && d->cpu_s.proven &&
           d->cpu_s.after > d->cpu_s.before * (1 + max_regression(r));
}

static void judge(const struct run *r, struct suite_result *w)
{
    if (w->outcome == SUITE_FAILED)
        return;
    if (regressed(r, w))
        w->outcome = SUITE_REGRESSED;
    else if (w->has_check && w->check.verdict == CHECK_FAILS)
        w->outcome = SUITE_RULES;
    else if (w->has_check ? w->check.verdict == CHECK_INCONCLUSIVE : *rules_path(r, w) != '\0')
        w->outcome = SUITE_INCONCLUSIVE; /* also rules without a recording to hold them against */
}

static void tell(const struct run *r, const struct suite_result *w)
{
    const struct paired *p = &w->comparison.paired;
    if (w->has_comparison)
        run_say(r, "%s: %s, %+.1f%% (%+.1f to %+.1f) against '%s'%s", w->workload.name,
                verdict_names[p->verdict], 100 * (p->ratio - 1), 100 * (p->interval.low - 1),
                100 * (p->interval.high - 1), r->suite.against,
                w->comparison.broken ? ": more than check.max-regression allows" : "");
    if (w->outcome == SUITE_REGRESSED && w->culprit)
        run_say(r, "%s: look at %s", w->workload.name, w->culprit);
    for (size_t i = 0; w->has_check && i < w->check.results.n; i++) {
        const struct check_result *c = &w->check.results.at[i];
        if (c->verdict != CHECK_HOLDS)
            run_say(r, "%s: rule %s: %s (%s)", w->workload.name, check_verdict_names[c->verdict],
                    c->rule->text, c->why);
    }
    if (!w->has_check && w->outcome == SUITE_INCONCLUSIVE)
        run_say(r, "%s: there is no recording to hold the rules against", w->workload.name);
    if (w->has_check)
        run_say(r, "%s: %zu rules hold, %zu fail, %zu cannot be told", w->workload.name,
                w->check.n[CHECK_HOLDS], w->check.n[CHECK_FAILS], w->check.n[CHECK_INCONCLUSIVE]);
}

int run_check(struct run *r, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < r->suite.results.n; i++) {
        struct suite_result *w = &r->suite.results.at[i];
        check_rules(r, w);
        compare_bench(r, w);
        compare_recordings(r, w);
        judge(r, w);
        tell(r, w);
    }
    return 0;
}
