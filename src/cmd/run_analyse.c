/*
 * run_analyse.c - the phase of `kelvin run` that makes sense of what was measured; loading and
 * saving of baselines.
 */
#include "cmd/hotcode.h"
#include "cmd/run.h"
#include "source/import.h"
#include "store/store.h"

#include <errno.h>
#include <glob.h>
#include <sys/stat.h>

/* --- analyse --- */

/* Hot code, where it was asked for or insights can use it. What it points into stays open. */
static void look_at_code(struct suite_result *w, struct hotcode *code)
{
    const struct suite_recording *rec = &w->recordings.at[0];
    hotcode_read_profile(code, &rec->selection, &(struct hotcode_opts){.least = 0.001});
}

/* What a share of the time is in, largest first, and what of it is not worth a word. */
static void say_classes(struct buf *b, const struct hotcode *code)
{
    static const char *const words[SIMD_VERDICTS] = {
        [SIMD_PACKED] = "in functions whose floating point is packed",
        [SIMD_PACKED_INT] = "in functions with vectors of integers",
        [SIMD_SCALAR] = "in scalar floating point",
        [SIMD_INTEGER] = "in plain integer code",
    };
    int64_t by_class[SIMD_VERDICTS] = {0};
    for (size_t i = 0; i < code->rows.n; i++)
        by_class[simd_verdict_of(&code->rows.at[i].mix)] += code->rows.at[i].self;
    for (int round = 0; round < SIMD_VERDICTS; round++) {
        int most = 0;
        for (int i = 1; i < SIMD_VERDICTS; i++)
            most = by_class[i] > by_class[most] ? i : most;
        double share = 100.0 * (double)by_class[most] / (double)code->total;
        if (words[most] && share >= 0.5)
            buf_printf(b, "%s%.0f%% %s", b->n ? ", " : "", share, words[most]);
        by_class[most] = -1;
    }
}

/* "53% in plain integer code, 7% in functions with vectors of integers. Hottest: find (integer)" */
static void describe_code(struct suite_result *w, const struct hotcode *code)
{
    enum { NAMED = 3 };
    autobuf struct buf line = {0};
    char word[32];
    if (!code->total || code->total - code->elsewhere <= 0) {
        suite_absent(w, COLLECT_SIMD, "the code of the hot functions could not be read");
        return;
    }
    w->simd = code->all;
    say_classes(&line, code);
    if (code->elsewhere)
        buf_printf(&line, "%s%.0f%% in code that could not be looked at, such as the kernel's",
                   line.n ? ", " : "", 100.0 * (double)code->elsewhere / (double)code->total);
    for (size_t i = 0; i < code->rows.n && i < NAMED; i++)
        buf_printf(&line, "%s%s (%s)", i ? ", " : ". The hottest: ", code->rows.at[i].name,
                   simd_describe(&code->rows.at[i].mix, word));
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
    int rc = report_build(&w->report, &rec->selection, &opts, err);
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
    if (report_build(&w->misses_report, &w->cache_selection, &opts, &err) == 0)
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
        *vec_push(&runs) = (struct scaling_run){&w->recordings.at[0].selection, w->workload.size};
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

char *run_baseline_folder(const struct run *r, const char *name)
{
    autofree char *store = mem_strdup(conf_text(&r->suite.conf, "", "history.store"));
    char *slash = strrchr(store, '/');
    if (slash)
        *slash = '\0';
    return mem_printf("%s/baselines/%s", slash ? store : ".", name);
}

/* NULL where it cannot be read; then that is said. */
static struct profile *load_before(struct run *r, const char *path, struct selection *ret)
{
    struct profile *p = NULL;
    struct import im;
    struct err err;
    int rc = import_file(&im, path, &(struct import_opts){0}, &p, &err);
    import_done(&im);
    struct value_ref value;
    if (rc == 0 && profile_pick_value(p, NULL, NULL, &value, &err) == 0) {
        *ret = selection_all(p, value);
        return p;
    }
    run_say(r, "%s: %s", path, err.text);
    profile_free(p);
    return NULL;
}

static void load_recordings(struct run *r, struct suite_result *w, const char *folder)
{
    autofree char *cache = mem_printf("%s/%s.cachegrind", folder, w->workload.name);
    struct selection all;
    if (access(cache, R_OK) == 0)
        w->before_cache = load_before(r, cache, &all);
    for (int i = 0;; i++) {
        autofree char *path = i ? mem_printf("%s/%s.%d.kelvin", folder, w->workload.name, i + 1)
                                : mem_printf("%s/%s.kelvin", folder, w->workload.name);
        if (access(path, R_OK) != 0)
            return;
        struct profile *p = load_before(r, path, &all);
        if (p)
            *vec_push(&w->before) = (struct suite_recording){.profile = p, .selection = all};
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
    autofree char *folder = run_baseline_folder(r, name);
    for (size_t i = 0; i < s->results.n; i++)
        load_recordings(r, &s->results.at[i], folder);
    return 0;
}

int run_copy_file(const char *from, const char *to, struct err *err)
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

/* What an earlier run left there must not be taken for this one's. */
static void empty_folder(const char *folder)
{
    autofree char *pattern = mem_printf("%s/{*.kelvin,*.cachegrind,program}", folder);
    glob_t found = {0};
    if (glob(pattern, GLOB_BRACE, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            unlink(found.gl_pathv[i]);
    globfree(&found);
}

static int save_file(struct run *r, const char *folder, const char *name, struct err *err)
{
    autofree char *from = folder_file(&r->suite.folder, name);
    autofree char *to = mem_printf("%s/%s", folder, name);
    return run_copy_file(from, to, err);
}

static int save_recordings(struct run *r, const char *folder, struct err *err)
{
    for (size_t i = 0; i < r->suite.results.n; i++) {
        const struct suite_result *w = &r->suite.results.at[i];
        for (size_t k = 0; k < w->recordings.n; k++)
            if (save_file(r, folder, w->recordings.at[k].file, err) != 0)
                return -1;
        if (w->cache_file && save_file(r, folder, w->cache_file, err) != 0)
            return -1;
    }
    return 0;
}

int run_save_baseline(struct run *r, struct err *err)
{
    struct suite *s = &r->suite;
    struct store *store;
    if (!r->opts->save)
        return 0;
    autofree char *folder = run_baseline_folder(r, r->opts->save);
    autofree char *name = mem_printf("suite:%s", r->opts->save);
    empty_folder(folder);
    if (make_folders(folder, err) != 0 || save_recordings(r, folder, err) != 0 ||
        run_keep_program(r, err) != 0)
        return -1;
    if (store_open(&store, conf_text(&s->conf, "", "history.store"), STORE_WRITE, err) != 0)
        return -1;
    int rc = store_save_baseline(store, name, &s->series, err);
    store_close(store);
    return rc;
}
