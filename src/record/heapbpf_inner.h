/*
 * heapbpf_inner.h - what heapbpf.c and heapbpf_code.c share.
 */
#pragma once
#include "record/heapbpf.h"

#include <linux/bpf.h>

/* Numbers from which the program draws: a power of two. */
enum { HEAPBPF_DRAWS = 1 << 14 };

/* What each CPU has: see heapbpf_counts. */
struct heapbpf_left {
    uint64_t left; /* bytes until the next sample */
    uint64_t calls, frees, lost;
};

/* A sample between the entry of its function and its return. */
struct heapbpf_pending {
    uint64_t size;
    uint64_t result; /* where its address will be; 0 = it is returned */
};

enum heapbpf_probe { PROBE_ENTRY, PROBE_RETURN, PROBE_FREE };

/* bpf(2). */
long heapbpf_call(int command, union bpf_attr *a);

/* The program of a probe at function F; its file, or -1 with errno. */
int heapbpf_load(const struct heapbpf *b, const struct heapbpf_opts *o,
                 const struct allocator_function *f, enum heapbpf_probe kind);
