/*
 * heap_tell.c - what is reported about a block: records of the calling thread's ring.
 */
#include "heap.h"
#include "heap_near.h"

#include <sys/mman.h>

__thread struct heap_local heap_local;
_Alignas(CHANNEL_PAGE) _Atomic uint64_t heap_owners[1 << HEAP_OWNER_BITS];

bool heap_near_wanted;

void heap_owners_forget(void)
{
    madvise(heap_owners, sizeof heap_owners, MADV_DONTNEED);
}

/* --- life --- */

static bool heap_process_begin(void)
{
    heap_owners_forget();
    heap_near_wanted = channel->params[HEAP_PARAM_NEAR];
    heap_maps_init(channel->params[HEAP_PARAM_MAPS], heap_allocator());
    return heap_sampled_init(channel->params[HEAP_PARAM_SAMPLE_BYTES]);
}

static bool heap_is_plain(const struct heap_local *l)
{
    return !heap_sample_bytes && !l->scopes.depth && !l->held;
}

/* The child of a fork has its parent's numbers: it must not draw the same from now on. */
static void heap_thread_begin(void)
{
    struct heap_local *l = &heap_local;
    l->last = NULL;
    l->so_far = (struct inscope_heap){0};
    l->path = 0;
    l->stamp_left = 0;
    l->stamp_records = 1;
    l->held = heap_held_count() ? heap_held_count()() : NULL;
    l->plain = heap_is_plain(l);
    heap_near_forget();
    l->owner = heap_owner_id(&stackwalk_mine->writer);
    if (l->random)
        l->random ^= (uint64_t)stackwalk_process->pid << 44 ^ stackwalk_ticks();
}

const struct stackwalk_task stackwalk_task = {CHANNEL_ENV, CHANNEL_HEAP, heap_process_begin,
                                              heap_thread_begin};

/* --- records --- */

/*
 * The time of a record: not before that of the one before. ALONE: no other thread did anything
 * that the record has to come after.
 */
static inline uint64_t stamp(struct stackwalk_thread *t, bool alone)
{
    if (alone && heap_local.stamp_left) {
        heap_local.stamp_left--;
        return t->last_ticks;
    }
    uint64_t now = stackwalk_ticks();
    bool often = now - t->last_ticks < heap_local.stamp_records * (uint64_t)HEAP_STAMP_TICKS;
    heap_local.stamp_records = often ? HEAP_STAMP_EVERY : 1;
    heap_local.stamp_left = heap_local.stamp_records - 1;
    return now;
}

/* Nobody listens, or not any more: blocks are added up, or from now on nearly all calls pass. */
static struct stackwalk_thread *tell_nobody(size_t size)
{
    if (!stackwalk_process || atomic_load(&stackwalk_process->state) != STACKWALK_OFF)
        return NULL;
    if (heap_count_init()) {
        heap_local.so_far.blocks++; /* heap_new.c looks at it */
        heap_count_add(size);
    } else {
        heap_local.left = UINT64_MAX / 2;
    }
    heap_filter_open();
    return NULL;
}

/* The thread, if a block of SIZE bytes is to be reported. Threads without a sample have no ring. */
static inline struct stackwalk_thread *thread_to_tell(size_t size)
{
    if (!heap_sample_bytes) {
        struct stackwalk_thread *t = stackwalk_thread_get();
        if (!heap_sample_bytes) /* the first call of all finds out */
            return t ? t : tell_nobody(size);
    }
    return heap_sampled(size) ? stackwalk_thread_get() : NULL;
}

/* --- scopes --- */

/* Reported when it changes: most blocks of a scope come in a row. */
__attribute__((noinline)) static void write_scope(struct stackwalk_thread *t, uint32_t path)
{
    struct record *r = stackwalk_reserve(t, HEAP_SCOPE, 1);
    if (!r)
        return;
    r->own = heap_local.path = path;
    stackwalk_commit(t);
}

void heap_tell_scope(struct stackwalk_thread *t)
{
    if (LIKELY(!heap_local.scopes.depth))
        return;
    uint32_t path = inscope_path(&heap_local.scopes, (uintptr_t)__builtin_frame_address(0));
    if (path != heap_local.path)
        write_scope(t, path);
}

inscope_join kelvin_heap_in_scope;

/* A child starts with rings of its own: its first thread reports again. */
__attribute__((visibility("default"))) const struct inscope_heap *
kelvin_heap_in_scope(const struct inscope *in)
{
    heap_local.scopes = in ? *in : (struct inscope){0};
    heap_local.plain = heap_is_plain(&heap_local);
    struct stackwalk_thread *t = in ? stackwalk_thread_get() : NULL;
    if (t)
        write_scope(t, 0);
    return t && !heap_sample_bytes ? &heap_local.so_far : NULL;
}

/* --- blocks --- */

