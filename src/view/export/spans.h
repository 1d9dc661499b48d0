/*
 * spans.h - the spans of a profile, for formats that hold nothing else.
 */
#pragma once
#include "view/export/export.h"

/* The selected stream where it has spans, else the stream of scopes. NULL and an error if none. */
const struct stream *export_spans(const struct selection *s, const char *format, struct err *err);

/* The name of a span: the innermost scope. */
struct text export_span_name(const struct profile *p, const struct stream *s, size_t row);

/* Whether it crosses threads. */
bool export_span_is_async(const struct profile *p, const struct stream *s, size_t row);
