/*
 * heap_tally.h - what happened on the heap, summed up by site (a stack of a thread, in its
 * scopes) and slice of time, and written as rows of a stream.
 *
 * The columns that add up (allocations, allocated, frees, freed, temporary) are rows of each slice:
 * ranges of time can be asked for. Freed blocks belong to the site that had allocated them. The
 * levels (leaked, leaked_blocks, peak) are rows at the moment that they hold: what leaked, at the
 * end of its process.
 *
 * Where blocks are sampled, one of z bytes stands for 1 / (1 - exp(-z / mean)) of its kind.
 *
 * Two more streams say how large blocks were and how long they lived, in powers of two: rows at the
 * end, with the attribute "size" or "lifetime", the largest of the class. Sizes have two columns
 * more: "added", what malloc of glibc takes beside the bytes of blocks below HEAP_SMALL_BYTES, and
 * "grown", how many blocks a realloc made of smaller ones.
 *
 * The peak is found in constant time for each event: a site's bytes at the peak are noted when they
 * change for the first time after it.
 */
#pragma once
#include "base/vec.h"
#include "model/heapstream.h"

enum { HEAP_SLICE_MS = 100, HEAP_FLOWS = HEAP_LEAKED };

/* Of numbers of blocks where a sample stands for several. */
enum { HEAP_SAMPLED_DECIMALS = 3 };

struct heap_site {
    struct stack_id stack;
    uint32_t thread;        /* the caller's number */
    struct attrs_id scopes; /* of the program that it was in, innermost last; 0 = none */
    uint8_t end;            /* enum heap_end: how the stack ends */
    bool touched;           /* in this slice */
    int64_t live_bytes, peak_bytes, leaked_bytes, leaked_blocks;
    int64_t live_samples, peak_samples, leaked_samples; /* blocks that were seen */
    uint64_t epoch; /* of the peak that peak_bytes belongs to; another: what is live does */
    int64_t flow[HEAP_FLOWS];
};

enum { HEAP_CLASSES = 48 }; /* class k: below 2^k, not below 2^(k - 1) */
enum { HEAP_SMALL_CLASSES = 11, HEAP_SMALL_BYTES = 1 << (HEAP_SMALL_CLASSES - 1) };

/* Blocks of a site by class. */
struct heap_classes {
    uint32_t size[HEAP_CLASSES], lifetime[HEAP_CLASSES], grown[HEAP_CLASSES];
    uint64_t added[HEAP_SMALL_CLASSES]; /* bytes */
};

struct heap_tally {
    struct profile *profile;
    /* Threads are asked for when rows are written: by then the engine has heard of them, too.
     * NULL = not known. */
    struct thread_id (*thread_of)(void *arg, uint32_t thread);
    void *arg;
    int stream;
    int live_counter, blocks_counter;
    int sizes_stream, lifetimes_stream;
    VEC(struct heap_site) sites;
    VEC(struct heap_classes) classes; /* by site */
    VEC(uint32_t) touched;            /* sites */
    VEC(uint32_t) leaked;             /* sites whose leaks are not written yet */
    uint64_t now, peak_at; /* in whatever unit the caller has; now is the caller's to set */
    uint64_t slice_ns;     /* the beginning of the slice at hand; 0 = none yet */
    uint64_t epoch;
    uint64_t peak_ns; /* what peak_at is: set it before heap_tally_end() */
    int64_t live_bytes, live_blocks, peak_bytes;
    int64_t total[HEAP_COLUMNS]; /* of slices that are over; blocks: in units of 1 / block_unit */
    uint64_t sample_bytes;
    bool no_temporary, locks, last_point; /* last_point: it is written */
    int64_t block_unit;
    uint64_t unfinished[16]; /* rows, by enum heap_end */
};

struct heap_tally_opts {
    uint64_t sample_bytes; /* on average from one to the next; 0 = every block is seen */
    bool no_temporary;     /* nobody knows which blocks are: there is no such column */
    bool locks;            /* it is known which threads hold a lock */
};

/* Adds the stream "heap" and its counters to P. */
void heap_tally_init(struct heap_tally *t, struct profile *p, const struct heap_tally_opts *o);
void heap_tally_done(struct heap_tally *t);

uint32_t heap_tally_new_site(struct heap_tally *t, const struct heap_site *site);

/* Blocks that are live at the end, before they count as leaked; without it, those that are live
 * after that. */
void heap_tally_last_point(struct heap_tally *t, uint64_t end_ns);

/* It is TIME_NS: a slice that is over is written. Call it before the next two. */
void heap_tally_time(struct heap_tally *t, uint64_t time_ns);
uint64_t heap_tally_slice_end(const struct heap_tally *t);
void heap_tally_alloc(struct heap_tally *t, uint32_t site, uint64_t size_bytes);

/* The block that was just allocated takes the place of a smaller one. */
void heap_tally_grown(struct heap_tally *t, uint32_t site, uint64_t size_bytes);

/* The thread that allocated that block held a lock. */
void heap_tally_locked(struct heap_tally *t, uint32_t site, uint64_t size_bytes);

#define HEAP_LIFETIME_UNKNOWN UINT64_MAX

struct heap_free {
    uint32_t site;
    uint64_t size_bytes, lifetime_ns;
    bool temporary;
};

void heap_tally_free(struct heap_tally *t, const struct heap_free *f);

/* It was not freed after all; in the same slice, or nearly. */
void heap_tally_unfree(struct heap_tally *t, uint32_t site, uint64_t size_bytes);

/* A block was never freed: its process is over. */
void heap_tally_leak(struct heap_tally *t, uint32_t site, uint64_t size_bytes);

/* The process ended at TIME_NS: from then on nobody holds the block. Without this call, it was at
 * the end. */
void heap_tally_leaked(struct heap_tally *t, uint64_t time_ns);

/* Write the rows of the last slice, and the levels. */
void heap_tally_end(struct heap_tally *t, uint64_t end_ns);
