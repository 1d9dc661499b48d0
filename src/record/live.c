#include "record/live.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"
#include "record/recorder.h"

#include <stdlib.h>

static const double live_quantiles[] = {0.5, 0.9, 0.99, 0.999};
static const char *const live_quantile_names[] = {"p50_ns", "p90_ns", "p99_ns", "p99_9_ns"};

enum { LIVE_QUANTILES = sizeof live_quantiles / sizeof *live_quantiles };

static double seconds_so_far(const struct recorder *r)
{
    return r->first_start_ns ? (double)(clock_monotonic_ns() - r->first_start_ns) / 1e9 : 0;
}

/* A class of the histogram may reach beyond the longest. */
static uint64_t live_quantile_ns(const struct scopelive_sum *s, double q)
{
    uint64_t ns = histogram_quantile(&s->times, q);
    return ns < s->max_ns ? ns : s->max_ns;
}

/* A process that called exec() is two of the same number: counts add up, a gauge is the last. */
static bool live_number(const struct recorder *r, size_t i, struct scopes_number *ret)
{
    struct scopes_number other;
    for (size_t k = 0; k < i && scopes_number(r->scopes, k, &other); k++)
        if (other.name.i == ret->name.i && other.pid == ret->pid)
            return false; /* told there */
    for (size_t k = i + 1; scopes_number(r->scopes, k, &other); k++) {
        if (other.name.i != ret->name.i || other.pid != ret->pid)
            continue;
        if (ret->is_gauge || __builtin_add_overflow(ret->value, other.value, &ret->value))
            ret->value = other.value;
    }
    return true;
}

/* --- Prometheus --- */

/* Names stay different: what is no text, or not for terminals, becomes \xHH. */
static void put_label(FILE *out, struct text t)
{
    while (t.n) {
        size_t hidden = utf8_hidden(t), n = (size_t)utf8_length(t.at, t.n);
        if (*t.at == '"' || *t.at == '\\')
            fprintf(out, "\\%c", *t.at);
        else if (n && !hidden)
            fwrite(t.at, 1, n, out);
        else
            fprintf(out, "\\\\x%02x", (unsigned char)*t.at);
        size_t used = n && !hidden ? n : 1;
        t = (struct text){t.at + used, t.n - used};
    }
}

