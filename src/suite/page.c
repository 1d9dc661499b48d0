/*
 * page.c - the page of one workload.
 */
#include "suite/page.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/program.h"
#include "base/units.h"
#include "base/words.h"
#include "bench/verdict.h"
#include "model/meta_words.h"
#include "stats/repeats.h"
#include "suite/judge.h"
#include "suite/page_inner.h"
#include "suite/suite.h"
#include "symbol/producer.h"
#include "view/check.h"
#include "view/document.h"
#include "view/facts.h"
#include "view/viewer.h"

#include <ctype.h>
#include <math.h>

void page_time(int64_t time_s, char *to, size_t size)
{
    char s[UNITS_MAX];
    snprintf(to, size, "%s", units_utc(s, (uint64_t)time_s * 1000000000u));
}

const char *page_shorten(const char *text, char *to, size_t size)
{
    autobuf struct buf b = {0};
    path_shorten(&b, text_of(text));
    snprintf(to, size, "%s", buf_cstr(&b));
    return to;
}

static bool shows_arguments(const struct suite *s)
{
    return conf_has(&s->conf, "", "publish.arguments", "show");
}

void page_command(struct buf *b, const struct suite *s, const char *line)
{
    if (shows_arguments(s))
        buf_str(b, line);
    else
        words_hide(b, line);
}

/* --- two columns --- */

static const struct document_column facts[] = {{"what"}, {"value", .wide = true}};

static void page_fact(struct document *d, const char *what, const char *value)
{
    char shown[1000];
    document_cell(d, text_of(what), 0);
    document_cell(d, text_of(page_shorten(*value ? value : "not known", shown, sizeof shown)), 0);
}

/* What is known about a recording, if anything. */
static void fact_of(struct document *d, const struct selection *s, const char *key)
{
    autobuf struct buf value = {0};
    if (facts_add(&value, s, key))
        page_fact(d, facts_title(key), buf_cstr(&value));
}

/* --- where it comes from --- */

static void page_add_source(struct document *d, const struct suite *s)
{
    char text[200];
    page_fact(d, "commit",
              *s->git.commit ? s->git.commit : "none: no git repository, or nothing committed yet");
    if (*s->git.commit)
        page_fact(d, "branch", *s->git.branch ? s->git.branch : "none: a commit was checked out");
    if (s->n_dirty) {
        autobuf struct buf list = {0};
        for (size_t i = 0; i < s->n_dirty && i < SUITE_DIRTY_SHOWN; i++)
            buf_printf(&list, "%s%s", i ? ", " : "", s->dirty_files[i]);
        if (s->n_dirty > SUITE_DIRTY_SHOWN)
            buf_printf(&list, " and %zu more", s->n_dirty - SUITE_DIRTY_SHOWN);
        page_fact(d, "files that differ from the commit", buf_cstr(&list));
    } else if (*s->git.commit) {
        page_fact(d, "files that differ from the commit",
                  s->git.dirty_known ? "none of those that git knows" : "not known");
    }
    snprintf(text, sizeof text, "%s of %zu file%s", s->digest, s->n_sources,
             s->n_sources == 1 ? "" : "s");
    if (*s->digest)
        page_fact(d, "digest of the sources", text);
}

/* The file that the command names, else what the suite says that it runs; free it. */
static char *page_program_of(const struct workload *w)
{
    autofree char *word = NULL, *path = NULL;
    bool named = !w->shell && words_first(w->line, &word) && strchr(word, '/') &&
                 program_find(word, &path) == PROGRAM_FOUND;
    return mem_strdup(named ? path : w->binary);
}

