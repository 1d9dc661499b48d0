/*
 * run_publish.c - the last phase of a run: pages, history, baseline.
 */
#include "analysis/misses.h"
#include "base/path.h"
#include "store/history.h"
#include "suite/archive.h"
#include "suite/page.h"
#include "suite/page_inner.h"
#include "suite/run_inner.h"

#include <errno.h>
#include <glob.h>
#include <math.h>
#include <unistd.h>
#include <xxhash.h>

/* --- the digest of the sources --- */

/* Of what is no file only the name counts: a pipe may lie there that nobody writes to. */
static void add_file(XXH3_state_t *state, const char *path)
{
    autoclose int fd = path_open_file(path, 0, NULL);
    char chunk[65536];
    ssize_t n;
    XXH3_128bits_update(state, path, strlen(path) + 1);
    while (fd >= 0 && (n = read(fd, chunk, sizeof chunk)) > 0)
        XXH3_128bits_update(state, chunk, (size_t)n);
}

/* Over names and contents of the files, in the order of the patterns and of their names. */
static void digest_sources(struct suite *s)
{
    struct words patterns = conf_words(&s->conf, "", "publish.sources");
    XXH3_state_t *state = XXH3_createState();
    XXH3_128bits_reset(state);
    for (size_t i = 0; i < patterns.at.n; i++) {
        glob_t found = {0};
        if (glob(patterns.at.at[i], GLOB_BRACE, NULL, &found) == 0)
            for (size_t k = 0; k < found.gl_pathc; k++, s->n_sources++)
                add_file(state, found.gl_pathv[k]);
        globfree(&found);
    }
    XXH128_hash_t h = XXH3_128bits_digest(state);
    if (s->n_sources)
        snprintf(s->digest, sizeof s->digest, "%016llx%016llx", (unsigned long long)h.high64,
                 (unsigned long long)h.low64);
    XXH3_freeState(state);
    words_done(&patterns);
}

/* --- history --- */

static void add_series(struct history_run *h, const struct series *s, enum measure m,
                       const char *name)
{
    if (!s)
        return;
    autofree double *values = mem_calloc(s->runs.n + 1, sizeof *values);
    size_t n = series_values(s, m, values);
    struct repeats_summary sum;
    if (!n)
        return;
    repeats_summarize(&sum, values, n);
    bool known = isfinite(sum.median_interval.low);
    history_add_metric(h, name, sum.median, known ? sum.median_interval.low : NAN,
                       known ? sum.median_interval.high : NAN);
}

static void run_publish_add_functions(struct history_run *h, const struct flat *f)
{
    enum { MOST = 200 };
    uint32_t rows[MOST];
    size_t n = flat_top(f, FLAT_TOTAL, MOST, rows);
    double whole = f->whole ? (double)f->whole : 1;
    for (size_t i = 0; i < n; i++)
        history_add_function(h, flat_name(f, rows[i]), (double)f->rows.at[rows[i]].self / whole,
                             (double)f->rows.at[rows[i]].total / whole);
}

static void add_cache(struct history_run *h, const struct suite_result *w)
{
    if (!w->has_cache_report)
        return;
    struct misses c = misses_build(w->misses_report.functions);
    if (c.has_data)
        history_add_metric(h, "d1_miss_rate", misses_d1_rate(&c.whole), NAN, NAN);
    if (c.has_ll)
        history_add_metric(h, "ll_miss_rate", misses_ll_rate(&c.whole), NAN, NAN);
    misses_done(&c);
}

/* Counted, not estimated: no intervals. */
static void add_heap(struct history_run *h, const struct suite_result *w)
{
    static const struct {
        const char *name;
        enum heapstory_value value;
    } metrics[] = {{"heap_peak", STORY_PEAK},
                   {"heap_leaked", STORY_LEAKED},
                   {"heap_allocations", STORY_ALLOCATIONS},
                   {"heap_allocated", STORY_ALLOCATED}};
    for (size_t i = 0; w->has_heap && i < sizeof metrics / sizeof *metrics; i++)
        history_add_metric(h, metrics[i].name, (double)w->heap_story.value[metrics[i].value], NAN,
                           NAN);
}

/* "scope_p99 decode": `kelvin history` finds them by their beginning. */
static void add_scopes(struct history_run *h, const struct suite_result *w)
{
    for (size_t i = 0; i < w->scopes.n; i++) {
        const struct suite_scope *s = &w->scopes.at[i];
        const struct scope_quantile *q[] = {&s->p50, &s->p99};
        for (int k = 0; k < 2; k++) {
            autofree char *name = mem_printf("scope_p%d %s", k ? 99 : 50, s->name);
            double high = isfinite(q[k]->interval.high) ? q[k]->interval.high : NAN;
            history_add_metric(h, name, q[k]->ns, isnan(high) ? NAN : q[k]->interval.low, high);
        }
    }
}

