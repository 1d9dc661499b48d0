/* page_metrics.c - the numbers that a workload gives itself, on its page and in its receipt. */
#include "base/json.h"
#include "stats/repeats.h"
#include "suite/page_inner.h"
#include "suite/suite.h"
#include "view/document.h"

#include <math.h>

static const struct document_column metric_columns[] = {
    {"metric", .wide = true},        {"median", .right = true},
    {"95% interval", .right = true}, {"min", .right = true},
    {"max", .right = true},          {"scatter", .right = true},
    {"runs", .right = true},         {"better"}};

/* 0 where no run has it. */
static size_t summarize(const struct suite_metric *m, struct repeats_summary *ret)
{
    if (!m->runs)
        return 0;
    autofree double *values = mem_calloc(m->runs->runs.n + 1, sizeof *values);
    size_t n = series_values(m->runs, MEASURE_METRIC, values);
    if (n)
        repeats_summarize(ret, values, n);
    return n;
}

static void metric_cell(struct document *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void metric_cell(struct document *d, const char *fmt, ...)
{
    char text[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    document_cell(d, text_of(text), 0);
}

static void metric_row(struct document *d, const struct suite_metric *m)
{
    struct repeats_summary sum;
    size_t n = summarize(m, &sum);
    autobuf struct buf median = {0};
    char low[UNITS_MAX], high[UNITS_MAX];
    if (!n)
        return;
    metric_say_value(&median, m->metric, sum.median);
    metric_cell(d, "%s", m->metric->name);
    metric_cell(d, "%s", buf_cstr(&median));
    if (isfinite(sum.median_interval.low))
        metric_cell(d, "%s to %s", units_number(low, sum.median_interval.low),
                    units_number(high, sum.median_interval.high));
    else
        metric_cell(d, "too few runs");
    metric_cell(d, "%s", units_number(low, sum.min));
    metric_cell(d, "%s", units_number(high, sum.max));
    page_scatter_cell(d, &sum);
    metric_cell(d, m->missing ? "%zu of %zu" : "%zu", n, m->runs->runs.n);
    metric_cell(d, "%s", m->metric->more_is_better ? "higher" : "lower");
}

void page_metrics(struct document *d, const struct suite_result *r)
{
    bool any = false;
    for (size_t i = 0; i < r->metrics.n; i++)
        any |= !r->metrics.at[i].absent;
    if (!any)
        return;
    document_heading(d, "Metrics of the program");
    document_table(d, metric_columns, sizeof metric_columns / sizeof *metric_columns);
    for (size_t i = 0; i < r->metrics.n; i++)
        metric_row(d, &r->metrics.at[i]);
    for (size_t i = 0; i < r->metrics.n; i++) {
        autobuf struct buf b = {0};
        suite_say_metric_doubt(&b, &r->metrics.at[i]);
        if (b.n)
            document_text(d, "%s.", buf_cstr(&b));
    }
}

void receipt_metrics(struct json *j, const struct suite_result *r)
{
    if (!r->metrics.n)
        return;
    json_key(j, "metrics");
    json_open(j, '{');
    for (size_t i = 0; i < r->metrics.n; i++) {
        const struct suite_metric *m = &r->metrics.at[i];
        struct repeats_summary sum;
        json_key(j, m->metric->name);
        if (!summarize(m, &sum)) {
            json_null(j);
            continue;
        }
        json_open(j, '{');
        json_put_str(j, "unit", *m->metric->unit ? m->metric->unit : NULL);
        json_put_str(j, "better", m->metric->more_is_better ? "higher" : "lower");
        json_put_number(j, "median", sum.median);
        json_put_number(j, "low", sum.median_interval.low);
        json_put_number(j, "high", sum.median_interval.high);
        json_put_uint(j, "missing", m->missing);
        json_key(j, "runs");
        json_open(j, '[');
        for (size_t k = 0; k < m->runs->runs.n; k++)
            json_double(j, m->runs->runs.at[k].value[MEASURE_METRIC]);
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, '}');
}
