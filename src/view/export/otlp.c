/*
 * otlp.c - spans as OpenTelemetry's traces, in the JSON of OTLP: for Jaeger, Tempo, a collector.
 *
 *     {"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", ...}]},
 *       "scopeSpans": [{"scope": {"name": "kelvin"}, "spans": [{"traceId": hex, "spanId": hex,
 *         "parentSpanId": hex, "name": "layer", "kind": 1, "startTimeUnixNano": "..." ...}]}]}]}
 *
 * 64-bit numbers are texts, as the format wants it. An outermost span begins a trace of its own.
 * Ids are made from the moment of the recording and the number of the span: the same file gives
 * the same ids.
 */
#include "analysis/scopejoin.h"
#include "base/json.h"
#include "view/export/spans.h"

#include <inttypes.h>

struct otlp {
    struct json j;
    const struct profile *p;
    const struct stream *spans;
    const uint32_t *parents; /* row + 1 */
};

static uint64_t otlp_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Never zero, which means none. */
static uint64_t otlp_id(const struct otlp *o, size_t row, uint64_t salt)
{
    return otlp_mix(o->p->clock.wall_ns ^ otlp_mix(row ^ salt << 56)) | 1;
}

static void put_u64(struct otlp *o, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    json_put_str(&o->j, key, text);
}

static void put_ids(struct otlp *o, size_t row)
{
    char text[40];
    size_t root = row;
    while (o->parents[root])
        root = o->parents[root] - 1;
    snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, otlp_id(o, root, 1),
             otlp_id(o, root, 2));
    json_put_str(&o->j, "traceId", text);
    snprintf(text, sizeof text, "%016" PRIx64, otlp_id(o, row, 3));
    json_put_str(&o->j, "spanId", text);
    if (!o->parents[row])
        return;
    snprintf(text, sizeof text, "%016" PRIx64, otlp_id(o, o->parents[row] - 1, 3));
    json_put_str(&o->j, "parentSpanId", text);
}

static void put_attribute_text(struct otlp *o, struct text key, struct text value)
{
    json_open(&o->j, '{');
    json_key(&o->j, "key");
    json_text(&o->j, key);
    json_key(&o->j, "value");
    json_open(&o->j, '{');
    json_key(&o->j, "stringValue");
    json_text(&o->j, value);
    json_close(&o->j, '}');
    json_close(&o->j, '}');
}

static void put_attribute_number(struct otlp *o, struct text key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    json_open(&o->j, '{');
    json_key(&o->j, "key");
    json_text(&o->j, key);
    json_key(&o->j, "value");
    json_open(&o->j, '{');
    json_put_str(&o->j, "intValue", text);
    json_close(&o->j, '}');
    json_close(&o->j, '}');
}

static void put_attributes(struct otlp *o, size_t row)
{
    const struct rows *r = &o->spans->rows;
    const struct thread *thread = &o->p->threads.at[r->thread[row].i];
    struct attrs_id set = r->attrs ? r->attrs[row] : (struct attrs_id){0};
    json_key(&o->j, "attributes");
    json_open(&o->j, '[');
    put_attribute_number(o, text_of("thread.id"), thread->tid);
    put_attribute_text(o, text_of("thread.name"), profile_str(o->p, thread->name));
    for (; set.i; set = o->p->attrs.nodes.at[set.i].parent) {
        const struct attr *a = &o->p->attrs.nodes.at[set.i].attr;
        if (a->is_number)
            put_attribute_number(o, profile_str(o->p, a->key), a->number);
        else
            put_attribute_text(o, profile_str(o->p, a->key), profile_str(o->p, a->text));
    }
    json_close(&o->j, ']');
}

static void put_otlp_span(struct otlp *o, size_t row)
{
    const struct rows *r = &o->spans->rows;
    uint64_t since_1970 = o->p->clock.wall_ns - o->p->clock.monotonic_ns; /* may wrap: so be it */
    json_open(&o->j, '{');
    put_ids(o, row);
    json_key(&o->j, "name");
    json_text(&o->j, export_span_name(o->p, o->spans, row));
    json_put_uint(&o->j, "kind", 1);
    put_u64(o, "startTimeUnixNano", r->time_ns[row] + since_1970);
    put_u64(o, "endTimeUnixNano", r->time_ns[row] + r->duration_ns[row] + since_1970);
    put_attributes(o, row);
    json_close(&o->j, '}');
}

/* "app" of "/usr/bin/app", else the name of its first thread. */
static struct text service_name(const struct profile *p, uint32_t process)
{
    struct text exe = profile_str(p, p->processes.at[process].executable);
    for (size_t i = exe.n; i-- > 0;)
        if (exe.at[i] == '/')
            return (struct text){exe.at + i + 1, exe.n - i - 1};
    for (uint32_t i = 1; !exe.n && i < p->threads.n; i++)
        if (p->threads.at[i].process.i == process)
            return profile_str(p, p->threads.at[i].name);
    return exe;
}

static uint32_t process_of(const struct otlp *o, size_t row)
{
    return o->p->threads.at[o->spans->rows.thread[row].i].process.i;
}

static void put_process(struct otlp *o, uint32_t process)
{
    json_open(&o->j, '{');
    json_key(&o->j, "resource");
    json_open(&o->j, '{');
    json_key(&o->j, "attributes");
    json_open(&o->j, '[');
    put_attribute_text(o, text_of("service.name"), service_name(o->p, process));
    put_attribute_number(o, text_of("process.pid"), o->p->processes.at[process].pid);
    json_close(&o->j, ']');
    json_close(&o->j, '}');
    json_key(&o->j, "scopeSpans");
    json_open(&o->j, '[');
    json_open(&o->j, '{');
    json_key(&o->j, "scope");
    json_open(&o->j, '{');
    json_put_str(&o->j, "name", "kelvin");
    json_close(&o->j, '}');
    json_key(&o->j, "spans");
    json_open(&o->j, '[');
    for (size_t i = 0; i < o->spans->rows.n; i++)
        if (process_of(o, i) == process)
            put_otlp_span(o, i);
    json_close(&o->j, ']');
    json_close(&o->j, '}');
    json_close(&o->j, ']');
    json_close(&o->j, '}');
}

static int write_otlp(FILE *out, const struct selection *s, const struct export_opts *opts,
                      struct err *err)
{
    (void)opts;
    struct otlp o = {.j = {.out = out}, .p = s->profile};
    o.spans = export_spans(s, "OTLP", err);
    if (!o.spans)
        return -1;
    autofree uint32_t *parents = scopejoin_parents(o.p, o.spans);
    autofree bool *has = mem_calloc(o.p->processes.n + 1, sizeof *has);
    o.parents = parents;
    for (size_t i = 0; i < o.spans->rows.n; i++)
        has[process_of(&o, i)] = true;
    json_open(&o.j, '{');
    json_key(&o.j, "resourceSpans");
    json_open(&o.j, '[');
    for (uint32_t i = 0; i < o.p->processes.n; i++)
        if (has[i])
            put_process(&o, i);
    json_close(&o.j, ']');
    json_close(&o.j, '}');
    putc('\n', out);
    return 0;
}

const struct exporter exporter_otlp = {
    .name = "otlp",
    .title = "OpenTelemetry traces, OTLP's JSON: Jaeger, Tempo",
    .suffix = ".otlp.json",
    .write = write_otlp,
};
