/*
 * scopeinsight.h - what stands out about a program's scopes, with its evidence.
 */
#pragma once
#include "analysis/finding.h"
#include "analysis/scopecpu.h"

struct scopeinsights {
    struct arena arena;
    struct findings found;
};

/* CPU may be NULL: nothing was sampled. Call scopeinsights_done() on RET. */
void scopeinsights_find(struct scopeinsights *ret, const struct scopetree *t,
                        const struct scopecpu *cpu);
void scopeinsights_done(struct scopeinsights *s);