static void add_build(struct document *d, const struct suite *s, const struct workload *w)
{
    autofree char *binary = page_program_of(w);
    const char *command = conf_text(&s->conf, "", "build.command");
    char text[64];
    autobuf struct buf shown = {0}, env = {0};
    struct words set = conf_words(&s->conf, "", "build.env");
    page_command(&shown, s, command);
    suite_say_environment(&env, s, &set);
    words_done(&set);
    page_fact(d, "build", *command ? buf_cstr(&shown) : "none: the program existed already");
    if (*command) {
        snprintf(text, sizeof text, s->built ? "done, %.1f s" : "skipped", s->build_s);
        page_fact(d, "build in this run", text);
    }
    page_fact(d, "build environment", env.n ? buf_cstr(&env) : "nothing set by the suite");
    if (*binary) {
        autofree char *built_by = producer_read(binary);
        page_fact(d, "the program was built by", built_by ? built_by : "");
    }
    page_fact(d, "compiler on the path", s->compiler);
}

/* Whether one of the words "NAME=VALUE" is of NAME. */
static bool page_env_has(const struct words *env, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < env->at.n; i++)
        if (strncmp(env->at.at[i], name, n) == 0 && env->at.at[i][n] == '=')
            return true;
    return false;
}

/* What the suite sets is shown where it sets it: for the program, or for the build. */
static void add_environment(struct document *d, const struct suite *s, const struct workload *w)
{
    autobuf struct buf own = {0}, shown = {0};
    struct words names = conf_words(&s->conf, "", "publish.environment");
    struct words build = conf_words(&s->conf, "", "build.env");
    suite_say_environment(&own, s, &w->env);
    for (size_t i = 0; i < names.at.n; i++) {
        const char *name = names.at.at[i], *value = getenv(name);
        if (!page_env_has(&w->env, name) && !page_env_has(&build, name))
            buf_printf(&shown, "%s%s=%s", shown.n ? " " : "", name, value ? value : "(not set)");
    }
    words_done(&names);
    words_done(&build);
    page_fact(d, "environment set by the suite", own.n ? buf_cstr(&own) : "nothing");
    if (shown.n)
        page_fact(d, "other variables, as named in the suite", buf_cstr(&shown));
}

static void add_host(struct document *d, const struct suite *s)
{
    char line[320], load[64];
    const struct fingerprint *h = &s->host;
    page_fact(d, "machine", fingerprint_line(h, line));
    page_fact(d, "fingerprint", h->name);
    page_fact(d, "system", h->os);
    page_fact(d, "kernel", h->kernel);
    snprintf(load, sizeof load, "%.2f %.2f %.2f", h->load[0], h->load[1], h->load[2]);
    page_fact(d, "load before the run", h->has_load ? load : "");
    page_fact(d, "frequency governor, turbo, SMT", "");
    struct document_block *b = &d->blocks.at[d->blocks.n - 1];
    autofree char *three = mem_printf("%s, %s, %s", h->governor, h->turbo, h->smt);
    b->cells.n--;
    document_cell(d, text_of(three), 0);
    if (conf_has(&s->conf, "", "publish.host", "full")) {
        char name[256] = "";
        gethostname(name, sizeof name - 1);
        page_fact(d, "name of the machine", name);
    }
}

static void page_add_provenance(struct document *d, const struct suite *s,
                                const struct suite_result *r)
{
    char when[64];
    document_heading(d, "Provenance");
    document_table(d, facts, 2);
    page_time(s->time_s, when, sizeof when);
    page_fact(d, "time", when);
    page_add_source(d, s);
    autobuf struct buf line = {0};
    page_command(&line, s, r->workload.line);
    page_fact(d, "command", buf_cstr(&line));
    if (*r->workload.input)
        page_fact(d, "standard input", r->workload.input);
    add_environment(d, s, &r->workload);
    page_fact(d, "memory layout", r->workload.fixed_layout ? "the same in every run" : "random");
    if (*conf_text(&s->conf, "", "determinism.cpus"))
        page_fact(d, "CPUs", conf_text(&s->conf, "", "determinism.cpus"));
    add_build(d, s, &r->workload);
    add_host(d, s);
}

/* --- how it was measured --- */

