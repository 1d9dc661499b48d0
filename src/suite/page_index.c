/*
 * page_index.c - the index of what a run published, and the comparison with a baseline.
 */
#include "base/buf.h"
#include "base/units.h"
#include "base/utf8.h"
#include "suite/page.h"
#include "suite/page_inner.h"
#include "suite/suite.h"
#include "view/check.h"
#include "view/diff.h"
#include "view/report_inner.h"

#include <ctype.h>
#include <math.h>

enum { CHANGES_SHOWN = 5, SUMMARY_ROWS = 12, NOTE_BYTES = 160 };

static void index_cell(struct document *d, const char *text)
{
    document_cell(d, text_of(text), 0);
}

static void text_cell(struct document *d, struct text t)
{
    document_cell(d, t, 0);
}

/* --- the baseline --- */

static const struct document_column change_columns[] = {{"before", .right = true},
                                                        {"now", .right = true},
                                                        {"change", .right = true},
                                                        {"of CPU time", .right = true},
                                                        {"proven"},
                                                        {"function", .wide = true}};
static const struct document_column share_columns[] = {{"before", .right = true},
                                                       {"now", .right = true},
                                                       {"points", .right = true},
                                                       {"proven"},
                                                       {"function", .wide = true}};

/* What its own cost changed by, as a part of the whole before; the share's change if that is all.
 */
static double part_moved(const struct diff *f, const struct diff_entry *e)
{
    return f->has_cpu && f->whole.before > 0
               ? (e->self.after_cost - e->self.before_cost) / f->whole.before
               : e->self.after - e->self.before;
}

static int by_change(const void *a, const void *b, void *diff)
{
    const struct diff_entry *x = *(const struct diff_entry *const *)a,
                            *y = *(const struct diff_entry *const *)b;
    if (x->self.proven != y->self.proven)
        return x->self.proven ? -1 : 1;
    double dx = fabs(part_moved(diff, x)), dy = fabs(part_moved(diff, y));
    return dx > dy ? -1 : dx < dy;
}

/* Seconds of CPU time where they are known, else shares. */
static void add_change_cells(struct document *d, const struct diff *f, const struct diff_entry *e)
{
    autobuf struct buf change = {0};
    char before[UNITS_MAX], now[UNITS_MAX], moved[UNITS_MAX];
    const struct diff_value *v = &e->self;
    if (!f->has_cpu) {
        snprintf(before, sizeof before, "%.1f%%", 100 * v->before);
        snprintf(now, sizeof now, "%.1f%%", 100 * v->after);
        snprintf(moved, sizeof moved, "%+.1f", diff_points(v));
    } else {
        units_scaled(before, 1e9 * v->before_cost, SCALED_NS);
        units_scaled(now, 1e9 * v->after_cost, SCALED_NS);
        snprintf(moved, sizeof moved, "%+.1f%%", 100 * part_moved(f, e));
        diff_cost(&change, e, v);
    }
    index_cell(d, before);
    index_cell(d, now);
    if (f->has_cpu)
        index_cell(d, buf_cstr(&change));
    index_cell(d, moved);
}

/* BESIDE: made in turns; else nothing is proven. */
static void add_changes(struct document *d, const struct diff *f, bool beside)
{
    autofree const struct diff_entry **list = mem_calloc(f->functions.n + 1, sizeof *list);
    size_t n = 0;
    for (size_t i = 0; i < f->functions.n; i++)
        if (fabs(part_moved(f, &f->functions.at[i])) >= 0.001)
            list[n++] = &f->functions.at[i];
    qsort_r(list, n, sizeof *list, by_change, (void *)f);
    if (!n)
        return;
    document_table(d, f->has_cpu ? change_columns : share_columns, f->has_cpu ? 6 : 5);
    for (size_t i = 0; i < n && i < CHANGES_SHOWN; i++) {
        add_change_cells(d, f, list[i]);
        index_cell(d, list[i]->self.proven && beside ? "yes" : "no");
        text_cell(d, diff_name(f, list[i]));
    }
}

/* "Wall time: slower, +8.2%. 'small' is 8.2% slower than in the baseline 'main'..." */
static void add_verdict(struct document *d, const struct suite *s, const struct suite_result *r,
                        const struct comparison *c)
{
    autobuf struct buf b = {0};
    const struct paired *p = &c->paired;
    const char *title = measure_infos[c->measure].title;
    suite_say_comparison(&b, s, r, c);
    document_text(d, "%c%s: %s, %+.1f%%. %c%s.", toupper((unsigned char)*title), title + 1,
                  comparison_word(c), units_change(p->ratio), toupper((unsigned char)*buf_cstr(&b)),
                  buf_cstr(&b) + 1);
}

