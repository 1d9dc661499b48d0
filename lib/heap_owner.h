/*
 * heap_owner.h - whether a thread is alone with a block: then its ring has the order of events.
 *
 * Records of several threads are joined by their times. Two of one block need times that tell them
 * apart only where they are of different threads. A table says which thread allocated a block last:
 *
 *     63        48 47                     0
 *     | owner      | address              |     0 = not known
 *
 * An allocation writes its entry before the program gets the block, and a free by another thread
 * clears it before the block is freed. So an entry that is a thread's own says that the event
 * before at this address was that thread's as well. Addresses that share a place push each other
 * out, which costs a reading of the clock and nothing else.
 *
 * As long as a process has one thread, the table is not used: then no other thread can have been
 * first.
 */
#pragma once
#include "heap.h"

/* Neighbours in memory are neighbours here, and arenas of threads (64 MiB each) apart. */
enum { HEAP_OWNER_BITS = 15, HEAP_OWNER_ARENA_SHIFT = 26, HEAP_OWNER_ARENA_STEP = 5003 };
extern _Atomic uint64_t heap_owners[1 << HEAP_OWNER_BITS];

/* A process begins, or the child of a fork, whose entries are its parent's. */
void heap_owners_forget(void);

/* No two threads of a process have a ring at once. */
static inline uint64_t heap_owner_id(const struct ring_writer *w)
{
    uint64_t ring = (uint64_t)((uintptr_t)w->ring - (uintptr_t)channel) / sizeof(struct ring);
    return (ring + 1) << HEAP_FREE_SHIFT;
}

static inline bool heap_owner_only_thread(void)
{
    return atomic_load_explicit(&stackwalk_process->n_threads, memory_order_relaxed) == 1;
}

static inline _Atomic uint64_t *heap_owner_of(uintptr_t p)
{
    uintptr_t at = (p >> 4) + (p >> HEAP_OWNER_ARENA_SHIFT) * HEAP_OWNER_ARENA_STEP;
    return &heap_owners[at & ((1 << HEAP_OWNER_BITS) - 1)];
}

/* Whether the event before at P was this thread's; nothing changes. */
static inline bool heap_owner_is_mine(uintptr_t p)
{
    return atomic_load_explicit(heap_owner_of(p), memory_order_relaxed) == (heap_local.owner | p);
}

/* P was allocated by this thread. True: the event before was this thread's. */
static inline bool heap_owner_alloc(const void *p)
{
    if (heap_owner_only_thread())
        return true;
    _Atomic uint64_t *at = heap_owner_of((uintptr_t)p);
    uint64_t mine = heap_local.owner | (uintptr_t)p;
    if (LIKELY(atomic_load_explicit(at, memory_order_relaxed) == mine))
        return true;
    atomic_store_explicit(at, mine, memory_order_relaxed);
    return false;
}

/* P will be freed by this thread. True: this thread had allocated it. */
static inline bool heap_owner_free(const void *p)
{
    if (heap_owner_only_thread())
        return true;
    _Atomic uint64_t *at = heap_owner_of((uintptr_t)p);
    uint64_t is = atomic_load_explicit(at, memory_order_relaxed);
    if (LIKELY(is == (heap_local.owner | (uintptr_t)p)))
        return true;
    if ((is & HEAP_POINTER_MASK) == (uintptr_t)p)
        atomic_store_explicit(at, 0, memory_order_relaxed);
    return false;
}
