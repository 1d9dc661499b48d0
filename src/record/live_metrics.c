/*
 * live_metrics.c - metrics for Prometheus, in its own text format and in OpenMetrics: the same
 * figures, where the second has exemplars and an end.
 */
#include "base/clock.h"
#include "base/utf8.h"
#include "record/live_inner.h"

#include <string.h>

const double live_quantiles[LIVE_QUANTILES] = {0.5, 0.9, 0.99, 0.999};

double live_seconds_so_far(const struct recorder *r)
{
    return r->first_start_ns ? (double)(clock_kernel_ns() - r->first_start_ns) / 1e9 : 0;
}

/* A class of the histogram may reach beyond the longest. */
uint64_t live_quantile_ns(const struct scopelive_sum *s, double q)
{
    uint64_t ns = histogram_quantile(&s->times, q);
    return ns < s->max_ns ? ns : s->max_ns;
}

bool live_number(const struct recorder *r, size_t i, struct scopes_number *ret)
{
    struct scopes_number other;
    for (size_t k = 0; k < i && scopes_number(r->scopes, k, &other); k++)
        if (other.name.i == ret->name.i && other.pid == ret->pid)
            return false; /* reported there */
    for (size_t k = i + 1; scopes_number(r->scopes, k, &other); k++) {
        if (other.name.i != ret->name.i || other.pid != ret->pid)
            continue;
        if (ret->is_gauge || __builtin_add_overflow(ret->value, other.value, &ret->value))
            ret->value = other.value;
    }
    return true;
}

/* --- lines --- */

struct metrics {
    FILE *out;
    const struct recorder *r;
    bool open; /* OpenMetrics */
};

/* Bytes of the character that T begins with; 0 = no text, or not for terminals. */
static size_t label_character(struct text t)
{
    return utf8_hidden(t) ? 0 : (size_t)utf8_length(t.at, t.n);
}

/* Names stay different: what is no text, or not for terminals, becomes \xHH. */
static void put_label(FILE *out, struct text t)
{
    while (t.n) {
        size_t n = label_character(t), used = n ? n : 1;
        if (*t.at == '"' || *t.at == '\\')
            fprintf(out, "\\%c", *t.at);
        else if (n)
            fwrite(t.at, 1, n, out);
        else
            fprintf(out, "\\\\x%02x", (unsigned char)*t.at);
        t = (struct text){t.at + used, t.n - used};
    }
}

/* Characters that a reader of the label gets. */
static size_t label_length(struct text t)
{
    size_t length = 0;
    while (t.n) {
        size_t n = label_character(t), used = n ? n : 1;
        length += n ? 1 : strlen("\\xHH");
        t = (struct text){t.at + used, t.n - used};
    }
    return length;
}

/* A counter's family has no "_total" in OpenMetrics; its lines do. */
static void put_family(const struct metrics *m, const char *name, const char *type,
                       const char *help)
{
    size_t n = strlen(name), total = strlen("_total");
    bool cut = m->open && n > total && strcmp(name + n - total, "_total") == 0;
    int length = (int)(cut ? n - total : n);
    fprintf(m->out, "# HELP %.*s %s\n# TYPE %.*s %s\n", length, name, help, length, name, type);
}

/* NAME{scope="SCOPE" without the closing brace. */
static void put_metric(const struct metrics *m, const char *name, const char *label,
                       struct text value)
{
    fprintf(m->out, "%s{%s=\"", name, label);
    put_label(m->out, value);
    putc('"', m->out);
}

/* A bound or quantile as a label: OpenMetrics writes whole numbers as "1.0". */
static void put_number_label(const struct metrics *m, const char *key, double x)
{
    char text[32];
    snprintf(text, sizeof text, "%g", x);
    fprintf(m->out, ",%s=\"%s%s\"", key, text, m->open && !strpbrk(text, ".e") ? ".0" : "");
}

static void put_seconds(const struct metrics *m, uint64_t ns)
{
    fprintf(m->out, "} %llu.%09llu\n", (unsigned long long)(ns / 1000000000),
            (unsigned long long)(ns % 1000000000));
}

static void metrics_put_whole(const struct metrics *m, uint64_t n)
{
    fprintf(m->out, "} %llu", (unsigned long long)n);
}

/* --- exemplars --- */

/* OpenMetrics allows no more, in characters of keys and values. */
enum { EXEMPLAR_CHARACTERS = 128 };

/* A key of OpenMetrics: what else there is in it becomes an underscore. */
static void put_key(FILE *out, struct text key)
{
    for (size_t i = 0; i < key.n; i++) {
        char c = key.at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        bool digit = c >= '0' && c <= '9' && i > 0;
        putc(letter || digit ? c : '_', out);
    }
}

