/*
 * hits.h - which instructions of a function are on each stack: what ran, or a call in progress.
 *
 * The total of an instruction or line is what was spent while it was on the stack. A sample counts
 * once for each however often recursion puts it there, so totals are summed over stacks, not over
 * addresses.
 */
#pragma once
#include "analysis/selection.h"
#include "code/listing.h"

struct hits_stack {
    size_t first, n; /* in `insns`: indexes into the listing, each once */
    int64_t value;
};

struct hits {
    VEC(uint32_t) insns;
    VEC(struct hits_stack) stacks; /* those with any instruction of the listing */
    int64_t total;                 /* their sum: the total of the function */
    int64_t n_samples;             /* behind it; 0 where not recorded */
};

/* Self and total are added to the listing's instructions, too. IS_OF says whether addresses of a
 * mapping are those of the listing. Free with hits_done(). */
void hits_build(struct hits *h, const struct selection *s, struct listing *l,
                bool (*is_of)(const void *ctx, struct mapping_id mapping), const void *ctx);
void hits_done(struct hits *h);