static const char *caveat(enum obtained kind)
{
    if (kind == OBTAINED_UNKNOWN)
        return "How the samples were obtained is not recorded.";
    if (kind == BY_SOFTWARE_CLOCK)
        return "A software clock took the samples: shares of time are estimates, and code that "
               "runs with interrupts off is not seen. These are not hardware counters.";
    if (kind == BY_TIMER)
        return "A timer inside the program took the samples, at the ticks of the kernel: time in "
               "the kernel is counted for the code that called it. These are not hardware "
               "counters.";
    if (kind == BY_HARDWARE)
        return "A hardware counter triggered the samples: they may land a few instructions late.";
    return "Samples were taken on an event, not by time: shares are shares of that event.";
}

static void add_sampling(struct document *d, const struct suite_result *r)
{
    const struct selection *p = &r->recordings.at[0].selection;
    char n[UNITS_MAX];
    document_heading(d, "How it was sampled");
    document_text(d, "%s", caveat(p->stream->obtained));
    document_table(d, facts, 2);
    fact_of(d, p, FACT_KIND);
    fact_of(d, p, META_ENGINE);
    fact_of(d, p, META_ENGINE_NOTE);
    fact_of(d, p, FACT_EVENT);
    fact_of(d, p, FACT_RATE_HZ);
    fact_of(d, p, FACT_RATE_ACHIEVED_HZ);
    page_fact(d, "samples", units_count(n, (uint64_t)r->report.quality.samples));
    fact_of(d, p, FACT_LOST);
    fact_of(d, p, FACT_UNFINISHED);
    fact_of(d, p, META_UNNAMED_SHARE);
    if (r->recordings.n > 1)
        document_text(d,
                      "There are %zu recordings; the figures are of the first, differences from "
                      "a baseline use all of them.",
                      r->recordings.n);
}

/* --- figures --- */

static const struct document_column bench_columns[] = {
    {"what", .wide = true}, {"median", .right = true}, {"95% interval", .right = true},
    {"min", .right = true}, {"max", .right = true},    {"scatter", .right = true},
    {"runs", .right = true}};

void page_scatter_cell(struct document *d, const struct repeats_summary *s)
{
    double scatter = repeats_scatter(s);
    char text[32] = "-";
    if (isfinite(scatter) && s->median != 0) /* of what hardly ever happens it says nothing */
        snprintf(text, sizeof text, "%.1f%%%s", 100 * scatter,
                 scatter > REPEATS_SCATTER_LIMIT ? " !" : "");
    document_cell(d, text_of(text), 0);
}

static void add_measure(struct document *d, const struct series *s, enum measure m)
{
    autofree double *values = mem_calloc(s->runs.n + 1, sizeof *values);
    size_t n = series_values(s, m, values);
    struct repeats_summary sum;
    char a[UNITS_MAX], b[UNITS_MAX], range[2 * UNITS_MAX + 8];
    enum scaled kind = measure_scaled(m);
    if (!n)
        return;
    repeats_summarize(&sum, values, n);
    document_cell(d, text_of(measure_infos[m].title), 0);
    document_cell(d, text_of(units_scaled(a, sum.median, kind)), 0);
    if (isfinite(sum.median_interval.low))
        snprintf(range, sizeof range, "%s to %s", units_scaled(a, sum.median_interval.low, kind),
                 units_scaled(b, sum.median_interval.high, kind));
    else
        snprintf(range, sizeof range, "too few runs");
    document_cell(d, text_of(range), 0);
    document_cell(d, text_of(units_scaled(a, sum.min, kind)), 0);
    document_cell(d, text_of(units_scaled(a, sum.max, kind)), 0);
    page_scatter_cell(d, &sum);
    document_cell(d, text_of(units_count(a, n)), 0);
}

