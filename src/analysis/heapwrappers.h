/*
 * heapwrappers.h - which function asked for memory: the caller of malloc is often a function that
 * only asks on behalf of others (xmalloc, av_malloc), and advice about that one is useless.
 *
 * The place of a block is the innermost function that is neither of these:
 * - part of the C or C++ library, of an allocator's library or of ours; the languages' own (std::,
 *   operator new, alloc:: of Rust), which are compiled into programs, are known by name;
 * - a wrapper that is known by its whole name, such as xmalloc and g_malloc0;
 * - a function without a name, or with a name like an allocator's (pool_alloc), that allocates for
 *   HEAPWRAPPERS_CALLERS different functions. With fewer callers it is a place like any other.
 */
#pragma once
#include "analysis/label.h"
#include "model/profile.h"

enum { HEAPWRAPPERS_CALLERS = 5, HEAPWRAPPERS_LAYERS = 6 };

/* Zeroed is fine: then names alone decide. */
struct heapwrappers {
    VEC(bool) is; /* by label: seen to allocate for others; labels beyond are not */
};

/* Look at all stacks of ROWS. Wrappers of wrappers too, up to HEAPWRAPPERS_LAYERS. */
void heapwrappers_find(struct heapwrappers *w, struct labels *labels, const struct profile *p,
                       const struct rows *rows);
void heapwrappers_done(struct heapwrappers *w);

/* The function that the wrappers of a stack, between its place and the allocator, allocate for. */
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