/* How far the verdict on a time can be trusted. */
static void add_trust(struct document *d, const struct comparison *c)
{
    const struct paired *p = &c->paired;
    if (!isfinite(p->interval.high))
        return;
    document_text(
        d,
        "Based on %zu runs before and %zu now, %s, with a %.4g%% interval. These runs would detect "
        "a change of %.1f%% or more with 80%% power. A change up to %.0f%% counts as none.",
        c->before->runs.n, c->after->runs.n,
        c->apart ? "made at different times" : "by both programs in turns", 100 * (1 - p->miss),
        100 * p->detectable, 100 * c->band);
}

void page_comparison(struct document *d, const struct suite *s, const struct suite_result *r)
{
    if (!s->against)
        return;
    autofree char *title = mem_printf("Against the baseline '%s'", s->against);
    document_heading(d, title);
    bool any = r->diff || r->unlike || (r->benchmarks && r->benchmarks->outcome.against.n);
    for (int i = 0; i < COMPARISONS; i++) {
        if (!r->has_compared[i])
            continue;
        any = true;
        add_verdict(d, s, r, &r->compared[i]);
        if (i != BY_INSTRUCTIONS)
            add_trust(d, &r->compared[i]);
    }
    if (r->benchmarks) {
        autobuf struct buf b = {0};
        suite_say_benchmarks(&b, r);
        document_text(d, "Benchmarks: %s.", buf_cstr(&b));
    }
    for (size_t i = 0; i < r->metrics.n; i++)
        if (r->metrics.at[i].has_compared) {
            autobuf struct buf b = {0};
            any = true;
            metric_say(&b, r->metrics.at[i].metric, &r->metrics.at[i].compared);
            document_text(d, "%s.", buf_cstr(&b));
        }
    if (r->unlike)
        document_text(d, "This run and the baseline differ in more than the program: %s.",
                      r->unlike);
    if (suite_same_work(r))
        document_text(d, "It got slower with the same number of instructions: " COMPARISON_SAME_WORK
                         ".");
    if (r->why_apart)
        document_text(d, "The two programs did not run side by side: %s.", r->why_apart);
    if (r->diff && r->before_beside)
        document_text(d, "Recordings, made in turns: %s; %s.", diff_verdict_names[r->diff->verdict],
                      r->diff->why);
    else if (r->diff)
        document_text(d, "The recordings were made at different times, when the machine may have "
                         "behaved differently: the differences below are not a verdict.");
    if (r->diff)
        add_changes(d, r->diff, r->before_beside);
    if (r->outcome == SUITE_REGRESSED && r->culprit)
        document_item(d, "grew most", r->culprit, "");
    if (!any)
        document_text(d, "The baseline has nothing of this workload.");
}

/* --- the caches --- */

void page_cache(struct document *d, const struct suite_result *r)
{
    if (!r->has_cache_report)
        return;
    report_add_misses(d, &r->misses_report);
    document_text(d,
                  "The caches (I1, D1, LL) and the branch predictor are simulated: real ones "
                  "prefetch and predict better. A function's figures are "
                  "its own, without what it calls. 'kelvin report %s' has lines too.",
                  r->cache_file);
}

/* --- the index --- */

static const struct document_column index_columns[] = {
    {"workload"},
    {"outcome"},
    {"rules"},
    {"CPU time", .right = true},
    {"wall time", .right = true},
    {"last runs"},
    {"samples", .right = true},
    {"hottest function, benchmarks or heap", .wide = true},
    {"page"}};

double page_median(const struct series *s, enum measure m)
{
    struct repeats_summary sum;
    if (!s)
        return NAN;
    autofree double *values = mem_calloc(s->runs.n + 1, sizeof *values);
    size_t n = series_values(s, m, values);
    repeats_summarize(&sum, values, n);
    return sum.median;
}

static void number_cell(struct document *d, double value, enum scaled kind)
{
    char text[UNITS_MAX];
    index_cell(d, isnan(value) ? "-" : units_scaled(text, value, kind));
}

/* "30 benchmarks; the slowest is dot/n=4096, 1.2 us" */
static void say_slowest(struct buf *b, const struct suite_benchmarks *of)
{
    const struct session *n = &of->outcome.session;
    const char *slowest = NULL;
    double most = 0;
    char time[UNITS_MAX];
    for (size_t i = 0; i < n->set.series.n; i++) {
        double median = page_median(&n->set.series.at[i], n->opts.measure);
        slowest = median > most ? n->set.series.at[i].name : slowest;
        most = median > most ? median : most;
    }
    buf_printf(b, "%zu benchmark%s", n->set.series.n, n->set.series.n == 1 ? "" : "s");
    if (slowest)
        buf_printf(b, "; the slowest is %s, %s", slowest, units_scaled(time, most, SCALED_NS));
}