static void add_bench(struct document *d, const struct suite_result *r)
{
    if (!r->bench && !r->instructions)
        return;
    document_heading(d, "Whole-run timings");
    document_table(d, bench_columns, sizeof bench_columns / sizeof *bench_columns);
    for (int m = 0; m < MEASURES && r->bench; m++)
        add_measure(d, r->bench, (enum measure)m);
    if (r->instructions)
        add_measure(d, r->instructions, MEASURE_INSTRUCTIONS);
    document_text(d, PAGE_SCATTER_MEANS);
}

static const char *const finder_titles[SUITE_FINDERS] = {
    [FOUND_MEMCHECK] = "Memory errors (memcheck)",
    [FOUND_HELGRIND] = "Thread errors (helgrind)",
    [FOUND_ASAN] = "Memory errors (AddressSanitizer)",
    [FOUND_UBSAN] = "Undefined behaviour (UndefinedBehaviorSanitizer)",
    [FOUND_TSAN] = "Thread errors (ThreadSanitizer)",
};

static void add_findings(struct document *d, const char *tool, const struct suite_findings *f)
{
    if (!f->made)
        return;
    document_heading(d, tool);
    document_text(d, f->n == 1 ? "One finding." : f->n ? "%zu findings." : "No findings.", f->n);
    if (f->n && f->text)
        document_code(d, f->text);
}

void page_absent(struct document *d, const struct suite_result *r)
{
    for (int i = 0; i < COLLECTS; i++)
        if (r->absent[i]) {
            autofree char *what = mem_printf("absent: %s", collect_names[i]);
            document_item(d, what, r->absent[i], "");
        }
    for (size_t i = 0; i < r->metrics.n; i++)
        if (r->metrics.at[i].absent) {
            autofree char *what = mem_printf("absent: metric %s", r->metrics.at[i].metric->name);
            document_item(d, what, suite_why_no_metric(&r->metrics.at[i]), "");
        }
    for (size_t i = 0; r->variants && i < r->variants->absent.n; i++) {
        struct text why = text_of(r->variants->absent.at[i]), name = text_cut(&why, ':');
        autofree char *what = mem_printf("absent: variant %.*s", TEXT_ARG(name));
        document_item(d, what, text_trim(why).at, "");
    }
}

/* The figures that matter most, in a sentence. */
static void add_lead(struct document *d, const struct suite *s, const struct suite_result *r)
{
    autobuf struct buf b = {0}, line = {0};
    double wall = page_median(r->bench, MEASURE_TIME);
    uint64_t cpu_ns;
    char n[UNITS_MAX];
    if (r->recordings.n &&
        meta_find_u64(&r->recordings.at[0].profile->meta, META_CPU_TIME_NS, &cpu_ns))
        buf_printf(&b, "CPU time %s", units_scaled(n, (double)cpu_ns, SCALED_NS));
    const char *pooled =
        r->recordings.n ? meta_find(&r->recordings.at[0].profile->meta, META_POOLED_RUNS) : NULL;
    if (r->has_report)
        buf_printf(&b, " %s %s sample%s", pooled ? "per run," : "in",
                   units_count(n, (uint64_t)r->report.quality.samples),
                   r->report.quality.samples == 1 ? "" : "s");
    if (pooled)
        buf_printf(&b, " of %s runs pooled", pooled);
    if (!isnan(wall))
        buf_printf(&b, "%swall time %s, the median of %zu runs", b.n ? "; " : "",
                   units_scaled(n, wall, SCALED_NS), r->bench->runs.n);
    if (r->instructions)
        buf_printf(
            &b, "%s%s instructions", b.n ? "; " : "",
            units_scaled(n, page_median(r->instructions, MEASURE_INSTRUCTIONS), SCALED_COUNT));
    page_command(&line, s, r->workload.line);
    document_code(d, buf_cstr(&line));
    if (b.n)
        document_text(d, "%c%s.", toupper((unsigned char)*buf_cstr(&b)), buf_cstr(&b) + 1);
    page_absent(d, r);
}

