/*
 * inscope.h - which scope a thread is in: what the agent of scopes shows to that of the heap.
 *
 * The two are libraries of their own, and either may be missing. The heap's is preloaded; the one
 * of scopes looks for its function when a thread begins, and both keep a pointer to what the other
 * has for that thread. Nothing is copied where no scope is used, and nothing is locked: a thread
 * only looks at what is its own.
 */
#pragma once
#include <stdint.h>

/* A scope that is open, and where on the stack it lies; INSCOPE_PUSHED = nowhere. */
struct inscope_open {
    uintptr_t at;
    uint32_t path, has_attrs;
    uint64_t blocks, bytes; /* that the thread had allocated by then */
};

#define INSCOPE_PUSHED UINTPTR_MAX

/* Scopes of a thread: `open` from 1 to `*depth`. Both are wiped when a process forks. */
struct inscope {
    const volatile uint32_t *depth;  /* NULL = it has none */
    const struct inscope_open *open; /* [0] = the root */
};

/* What a thread has allocated so far. */
struct inscope_heap {
    uint64_t blocks, bytes;
};

/*
 * Of the heap's agent: allocations of the calling thread are in IN, which is copied, from now on;
 * NULL = in none. Returns what the thread has allocated; NULL where not every block is seen.
 */
#define INSCOPE_SYMBOL "kelvin_heap_in_scope"
typedef const struct inscope_heap *inscope_join(const struct inscope *in);

/* The path that the thread is in. Scopes below the stack pointer were left by a longjmp. */
static inline uint32_t inscope_path(const struct inscope *in, uintptr_t sp)
{
    uint32_t depth = *in->depth;
    while (depth && in->open[depth].at < sp)
        depth--;
    return in->open[depth].path;
}