static void hottest_cell(struct document *d, const struct suite_result *r)
{
    autobuf struct buf b = {0};
    uint32_t row;
    if (r->benchmarks && !r->has_report)
        say_slowest(&b, r->benchmarks);
    else if (r->has_heap && !r->has_report)
        suite_say_heap(&b, r);
    if (r->has_report && flat_top(r->report.functions, FLAT_SELF, 1, &row)) {
        struct flat_share share = flat_share_of_row(r->report.functions, row, FLAT_SELF);
        struct text name = flat_name(r->report.functions, row);
        buf_printf(&b, "%.*s, ", TEXT_ARG(name));
        insight_share(&b, &share);
    }
    index_cell(d, b.n ? buf_cstr(&b) : "-");
}

/* "5 passed", "1 FAILED of 5", "2 of 5 inconclusive" */
static void rules_cell(struct document *d, const struct suite_result *r)
{
    const struct check *c = &r->check;
    size_t bad = r->has_check ? c->n[CHECK_FAILS] : 0;
    char text[64] = "-";
    if (bad)
        snprintf(text, sizeof text, "%zu FAILED of %zu", bad, c->results.n);
    else if (r->has_check && c->n[CHECK_INCONCLUSIVE])
        snprintf(text, sizeof text, "%zu of %zu inconclusive", c->n[CHECK_INCONCLUSIVE],
                 c->results.n);
    else if (r->has_check)
        snprintf(text, sizeof text, "%zu passed", c->n[CHECK_HOLDS]);
    document_cell(d, text_of(text), bad ? 1 : 0);
}

static void index_add_row(struct document *d, const struct suite_result *r, const char *ending)
{
    uint64_t cpu_ns;
    char n[UNITS_MAX];
    autofree char *page = mem_printf("%s.%s", r->workload.name, ending);
    bool known = r->recordings.n &&
                 meta_find_u64(&r->recordings.at[0].profile->meta, META_CPU_TIME_NS, &cpu_ns);
    index_cell(d, r->workload.name);
    document_cell(d, text_of(suite_outcome_words[r->outcome]), r->outcome == SUITE_OK ? 0 : 1);
    rules_cell(d, r);
    number_cell(d, known ? (double)cpu_ns : NAN, SCALED_NS);
    number_cell(d, page_median(r->bench, MEASURE_TIME), SCALED_NS);
    index_cell(d, r->trend ? r->trend : "-");
    index_cell(d, r->has_report ? units_count(n, (uint64_t)r->report.quality.samples) : "-");
    hottest_cell(d, r);
    document_cell_link(d, text_of(page), page);
}

static void index_add_head(struct document *d, const struct suite *s)
{
    char when[64], line[320];
    page_time(s->time_s, when, sizeof when);
    document_text(d, "%s, %s%.12s%s, on %s.", when, *s->git.commit ? "commit " : "no commit",
                  s->git.commit, s->n_dirty ? " with changes" : "",
                  fingerprint_line(&s->host, line));
    for (size_t i = 0; i < s->warnings.n; i++)
        document_text(d, "Note: %s.", s->warnings.at[i]);
}

static const struct document_column carried_columns[] = {
    {"workload"}, {"outcome then"}, {"run"}, {"page", .wide = true}};

/* "2026-11-18 01:50:00 UTC, commit 3f9a1c2d04ab" */
static void say_carried_run(struct buf *b, const struct carried *c)
{
    char when[64];
    page_time(c->time_s, when, sizeof when);
    buf_printf(b, "%s, %s%.12s", when, *c->commit ? "commit " : "no commit", c->commit);
}

static void index_add_carried(struct document *d, const struct suite *s, const char *ending)
{
    if (!s->carried.at.n)
        return;
    document_heading(d, "Not run this time");
    document_text(d, "The pages of these workloads are those of an earlier run.");
    document_table(d, carried_columns, sizeof carried_columns / sizeof *carried_columns);
    for (size_t i = 0; i < s->carried.at.n; i++) {
        const struct carried *c = &s->carried.at.at[i];
        autofree char *page = mem_printf("%s.%s", c->name, ending);
        autobuf struct buf run = {0};
        say_carried_run(&run, c);
        index_cell(d, c->name);
        index_cell(d, c->outcome);
        index_cell(d, buf_cstr(&run));
        document_cell_link(d, text_of(page), page);
    }
}

