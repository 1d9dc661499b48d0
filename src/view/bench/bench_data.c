/* bench_data.c - benchmarks for programs: CSV and JSON. Times are nanoseconds, sizes bytes. */
#include "base/csv.h"
#include "base/json.h"
#include "base/utf8.h"
#include "view/bench/bench_inner.h"

#include <math.h>

/* --- CSV --- */

static const char *const unit_names[] = {
    [MEASURE_NS] = "ns", [MEASURE_BYTES] = "bytes", [MEASURE_COUNT] = "count"};

static void csv_number(FILE *out, double v)
{
    struct json j = {.out = out};
    if (isfinite(v))
        json_double(&j, v);
}

static void csv_series(FILE *out, const char *set, const struct series *s)
{
    for (size_t i = 0; i < s->runs.n; i++)
        for (int m = 0; m < MEASURES; m++) {
            if (isnan(s->runs.at[i].value[m]))
                continue;
            csv_text(out, text_of(set));
            putc(',', out);
            csv_text(out, text_of(s->name));
            putc(',', out);
            csv_text(out, text_of(s->parameter));
            putc(',', out);
            csv_number(out, s->size);
            fprintf(out, ",%s,%s,%zu,%u,", measure_infos[m].name, unit_names[measure_infos[m].unit],
                    i + 1, s->runs.at[i].block);
            csv_number(out, s->runs.at[i].value[m]);
            putc('\n', out);
        }
}

static void csv_set(FILE *out, const char *name, const struct series_set *set)
{
    for (size_t i = 0; i < set->series.n; i++)
        csv_series(out, name, &set->series.at[i]);
}

static const char csv_titles[] = "set,benchmark,parameter,size,measure,unit,run,block,value\n";

void bench_print_csv(FILE *out, const struct bench_report *r)
{
    fputs(csv_titles, out);
    for (size_t i = 0; r->table && i < r->table->n_sets; i++)
        csv_set(out, r->table->names[i], r->table->sets[i]);
    if (r->table)
        return;
    csv_set(out, r->now_name ? r->now_name : "now", r->now);
    if (r->before)
        csv_set(out, r->before_name ? r->before_name : "before", r->before);
}

/* --- JSON --- */

static void put_interval(struct json *j, const char *key, const struct interval *i)
{
    json_key(j, key);
    json_open(j, '[');
    json_double(j, i->low);
    json_double(j, i->high);
    json_close(j, ']');
}

static void put_meta(struct json *j, const struct meta *m)
{
    json_key(j, "meta");
    json_open(j, '{');
    for (size_t i = 0; i < m->entries.n; i++)
        json_put_str(j, m->entries.at[i].key, m->entries.at[i].value);
    json_close(j, '}');
}

static void put_outliers(struct json *j, const struct repeats_summary *s)
{
    json_key(j, "outliers");
    json_open(j, '{');
    json_put_uint(j, "mild_low", s->mild_low);
    json_put_uint(j, "mild_high", s->mild_high);
    json_put_uint(j, "severe_low", s->severe_low);
    json_put_uint(j, "severe_high", s->severe_high);
    json_close(j, '}');
}

static void put_measure(struct json *j, const struct series *series, enum measure m)
{
    struct bench_summary b;
    if (!bench_summarize(&b, series, m))
        return;
    json_key(j, measure_infos[m].name);
    json_open(j, '{');
    json_put_str(j, "unit", unit_names[measure_infos[m].unit]);
    json_put_uint(j, "n", b.s.n);
    json_put_number(j, "median", b.s.median);
    put_interval(j, "median_95", &b.s.median_interval);
    json_put_number(j, "mean", b.s.mean);
    put_interval(j, "mean_95", &b.s.mean_interval);
    json_put_number(j, "sd", b.s.sd);
    json_put_number(j, "mad", b.s.mad);
    json_put_number(j, "min", b.s.min);
    json_put_number(j, "q1", b.s.q1);
    json_put_number(j, "q3", b.s.q3);
    json_put_number(j, "max", b.s.max);
    put_outliers(j, &b.s);
    json_key(j, "runs");
    json_open(j, '[');
    for (size_t i = 0; i < series->runs.n; i++)
        json_double(j, series->runs.at[i].value[m]);
    json_close(j, ']');
    json_close(j, '}');
    bench_summary_done(&b);
}

static void put_series(struct json *j, const struct series *s)
{
    json_open(j, '{');
    json_put_str(j, "name", s->name);
    json_put_str(j, "command", s->command);
    json_put_str(j, "parameter", s->parameter);
    json_put_number(j, "size", s->size);
    json_put_number(j, "items", s->items);
    json_put_number(j, "bytes", s->bytes);
    if (s->flops > 0)
        json_put_number(j, "flops", s->flops);
    json_key(j, "blocks");
    json_open(j, '[');
    for (size_t i = 0; i < s->runs.n; i++)
        json_uint(j, s->runs.at[i].block);
    json_close(j, ']');
    json_key(j, "measures");
    json_open(j, '{');
    for (int m = 0; m < MEASURES; m++)
        put_measure(j, s, (enum measure)m);
    json_close(j, '}');
    json_close(j, '}');
}

