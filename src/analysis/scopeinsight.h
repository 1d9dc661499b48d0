/*
 * scopeinsight.h - what stands out about a program's scopes, with its evidence.
 */
#pragma once
#include "analysis/scopecpu.h"
#include "base/arena.h"

struct scope_insight {
    const char *title, *text, *advice; /* advice: "" = none */
};

struct scopeinsights {
    struct arena arena;
    VEC(struct scope_insight) at; /* what matters most first */
};

/* CPU may be NULL: nothing was sampled. Call scopeinsights_done() on RET. */
void scopeinsights_find(struct scopeinsights *ret, const struct scopetree *t,
                        const struct scopecpu *cpu);
void scopeinsights_done(struct scopeinsights *s);
