/*
 * page_receipt.c - every figure of a run, for programs.
 */
#include "suite/page.h"
#include "suite/page_inner.h"
#include "suite/suite.h"
#include "view/facts.h"
#include "view/report_inner.h"

#include <math.h>

enum { FUNCTIONS_MAX = 200 };

/* An empty text is not known either. */
static void receipt_put_str(struct json *j, const char *key, const char *value)
{
    json_put_str(j, key, value && *value ? value : NULL);
}

/* Text with the home folder shortened. */
static void put_path(struct json *j, const char *key, const char *value)
{
    char shown[2000];
    receipt_put_str(j, key, page_shorten(value, shown, sizeof shown));
}

static void put_meta(struct json *j, const char *key, const struct meta *m)
{
    char shown[2000];
    json_key(j, key);
    json_open(j, '{');
    for (size_t i = 0; i < m->entries.n; i++) {
        json_key(j, m->entries.at[i].key);
        json_str(j, page_shorten(m->entries.at[i].value, shown, sizeof shown));
    }
    json_close(j, '}');
}

/* --- recordings --- */

static void put_share(struct json *j, const char *key, const struct flat *f, uint32_t row,
                      enum flat_what what)
{
    struct flat_share s = flat_share_of_row(f, row, what);
    json_key(j, key);
    json_open(j, '{');
    json_put_number(j, "share", s.share);
    json_put_number(j, "low", s.n_effective > 0 ? s.interval.low : NAN);
    json_put_number(j, "high", s.n_effective > 0 ? s.interval.high : NAN);
    json_close(j, '}');
}

