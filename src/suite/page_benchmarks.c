/* page_benchmarks.c - the benchmarks of a workload's program, on its page and in its receipt. */
#include "base/json.h"
#include "base/units.h"
#include "stats/repeats.h"
#include "suite/page_inner.h"
#include "suite/suite.h"
#include "view/document.h"

#include <math.h>

static const struct document_column benchmark_columns[] = {
    {"benchmark", .wide = true}, {"median", .right = true}, {"95% interval", .right = true},
    {"scatter", .right = true},  {"R2", .right = true},     {"rate", .right = true},
    {"runs", .right = true},     {"against the baseline"},  {"in a workload"}};

/* The measure that is judged, where it is known; else wall time. */
static enum measure judged(const struct suite_benchmarks *b, const struct series *s)
{
    enum measure m = b->outcome.session.opts.measure;
    return isnan(page_median(s, m)) ? MEASURE_TIME : m;
}

static const struct comparison *find_comparison(const struct suite_benchmarks *b,
                                                const struct series *s)
{
    for (size_t i = 0; i < b->outcome.against.n; i++)
        if (b->outcome.against.at[i].after == s)
            return &b->outcome.against.at[i];
    return NULL;
}

static void verdict_cell(struct document *d, const struct suite_benchmarks *b,
                         const struct series *s)
{
    const struct comparison *c = find_comparison(b, s);
    char text[120] = "-";
    if (!c && b->outcome.has_baseline)
        snprintf(text, sizeof text, "new");
    else if (c && isfinite(c->paired.interval.high))
        snprintf(text, sizeof text, "%s%s, %+.1f%% (%+.1f to %+.1f)", comparison_word(c),
                 c->gate == GATE_BROKEN ? " than allowed" : "", units_change(c->paired.ratio),
                 units_change(c->paired.interval.low), units_change(c->paired.interval.high));
    else if (c)
        snprintf(text, sizeof text, "too few runs");
    document_cell(d, text_of(text), 0);
}

/* "dot/n=64" measures the function dot: its share of a workload says what a faster one would gain
 * there. */
static void share_cell(struct document *d, const struct suite *s, const char *benchmark)
{
    autobuf struct buf b = {0};
    struct text name = {benchmark, strcspn(benchmark, "/")};
    for (size_t i = 0; i < s->results.n; i++) {
        const struct suite_result *r = &s->results.at[i];
        const struct flat *f = r->has_report ? r->report.functions : NULL;
        autofree bool *in_set = mem_calloc(f ? f->rows.n + 1 : 1, sizeof *in_set);
        if (!f || !flat_find_canonical(f, name, in_set))
            continue;
        struct flat_share share = flat_share_of_set(f, in_set, FLAT_TOTAL);
        buf_str(&b, b.n ? "; " : "");
        insight_share(&b, &share);
        buf_printf(&b, " of %s", r->workload.name);
    }
    document_cell(d, b.n ? buf_text(&b) : text_of("-"), 0);
}

/* Of the times that are judged. */
static void fit_cell(struct document *d, const struct suite_benchmarks *b, const struct series *s)
{
    double by_cpu = judged(b, s) == MEASURE_CPU ? page_median(s, MEASURE_CPU_R2) : NAN;
    double r2 = isfinite(by_cpu) ? by_cpu : page_median(s, MEASURE_R2);
    char text[32] = "-";
    if (isfinite(r2))
        snprintf(text, sizeof text, "%.3f%s", r2, r2 < REPEATS_R2_LIMIT ? " !" : "");
    document_cell(d, text_of(text), 0);
}

