/*
 * heapbpf.h - BPF programs at the functions of an allocator, which report samples of its blocks.
 *
 * Probes (uprobes of perf_event_open) stop every thread of one process at these functions and run
 * a program in the kernel. Nothing is loaded into the process. Samples are drawn by bytes, as the
 * agent does: the program counts down a random number of bytes, a counter for each CPU.
 *
 *     at the entry     count down; a sample is reported with its registers and stack (ALLOC)
 *     at the return    of a sample: its address is reported and kept (BLOCK, NO_ROOM, FAILED)
 *     at a free        of an address that is kept: it is reported and forgotten (FREE)
 *
 * All else ends in the kernel. A stop costs the program a few microseconds, and a block with its
 * free takes three of them: heapbpf_count() says how many there were. What one costs on this
 * machine is measured with a probe of a function of our own.
 *
 * The programs use functions of the kernel that are for programs under the GPL. They are under the
 * licence of this project and, so that they may, under the GPL as well.
 */
#pragma once
#include "record/allocator.h"
#include "record/perfring.h"

enum heapbpf_kind {
    HEAPBPF_ALLOC = 1,
    HEAPBPF_BLOCK,
    HEAPBPF_FAILED,
    HEAPBPF_NO_ROOM,
    HEAPBPF_FREE
};

struct heapbpf {
    int left_fd, draws_fd, pending_fd, kept_fd; /* maps; see heapbpf.c */
    int stacks_fd, bare_fd;                     /* where records go */
    VEC(int) fds;                               /* events that write to the rings */
    VEC(int) probes;
    VEC(struct perfring) rings; /* one for each CPU */
    size_t n_possible;          /* CPUs that there may be */
    double stop_ns;             /* what a stop costs; 0 = not known */
};

struct heapbpf_opts {
    int pid;
    const struct allocator *allocator;
    uint64_t sample_bytes; /* from one sample to the next, on average */
    size_t stack_bytes;    /* of each stack to copy */
};

/* Ready to go; fails with the reason and what would help. */
int heapbpf_open(struct heapbpf *b, const struct heapbpf_opts *o, struct err *err);

/* Set the probes. */
int heapbpf_attach(struct heapbpf *b, const struct heapbpf_opts *o, struct err *err);

/* Take the probes away. The records in the rings stay. */
void heapbpf_detach(struct heapbpf *b);
void heapbpf_close(struct heapbpf *b); /* zeroed is fine */

struct heapbpf_counts {
    uint64_t calls; /* of functions that allocate: each is two stops */
    uint64_t frees;
    uint64_t lost; /* samples that found no room in a ring, or too many threads */
};

void heapbpf_count(const struct heapbpf *b, struct heapbpf_counts *ret);

/* What a record says. */
struct heapbpf_record {
    enum heapbpf_kind kind;
    uint64_t value; /* of ALLOC the size, else the address */
    uint64_t time_ns;
    int pid, tid;
    const uint64_t *regs; /* of ALLOC: as unwind_regs_from_perf() has them; else NULL */
    uint64_t stack_bytes; /* that were copied */
    const uint8_t *stack;
};

/* False when it is no sample of ours. */
bool heapbpf_read(const struct perf_event_header *h, struct heapbpf_record *ret);
