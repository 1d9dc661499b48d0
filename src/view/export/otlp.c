/*
 * otlp.c - spans as OpenTelemetry's traces: for Jaeger, Tempo, a collector. See wire/otlp.h.
 *
 * An outermost span begins a trace of its own, unless it continues that of another program. Ids are
 * made from the moment of the recording and the number of the span: the same file gives the same
 * ids. Those that the program gave to others stay as they were.
 */
#include "view/export/otlp.h"
#include "analysis/scopejoin.h"
#include "view/export/spans.h"

struct otlp_export {
    const struct profile *p;
    const struct stream *spans;
    const uint32_t *parents; /* row + 1 */
};

static uint64_t otlp_row_id(const struct otlp_export *o, size_t row)
{
    const struct rows *r = &o->spans->rows;
    struct otlp_context c;
    otlp_context_of(o->p, r->attrs ? r->attrs[row] : (struct attrs_id){0}, &c);
    return c.has_span ? c.span : otlp_id(o->p->clock.wall_ns, row, 3);
}

/* The trace is that of the nearest span around it that names one, else the outermost's own. */
static void otlp_set_trace(const struct otlp_export *o, size_t row, struct otlp_span *to)
{
    const struct rows *r = &o->spans->rows;
    struct otlp_context c;
    for (size_t at = row;; at = o->parents[at] - 1) {
        otlp_context_of(o->p, r->attrs ? r->attrs[at] : (struct attrs_id){0}, &c);
        if (c.has_trace) {
            to->trace_high = c.trace_high;
            to->trace_low = c.trace_low;
            if (at == row && c.parent)
                to->parent = c.parent;
            return;
        }
        if (!o->parents[at]) {
            to->trace_high = otlp_id(o->p->clock.wall_ns, at, 1);
            to->trace_low = otlp_id(o->p->clock.wall_ns, at, 2);
            return;
        }
    }
}

static struct otlp_span otlp_span_of(const struct otlp_export *o, size_t row)
{
    const struct rows *r = &o->spans->rows;
    uint64_t since_1970 = o->p->clock.wall_ns - o->p->clock.monotonic_ns; /* may wrap: so be it */
    struct otlp_span s = {.name = export_span_name(o->p, o->spans, row),
                          .thread = r->thread[row],
                          .attrs = r->attrs ? r->attrs[row] : (struct attrs_id){0},
                          .span = otlp_row_id(o, row),
                          .start_ns = r->time_ns[row] + since_1970,
                          .duration_ns = r->duration_ns[row]};
    s.parent = o->parents[row] ? otlp_row_id(o, o->parents[row] - 1) : 0;
    otlp_set_trace(o, row, &s);
    return s;
}

int otlp_spans_build(struct otlp_spans *ret, const struct selection *s, struct err *err)
{
    struct otlp_export o = {.p = s->profile, .spans = export_spans(s, "OTLP", err)};
    *ret = (struct otlp_spans){0};
    if (!o.spans)
        return -1;
    autofree uint32_t *parents = scopejoin_parents(o.p, o.spans);
    const struct rows *r = &o.spans->rows;
    o.parents = parents;
    for (uint32_t process = 0; process < o.p->processes.n; process++)
        for (size_t i = 0; i < r->n; i++)
            if (o.p->threads.at[r->thread[i].i].process.i == process)
                *vec_push(ret) = otlp_span_of(&o, i);
    return 0;
}

static int write_otlp(FILE *out, const struct selection *s, const struct export_opts *opts,
                      struct err *err)
{
    (void)opts;
    struct otlp_spans all;
    if (otlp_spans_build(&all, s, err) != 0)
        return -1;
    otlp_print_json(out, &(struct otlp_batch){s->profile, all.at, all.n});
    vec_done(&all);
    return 0;
}

static int write_otlp_protobuf(FILE *out, const struct selection *s, const struct export_opts *opts,
                               struct err *err)
{
    (void)opts;
    struct otlp_spans all;
    autobuf struct buf body = {0};
    if (otlp_spans_build(&all, s, err) != 0)
        return -1;
    otlp_add_protobuf(&body, &(struct otlp_batch){s->profile, all.at, all.n});
    if (body.n)
        fwrite(body.at, 1, body.n, out);
    vec_done(&all);
    return 0;
}

const struct exporter exporter_otlp = {
    .name = "otlp",
    .title = "OpenTelemetry traces, OTLP's JSON: Jaeger, Tempo",
    .suffix = ".otlp.json",
    .for_viewers = true,
    .write = write_otlp,
};

const struct exporter exporter_otlp_protobuf = {
    .name = "otlp-protobuf",
    .title = "OpenTelemetry traces, OTLP's protobuf",
    .suffix = ".otlp.pb",
    .for_viewers = true,
    .write = write_otlp_protobuf,
};
