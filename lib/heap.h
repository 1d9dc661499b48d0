/*
 * heap.h - the inside of the heap agent, a library that tells of every block a program allocates.
 *
 *     heap.c         stands in for malloc and its relatives
 *     heap_tell.c    writes records
 *     heap_sampled.c which blocks, where samples are enough
 *
 * Threads, their rings and the stacks of calls are in stackwalk.h. Frees of blocks that a child
 * inherited are counted as unknown and left out: the blocks are the parent's.
 *
 * Samples are drawn by bytes: a block of z bytes with the probability 1 - exp(-z / mean). Frees
 * look into a filter of 64 KB first, so that those of other blocks cost a load.
 */
#pragma once
#include "stackwalk.h"
#include "wire/heap.h"

/* What is kept for each thread beside its ring. */
struct heap_local {
    const void *last;       /* block that this thread allocated */
    uint64_t blocks, bytes; /* that it has allocated so far */
    uint64_t next_sample;   /* bytes to go */
    uint64_t random;
    uint32_t stamp_left;    /* records that may have the time of the one before */
    uint32_t stamp_records; /* from one reading of the clock to the next */
};
extern __thread struct heap_local heap_local;

/* Tell. The stack is that of CALL. Errno stays as it was. */
void heap_tell_alloc(void *p, size_t size, const struct stackwalk_call *call);
bool heap_tell_free(void *p, uint64_t flags); /* false: nobody had told of it */
void heap_tell_kept(void *p);

/*
 * Reading the clock costs as much as an allocation. As long as a process has one thread, the order
 * of its records is their order in the ring, and one reading in so many is enough where records
 * come close together: within so many ticks each, on average.
 */
enum { HEAP_STAMP_EVERY = 16, HEAP_STAMP_TICKS = 512 };

/* --- heap_sampled.c --- */

extern uint64_t heap_sample_bytes; /* on average; 0: every block */

bool heap_sampled_init(uint64_t mean_bytes);

/* Draw the bytes up to the thread's next sample. */
void heap_sampled_draw(void);

/* Whether a block of SIZE bytes is a sample. */
static inline bool heap_sampled(size_t size)
{
    if (LIKELY(size < heap_local.next_sample)) {
        heap_local.next_sample -= size;
        return false;
    }
    heap_sampled_draw();
    return true;
}

/* Remember a sample; false when there is no room. */
bool heap_sampled_add(void *p);

/* Whether P is a sample; it is forgotten. */
bool heap_sampled_take(void *p);