/* What the benchmark declares: operations, bytes or items per second. */
static void rate_cell(struct document *d, const struct series *s, double time_ns)
{
    char text[2 * UNITS_MAX] = "-", number[UNITS_MAX];
    if (s->flops > 0 && time_ns > 0)
        snprintf(text, sizeof text, "%s GFLOP/s", units_number(number, s->flops / time_ns));
    else if (s->bytes > 0 && time_ns > 0)
        snprintf(text, sizeof text, "%s/s",
                 units_scaled(number, s->bytes * 1e9 / time_ns, SCALED_BYTES));
    else if (s->items > 0 && time_ns > 0)
        snprintf(text, sizeof text, "%s/s", units_number(number, s->items * 1e9 / time_ns));
    document_cell(d, text_of(text), 0);
}

static void benchmark_row(struct document *d, const struct suite *s,
                          const struct suite_benchmarks *b, const struct series *series)
{
    autofree double *values = mem_calloc(series->runs.n + 1, sizeof *values);
    size_t n = series_values(series, judged(b, series), values);
    struct repeats_summary sum;
    char low[UNITS_MAX], high[UNITS_MAX], range[2 * UNITS_MAX + 8] = "too few runs";
    if (!n)
        return;
    repeats_summarize(&sum, values, n);
    document_cell(d, text_of(series->name), 0);
    document_cell(d, text_of(units_scaled(low, sum.median, SCALED_NS)), 0);
    if (isfinite(sum.median_interval.low))
        snprintf(range, sizeof range, "%s to %s",
                 units_scaled(low, sum.median_interval.low, SCALED_NS),
                 units_scaled(high, sum.median_interval.high, SCALED_NS));
    document_cell(d, text_of(range), 0);
    page_scatter_cell(d, &sum);
    fit_cell(d, b, series);
    rate_cell(d, series, sum.median);
    document_cell(d, text_of(units_count(low, n)), 0);
    verdict_cell(d, b, series);
    share_cell(d, s, series->name);
}

static void page_benchmarks_gone(struct document *d, const struct suite_benchmarks *b)
{
    autobuf struct buf list = {0};
    for (size_t i = 0; i < b->gone.n; i++)
        buf_printf(&list, "%s%s", i ? ", " : "", b->gone.at[i]);
    if (list.n)
        document_text(d,
                      "Only the baseline has: %s. A renamed or deleted benchmark cannot be "
                      "compared, so the run is inconclusive. Save a new baseline if the change is "
                      "intended.",
                      buf_cstr(&list));
}

void page_benchmarks(struct document *d, const struct suite *s, const struct suite_result *r)
{
    const struct suite_benchmarks *b = r->benchmarks;
    if (!b)
        return;
    document_heading(d, "Benchmarks of the program");
    document_table(d, benchmark_columns, sizeof benchmark_columns / sizeof *benchmark_columns);
    for (size_t i = 0; i < b->outcome.session.set.series.n; i++)
        benchmark_row(d, s, b, &b->outcome.session.set.series.at[i]);
    document_text(d,
                  "%s. Each run is a process of its own. " PAGE_SCATTER_MEANS
                  " R2 says how well the rounds of a run lie on a line; ! marks less than 0.95.",
                  b->outcome.session.opts.measure == MEASURE_CPU
                      ? "CPU time per iteration, as the machine was busy"
                      : "Wall time per iteration");
    document_text(d, "%s%s.", b->outcome.is_beside ? "In turns with the baseline's program: " : "",
                  b->outcome.design);
    page_benchmarks_gone(d, b);
}

void receipt_benchmarks(struct json *j, const struct suite_result *r)
{
    if (!r->benchmarks)
        return;
    const struct suite_benchmarks *b = r->benchmarks;
    json_key(j, "benchmarks");
    json_open(j, '{');
    for (size_t i = 0; i < b->outcome.session.set.series.n; i++) {
        const struct series *s = &b->outcome.session.set.series.at[i];
        receipt_series(j, s->name, s);
    }
    json_close(j, '}');
    json_key(j, "benchmarks_against");
    json_open(j, '{');
    for (size_t i = 0; i < b->outcome.against.n; i++)
        receipt_compared(j, b->outcome.against.at[i].after->name, true, &b->outcome.against.at[i]);
    json_close(j, '}');
}
