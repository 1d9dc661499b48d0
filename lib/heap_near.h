/*
 * heap_near.h - records of 8 bytes, which most blocks have: see wire/heap.h.
 *
 * Such a record refers to the one before, so it may only be written right after the record that
 * this thread remembers: the instruction that reserves its place fails where the ring ends anywhere
 * else. Then a whole record is written, and unless that one comes right after the record, all
 * stacks are forgotten: the recorder may have other numbers for them.
 *
 * A signal handler that allocates between our reservation and our notes finds a ring that ends
 * elsewhere, and so do we after it: `at` is written last.
 */
#pragma once
#include "heap.h"
#include "heap_owner.h"

#define HEAP_NEAR_NOWHERE (UINT64_MAX >> 1) /* no ring ends there */

static inline void heap_near_forget(void)
{
    heap_local.near.at = HEAP_NEAR_NOWHERE;
    heap_local.near.epoch++;
}

/* Whether a block that is WAY bytes from the one before is BITS of steps away at most. */
static inline bool heap_near_fits(uint64_t way, unsigned bits)
{
    uint64_t half = UINT64_C(1) << (bits - 1 + HEAP_STEP_SHIFT);
    return !((way & ((1 << HEAP_STEP_SHIFT) - 1)) | (way + half) / (2 * half));
}

/* Where the ring must end. Read before all else: a handler that comes later moves the end. */
static inline uint64_t heap_near_at(void)
{
    uint64_t at = *(volatile uint64_t *)&heap_local.near.at;
    atomic_signal_fence(memory_order_seq_cst);
    return at;
}

/* AT is of heap_near_at(), before WORD was made. */
static inline bool heap_near_write(struct stackwalk_thread *t, uint64_t at, uint64_t word,
                                   uint64_t pointer)
{
    struct ring_writer *w = &t->writer;
    uint64_t end = at + sizeof(struct record);
    if (!LIKELY(end - w->tail <= w->size))
        return false;
    w->depth++;
    atomic_signal_fence(memory_order_seq_cst);
    if (!LIKELY(ring_swap(&w->reserved, at, end))) {
        w->depth--;
        return false;
    }
    *(uint64_t *)(void *)(w->data + (at & (w->size - 1))) = word;
    heap_local.near.pointer = pointer;
    atomic_signal_fence(memory_order_seq_cst);
    heap_local.near.at = end;
    ring_commit(w);
    return true;
}

/* A record of one word. */
static inline uint64_t heap_near_word(uint64_t kind, uint32_t own)
{
    return kind | UINT64_C(1) << 16 | (uint64_t)own << 32;
}

static inline uint64_t *heap_near_node(uint32_t node)
{
    return &heap_local.near.nodes[node % HEAP_NEAR_NODES];
}

static inline uint64_t heap_near_mark(uint32_t node)
{
    return (uint64_t)heap_local.near.epoch << 32 | node;
}

/*
 * Report a block at the time of the record before. False: that takes a whole record. OF is the
 * node, with HEAP_KIND_LOCKED in the upper half or not.
 */
static inline bool heap_near_alloc(struct stackwalk_thread *t, const void *p, size_t size,
                                   uint64_t of)
{
    uint32_t node = (uint32_t)of;
    uint64_t at = heap_near_at(), way = (uintptr_t)p - heap_local.near.pointer;
    if (!heap_near_fits(way, HEAP_AGAIN_STEP_BITS) || size >> HEAP_AGAIN_SIZE_BITS ||
        *heap_near_node(node) != heap_near_mark(node))
        return false;
    uint64_t kind =
        HEAP_AGAIN | (uint64_t)(node % HEAP_NEAR_NODES) << HEAP_KIND_NODE_SHIFT | of >> 32;
    uint32_t own = (uint32_t)(way << (HEAP_AGAIN_SIZE_BITS - HEAP_STEP_SHIFT)) | (uint32_t)size;
    return heap_near_write(t, at, heap_near_word(kind, own), (uintptr_t)p);
}

static inline bool heap_near_free(struct stackwalk_thread *t, const void *p, uint64_t flags)
{
    uint64_t at = heap_near_at(), way = (uintptr_t)p - heap_local.near.pointer;
    if (!heap_near_fits(way, HEAP_FREE_STEP_BITS))
        return false;
    uint32_t own =
        (uint32_t)((int64_t)way >> (HEAP_STEP_SHIFT - HEAP_FREE_FLAG_BITS)) | (uint32_t)flags;
    return heap_near_write(t, at, heap_near_word(HEAP_FREE_NEAR, own), (uintptr_t)p);
}

/* A whole record R was filled and is not handed over yet; of a block at P, with NODE or 0. */
static inline void heap_near_after(struct stackwalk_thread *t, const struct record *r,
                                   const void *p, uint32_t node)
{
    struct heap_near *n = &heap_local.near;
    uint64_t mask = t->writer.size - 1, start = (uint64_t)((const uint8_t *)r - t->writer.data);
    uint64_t ends = *(volatile uint64_t *)&t->writer.reserved;
    bool is_last = ((start + (uint64_t)r->words * 8 - ends) & mask) == 0;
    if (n->at != ends - (uint64_t)r->words * 8 || !is_last)
        n->epoch++;
    if (node)
        *heap_near_node(node) = heap_near_mark(node);
    n->pointer = (uintptr_t)p;
    atomic_signal_fence(memory_order_seq_cst);
    n->at = is_last && heap_near_wanted ? ends : HEAP_NEAR_NOWHERE;
}

/* --- the usual case, all in a row --- */

/* Whether the record of a block that this thread is alone with needs no time. */
static inline bool heap_near_may(uintptr_t p)
{
    return LIKELY(heap_local.stamp_left) &&
           LIKELY(heap_owner_only_thread() || heap_owner_is_mine(p));
}

/* False: nothing was done, and it takes heap_tell_alloc(). */
static inline bool heap_quick_alloc(void *p, size_t size, const struct stackwalk_call *call)
{
    struct stackwalk_thread *t = stackwalk_mine;
    if (!LIKELY(heap_local.plain) || !t || !LIKELY(t->ready) || !heap_near_may((uintptr_t)p))
        return false;
    uint32_t node = stackwalk_expected(t, call);
    if (!node || !heap_near_alloc(t, p, size, node))
        return false;
    heap_local.stamp_left--;
    heap_local.last = p;
    heap_local.so_far.blocks++;
    heap_local.so_far.bytes += size;
    return true;
}

static inline bool heap_quick_free(void *p)
{
    struct stackwalk_thread *t = stackwalk_mine;
    if (!LIKELY(heap_local.plain) || !t || !heap_near_may((uintptr_t)p) ||
        !heap_near_free(t, p, heap_local.last == p ? HEAP_FREE_TEMPORARY : 0))
        return false;
    heap_local.stamp_left--;
    return true;
}