static size_t put_exemplar_attr(FILE *out, const struct profile *p, const struct attr *a,
                                bool first, size_t room)
{
    char number[32];
    struct text key = profile_str(p, a->key), value = profile_str(p, a->text);
    if (a->is_number) {
        snprintf(number, sizeof number, "%lld", (long long)a->number);
        value = text_of(number);
    }
    size_t used = key.n + label_length(value);
    if (!key.n || used > room)
        return 0;
    fputs(first ? "" : ",", out);
    put_key(out, key);
    fputs("=\"", out);
    put_label(out, value);
    putc('"', out);
    return used;
}

/* Whether a set has two pairs of a key, of which the later hides the first. */
static bool live_is_hidden(const struct profile *p, struct attrs_id last, struct attrs_id at)
{
    struct str_id key = p->attrs.nodes.at[at.i].attr.key;
    return attrs_find(&p->attrs, last, key) != &p->attrs.nodes.at[at.i].attr;
}

/* " # {trace_id="...",index="3"} 0.0021 1700000000.123": the last span of the bucket. */
static void put_exemplar(const struct metrics *m, const struct scopelive_last *last)
{
    const struct profile *p = m->r->profile;
    size_t room = EXEMPLAR_CHARACTERS;
    bool first = true;
    if (!m->open || !last->end_ns)
        return;
    fputs(" # {", m->out);
    for (struct attrs_id at = last->attrs; at.i; at = p->attrs.nodes.at[at.i].parent) {
        size_t used =
            live_is_hidden(p, last->attrs, at)
                ? 0
                : put_exemplar_attr(m->out, p, &p->attrs.nodes.at[at.i].attr, first, room);
        first = first && !used;
        room -= used;
    }
    double wall_ns =
        (double)p->clock.wall_ns + ((double)last->end_ns - (double)p->clock.monotonic_ns);
    fprintf(m->out, "} %.9f %.3f", (double)last->duration_ns / 1e9, wall_ns / 1e9);
}

/* --- scopes --- */

static void put_sum_and_count(const struct metrics *m, const char *family, struct text scope,
                              const struct scopelive_sum *s)
{
    char name[64];
    snprintf(name, sizeof name, "%s_sum", family);
    put_metric(m, name, "scope", scope);
    put_seconds(m, s->total_ns);
    snprintf(name, sizeof name, "%s_count", family);
    put_metric(m, name, "scope", scope);
    metrics_put_whole(m, s->calls);
    putc('\n', m->out);
}

static void put_histogram(const struct metrics *m, struct text scope, const struct scopelive_sum *s)
{
    uint64_t n = 0;
    for (int i = 0; i < SCOPELIVE_BOUNDS; i++) {
        n += s->in_bound[i];
        put_metric(m, "kelvin_scope_seconds_bucket", "scope", scope);
        put_number_label(m, "le", (double)scopelive_bounds_ns[i] / 1e9);
        metrics_put_whole(m, n);
        put_exemplar(m, &s->last[i]);
        putc('\n', m->out);
    }
    put_metric(m, "kelvin_scope_seconds_bucket", "scope", scope);
    fputs(",le=\"+Inf\"", m->out);
    metrics_put_whole(m, s->calls);
    put_exemplar(m, &s->last[SCOPELIVE_BOUNDS]);
    putc('\n', m->out);
    put_sum_and_count(m, "kelvin_scope_seconds", scope, s);
}

static void put_quantile_lines(const struct metrics *m, struct text scope,
                               const struct scopelive_sum *s)
{
    for (int i = 0; i < LIVE_QUANTILES; i++) {
        put_metric(m, "kelvin_scope_latency_seconds", "scope", scope);
        put_number_label(m, "quantile", live_quantiles[i]);
        put_seconds(m, live_quantile_ns(s, live_quantiles[i]));
    }
    put_metric(m, "kelvin_scope_latency_seconds", "scope", scope);
    put_number_label(m, "quantile", 1);
    put_seconds(m, s->max_ns);
    put_sum_and_count(m, "kelvin_scope_latency_seconds", scope, s);
}

