#include "record/live_inner.h"

#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"

#include <stdlib.h>

static const char *const live_quantile_names[] = {"p50_ns", "p90_ns", "p99_ns", "p99_9_ns"};

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

static void json_worker(struct json *j, const struct worker *w)
{
    static const char *const keys[WORKER_STATES] = {"running_ns", "waiting_ns", "idle_ns"};
    json_open(j, '{');
    json_put_str(j, "thread", w->name);
    json_put_uint(j, "pid", (uint64_t)w->pid);
    json_put_uint(j, "tid", (uint64_t)w->tid);
    json_put_str(j, "state", worker_state_names[w->now]);
    for (int k = 0; k < WORKER_STATES; k++)
        json_put_uint(j, keys[k], w->ns[k]);
    json_close(j, '}');
}

static void live_scopes(void *recorder, FILE *out)
{
    const struct recorder *r = recorder;
    struct json j = {.out = out};
    json_open(&j, '{');
    json_put_str(&j, "kind", "live scopes");
    json_put_number(&j, "seconds", live_seconds_so_far(r));
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
    json_key(&j, "threads");
    json_open(&j, '[');
    for (size_t i = 0; i < r->states.workers.n; i++)
        json_worker(&j, &r->states.workers.at[i]);
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
            units_scaled(n[1], (double)s->total_ns, SCALED_NS),
            units_scaled(n[2], (double)live_quantile_ns(s, 0.5), SCALED_NS),
            units_scaled(n[3], (double)live_quantile_ns(s, 0.9), SCALED_NS),
            units_scaled(n[4], (double)live_quantile_ns(s, 0.99), SCALED_NS),
            units_scaled(n[5], (double)s->max_ns, SCALED_NS));
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

static void put_live_numbers(FILE *out, const struct recorder *r)
{
    struct scopes_number n;
    bool any = false;
    for (size_t i = 0; r->scopes && scopes_number(r->scopes, i, &n); i++) {
        if (!live_number(r, i, &n))
            continue;
        if (!any)
            fprintf(out, "\n%14s %10s %10s  counter or gauge\n", "value", "kind", "pid");
        any = true;
        fprintf(out, "%14lld %10s %10d", (long long)n.value, n.is_gauge ? "gauge" : "count", n.pid);
        put_live_name(out, profile_str(r->profile, n.name));
    }
}

static void put_live_workers(FILE *out, const struct recorder *r)
{
    const struct threadstates *t = &r->states;
    if (t->workers.n)
        fprintf(out, "\n%14s %10s %10s %10s  thread\n", "now", "running", "waiting", "idle");
    for (size_t i = 0; i < t->workers.n; i++) {
        const struct worker *w = &t->workers.at[i];
        char n[WORKER_STATES][UNITS_MAX];
        fprintf(out, "%14s", worker_state_names[w->now]);
        for (int k = 0; k < WORKER_STATES; k++)
            fprintf(out, " %10s", units_scaled(n[k], (double)w->ns[k], SCALED_NS));
        put_live_name(out, text_of(w->name));
    }
}

static void live_page(void *recorder, FILE *out)
{
    const struct recorder *r = recorder;
    char s[2][UNITS_MAX];
    fprintf(
        out, "kelvin: %.1f s, %s, %s lost\n", live_seconds_so_far(r),
        units_many(s[0], r->events[0].samples_before + r->events[0].samples, "sample", "samples"),
        units_count(s[1], r->facts[0].lost));
    if (r->live.sums.n) {
        fprintf(out, "%s, %s lost\n\n",
                units_many(s[0], scopes_facts(r->scopes)->spans, "span", "spans"),
                units_many(s[1], scopes_lost(r->scopes), "record", "records"));
        put_table(out, r);
    }
    put_live_numbers(out, r);
    put_live_workers(out, r);
    fputs("\n/metrics is for Prometheus, /scopes is JSON.\n", out);
}

const struct listen_page live_pages[] = {
    {.path = "/", .type = "text/plain; charset=utf-8", .write = live_page},
    {.path = "/metrics",
     .type = "text/plain; version=0.0.4; charset=utf-8",
     .write = live_metrics_prometheus},
    {.path = "/metrics",
     .type = "application/openmetrics-text; version=1.0.0; charset=utf-8",
     .accept = "application/openmetrics-text",
     .write = live_metrics_open},
    {.path = "/scopes", .type = "application/json", .write = live_scopes},
    {0},
};