static void page_add_finders(struct document *d, const struct suite *s,
                             const struct suite_result *r)
{
    autobuf struct buf b = {0};
    suite_say_findings(&b, r);
    document_text(d, "Findings: %s; the suite allows %s.", buf_cstr(&b),
                  conf_text(&s->conf, "", "check.max-findings"));
}

/* What else is not decided, of which the page has the figures further down. */
static void add_open(struct document *d, const struct suite_result *r)
{
    const struct suite_benchmarks *b = r->benchmarks;
    bool metrics = suite_metrics_gate(r, GATE_UNDECIDED);
    bool benchmarks =
        b && verdict_worst(b->outcome.against.at, b->outcome.against.n) == GATE_UNDECIDED;
    if (metrics || benchmarks)
        document_text(d,
                      "These runs cannot show whether some of its %s are worse than the suite "
                      "allows: raise its decide-time, or use a quieter machine.",
                      metrics ? "metrics" : "benchmarks");
    if (b && b->gone.n)
        document_text(d, "Benchmarks that the baseline has and this run does not: %zu (see below).",
                      b->gone.n);
}

static void add_failure(struct document *d, const struct suite *s, const struct suite_result *r)
{
    static const char *const headings[] = {
        [SUITE_FAILED] = "It failed: this is not a result",
        [SUITE_REGRESSED] = "It regressed",
        [SUITE_RULES] = "It breaks the rules",
        [SUITE_FINDINGS] = "It has errors that were found while it ran",
        [SUITE_INCOMPLETE] = "It is incomplete",
        [SUITE_INCONCLUSIVE] = "It is not decided",
    };
    if (r->outcome == SUITE_OK)
        return;
    document_heading(d, headings[r->outcome]);
    if (r->failure)
        document_text(d, "The workload %s.", r->failure);
    if (r->outcome == SUITE_INCOMPLETE)
        document_text(d, "Not everything that was asked for could be measured: the lines above "
                         "that begin with 'absent' say why.");
    if (r->output)
        document_code(d, r->output);
    if (r->outcome == SUITE_REGRESSED)
        document_text(d, "It is worse than the baseline by more than the suite allows; see below.");
    if (r->has_check && r->check.n[CHECK_FAILS])
        document_text(d, "Failed rules: %zu (see below).", r->check.n[CHECK_FAILS]);
    if (r->too_many_findings)
        page_add_finders(d, s, r);
    if (r->has_check && r->check.n[CHECK_INCONCLUSIVE])
        document_text(d, "Inconclusive rules: %zu (see below).", r->check.n[CHECK_INCONCLUSIVE]);
    if (suite_undecided(r))
        document_text(d, "%s: raise %s, or use a quieter machine.",
                      r->outcome == SUITE_REGRESSED
                          ? "Other figures of it are inconclusive"
                          : "These runs cannot show whether it is slower than the suite allows",
                      r->looks ? "its decide-time" : "its runs");
    if (r->outcome == SUITE_INCONCLUSIVE)
        add_open(d, r);
    if (!r->has_check && !suite_checked(r) && !r->failure && *judge_rules_path(s, r))
        document_text(d, "There is no recording to check the rules against.");
}

static void add_rules(struct document *d, const struct suite_result *r)
{
    const struct suite_recording *rec = suite_checked(r);
    struct check_view v = {.subject = rec ? rec->file : r->workload.name,
                           .selection = rec ? &rec->selection : NULL,
                           .rules_name = r->rules_file,
                           .check = &r->check,
                           .unlike = ""};
    check_add_rules(d, &v);
}

/* --- how to go on --- */

/* Without what may be a secret. */
static void page_add_value(struct buf *b, const struct suite *s, const struct conf_value *v)
{
    if (strcmp(v->key->key, "env") != 0) {
        bool secret = strcmp(v->key->key, "command") == 0 && !shows_arguments(s);
        buf_str(b, secret ? "..." : v->text);
        return;
    }
    autofree char *key = mem_printf("%s.env", v->key->section);
    struct words env = conf_words(&s->conf, "", key);
    suite_say_environment(b, s, &env);
    words_done(&env);
}

