/*
 * chrometrace.c - spans, counters and events as Chrome's trace events: for Perfetto's page,
 * chrome://tracing and speedscope.
 *
 *     {"traceEvents": [{"name": "layer", "ph": "X", "ts": us, "dur": us, "pid": 1, "tid": 1,
 *                       "args": {"index": 3}}, ...], "displayTimeUnit": "ns"}
 *
 * Times are microseconds with three decimals since the first. Spans that cross threads are pairs
 * of "b" and "e" with an id. Counters are "C", events "i", names of threads and processes "M".
 */
#include "base/json.h"
#include "model/streamkind.h"
#include "view/export/spans.h"

struct trace {
    struct json j;
    const struct profile *p;
    const struct stream *spans;
    uint64_t start_ns;
};

static void put_ns(struct trace *t, const char *key, uint64_t ns)
{
    json_key(&t->j, key);
    json_decimal(&t->j, (int64_t)ns, 3);
}

/* An event up to what is its own. */
static void chrometrace_open_event(struct trace *t, struct text name, const char *phase,
                                   struct thread_id id)
{
    const struct thread *thread = &t->p->threads.at[id.i];
    json_open(&t->j, '{');
    json_key(&t->j, "name");
    json_text(&t->j, name);
    json_put_str(&t->j, "ph", phase);
    json_key(&t->j, "pid");
    json_int(&t->j, profile_pid(t->p, thread));
    json_key(&t->j, "tid");
    json_int(&t->j, thread->tid);
}

static void put_args(struct trace *t, struct attrs_id set)
{
    json_key(&t->j, "args");
    json_open(&t->j, '{');
    for (; set.i; set = t->p->attrs.nodes.at[set.i].parent) {
        const struct attr *a = &t->p->attrs.nodes.at[set.i].attr;
        json_key(&t->j, profile_str(t->p, a->key).at);
        if (a->is_number)
            json_int(&t->j, a->number);
        else
            json_text(&t->j, profile_str(t->p, a->text));
    }
    json_close(&t->j, '}');
}

static void put_async(struct trace *t, size_t row, const char *phase, uint64_t ns)
{
    chrometrace_open_event(t, export_span_name(t->p, t->spans, row), phase,
                           t->spans->rows.thread[row]);
    json_put_str(&t->j, "cat", "scopes");
    json_put_uint(&t->j, "id", row + 1);
    put_ns(t, "ts", ns - t->start_ns);
    json_close(&t->j, '}');
}

static void put_span(struct trace *t, size_t row)
{
    const struct rows *r = &t->spans->rows;
    if (export_span_is_async(t->p, t->spans, row)) {
        put_async(t, row, "b", r->time_ns[row]);
        put_async(t, row, "e", r->time_ns[row] + r->duration_ns[row]);
        return;
    }
    chrometrace_open_event(t, export_span_name(t->p, t->spans, row), "X", r->thread[row]);
    put_ns(t, "ts", r->time_ns[row] - t->start_ns);
    put_ns(t, "dur", r->duration_ns[row]);
    if (r->attrs && r->attrs[row].i)
        put_args(t, r->attrs[row]);
    json_close(&t->j, '}');
}

static void put_names(struct trace *t)
{
    for (uint32_t i = 1; i < t->p->threads.n; i++) {
        const struct thread *thread = &t->p->threads.at[i];
        struct text exe = profile_str(t->p, t->p->processes.at[thread->process.i].executable);
        const char *const kinds[] = {"thread_name", "process_name"};
        for (int k = 0; k < (exe.n ? 2 : 1); k++) {
            chrometrace_open_event(t, text_of(kinds[k]), "M", (struct thread_id){i});
            json_key(&t->j, "args");
            json_open(&t->j, '{');
            json_key(&t->j, "name");
            json_text(&t->j, k ? exe : profile_str(t->p, thread->name));
            json_close(&t->j, '}');
            json_close(&t->j, '}');
        }
    }
}

static void put_trace_counter(struct trace *t, const struct counter *c)
{
    for (size_t i = 0; i < c->points.n; i++) {
        uint64_t ns = c->points.at[i].time_ns;
        json_open(&t->j, '{');
        json_key(&t->j, "name");
        json_text(&t->j, profile_str(t->p, c->name));
        json_put_str(&t->j, "ph", "C");
        json_key(&t->j, "pid");
        json_int(&t->j, t->p->processes.at[c->process.i].pid);
        put_ns(t, "ts", ns > t->start_ns ? ns - t->start_ns : 0);
        json_key(&t->j, "args");
        json_open(&t->j, '{');
        json_key(&t->j, "value");
        json_int(&t->j, c->points.at[i].value);
        json_close(&t->j, '}');
        json_close(&t->j, '}');
    }
}

/* What happened at a moment: of a trace, without durations. */
static void put_moments(struct trace *t, const struct stream *s)
{
    if (s == t->spans || stream_kind_of(t->p, s) != STREAM_MOMENTS || s->rows.duration_ns ||
        !s->rows.time_ns)
        return;
    for (size_t i = 0; i < s->rows.n; i++) {
        uint64_t ns = s->rows.time_ns[i];
        chrometrace_open_event(t, export_span_name(t->p, s, i), "i", s->rows.thread[i]);
        json_put_str(&t->j, "s", "t");
        put_ns(t, "ts", ns > t->start_ns ? ns - t->start_ns : 0);
        json_close(&t->j, '}');
    }
}

static int write_chrometrace(FILE *out, const struct selection *s, const struct export_opts *opts,
                             struct err *err)
{
    (void)opts;
    struct trace t = {.j = {.out = out}, .p = s->profile, .start_ns = UINT64_MAX};
    t.spans = export_spans(s, "a Chrome trace", err);
    if (!t.spans)
        return -1;
    for (size_t i = 0; i < t.spans->rows.n; i++)
        if (t.spans->rows.time_ns[i] < t.start_ns)
            t.start_ns = t.spans->rows.time_ns[i];
    json_open(&t.j, '{');
    json_put_str(&t.j, "displayTimeUnit", "ns");
    json_key(&t.j, "traceEvents");
    json_open(&t.j, '[');
    put_names(&t);
    for (size_t i = 0; i < t.spans->rows.n; i++)
        put_span(&t, i);
    for (size_t i = 0; i < t.p->streams.n; i++)
        put_moments(&t, t.p->streams.at[i]);
    for (size_t i = 0; i < t.p->counters.n; i++)
        put_trace_counter(&t, &t.p->counters.at[i]);
    json_close(&t.j, ']');
    json_close(&t.j, '}');
    putc('\n', out);
    return 0;
}

const struct exporter exporter_chrometrace = {
    .name = "chrometrace",
    .title = "Chrome trace events: Perfetto, chrome://tracing",
    .suffix = ".trace.json",
    .for_viewers = true,
    .write = write_chrometrace,
};
