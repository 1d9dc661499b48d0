/*
 * history.c - runs over time, for people and programs.
 */
#include "view/history.h"
#include "base/buf.h"
#include "base/csv.h"
#include "base/json.h"
#include "base/units.h"
#include "stats/changepoint.h"
#include "view/document.h"

#include <math.h>
#include <time.h>

enum { SPARK_MAX = 40, ROWS_SHOWN = 20 };

static void moment(int64_t time_s, char *to, size_t size)
{
    time_t t = (time_t)time_s;
    struct tm tm;
    if (!gmtime_r(&t, &tm) || !strftime(to, size, "%Y-%m-%d %H:%M", &tm))
        snprintf(to, size, "?");
}

static void history_cell(struct document *d, const char *text)
{
    document_cell(d, text_of(text), 0);
}

/* --- the list of runs --- */

static void number_cell(struct document *d, double value, enum scaled kind)
{
    char text[UNITS_MAX];
    history_cell(d, isnan(value) ? "-" : units_scaled(text, value, kind));
}

static void history_add_row(struct document *d, const struct history_row *r, bool with_host)
{
    char when[32], commit[32];
    moment(r->time_s, when, sizeof when);
    snprintf(commit, sizeof commit, "%.10s%s", *r->commit ? r->commit : "-", r->dirty ? "+" : "");
    if (with_host)
        history_cell(d, r->host);
    history_cell(d, when);
    history_cell(d, commit);
    history_cell(d, r->workload);
    history_cell(d, r->outcome);
    number_cell(d, r->cpu_ns, SCALED_NS);
    number_cell(d, r->time_ns, SCALED_NS);
    number_cell(d, r->instructions, SCALED_COUNT);
    number_cell(d, r->peak_bytes, SCALED_BYTES);
}

static void add_runs(struct document *d, const struct history_view *v)
{
    static const struct document_column columns[] = {{"machine"},
                                                     {"when (UTC)"},
                                                     {"commit"},
                                                     {"workload", .wide = true},
                                                     {"outcome"},
                                                     {"CPU time", .right = true},
                                                     {"wall", .right = true},
                                                     {"instructions", .right = true},
                                                     {"peak memory", .right = true}};
    size_t skip = *v->host ? 1 : 0; /* the machine is shown once, above the table */
    document_heading(d, "Runs");
    if (*v->host)
        document_text(d, "On %s, oldest first. A + marks runs with uncommitted changes.", v->host);
    document_table(d, columns + skip, sizeof columns / sizeof *columns - skip);
    size_t from = v->n_rows > ROWS_SHOWN ? v->n_rows - ROWS_SHOWN : 0;
    for (size_t i = from; i < v->n_rows; i++)
        history_add_row(d, &v->rows[i], !*v->host);
    if (from)
        document_text(d, "Older runs not listed: %zu. The CSV output has all of them.", from);
}

/* --- trends --- */

/* The last points as blocks of eight heights; a change of level is a bar between them. */
static void history_spark(const struct trend *t, struct buf *b)
{
    size_t n = t->points.n, from = n > SPARK_MAX ? n - SPARK_MAX : 0, next = 0;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = from; i < n; i++) {
        low = fmin(low, t->points.at[i].value);
        high = fmax(high, t->points.at[i].value);
    }
    for (size_t i = from; i < n; i++) {
        while (next < t->n_changes && t->changes[next].at < i)
            next++;
        if (next < t->n_changes && t->changes[next].at == i)
            buf_str(b, "|");
        double part = high > low ? (t->points.at[i].value - low) / (high - low) : 0.5;
        int step = (int)(part * 7.999);
        buf_printf(b, "\xe2\x96%c", 0x81 + step);
    }
}

static void add_trend(struct document *d, const struct trend *t)
{
    autobuf struct buf line = {0};
    char now[UNITS_MAX], count[UNITS_MAX];
    history_spark(t, &line);
    history_cell(d, t->title);
    document_cell(d, buf_text(&line), 0);
    history_cell(d, trend_value(t, t->points.at[t->points.n - 1].value, now));
    history_cell(d, units_count(count, t->points.n));
    history_cell(d, units_count(count, t->n_changes));
}

static void add_trends(struct document *d, const struct history_view *v)
{
    static const struct document_column columns[] = {{"what", .wide = true},
                                                     {"the last runs"},
                                                     {"now", .right = true},
                                                     {"runs", .right = true},
                                                     {"changes", .right = true}};
    document_heading(d, "Trends");
    document_table(d, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < v->n_trends; i++)
        if (v->trends[i].points.n)
            add_trend(d, &v->trends[i]);
    if (v->n_hidden)
        document_text(d, "Functions without a level shift, not shown: %zu.", v->n_hidden);
}

static void add_changes(struct document *d, const struct history_view *v)
{
    size_t n = 0, most = 0;
    document_heading(d, "Level shifts");
    for (size_t i = 0; i < v->n_trends; i++) {
        most = v->trends[i].points.n > most ? v->trends[i].points.n : most;
        for (size_t k = 0; k < v->trends[i].n_changes; k++, n++) {
            autobuf struct buf said = {0};
            trend_say(&v->trends[i], k, &said);
            document_item(d, v->trends[i].title, buf_cstr(&said), "");
        }
    }
    if (!n)
        document_text(
            d, most < 2 * CHANGEPOINT_LEAST
                   ? "Too few runs to find a level shift, which needs three runs on each side."
                   : "No level shift: the variation looks like chance.");
}

static void history_build_document(struct document *d, const struct history_view *v, bool figures)
{
    add_runs(d, v);
    if (!v->n_trends)
        return;
    add_trends(d, v);
    add_changes(d, v);
    for (size_t i = 0; i < v->n_trends && figures; i++) {
        document_heading(d, v->trends[i].title);
        document_figure(d);
    }
}