/* All lines of a family must stand together. */
static void put_scopes(const struct metrics *m)
{
    const struct scopelive *l = &m->r->live;
    const struct profile *p = m->r->profile;
    if (!l->sums.n)
        return;
    put_family(m, "kelvin_scope_seconds", "histogram", "How long spans of the scope took.");
    for (size_t i = 0; i < l->sums.n; i++)
        put_histogram(m, profile_str(p, l->sums.at[i].name), &l->sums.at[i]);
    put_family(m, "kelvin_scope_self_seconds_total", "counter",
               "Time in the scope without the scopes inside.");
    for (size_t i = 0; i < l->sums.n; i++) {
        put_metric(m, "kelvin_scope_self_seconds_total", "scope",
                   profile_str(p, l->sums.at[i].name));
        put_seconds(m, l->sums.at[i].self_ns);
    }
    put_family(m, "kelvin_scope_latency_seconds", "summary",
               "The same, as quantiles of all spans since the recording began, good to 1%.");
    for (size_t i = 0; i < l->sums.n; i++)
        put_quantile_lines(m, profile_str(p, l->sums.at[i].name), &l->sums.at[i]);
}

/* --- threads --- */

static void put_worker(const struct metrics *m, const char *name, const struct worker *w, int state)
{
    put_metric(m, name, "thread", text_of(w->name));
    fprintf(m->out, ",pid=\"%d\",tid=\"%d\",state=\"%s\"", w->pid, w->tid,
            worker_state_names[state]);
}

static void put_workers(const struct metrics *m)
{
    const struct threadstates *t = &m->r->states;
    if (!t->workers.n)
        return;
    put_family(m, "kelvin_thread_state", "gauge",
               "1 for what a thread does now: it runs, waits in a scope, or is idle in none.");
    for (size_t i = 0; i < t->workers.n; i++)
        for (int k = 0; k < WORKER_STATES; k++) {
            put_worker(m, "kelvin_thread_state", &t->workers.at[i], k);
            metrics_put_whole(m, t->workers.at[i].now == (enum worker_state)k);
            putc('\n', m->out);
        }
    put_family(m, "kelvin_thread_state_seconds_total", "counter",
               "Time in each state, looked at ten times a second.");
    for (size_t i = 0; i < t->workers.n; i++)
        for (int k = 0; k < WORKER_STATES; k++) {
            put_worker(m, "kelvin_thread_state_seconds_total", &t->workers.at[i], k);
            put_seconds(m, t->workers.at[i].ns[k]);
        }
}

/* --- numbers --- */

static void put_numbers(const struct metrics *m, bool gauges)
{
    const char *name = gauges ? "kelvin_value" : "kelvin_count_total";
    struct scopes_number n;
    bool begun = false;
    for (size_t i = 0; m->r->scopes && scopes_number(m->r->scopes, i, &n); i++) {
        if (n.is_gauge != gauges || !live_number(m->r, i, &n))
            continue;
        if (!begun)
            put_family(m, name, gauges ? "gauge" : "counter",
                       gauges ? "KELVIN_GAUGE of the program." : "KELVIN_COUNT of the program.");
        begun = true;
        put_metric(m, name, "name", profile_str(m->r->profile, n.name));
        fprintf(m->out, ",pid=\"%d\"} %lld\n", n.pid, (long long)n.value);
    }
}

static void put_plain(const struct metrics *m, const char *name, const char *help, uint64_t value)
{
    put_family(m, name, "counter", help);
    fprintf(m->out, "%s %llu\n", name, (unsigned long long)value);
}

static void put_samples(const struct metrics *m)
{
    static const char *const names[] = {"kelvin_samples_total", "kelvin_samples_lost_total"};
    const struct recorder *r = m->r;
    for (int k = 0; k < 2; k++) {
        put_family(m, names[k], "counter", k ? "Samples that were lost." : "Samples taken.");
        for (size_t i = 0; i < r->n_events; i++) {
            uint64_t samples = r->events[i].samples_before + r->events[i].samples;
            put_metric(m, names[k], "event", text_of(r->facts[i].event));
            metrics_put_whole(m, k ? r->facts[i].lost : samples);
            putc('\n', m->out);
        }
    }
}

static void put_all(const struct metrics *m)
{
    const struct recorder *r = m->r;
    put_family(m, "kelvin_recording_seconds", "gauge", "How long the recording has lasted.");
    fprintf(m->out, "kelvin_recording_seconds %.3f\n", live_seconds_so_far(r));
    put_samples(m);
    if (r->scopes) {
        put_plain(m, "kelvin_spans_total", "Spans of scopes that ended.",
                  scopes_facts(r->scopes)->spans);
        put_plain(m, "kelvin_scope_records_lost_total",
                  "Spans, counts and events that found no room.", scopes_lost(r->scopes));
    }
    put_scopes(m);
    put_workers(m);
    put_numbers(m, false);
    put_numbers(m, true);
}

void live_metrics_prometheus(void *recorder, FILE *out)
{
    put_all(&(struct metrics){.out = out, .r = recorder});
}

void live_metrics_open(void *recorder, FILE *out)
{
    put_all(&(struct metrics){.out = out, .r = recorder, .open = true});
    fputs("# EOF\n", out);
}
