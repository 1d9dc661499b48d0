/*
 * heap.h - the inside of the heap agent, a library that reports every block a program allocates.
 *
 *     heap.c         stands in for malloc and its relatives
 *     heap_new.c     for new and delete of C++
 *     heap_maps.c    for mmap, where that is asked for
 *     heap_tell.c    writes records
 *     heap_count.c   adds up, where only numbers are asked for
 *     heap_sampled.c which blocks, where samples are enough
 *     heap_near.h    the shortest records, and the usual case
 *     heap_owner.h   whether a thread is alone with a block
 *
 * Threads, their rings and the stacks of calls are in stackwalk.h. Frees of blocks that a child
 * inherited are counted as unknown and left out: the blocks are the parent's.
 *
 * Samples are drawn by bytes: a block of z bytes with the probability 1 - exp(-z / mean). Every
 * other call has to cost next to nothing: an allocation counts bytes down, a free looks into a
 * filter, and both jump to the original function, without a frame.
 */
#pragma once
#include "held.h"
#include "inscope.h"
#include "stackwalk.h"
#include "wire/heap.h"

/* What records of 8 bytes refer to: heap_near.h. */
struct heap_near {
    uint64_t at, pointer; /* the ring's end after the last record of a block; that block */
    uint32_t epoch;
    uint64_t nodes[HEAP_NEAR_NODES]; /* epoch << 32 | node */
};

/* The state of each thread beside its ring. */
struct heap_local {
    const void *last; /* block that this thread allocated */
    struct inscope_heap so_far;
    struct inscope scopes; /* that it has open */
    uint32_t path;         /* of them: the one that was reported last */
    uint64_t left;         /* bytes that go by before the next sample; 0: every block is reported */
    uint64_t last_left;    /* when `last` was reported: the same as long as nothing was allocated */
    uint64_t random;       /* 0: nothing was drawn yet */
    const void *deleting;  /* a block that is reported: its free() is not */
    const void *behind;    /* the new or delete that was called last, of a library */
    bool plain;            /* every block is reported, and nobody asks for scopes or locks */
    const uint32_t *held;  /* locks that it holds; NULL = not known */
    volatile bool finding; /* the linker looks for a function: what it allocates is ours */
    uint32_t stamp_left;   /* records that may have the time of the one before */
    uint32_t stamp_records; /* from one reading of the clock to the next */
    uint64_t owner;         /* the thread in heap_owners */
    struct heap_near near;
};
extern __thread struct heap_local heap_local;

/* Report. The stack is that of CALL. Errno stays as it was. */
void heap_tell_alloc(void *p, size_t size, const struct stackwalk_call *call);
bool heap_tell_free(void *p, uint64_t flags); /* false: nobody had reported it */
void heap_tell_kept(void *p);
void heap_tell_scope(struct stackwalk_thread *t); /* before a record that allocates */

/* What an iteration of a benchmark allocates. */
void heap_tell_per_op(const char *name, double blocks, double bytes);

/*
 * Reading the clock costs as much as an allocation. The records of a block that only one thread has
 * to do with (heap_owner.h) are in the order of its ring, and one reading in so many is enough
 * where records come close together: within so many ticks each, on average.
 */
enum { HEAP_STAMP_EVERY = 16, HEAP_STAMP_TICKS = 512 };

extern bool heap_near_wanted; /* the recorder knows of records of 8 bytes */

/* --- heap_maps.c --- */

/* ALLOCATOR is a function of the one that works, whose library maps for itself; NULL: not known. */
void heap_maps_init(bool wanted, const void *allocator);
const void *heap_allocator(void);

/* Of the agent of locks; NULL = it is not there. */
held_count *heap_held_count(void);

/* --- heap_count.c --- */

/* Whether blocks are to be added up in this process. */
bool heap_count_init(void);
void heap_count_add(size_t n_bytes);

/* --- heap_sampled.c --- */

extern uint64_t heap_sample_bytes; /* on average; 0: every block */

/*
 * Samples by place: for each line of memory, how many more could share it. Neighbours in memory
 * are neighbours here, so the filter takes few lines of a processor's cache from the program. All
 * is 0 until a free may pass by the filter alone.
 */
enum { HEAP_FILTER_BITS = 14, HEAP_FILTER_EMPTY = UINT8_MAX, HEAP_FILTER_FULL = 0 };
extern _Atomic uint8_t heap_filter[1 << HEAP_FILTER_BITS];

static inline _Atomic uint8_t *heap_filter_of(const void *p)
{
    return &heap_filter[(uintptr_t)p >> 6 & ((1 << HEAP_FILTER_BITS) - 1)];
}

/* Whether P is no sample for sure, and nothing else of ours. */
static inline bool heap_free_passes(const void *p)
{
    return LIKELY(atomic_load_explicit(heap_filter_of(p), memory_order_relaxed) ==
                  HEAP_FILTER_EMPTY);
}

/* Count N bytes down; false when they are a sample, or may be (N of 0, a thread's first block). */
static inline bool heap_alloc_passes(size_t n)
{
    uint64_t left = heap_local.left;
    if (!LIKELY(n - 1 < left))
        return false;
    heap_local.left = left - n;
    return true;
}

/* From now on frees pass, but for those of what is near a sample or in the linker's pool. */
void heap_filter_open(void);

/* Frees of what is near P do not pass from now on. */
void heap_filter_mark(const void *p);

/* What the linker got while it looked for the functions behind: so many bytes by now. */
const void *heap_pool(size_t *ret_bytes);

bool heap_sampled_init(uint64_t mean_bytes);

/* Whether a block of N bytes is a sample. */
bool heap_sampled(size_t n);

/* Remember a sample; false when there is no room. */
bool heap_sampled_add(void *p);

/* Whether P is a sample; it is forgotten. */
bool heap_sampled_take(void *p);