void history_print_text(FILE *out, const struct history_view *v, int width, bool colour)
{
    struct document d = {0};
    history_build_document(&d, v, false);
    document_print_text(out, &d, width, colour);
    document_done(&d);
}

void history_print_markdown(FILE *out, const struct history_view *v)
{
    struct document d = {0};
    history_build_document(&d, v, false);
    document_print_markdown(out, &d, "History");
    document_done(&d);
}

static void history_draw(FILE *out, const void *ctx, size_t i)
{
    const struct history_view *v = ctx;
    trend_print_svg(out, &v->trends[i]);
}

void history_print_html(FILE *out, const struct history_view *v)
{
    struct document d = {0};
    history_build_document(&d, v, true);
    document_print_html(out, &d, "History", &(struct document_figures){history_draw, v});
    document_done(&d);
}

/* --- for programs --- */

static void json_row(struct json *j, const struct history_row *r)
{
    json_open(j, '{');
    json_key(j, "time");
    json_int(j, r->time_s);
    json_put_str(j, "commit", r->commit);
    json_put_str(j, "branch", r->branch);
    json_key(j, "dirty");
    json_bool(j, r->dirty);
    json_put_str(j, "host", r->host);
    json_put_str(j, "workload", r->workload);
    json_put_str(j, "outcome", r->outcome);
    json_put_number(j, "cpu_ns", r->cpu_ns);
    json_put_number(j, "time_ns", r->time_ns);
    json_put_number(j, "instructions", r->instructions);
    json_put_number(j, "peak_bytes", r->peak_bytes);
    json_close(j, '}');
}

static void json_change(struct json *j, const struct trend *t, const struct changepoint *c)
{
    json_open(j, '{');
    json_key(j, "run");
    json_uint(j, c->at);
    json_put_str(j, "commit", t->points.at[c->at].commit);
    json_put_str(j, "commit_before", t->points.at[c->at - 1].commit);
    json_put_number(j, "before", c->before);
    json_put_number(j, "after", c->after);
    json_put_number(j, "p", c->p);
    json_put_str(j, "certainty", c->likely ? "likely" : "proven");
    json_close(j, '}');
}

static void json_trend(struct json *j, const struct trend *t)
{
    static const char *const units[] = {[TREND_NS] = "nanoseconds",
                                        [TREND_BYTES] = "bytes",
                                        [TREND_COUNT] = "count",
                                        [TREND_SHARE] = "share",
                                        [TREND_PLAIN] = "number"}; /* whatever the program counts */
    json_open(j, '{');
    json_put_str(j, "title", t->title);
    json_put_str(j, "unit", units[t->unit]);
    json_key(j, "points");
    json_open(j, '[');
    for (size_t i = 0; i < t->points.n; i++) {
        json_open(j, '{');
        json_key(j, "time");
        json_int(j, t->points.at[i].time_s);
        json_put_str(j, "commit", t->points.at[i].commit);
        json_put_number(j, "value", t->points.at[i].value);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_key(j, "changes");
    json_open(j, '[');
    for (size_t i = 0; i < t->n_changes; i++)
        json_change(j, t, &t->changes[i]);
    json_close(j, ']');
    json_close(j, '}');
}

void history_print_json(FILE *out, const struct history_view *v)
{
    struct json j = {.out = out};
    json_open(&j, '{');
    json_key(&j, "runs");
    json_open(&j, '[');
    for (size_t i = 0; i < v->n_rows; i++)
        json_row(&j, &v->rows[i]);
    json_close(&j, ']');
    json_key(&j, "trends");
    json_open(&j, '[');
    for (size_t i = 0; i < v->n_trends; i++)
        json_trend(&j, &v->trends[i]);
    json_close(&j, ']');
    json_close(&j, '}');
    fputc('\n', out);
}

static void csv_number(FILE *out, double value)
{
    if (isnan(value))
        fputc(',', out);
    else
        fprintf(out, ",%.17g", value);
}

static void csv_next(FILE *out, const char *text)
{
    putc(',', out);
    csv_quoted(out, text_of(text));
}

/* A row for each run of each trend. */
void history_print_trends_csv(FILE *out, const struct history_view *v)
{
    fputs("time,commit,dirty,workload,figure,value,low,high\n", out);
    for (size_t i = 0; i < v->n_trends; i++) {
        const struct trend *t = &v->trends[i];
        const char *colon = strstr(t->title, ": ");
        autofree char *workload = mem_strndup(t->title, colon ? (size_t)(colon - t->title) : 0);
        for (size_t k = 0; k < t->points.n; k++) {
            const struct trend_point *p = &t->points.at[k];
            fprintf(out, "%lld", (long long)p->time_s);
            csv_next(out, p->commit);
            fprintf(out, ",%d", p->dirty);
            csv_next(out, workload);
            csv_next(out, colon ? colon + 2 : t->title);
            csv_number(out, p->value);
            csv_number(out, p->low);
            csv_number(out, p->high);
            fputc('\n', out);
        }
    }
}

void history_print_csv(FILE *out, const struct history_view *v)
{
    fputs("time,commit,branch,host,workload,outcome,cpu_ns,time_ns,instructions,peak_bytes\n", out);
    for (size_t i = 0; i < v->n_rows; i++) {
        const struct history_row *r = &v->rows[i];
        fprintf(out, "%lld", (long long)r->time_s);
        csv_next(out, r->commit);
        csv_next(out, r->branch);
        csv_next(out, r->host);
        csv_next(out, r->workload);
        csv_next(out, r->outcome);
        csv_number(out, r->cpu_ns);
        csv_number(out, r->time_ns);
        csv_number(out, r->instructions);
        csv_number(out, r->peak_bytes);
        fputc('\n', out);
    }
}