/* "metric_higher tps": what is better stands in the name, as trends must know it. */
static void add_metrics(struct history_run *h, const struct suite_result *w)
{
    for (size_t i = 0; i < w->metrics.n; i++) {
        const struct metric *m = w->metrics.at[i].metric;
        autofree char *name =
            mem_printf("metric_%s %s", m->more_is_better ? "higher" : "lower", m->name);
        add_series(h, w->metrics.at[i].runs, MEASURE_METRIC, name);
    }
}

/* "benchmark dot/n=64" */
static void add_benchmarks(struct history_run *h, const struct suite_result *w)
{
    for (size_t i = 0; w->benchmarks && i < w->benchmarks->outcome.session.set.series.n; i++) {
        const struct series *s = &w->benchmarks->outcome.session.set.series.at[i];
        autofree char *name = mem_printf("benchmark %s", s->name);
        add_series(h, s, w->benchmarks->outcome.session.opts.measure, name);
    }
}

static int remember_workload(struct run *r, struct store *store, const struct suite_result *w,
                             struct err *err)
{
    const struct suite *s = &r->suite;
    struct history_run h = {.time_s = s->time_s, .dirty = s->git.dirty};
    autofree char *recorded = mem_printf("%s recorded", w->workload.name);
    snprintf(h.commit, sizeof h.commit, "%s", s->git.commit);
    snprintf(h.branch, sizeof h.branch, "%s", s->git.branch);
    snprintf(h.host, sizeof h.host, "%s", s->host.name);
    snprintf(h.workload, sizeof h.workload, "%s", w->workload.name);
    snprintf(h.outcome, sizeof h.outcome, "%s", suite_outcome_names[w->outcome]);
    add_series(&h, series_find(&s->series, recorded), MEASURE_CPU, "cpu");
    add_series(&h, w->bench, MEASURE_TIME, "time");
    add_series(&h, w->bench, MEASURE_PEAK_RSS, "peak_rss");
    add_series(&h, w->instructions, MEASURE_INSTRUCTIONS, "instructions");
    add_cache(&h, w);
    add_heap(&h, w);
    add_scopes(&h, w);
    add_metrics(&h, w);
    add_benchmarks(&h, w);
    if (w->has_report) {
        history_add_metric(&h, "samples", (double)w->report.quality.samples, NAN, NAN);
        run_publish_add_functions(&h, w->report.functions);
    }
    int rc = history_add(store, &h, err);
    history_run_done(&h);
    return rc;
}

/* A history that cannot be written is reported, and costs no more than itself. */
void run_remember(struct run *r)
{
    const char *path = conf_text(&r->suite.conf, "", "history.store");
    struct store *store;
    struct err err;
    if (!*path)
        return;
    int rc = store_open(&store, path, STORE_WRITE, &err);
    for (size_t i = 0; i < r->suite.results.n && rc == 0; i++)
        rc = remember_workload(r, store, &r->suite.results.at[i], &err);
    store_close(store);
    if (rc != 0)
        run_say(r, "not added to the history: %s", err.text);
}

/* --- the last runs, at a glance --- */

enum { TREND_RUNS = 24 };

/* One of eight heights for each value, from the lowest to the highest. */
static char *trend_spark(const double *values, size_t n)
{
    double low = INFINITY, high = -INFINITY;
    autobuf struct buf b = {0};
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    /* What differs by less than a tenth all in all is drawn as flat as it is. */
    double room = fmax(high - low, 0.1 * high);
    for (size_t i = 0; i < n; i++) {
        int step = room > 0 ? (int)fmin(7, 8 * (values[i] - low) / room) : 0;
        buf_printf(&b, "\xe2\x96%c", (char)(0x81 + step));
    }
    return n > 1 ? mem_strdup(buf_cstr(&b)) : NULL;
}

/* What W measured now, and which of the history's figures that is; NAN = nothing. */
static double trend_now(const struct suite *s, const struct suite_result *w, const char **ret_name)
{
    autofree char *recorded = mem_printf("%s recorded", w->workload.name);
    double cpu = page_median(series_find(&s->series, recorded), MEASURE_CPU);
    *ret_name = isnan(cpu) ? "time" : "cpu";
    return isnan(cpu) ? page_median(w->bench, MEASURE_TIME) : cpu;
}