/* "Passed: 3 of 3 workloads ok; rules: 12 passed, 0 failed, 0 inconclusive." */
static void index_add_verdict(struct document *d, const struct suite *s)
{
    size_t good = 0, n[CHECK_VERDICTS] = {0};
    enum suite_outcome outcome = suite_outcome(s);
    for (size_t i = 0; i < s->results.n; i++) {
        const struct suite_result *r = &s->results.at[i];
        good += r->outcome == SUITE_OK;
        for (int v = 0; r->has_check && v < CHECK_VERDICTS; v++)
            n[v] += r->check.n[v];
    }
    autobuf struct buf rules = {0};
    if (n[CHECK_HOLDS] + n[CHECK_FAILS] + n[CHECK_INCONCLUSIVE])
        buf_printf(&rules, "; rules: %zu passed, %zu failed, %zu inconclusive", n[CHECK_HOLDS],
                   n[CHECK_FAILS], n[CHECK_INCONCLUSIVE]);
    document_text(d, "%s: %zu of %zu workload%s ok%s.",
                  outcome == SUITE_OK             ? "Passed"
                  : outcome == SUITE_INCONCLUSIVE ? "Inconclusive"
                  : outcome == SUITE_INCOMPLETE   ? "Incomplete"
                                                  : "FAILED",
                  good, s->results.n, s->results.n == 1 ? "" : "s", buf_cstr(&rules));
}

void page_index(struct document *d, const struct suite *s, const char *ending)
{
    index_add_verdict(d, s);
    index_add_head(d, s);
    document_table(d, index_columns, sizeof index_columns / sizeof *index_columns);
    for (size_t i = 0; i < s->results.n; i++)
        index_add_row(d, &s->results.at[i], ending);
    index_add_carried(d, s, ending);
    if (s->notes) {
        document_heading(d, "Notes");
        document_notes(d, s->notes);
    }
    if (s->has_scaling)
        check_add_growth(d, &s->scaling);
    for (size_t i = 0; i < s->results.n; i++) {
        const struct suite_result *r = &s->results.at[i];
        document_heading(d, r->workload.name);
        autobuf struct buf line = {0};
        page_command(&line, s, r->workload.line);
        document_code(d, buf_cstr(&line));
        if (r->failure)
            document_text(d, "FAILED: it %s.", r->failure);
        page_flame(d, r);
        if (r->diff) {
            autofree char *diff = mem_printf("%s.diff.svg", r->workload.name);
            document_image(d, diff, "Flame graph of what changed since the baseline");
        }
        page_absent(d, r);
        page_comparison(d, s, r);
    }
    document_text(d, "run.json has every figure. The .kelvin files open with 'kelvin report' and "
                     "'kelvin flame'. 'kelvin history' compares with earlier runs.");
}

/* --- for a pull request --- */

/* What was compared, in a few words: "wall time slower, +9.8%; instructions same, +0.0%". */
static void summary_change(FILE *out, const struct suite_result *r)
{
    bool any = false;
    for (int i = 0; i < COMPARISONS; i++)
        if (r->has_compared[i]) {
            const struct comparison *c = &r->compared[i];
            fprintf(out, "%s%s %s, %+.1f%%", any ? "; " : "", measure_infos[c->measure].title,
                    comparison_word(c), units_change(c->paired.ratio));
            any = true;
        }
    if (r->benchmarks && r->benchmarks->outcome.against.n) {
        autobuf struct buf b = {0};
        suite_say_benchmarks(&b, r);
        fprintf(out, "%sbenchmarks: %s", any ? "; " : "", buf_cstr(&b));
        any = true;
    }
    for (size_t i = 0; i < r->metrics.n; i++) {
        const struct suite_metric *m = &r->metrics.at[i];
        if (!m->has_compared || m->compared.gate == GATE_HOLDS)
            continue;
        autobuf struct buf b = {0};
        metric_say(&b, m->metric, &m->compared);
        fprintf(out, "%s%s", any ? "; " : "", buf_cstr(&b));
        any = true;
    }
    if (r->diff && r->before_beside && r->diff->verdict == DIFF_REGRESSED) {
        fprintf(out, "%srecordings in turns regressed", any ? "; " : "");
        any = true;
    }
    if (!any && r->diff && r->diff->has_cpu) {
        fprintf(out, "CPU time %+.1f%%%s", 100 * (r->diff->cpu_s.after / r->diff->cpu_s.before - 1),
                r->diff->cpu_s.proven && r->before_beside ? "" : ", not proven");
        any = true;
    }
    fputs(any ? " | " : "- | ", out);
}