static void put_family(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* NAME{scope="SCOPE" without the closing brace. */
static void put_metric(FILE *out, const char *name, const char *label, struct text value)
{
    fprintf(out, "%s{%s=\"", name, label);
    put_label(out, value);
    putc('"', out);
}

static void put_seconds(FILE *out, uint64_t ns)
{
    fprintf(out, "} %llu.%09llu\n", (unsigned long long)(ns / 1000000000),
            (unsigned long long)(ns % 1000000000));
}

static void put_sum_and_count(FILE *out, const char *family, struct text scope,
                              const struct scopelive_sum *s)
{
    char name[64];
    snprintf(name, sizeof name, "%s_sum", family);
    put_metric(out, name, "scope", scope);
    put_seconds(out, s->total_ns);
    snprintf(name, sizeof name, "%s_count", family);
    put_metric(out, name, "scope", scope);
    fprintf(out, "} %llu\n", (unsigned long long)s->calls);
}

static void put_histogram(FILE *out, struct text scope, const struct scopelive_sum *s)
{
    uint64_t n = 0;
    for (int i = 0; i < SCOPELIVE_BOUNDS; i++) {
        n += s->in_bound[i];
        put_metric(out, "kelvin_scope_seconds_bucket", "scope", scope);
        fprintf(out, ",le=\"%g\"} %llu\n", (double)scopelive_bounds_ns[i] / 1e9,
                (unsigned long long)n);
    }
    put_metric(out, "kelvin_scope_seconds_bucket", "scope", scope);
    fprintf(out, ",le=\"+Inf\"} %llu\n", (unsigned long long)s->calls);
    put_sum_and_count(out, "kelvin_scope_seconds", scope, s);
}

static void put_quantile_lines(FILE *out, struct text scope, const struct scopelive_sum *s)
{
    for (int i = 0; i < LIVE_QUANTILES; i++) {
        put_metric(out, "kelvin_scope_latency_seconds", "scope", scope);
        fprintf(out, ",quantile=\"%g\"", live_quantiles[i]);
        put_seconds(out, live_quantile_ns(s, live_quantiles[i]));
    }
    put_metric(out, "kelvin_scope_latency_seconds", "scope", scope);
    fputs(",quantile=\"1\"", out);
    put_seconds(out, s->max_ns);
    put_sum_and_count(out, "kelvin_scope_latency_seconds", scope, s);
}

/* All lines of a family must stand together. */
static void put_scopes(FILE *out, const struct recorder *r)
{
    const struct scopelive *l = &r->live;
    if (!l->sums.n)
        return;
    put_family(out, "kelvin_scope_seconds", "histogram", "How long spans of the scope took.");
    for (size_t i = 0; i < l->sums.n; i++)
        put_histogram(out, profile_str(r->profile, l->sums.at[i].name), &l->sums.at[i]);
    put_family(out, "kelvin_scope_self_seconds_total", "counter",
               "Time in the scope without the scopes inside.");
    for (size_t i = 0; i < l->sums.n; i++) {
        put_metric(out, "kelvin_scope_self_seconds_total", "scope",
                   profile_str(r->profile, l->sums.at[i].name));
        put_seconds(out, l->sums.at[i].self_ns);
    }
    put_family(out, "kelvin_scope_latency_seconds", "summary",
               "The same, as quantiles of all spans since the recording began, good to 1%.");
    for (size_t i = 0; i < l->sums.n; i++)
        put_quantile_lines(out, profile_str(r->profile, l->sums.at[i].name), &l->sums.at[i]);
}

static void put_numbers(FILE *out, const struct recorder *r, bool gauges)
{
    const char *name = gauges ? "kelvin_value" : "kelvin_count_total";
    struct scopes_number n;
    bool begun = false;
    for (size_t i = 0; r->scopes && scopes_number(r->scopes, i, &n); i++) {
        if (n.is_gauge != gauges || !live_number(r, i, &n))
            continue;
        if (!begun)
            put_family(out, name, gauges ? "gauge" : "counter",
                       gauges ? "KELVIN_GAUGE of the program." : "KELVIN_COUNT of the program.");
        begun = true;
        put_metric(out, name, "name", profile_str(r->profile, n.name));
        fprintf(out, ",pid=\"%d\"} %lld\n", n.pid, (long long)n.value);
    }
}

static void put_plain(FILE *out, const char *name, const char *help, uint64_t value)
{
    put_family(out, name, "counter", help);
    fprintf(out, "%s %llu\n", name, (unsigned long long)value);
}

static void put_samples(FILE *out, const struct recorder *r)
{
    static const char *const names[] = {"kelvin_samples_total", "kelvin_samples_lost_total"};
    for (int k = 0; k < 2; k++) {
        put_family(out, names[k], "counter", k ? "Samples that were lost." : "Samples taken.");
        for (size_t i = 0; i < r->n_events; i++) {
            uint64_t samples = r->events[i].samples_before + r->events[i].samples;
            put_metric(out, names[k], "event", text_of(r->facts[i].event));
            fprintf(out, "} %llu\n", (unsigned long long)(k ? r->facts[i].lost : samples));
        }
    }
}

static void live_metrics(void *recorder, FILE *out)
{
    const struct recorder *r = recorder;
    put_family(out, "kelvin_recording_seconds", "gauge", "How long the recording has lasted.");
    fprintf(out, "kelvin_recording_seconds %.3f\n", seconds_so_far(r));
    put_samples(out, r);
    if (r->scopes) {
        put_plain(out, "kelvin_spans_total", "Spans of scopes that ended.",
                  scopes_facts(r->scopes)->spans);
        put_plain(out, "kelvin_scope_records_lost_total",
                  "Spans, counts and events that found no room.", scopes_lost(r->scopes));
    }
    put_scopes(out, r);
    put_numbers(out, r, false);
    put_numbers(out, r, true);
}

/* --- JSON --- */

static void json_scope(struct json *j, const struct recorder *r, const struct scopelive_sum *s)
{
    json_open(j, '{');
    json_key(j, "scope");
    json_text(j, profile_str(r->profile, s->name));
    json_put_uint(j, "calls", s->calls);
    json_put_uint(j, "total_ns", s->total_ns);
    json_put_uint(j, "self_ns", s->self_ns);
    for (int i = 0; i < LIVE_QUANTILES; i++)
        json_put_uint(j, live_quantile_names[i], live_quantile_ns(s, live_quantiles[i]));
    json_put_uint(j, "max_ns", s->max_ns);
    json_close(j, '}');
}

static void json_numbers(struct json *j, const struct recorder *r)
{
    struct scopes_number n;
    for (size_t i = 0; r->scopes && scopes_number(r->scopes, i, &n); i++) {
        if (!live_number(r, i, &n))
            continue;
        json_open(j, '{');
        json_key(j, "name");
        json_text(j, profile_str(r->profile, n.name));
        json_put_str(j, "kind", n.is_gauge ? "gauge" : "count");
        json_put_uint(j, "pid", (uint64_t)n.pid);
        json_key(j, "value");
        json_int(j, n.value);
        json_close(j, '}');
    }
}

static void live_scopes(void *recorder, FILE *out)
{
    const struct recorder *r = recorder;
    struct json j = {.out = out};
    json_open(&j, '{');
    json_put_str(&j, "kind", "live scopes");
    json_put_number(&j, "seconds", seconds_so_far(r));
    json_put_uint(&j, "spans", r->scopes ? scopes_facts(r->scopes)->spans : 0);
    json_put_uint(&j, "lost", r->scopes ? scopes_lost(r->scopes) : 0);
    json_key(&j, "scopes");
    json_open(&j, '[');
    for (size_t i = 0; i < r->live.sums.n; i++)
        json_scope(&j, r, &r->live.sums.at[i]);
    json_close(&j, ']');
    json_key(&j, "counters");
    json_open(&j, '[');
    json_numbers(&j, r);
    json_close(&j, ']');
    json_close(&j, '}');
    putc('\n', out);
}

/* --- for people --- */

static int live_compare(const void *a, const void *b)
{
    const struct scopelive_sum *x = *(const struct scopelive_sum *const *)a;
    const struct scopelive_sum *y = *(const struct scopelive_sum *const *)b;
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    return x->name.i < y->name.i ? -1 : x->name.i > y->name.i;
}

static void put_live_name(FILE *out, struct text name)
{
    autobuf struct buf b = {0};
    utf8_plain(&b, name);
    fprintf(out, "  %s\n", buf_cstr(&b));
}

static void put_live_row(FILE *out, const struct recorder *r, const struct scopelive_sum *s)
{
    char n[6][UNITS_MAX];
    fprintf(out, "%14s %10s %10s %10s %10s %10s", units_count(n[0], s->calls),
            units_scaled(n[1], (double)s->total_ns, UNIT_TIME),
            units_scaled(n[2], (double)live_quantile_ns(s, 0.5), UNIT_TIME),
            units_scaled(n[3], (double)live_quantile_ns(s, 0.9), UNIT_TIME),
            units_scaled(n[4], (double)live_quantile_ns(s, 0.99), UNIT_TIME),
            units_scaled(n[5], (double)s->max_ns, UNIT_TIME));
    put_live_name(out, profile_str(r->profile, s->name));
}

static void put_table(FILE *out, const struct recorder *r)
{
    const struct scopelive *l = &r->live;
    autofree const struct scopelive_sum **by_total = mem_calloc(l->sums.n + 1, sizeof *by_total);
    for (size_t i = 0; i < l->sums.n; i++)
        by_total[i] = &l->sums.at[i];
    qsort(by_total, l->sums.n, sizeof *by_total, live_compare);
    fprintf(out, "%14s %10s %10s %10s %10s %10s  scope\n", "calls", "total", "p50", "p90", "p99",
            "max");
    for (size_t i = 0; i < l->sums.n; i++)
        put_live_row(out, r, by_total[i]);
}

static void live_page(void *recorder, FILE *out)
{
    const struct recorder *r = recorder;
    struct scopes_number n;
    char s[3][UNITS_MAX];
    fprintf(out, "kelvin: %.1f s, %s samples, %s lost\n", seconds_so_far(r),
            units_count(s[0], r->events[0].samples_before + r->events[0].samples),
            units_count(s[1], r->facts[0].lost));
    if (r->live.sums.n) {
        fprintf(out, "%s spans, %s records lost\n\n",
                units_count(s[0], scopes_facts(r->scopes)->spans),
                units_count(s[1], scopes_lost(r->scopes)));
        put_table(out, r);
    }
    for (size_t i = 0; r->scopes && scopes_number(r->scopes, i, &n); i++) {
        if (!live_number(r, i, &n))
            continue;
        fprintf(out, "\n%14lld  pid %d", (long long)n.value, n.pid);
        put_live_name(out, profile_str(r->profile, n.name));
    }
    fputs("\n/metrics is for Prometheus, /scopes is JSON.\n", out);
}

const struct listen_page live_pages[] = {
    {"/", "text/plain; charset=utf-8", live_page},
    {"/metrics", "text/plain; version=0.0.4; charset=utf-8", live_metrics},
    {"/scopes", "application/json", live_scopes},
    {0},
};