static void put_functions(struct json *j, const struct flat *f)
{
    uint32_t rows[FUNCTIONS_MAX];
    size_t n = flat_top(f, FLAT_TOTAL, FUNCTIONS_MAX, rows);
    json_key(j, "functions");
    json_open(j, '[');
    for (size_t i = 0; i < n; i++) {
        json_open(j, '{');
        json_key(j, "name");
        json_text(j, flat_name(f, rows[i]));
        put_share(j, "self", f, rows[i], FLAT_SELF);
        put_share(j, "total", f, rows[i], FLAT_TOTAL);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void receipt_put_insights(struct json *j, const struct insights *in)
{
    json_key(j, "insights");
    json_open(j, '[');
    for (size_t i = 0; i < in->at.n; i++) {
        json_open(j, '{');
        receipt_put_str(j, "rule", in->at.at[i].rule->id);
        receipt_put_str(j, "evidence", in->at.at[i].evidence);
        receipt_put_str(j, "advice", in->at.at[i].advice);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* How the samples were taken; null where that is not known. */
static void put_stream(struct json *j, const struct selection *recording)
{
    static const char *const keys[] = {FACT_KIND,      FACT_EVENT,   FACT_SAMPLES,
                                       FACT_LOST,      FACT_RATE_HZ, FACT_RATE_ACHIEVED_HZ,
                                       FACT_UNFINISHED};
    json_key(j, "stream");
    json_open(j, '{');
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        autobuf struct buf b = {0};
        bool known = facts_add(&b, recording, keys[i]);
        json_put_str(j, keys[i], known ? buf_cstr(&b) : NULL);
    }
    json_close(j, '}');
}

static void put_recordings(struct json *j, const struct suite_result *r)
{
    json_key(j, "recordings");
    json_open(j, '[');
    for (size_t i = 0; i < r->recordings.n; i++) {
        json_open(j, '{');
        receipt_put_str(j, "file", r->recordings.at[i].file);
        put_stream(j, &r->recordings.at[i].selection);
        put_meta(j, "meta", &r->recordings.at[i].profile->meta);
        json_close(j, '}');
    }
    json_close(j, ']');
    if (!r->has_report)
        return;
    put_functions(j, r->report.functions);
    receipt_put_insights(j, &r->report.insights);
}

/* --- runs --- */

static void receipt_put_values(struct json *j, const struct series *s, enum measure m)
{
    autofree double *values = mem_calloc(s->runs.n + 1, sizeof *values);
    size_t n = series_values(s, m, values);
    struct repeats_summary sum;
    if (!n)
        return;
    repeats_summarize(&sum, values, n);
    json_key(j, measure_infos[m].name);
    json_open(j, '{');
    json_put_number(j, "median", sum.median);
    json_put_number(j, "low", sum.median_interval.low);
    json_put_number(j, "high", sum.median_interval.high);
    json_put_number(j, "mean", sum.mean);
    json_put_number(j, "sd", sum.sd);
    json_key(j, "runs");
    json_open(j, '[');
    for (size_t i = 0; i < n; i++)
        json_double(j, values[i]);
    json_close(j, ']');
    json_close(j, '}');
}

void receipt_series(struct json *j, const char *key, const struct series *s)
{
    json_key(j, key);
    if (!s) {
        json_null(j);
        return;
    }
    json_open(j, '{');
    for (int m = 0; m < MEASURES; m++)
        receipt_put_values(j, s, (enum measure)m);
    json_close(j, '}');
}

/* --- verdicts --- */

static void put_check(struct json *j, const struct suite_result *r)
{
    json_key(j, "rules");
    if (!r->has_check) {
        json_null(j);
        return;
    }
    json_open(j, '[');
    for (size_t i = 0; i < r->check.results.n; i++) {
        const struct check_result *c = &r->check.results.at[i];
        json_open(j, '{');
        receipt_put_str(j, "rule", c->rule->text);
        receipt_put_str(j, "verdict", check_verdict_names[c->verdict]);
        receipt_put_str(j, "expected", c->expected);
        receipt_put_str(j, "observed", c->observed);
        receipt_put_str(j, "why", c->why);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void receipt_compared(struct json *j, const char *key, bool known, const struct comparison *c)
{
    const struct paired *p = &c->paired;
    json_key(j, key);
    if (!known) {
        json_null(j);
        return;
    }
    bool more = c->after->more_is_better; /* then it was compared by 1 / value */
    struct interval i = p->interval;
    json_open(j, '{');
    receipt_put_str(j, "verdict", verdict_names[p->verdict]);
    json_put_number(j, "ratio", more ? 1 / p->ratio : p->ratio);
    json_put_number(j, "low", more ? 1 / i.high : i.low);
    json_put_number(j, "high", more ? 1 / i.low : i.high);
    json_put_number(j, "allowed", more ? 1 / (1 + c->limit) : 1 + c->limit);
    json_put_bool(j, "broken", c->gate == GATE_BROKEN);
    json_put_bool(j, "undecided", c->gate == GATE_UNDECIDED);
    json_close(j, '}');
}

static void put_comparison(struct json *j, const struct suite *s, const struct suite_result *r)
{
    static const char *const keys[] = {"time", "cpu", "instructions"};
    json_key(j, "against");
    if (!s->against) {
        json_null(j);
        return;
    }
    json_open(j, '{');
    receipt_put_str(j, "baseline", s->against);
    for (int i = 0; i < COMPARISONS; i++)
        receipt_compared(j, keys[i], r->has_compared[i], &r->compared[i]);
    for (size_t i = 0; i < r->metrics.n; i++) {
        autofree char *key = mem_printf("metric %s", r->metrics.at[i].metric->name);
        receipt_compared(j, key, r->metrics.at[i].has_compared, &r->metrics.at[i].compared);
    }
    receipt_put_str(j, "unlike", r->unlike);
    if (r->diff)
        receipt_put_str(j, "recordings", diff_verdict_names[r->diff->verdict]);
    receipt_put_str(j, "culprit", r->culprit);
    json_close(j, '}');
}

static void put_findings(struct json *j, const char *key, const struct suite_findings *f)
{
    json_key(j, key);
    if (f->made)
        json_uint(j, f->n);
    else
        json_null(j);
}

static void put_absent(struct json *j, const struct suite_result *r)
{
    json_key(j, "absent");
    json_open(j, '{');
    for (int i = 0; i < COLLECTS; i++)
        if (r->absent[i])
            receipt_put_str(j, collect_names[i], r->absent[i]);
    json_close(j, '}');
}

static void put_heap(struct json *j, const struct suite_result *r)
{
    const int64_t *value = r->heap_story.value;
    if (!r->has_heap)
        return;
    json_key(j, "heap");
    json_open(j, '{');
    receipt_put_str(j, "file", r->heap.file);
    json_put_uint(j, "peak", (uint64_t)value[STORY_PEAK]);
    json_put_uint(j, "leaked", (uint64_t)value[STORY_LEAKED]);
    json_put_uint(j, "leaked_blocks", (uint64_t)value[STORY_LEAKED_BLOCKS]);
    json_put_uint(j, "allocations", (uint64_t)value[STORY_ALLOCATIONS]);
    json_put_uint(j, "allocated", (uint64_t)value[STORY_ALLOCATED]);
    json_put_uint(j, "temporary", (uint64_t)value[STORY_TEMPORARY]);
    json_close(j, '}');
}

static void put_result(struct json *j, const struct suite *s, const struct suite_result *r)
{
    autobuf struct buf line = {0};
    page_command(&line, s, r->workload.line);
    json_open(j, '{');
    receipt_put_str(j, "name", r->workload.name);
    receipt_put_str(j, "outcome", suite_outcome_names[r->outcome]);
    receipt_put_str(j, "failure", r->failure);
    put_path(j, "command", buf_cstr(&line));
    json_put_number(j, "size", r->workload.size > 0 ? r->workload.size : NAN);
    put_recordings(j, r);
    receipt_series(j, "bench", r->bench);
    receipt_series(j, "instructions", r->instructions);
    put_check(j, r);
    put_comparison(j, s, r);
    receipt_put_str(j, "simd", r->simd_line);
    receipt_put_str(j, "cache_file", r->cache_file);
    if (r->has_cache_report)
        report_put_misses(j, &r->misses_report);
    put_heap(j, r);
    receipt_metrics(j, r);
    receipt_benchmarks(j, r);
    receipt_variants(j, r);
    receipt_scopes(j, r);
    put_findings(j, "memcheck_findings", &r->findings[FOUND_MEMCHECK]);
    put_findings(j, "helgrind_findings", &r->findings[FOUND_HELGRIND]);
    put_findings(j, "asan_findings", &r->findings[FOUND_ASAN]);
    put_findings(j, "ubsan_findings", &r->findings[FOUND_UBSAN]);
    put_findings(j, "tsan_findings", &r->findings[FOUND_TSAN]);
    put_absent(j, r);
    json_close(j, '}');
}

static void put_build(struct json *j, const struct suite *s)
{
    autobuf struct buf line = {0}, env = {0};
    struct words set = conf_words(&s->conf, "", "build.env");
    page_command(&line, s, conf_text(&s->conf, "", "build.command"));
    suite_say_environment(&env, s, &set);
    words_done(&set);
    json_key(j, "build");
    json_open(j, '{');
    put_path(j, "command", buf_cstr(&line));
    put_path(j, "environment", buf_cstr(&env));
    json_put_bool(j, "done", s->built);
    json_put_number(j, "seconds", s->build_s);
    receipt_put_str(j, "compiler", s->compiler);
    receipt_put_str(j, "sources_digest", s->digest);
    json_close(j, '}');
}

static void put_dirty(struct json *j, const struct suite *s)
{
    json_key(j, "dirty_files");
    json_open(j, '[');
    for (size_t i = 0; i < s->n_dirty && i < SUITE_DIRTY_SHOWN; i++)
        json_str(j, s->dirty_files[i]);
    json_close(j, ']');
}

static void put_phases(struct json *j, const struct suite *s)
{
    json_key(j, "phase_seconds");
    json_open(j, '{');
    for (int i = 0; i < PHASES - 1; i++) /* the last one is not over */
        json_put_number(j, suite_phase_names[i], s->seconds[i]);
    json_close(j, '}');
}

/* Workloads that did not run: what an earlier run found. */
static void put_carried(struct json *j, const struct suite *s)
{
    json_key(j, "carried");
    json_open(j, '[');
    for (size_t i = 0; i < s->carried.at.n; i++) {
        const struct carried *c = &s->carried.at.at[i];
        json_open(j, '{');
        receipt_put_str(j, "name", c->name);
        receipt_put_str(j, "outcome", c->outcome);
        receipt_put_str(j, "commit", c->commit);
        json_key(j, "time");
        json_int(j, c->time_s);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void page_receipt(FILE *out, const struct suite *s)
{
    struct json j = {.out = out};
    json_open(&j, '{');
    receipt_put_str(&j, "kelvin", KELVIN_VERSION);
    receipt_put_str(&j, "project", s->project);
    json_key(&j, "time");
    json_int(&j, s->time_s);
    receipt_put_str(&j, "outcome", suite_outcome_names[suite_outcome(s)]);
    put_meta(&j, "meta", &s->series.meta);
    put_dirty(&j, s);
    put_build(&j, s);
    put_phases(&j, s);
    json_put_number(&j, "own_seconds", s->own_s);
    json_key(&j, "workloads");
    json_open(&j, '[');
    for (size_t i = 0; i < s->results.n; i++)
        put_result(&j, s, &s->results.at[i]);
    json_close(&j, ']');
    put_carried(&j, s);
    json_close(&j, '}');
    fputc('\n', out);
}