/* A cell ends at a bar, whatever it stands in. */
static void put_cell(FILE *out, struct text t)
{
    for (size_t i = 0; i < t.n && i < NOTE_BYTES; i++)
        if (t.at[i] == '|')
            fputs("\\|", out);
        else
            fputc(t.at[i] == '\n' ? ' ' : t.at[i], out);
    if (t.n > NOTE_BYTES)
        fputs("...", out);
}

static struct buf *next_note(struct buf *b)
{
    buf_str(b, b->n ? "; " : "");
    return b;
}

/* What could not be had, of a run that is incomplete. */
static void note_absent(struct buf *b, const struct suite_result *r)
{
    for (int i = 0; i < COLLECTS; i++)
        if (r->absent[i])
            buf_printf(next_note(b), "no %s: %s", collect_names[i], r->absent[i]);
    for (size_t i = 0; i < r->metrics.n; i++)
        if (r->metrics.at[i].absent)
            buf_printf(next_note(b), "no metric %s: %s", r->metrics.at[i].metric->name,
                       suite_why_no_metric(&r->metrics.at[i]));
    for (size_t i = 0; r->variants && i < r->variants->absent.n; i++)
        buf_printf(next_note(b), "no variant %s", r->variants->absent.at[i]);
}

static void note_rules(struct buf *b, const struct suite_result *r, enum check_verdict verdict)
{
    for (size_t i = 0; r->has_check && i < r->check.results.n; i++)
        if (r->check.results.at[i].verdict == verdict)
            buf_printf(next_note(b), "rule %s: %s", check_verdict_names[verdict],
                       r->check.results.at[i].rule->text);
}

/* All that keeps a workload from being ok; else what it does most. */
static void summary_note(FILE *out, const struct suite_result *r)
{
    autobuf struct buf b = {0};
    uint32_t row;
    if (r->failure)
        buf_printf(&b, "it %s", r->failure);
    if (r->outcome == SUITE_REGRESSED && r->culprit)
        buf_str(next_note(&b), r->culprit);
    if (r->too_many_findings)
        suite_say_findings(next_note(&b), r);
    note_rules(&b, r, CHECK_FAILS);
    note_rules(&b, r, CHECK_INCONCLUSIVE);
    if (r->outcome == SUITE_INCOMPLETE)
        note_absent(&b, r);
    if (!b.n && r->has_report && flat_top(r->report.functions, FLAT_SELF, 1, &row)) {
        struct text name = flat_name(r->report.functions, row);
        buf_printf(&b, "hottest: %.*s", TEXT_ARG(name));
    }
    put_cell(out, b.n ? buf_text(&b) : text_of("-"));
}

static void summary_row(FILE *out, const struct suite_result *r)
{
    char now[UNITS_MAX];
    double wall = page_median(r->bench, MEASURE_TIME);
    fprintf(out, "| %s | %s | %s | ", r->workload.name, suite_outcome_words[r->outcome],
            isnan(wall) ? "-" : units_scaled(now, wall, SCALED_NS));
    summary_change(out, r);
    summary_note(out, r);
    fputs(" |\n", out);
}

static void put_summary(FILE *out, const struct suite *s)
{
    fprintf(out, "### %s: %s\n\n", s->project, suite_outcome_words[suite_outcome(s)]);
    fputs("| workload | outcome | wall time | against the baseline | note "
          "|\n|---|---|---:|---|---|\n",
          out);
    for (size_t i = 0; i < s->results.n && i < SUMMARY_ROWS; i++)
        summary_row(out, &s->results.at[i]);
    if (s->results.n > SUMMARY_ROWS)
        fprintf(out, "\nMore workloads in README.md: %zu.\n", s->results.n - SUMMARY_ROWS);
    for (size_t i = 0; i < s->carried.at.n; i++) {
        autobuf struct buf run = {0};
        say_carried_run(&run, &s->carried.at.at[i]);
        fprintf(out, "\nNot run this time: %s (%s; %s).\n", s->carried.at.at[i].name,
                s->carried.at.at[i].outcome, buf_cstr(&run));
    }
    fprintf(out, "\n%s%.12s%s on %s.\n", *s->git.commit ? "Commit " : "No commit", s->git.commit,
            s->n_dirty ? " with changes" : "", s->host.name);
}

/* Names of all kinds are in it, and it is printed by those who look after a build. */
void page_summary(FILE *out, const struct suite *s)
{
    autofree char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    put_summary(memory, s);
    fclose(memory);
    for (struct text rest = {text, n}; rest.n;) {
        struct text line = text_cut(&rest, '\n');
        autobuf struct buf plain = {0};
        utf8_plain(&plain, line);
        fprintf(out, "%s\n", buf_cstr(&plain));
    }
}
