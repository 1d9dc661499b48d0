/*
 * heapwrappers.h - which function asked for memory: behind malloc there is often another function
 * that only asks for others (xmalloc, av_malloc), and advice about that one helps nobody.
 *
 * Some are known by name. One without a name is taken for a wrapper when HEAPWRAPPERS_CALLERS
 * different functions have it allocate for them; a function that has a name may be a good place to
 * look at even so.
 */
#pragma once
#include "analysis/label.h"
#include "model/profile.h"

enum { HEAPWRAPPERS_CALLERS = 5, HEAPWRAPPERS_LAYERS = 3 };

/* Zeroed is fine: then names alone decide. */
struct heapwrappers {
    VEC(bool) is; /* by label: seen to allocate for others; labels beyond are not */
};

/* Look at all stacks of ROWS. Wrappers of wrappers too, up to HEAPWRAPPERS_LAYERS. */
void heapwrappers_find(struct heapwrappers *w, struct labels *labels, const struct profile *p,
                       const struct rows *rows);
void heapwrappers_done(struct heapwrappers *w);

/* What the wrappers of a stack, between its place and the allocator, allocate for. */
enum heap_purpose {
    HEAP_FOR_ANYTHING,
    HEAP_FOR_GROWTH, /* a container that has no room left for one element more */
    HEAP_FOR_COPY,   /* a string that is made of another one */
};

enum heap_purpose heapwrappers_purpose(const struct heapwrappers *w, struct labels *labels,
                                       const struct profile *p, struct stack_id stack);

/* The label of the place of STACK; the innermost function where all are wrappers. */
uint32_t heapwrappers_place(const struct heapwrappers *w, struct labels *labels,
                            const struct profile *p, struct stack_id stack);
