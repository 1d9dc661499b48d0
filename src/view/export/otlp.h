/*
 * otlp.h - the spans of a selection with their ids, for bodies of OTLP (wire/otlp.h).
 */
#pragma once
#include "view/export/export.h"
#include "wire/otlp.h"

struct otlp_spans {
    struct otlp_span *at;
    size_t n, cap;
};

/* Free them with vec_done(). */
int otlp_spans_build(struct otlp_spans *ret, const struct selection *s, struct err *err);
