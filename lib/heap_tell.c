/*
 * heap_tell.c - what is told of a block: records of the calling thread's ring.
 */
#include "heap.h"

__thread struct heap_local heap_local;

/* --- life --- */

static bool heap_process_begin(void)
{
    return heap_sampled_init(channel->params[HEAP_PARAM_SAMPLE_BYTES]);
}

/* The child of a fork has its parent's numbers: it must not draw the same. */
static void heap_thread_begin(void)
{
    struct heap_local *l = &heap_local;
    *l = (struct heap_local){.random = stackwalk_ticks() ^ (uintptr_t)l << 20 ^
                                       (uint64_t)stackwalk_process->pid << 44,
                             .stamp_records = 1};
    if (heap_sample_bytes)
        heap_sampled_draw();
}

const struct stackwalk_task stackwalk_task = {CHANNEL_ENV, CHANNEL_HEAP, heap_process_begin,
                                              heap_thread_begin};

/* --- records --- */

/* The time of a record: not before that of the one before. */
static inline uint64_t stamp(struct stackwalk_thread *t)
{
    if (heap_local.stamp_left &&
        atomic_load_explicit(&stackwalk_process->n_threads, memory_order_relaxed) == 1) {
        heap_local.stamp_left--;
        return t->last_ticks;
    }
    uint64_t now = stackwalk_ticks();
    bool often = now - t->last_ticks < heap_local.stamp_records * (uint64_t)HEAP_STAMP_TICKS;
    heap_local.stamp_records = often ? HEAP_STAMP_EVERY : 1;
    heap_local.stamp_left = heap_local.stamp_records - 1;
    return now;
}

void heap_tell_alloc(void *p, size_t size, const struct stackwalk_call *call)
{
    struct stackwalk_thread *t = stackwalk_thread_get();
    if (!t)
        return;
    heap_local.last = p;
    heap_local.blocks++;
    heap_local.bytes += size;
    if (heap_sample_bytes && (!heap_sampled(size) || !heap_sampled_add(p)))
        return;
    uint64_t at = (uintptr_t)p;
    bool small = size < (1u << HEAP_SIZE_BITS) && !(at & 7);
    uint32_t node = stackwalk_thread_stack_of(t, call);
    uint64_t now = stamp(t);
    bool same = small && now == t->last_ticks;
    enum heap_kind kind = same ? HEAP_ALLOC_SAME : small ? HEAP_ALLOC : HEAP_ALLOC_LARGE;
    struct record *r = stackwalk_reserve(t, (uint16_t)kind, same ? 2 : small ? 3 : 4);
    if (!r)
        return;
    r->own = node;
    if (!same)
        r->payload[0] = t->last_ticks = now;
    r->payload[!same] = small ? at >> 3 << HEAP_SIZE_BITS | size : at;
    if (!small)
        r->payload[2] = size;
    stackwalk_commit(t);
}

bool heap_tell_free(void *p, uint64_t flags)
{
    if (heap_sample_bytes && !heap_sampled_take(p))
        return false;
    struct stackwalk_thread *t = stackwalk_thread_get();
    if (!t)
        return false;
    uint64_t now = stamp(t), delta = now - t->last_ticks;
    bool late = delta > UINT32_MAX;
    struct record *r = stackwalk_reserve(t, late ? HEAP_FREE_LATE : HEAP_FREE, late ? 3 : 2);
    if (!r)
        return false;
    r->own = late ? 0 : (uint32_t)delta;
    if (heap_local.last == p && !flags)
        flags = HEAP_FREE_TEMPORARY;
    r->payload[0] = (uintptr_t)p | flags << HEAP_FREE_SHIFT;
    if (late)
        r->payload[1] = now;
    t->last_ticks = now;
    stackwalk_commit(t);
    return true;
}

void heap_tell_kept(void *p)
{
    if (heap_sample_bytes)
        heap_sampled_add(p);
    struct stackwalk_thread *t = stackwalk_thread_get();
    struct record *r = t ? stackwalk_reserve(t, HEAP_KEPT, 2) : NULL;
    if (!r)
        return;
    r->own = 0;
    r->payload[0] = t->last_ticks = stackwalk_ticks();
    stackwalk_commit(t);
}