/* What the suite file does not say must be said again; quoted for a shell. */
static void add_overruled(struct buf *b, const struct suite *s, const char *workload)
{
    const struct conf *c = &s->conf;
    for (size_t i = 0; i < c->values.n; i++) {
        const struct conf_value *v = &c->values.at[i];
        bool other = strcmp(v->key->section, "workload") == 0 && strcmp(v->name, workload) != 0;
        if (!conf_overrules(v) || other)
            continue;
        autobuf struct buf word = {0};
        buf_printf(&word, "%s.%s%s%s=", v->key->section, v->name, *v->name ? "." : "", v->key->key);
        page_add_value(&word, s, v);
        buf_str(b, " \\\n    --set "); /* command line */
        words_quote(b, buf_cstr(&word));
    }
}

static void add_reading(struct document *d, const struct suite *s, const struct suite_result *r)
{
    autobuf struct buf again = {0};
    if (*s->git.commit && !s->git.dirty)
        buf_printf(&again, "git checkout %.12s\n", s->git.commit);
    buf_str(&again, "kelvin run ");
    words_quote(&again, r->workload.name);
    add_overruled(&again, s, r->workload.name);
    document_heading(d, "Reproduce");
    document_code(d, buf_cstr(&again));
    if (!r->recordings.n && !r->has_heap)
        return;
    document_heading(d, "How to read it");
    document_text(d, "A share such as 5.0%% ±1.4 is an estimate: in 95 of 100 recordings the true "
                     "share lies within the 1.4 points. Self is time in a function's own code, "
                     "total includes what it calls. In the flame graph width is time, and the "
                     "order from left to right is by name.");
    if (r->recordings.n)
        document_text(d,
                      "'kelvin report %s' has more, 'kelvin annotate %s FUNCTION' shows source "
                      "and instructions.",
                      r->recordings.at[0].file, r->recordings.at[0].file);
}

char *page_view_file(const struct suite_result *r)
{
    return mem_printf("%s.view.html", r->workload.name);
}

/* More than this is for 'kelvin view': the folder would grow by a third of the recordings. */
bool page_has_view(const struct suite_result *r)
{
    enum { ROWS_MAX = 2000000 };
    return viewer_is_built() && r->recordings.n &&
           profile_count_rows(r->recordings.at[0].profile) <= ROWS_MAX;
}

void page_flame(struct document *d, const struct suite_result *r)
{
    if (!r->recordings.n)
        return;
    autofree char *svg = mem_printf("%s.svg", r->workload.name);
    autofree char *view = page_view_file(r);
    bool has_view = page_has_view(r);
    document_image(d, svg, has_view ? "Flame graph: a click opens it to explore" : "Flame graph");
    if (has_view)
        document_image_link(d, view);
}

void page_workload(struct document *d, const struct suite *s, const struct suite_result *r)
{
    add_lead(d, s, r);
    add_failure(d, s, r);
    page_flame(d, r);
    if (r->has_report)
        report_add(d, &r->report, false);
    if (r->has_check)
        add_rules(d, r);
    page_comparison(d, s, r);
    if (r->simd_line) {
        document_heading(d, "Vector instructions");
        document_text(d, "Of the time: %s.", r->simd_line);
    }
    page_metrics(d, r);
    page_benchmarks(d, s, r);
    page_variants(d, s, r);
    page_scopes(d, r);
    page_heap(d, r);
    page_cache(d, r);
    add_bench(d, r);
    for (int i = 0; i < SUITE_FINDERS; i++)
        add_findings(d, finder_titles[i], &r->findings[i]);
    if (r->recordings.n)
        add_sampling(d, r);
    page_add_provenance(d, s, r);
    add_reading(d, s, r);
}
