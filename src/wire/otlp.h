/*
 * otlp.h - spans as OpenTelemetry's traces: the body of a request to a collector's /v1/traces, in
 * JSON or protobuf (opentelemetry-proto, ExportTraceServiceRequest).
 *
 *     {"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", ...}]},
 *       "scopeSpans": [{"scope": {"name": "kelvin"}, "spans": [{"traceId": hex, "spanId": hex,
 *         "parentSpanId": hex, "name": "layer", "kind": 1, "startTimeUnixNano": "..." ...}]}]}]}
 *
 * Each process is a resource. In JSON 64-bit numbers are texts and ids are hex, as the format wants
 * it. The ids of traces that go through several programs (wire/scopes.h) are not written as
 * attributes again.
 */
#pragma once
#include "base/buf.h"
#include "model/profile.h"

#include <stdio.h>

struct otlp_span {
    struct text name;
    struct thread_id thread;
    struct attrs_id attrs;
    uint64_t trace_high, trace_low, span, parent; /* parent 0 = none */
    uint64_t start_ns, duration_ns;               /* start: since 1970 */
};

/* Spans of the same process lie together, or there are several resources for it. */
struct otlp_batch {
    const struct profile *profile;
    const struct otlp_span *spans;
    size_t n;
};

void otlp_print_json(FILE *out, const struct otlp_batch *b);
void otlp_add_protobuf(struct buf *to, const struct otlp_batch *b);

/* An id that is never 0, from numbers that are unique together. */
uint64_t otlp_id(uint64_t of, uint64_t number, uint64_t salt);

/* The trace that the attributes of a span name. False if they name none. */
struct otlp_context {
    bool has_trace, has_span;
    uint64_t trace_high, trace_low, span, parent;
};
void otlp_context_of(const struct profile *p, struct attrs_id set, struct otlp_context *ret);