static void find_trend(const struct suite *s, struct store *store, struct suite_result *w)
{
    struct history_filter f = {
        .workload = w->workload.name, .host = s->host.name, .commit = "", .last = TREND_RUNS - 1};
    struct history_runs runs = {0};
    struct err ignored;
    const char *name;
    double values[TREND_RUNS], now = trend_now(s, w, &name);
    size_t n = 0;
    if (!isnan(now) && history_list(store, &f, &runs, &ignored) == 0) {
        for (size_t i = 0; i < runs.at.n && n < TREND_RUNS - 1; i++) {
            double v = history_metric(&runs.at.at[i], name);
            if (isfinite(v) && strcmp(runs.at.at[i].outcome, "failed") != 0)
                values[n++] = v;
        }
        values[n++] = now;
        w->trend = trend_spark(values, n);
    }
    history_runs_done(&runs);
}

/* Without a history there is nothing to draw; what is wrong with one is reported where it is
 * written.
 */
static void run_publish_trends(struct run *r)
{
    const char *path = conf_text(&r->suite.conf, "", "history.store");
    struct store *store;
    struct err ignored;
    if (!*path || store_open(&store, path, STORE_READ, &ignored) != 0)
        return;
    for (size_t i = 0; i < r->suite.results.n; i++)
        find_trend(&r->suite, store, &r->suite.results.at[i]);
    store_close(store);
}

/* As with the history, what cannot be kept costs no more than itself. */
static void run_publish_archive(const struct run *r)
{
    const struct suite *s = &r->suite;
    struct archive_limits most = {(long)conf_number(&s->conf, "", "history.keep"),
                                  conf_number(&s->conf, "", "history.max-size") * (1 << 20)};
    size_t gone = 0;
    struct err err;
    if (*conf_text(&s->conf, "", "history.store") &&
        archive_add(s, conf_text(&s->conf, "", "publish.folder"), &most, &gone, &err) != 0)
        run_say(r, "the recordings were not added to the archive: %s", err.text);
    else if (gone)
        run_say(r,
                "the archive was above its history.max-size: recordings of the oldest %zu run%s "
                "were deleted",
                gone, gone == 1 ? "" : "s");
}

/* --- the folder --- */

/* What is not a result must not take the place of one: it goes beside it. */
static int redirect(struct run *r, struct err *err)
{
    struct folder *f = &r->suite.folder, failed;
    autofree char *path = mem_printf("%s-failed", f->path);
    if (folder_open(&failed, path, err) != 0) {
        folder_drop(&failed);
        return -1;
    }
    folder_drop(&failed); /* it may be replaced */
    free(f->path);
    f->path = mem_strdup(path);
    return 0;
}

/* A hand-written file stays where it is: so no run can lose it. */
int run_read_notes(struct run *r, struct err *err)
{
    enum { MOST = 256 << 10 };
    const char *path = conf_text(&r->suite.conf, "", "publish.notes");
    autobuf struct buf b = {0};
    char chunk[4096];
    ssize_t n = 0;
    if (!*path)
        return 0;
    autoclose int fd = path_open_file(path, 0, NULL);
    while (fd >= 0 && b.n < MOST && (n = read(fd, chunk, sizeof chunk)) > 0)
        buf_add(&b, chunk, (size_t)n);
    if (fd < 0 || n < 0)
        return err_set(err, EXIT_ERROR,
                       "publish.notes: cannot read '%s': %s. Write that file, or correct or remove "
                       "publish.notes",
                       path, strerror(errno));
    if (b.n >= MOST && read(fd, chunk, 1) > 0)
        buf_printf(&b, "\n\n(The rest of %s is left out: it has more than %d KiB.)\n", path,
                   MOST >> 10);
    if (b.n)
        r->suite.notes = mem_strdup(buf_cstr(&b));
    return 0;
}

int run_publish(struct run *r, struct err *err)
{
    struct suite *s = &r->suite;
    enum suite_outcome outcome = suite_outcome(s);
    bool good = outcome == SUITE_OK || outcome == SUITE_INCONCLUSIVE;
    digest_sources(s);
    run_publish_trends(r);
    unlink(r->log);
    if (!good && redirect(r, err) != 0)
        return -1;
    if (good && carried_take(s, err) != 0)
        return -1;
    if (page_write_all(s, err) != 0)
        return -1;
    if (good && run_save_baseline(r, err) != 0)
        return -1;
    if (r->opts.save && good)
        run_say(r, "saved as the baseline '%s'", r->opts.save);
    else if (r->opts.save)
        run_say(r, "not saved as the baseline '%s' (%s)", r->opts.save,
                suite_outcome_words[outcome]);
    free(r->published);
    r->published = mem_printf("%s/index.html", s->folder.path);
    autofree char *failed = mem_printf("%s-failed", s->folder.path);
    if (folder_commit(&s->folder, err) != 0)
        return -1;
    if (good && !carried_has_failure(s, failed))
        folder_remove(failed); /* of a run before: it is not what is now */
    run_remember(r);
    if (good)
        run_publish_archive(r);
    return 0;
}