/* What is known of a block that was allocated. */
struct told_block {
    void *at;
    size_t size;
    uint32_t node;
    uint16_t locked; /* HEAP_KIND_LOCKED or 0 */
};

/* Of two words, at the time of the record before; of three. Apart: then their sizes are constants.
 */
static inline void write_same(struct stackwalk_thread *t, const struct told_block *b, uint64_t word)
{
    struct record *r = stackwalk_reserve(t, HEAP_ALLOC_SAME | b->locked, 2);
    if (!r)
        return;
    r->own = b->node;
    r->payload[0] = word;
    heap_near_after(t, r, b->at, b->node);
    stackwalk_commit(t);
}

static inline void write_small(struct stackwalk_thread *t, const struct told_block *b,
                               uint64_t word, uint64_t now)
{
    struct record *r = stackwalk_reserve(t, HEAP_ALLOC | b->locked, 3);
    if (!r)
        return;
    r->own = b->node;
    r->payload[0] = t->last_ticks = now;
    r->payload[1] = word;
    heap_near_after(t, r, b->at, b->node);
    stackwalk_commit(t);
}

__attribute__((noinline)) static void write_large(struct stackwalk_thread *t,
                                                  const struct told_block *b)
{
    struct record *r = stackwalk_reserve(t, HEAP_ALLOC_LARGE | b->locked, 4);
    if (!r)
        return;
    r->own = b->node;
    r->payload[0] = t->last_ticks = stackwalk_ticks();
    r->payload[1] = (uintptr_t)b->at;
    r->payload[2] = b->size;
    heap_near_after(t, r, b->at, b->node);
    stackwalk_commit(t);
}

void heap_tell_alloc(void *p, size_t size, const struct stackwalk_call *call)
{
    struct stackwalk_thread *t = thread_to_tell(size);
    if (!t || (heap_sample_bytes && !heap_sampled_add(p)))
        return;
    heap_local.last = p;
    heap_local.last_left = heap_local.left;
    heap_local.so_far.blocks++;
    heap_local.so_far.bytes += size;
    struct told_block b = {p, size, stackwalk(t, call),
                           heap_local.held && *heap_local.held ? HEAP_KIND_LOCKED : 0};
    bool alone = heap_owner_alloc(p);
    heap_tell_scope(t);
    if (size >= (1u << HEAP_SIZE_BITS) || (uintptr_t)p & 7) {
        write_large(t, &b);
        return;
    }
    uint64_t word = (uintptr_t)p >> 3 << HEAP_SIZE_BITS | size, now = stamp(t, alone);
    if (now != t->last_ticks)
        write_small(t, &b, word, now);
    else if (!heap_near_alloc(t, p, size, b.node | (uint64_t)b.locked << 32))
        write_same(t, &b, word);
}

__attribute__((noinline)) static bool write_late(struct stackwalk_thread *t, uint64_t now,
                                                 uint64_t word, const void *p)
{
    struct record *r = stackwalk_reserve(t, HEAP_FREE_LATE, 3);
    if (!r)
        return false;
    r->own = 0;
    r->payload[0] = word;
    r->payload[1] = t->last_ticks = now;
    heap_near_after(t, r, p, 0);
    stackwalk_commit(t);
    return true;
}

bool heap_tell_free(void *p, uint64_t flags)
{
    if (heap_sample_bytes && !heap_sampled_take(p))
        return false;
    struct stackwalk_thread *t = stackwalk_thread_get();
    if (!t)
        return false;
    if (heap_local.last == p && heap_local.last_left == heap_local.left && !flags)
        flags = HEAP_FREE_TEMPORARY;
    uint64_t now = stamp(t, heap_owner_free(p)), delta = now - t->last_ticks;
    uint64_t word = (uintptr_t)p | flags << HEAP_FREE_SHIFT;
    if (!delta && heap_near_free(t, p, flags))
        return true;
    if (!LIKELY(delta <= UINT32_MAX))
        return write_late(t, now, word, p);
    struct record *r = stackwalk_reserve(t, HEAP_FREE, 2);
    if (!r)
        return false;
    r->own = (uint32_t)delta;
    r->payload[0] = word;
    t->last_ticks = now;
    heap_near_after(t, r, p, 0);
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

void heap_tell_per_op(const char *name, double blocks, double bytes)
{
    struct stackwalk_thread *t = stackwalk_thread_get();
    size_t n = strnlen(name, HEAP_NAME_BYTES);
    struct record *r = t ? stackwalk_reserve(t, HEAP_PER_OP, (uint32_t)(4 + (n + 7) / 8)) : NULL;
    if (!r)
        return;
    r->own = (uint32_t)n;
    r->payload[0] = t->last_ticks = stackwalk_ticks();
    memcpy(&r->payload[1], &blocks, sizeof blocks);
    memcpy(&r->payload[2], &bytes, sizeof bytes);
    memcpy(&r->payload[3], name, n);
    stackwalk_commit(t);
}