static void put_set(struct json *j, const char *name, const struct series_set *set)
{
    json_put_str(j, "name", name);
    put_meta(j, &set->meta);
    json_key(j, "benchmarks");
    json_open(j, '[');
    for (size_t i = 0; i < set->series.n; i++)
        put_series(j, &set->series.at[i]);
    json_close(j, ']');
}

static void put_gate(struct json *j, const struct comparison *c)
{
    json_put_number(j, "max_regression", c->limit);
    json_put_str(j, "gate", c->gate == GATE_NONE ? NULL : gate_names[c->gate]);
}

static void put_comparison(struct json *j, const struct comparison *c)
{
    const struct paired *p = &c->paired;
    json_open(j, '{');
    json_put_str(j, "before", c->before->name);
    json_put_str(j, "after", c->after->name);
    json_put_str(j, "measure", measure_infos[c->measure].name);
    json_put_str(j, "verdict", verdict_names[p->verdict]);
    json_put_number(j, "ratio", p->ratio);
    put_interval(j, "interval", &p->interval);
    json_put_number(j, "confidence", 1 - p->miss);
    json_put_uint(j, "runs", p->n);
    json_put_uint(j, "ties", p->ties);
    json_put_str(j, "design", c->apart ? "two sessions" : "side by side");
    json_put_number(j, "band", c->band);
    json_put_number(j, "detectable", p->detectable);
    if (c->same_work) {
        json_key(j, "same_instructions");
        json_bool(j, true);
    }
    put_gate(j, c);
    json_close(j, '}');
}

static void put_growth(struct json *j, const struct bench_growth *g)
{
    json_open(j, '{');
    json_put_str(j, "name", g->name);
    json_put_str(j, "parameter", g->parameter);
    json_put_str(j, "measure", measure_infos[g->measure].name);
    json_put_number(j, "exponent", g->growth.exponent);
    put_interval(j, "exponent_95", &g->growth.interval);
    json_put_number(j, "r2", g->growth.r2);
    json_put_str(j, "shape", growth_shape_names[g->growth.shape]);
    json_key(j, "points");
    json_open(j, '[');
    for (size_t i = 0; i < g->n_points; i++) {
        json_open(j, '[');
        json_double(j, g->points[i].size);
        json_double(j, g->points[i].cost);
        json_close(j, ']');
    }
    json_close(j, ']');
    json_close(j, '}');
}

static void put_past(struct json *j, const struct past *p)
{
    size_t n;
    json_open(j, '{');
    json_put_str(j, "name", p->name);
    json_put_number(j, "between_runs_sd", bench_between_sd(p, &n));
    json_key(j, "runs");
    json_open(j, '[');
    for (size_t i = 0; i < p->n_runs; i++) {
        const struct past_run *run = &p->runs[i];
        json_open(j, '{');
        json_key(j, "time_s");
        json_int(j, run->time_s);
        json_put_str(j, "commit", run->commit);
        json_put_str(j, "baseline", run->baseline);
        json_put_number(j, "median", run->median);
        put_interval(j, "median_95", &run->interval);
        json_key(j, "change_point");
        json_bool(j, run->change_point);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}

#define PUT_LIST(j, key, list, n, put)   \
    do {                                 \
        json_key(j, key);                \
        json_open(j, '[');               \
        for (size_t i = 0; i < (n); i++) \
            put(j, &(list)[i]);          \
        json_close(j, ']');              \
    } while (0)

static void put_named_set(struct json *j, const char *name, const struct series_set *set)
{
    json_open(j, '{');
    put_set(j, name, set);
    json_close(j, '}');
}

/* The set that is reported, or all that are held side by side. */
static void put_sets(struct json *j, const struct bench_report *r)
{
    if (!r->table) {
        put_set(j, r->now_name, r->now);
        return;
    }
    json_key(j, "sets");
    json_open(j, '[');
    for (size_t i = 0; i < r->table->n_sets; i++)
        put_named_set(j, r->table->names[i], r->table->sets[i]);
    json_close(j, ']');
}

void bench_print_json(FILE *out, const struct bench_report *r)
{
    struct json j = {.out = out};
    json_open(&j, '{');
    put_sets(&j, r);
    json_put_str(&j, "design", r->design);
    json_put_str(&j, "forced", r->forced);
    json_put_str(&j, "measure", measure_infos[r->measure].name);
    PUT_LIST(&j, "comparisons", r->comparisons, r->n_comparisons, put_comparison);
    PUT_LIST(&j, "growth", r->growths, r->n_growths, put_growth);
    PUT_LIST(&j, "history", r->pasts, r->n_pasts, put_past);
    json_put_number(&j, "false_alarm_rate", r->false_alarm_tries ? r->false_alarm_rate : NAN);
    json_put_uint(&j, "false_alarms", r->false_alarms);
    json_put_uint(&j, "false_alarm_tries", r->false_alarm_tries);
    json_key(&j, "baseline");
    if (r->before && !r->table)
        put_named_set(&j, r->before_name, r->before);
    else
        json_null(&j);
    json_close(&j, '}');
    putc('\n', out);
}
