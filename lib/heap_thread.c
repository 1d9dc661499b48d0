/*
 * heap_thread.c - what is kept for each thread, and the records that it writes.
 */
#include "heap.h"
#include "proc.h"
#include "wire/counter.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Threads whose memory is used again when they end; of more it is given back. */
enum { THREADS_MAX = 4096 };

struct heap_process *heap_process;

static _Atomic(struct heap_thread *) threads[THREADS_MAX];
static __thread struct heap_thread *mine;
static __thread volatile bool inside; /* thread_begin(); signals look at it */
static __thread bool ended; /* the last destructor has run: what comes now is libc tidying up */
static int32_t told_pid;    /* survives a fork: then it is the parent's */
static bool has_counter, has_key;
static pthread_key_t key;

uint64_t heap_ticks(void)
{
    return HEAP_LIKELY(has_counter) ? counter_read() : proc_now_ns();
}

/* The time of a record: not before that of the one before. */
static inline uint64_t stamp(struct heap_thread *t)
{
    if (t->stamp_left &&
        atomic_load_explicit(&heap_process->n_threads, memory_order_relaxed) == 1) {
        t->stamp_left--;
        return t->last_ticks;
    }
    uint64_t now = heap_ticks();
    bool often = now - t->last_ticks < t->stamp_records * (uint64_t)HEAP_STAMP_TICKS;
    t->stamp_records = often ? HEAP_STAMP_EVERY : 1;
    t->stamp_left = t->stamp_records - 1;
    return now;
}

/* Memory that a child finds empty, so that it never writes to its parent's rings. */
static void *map_wiped(size_t n)
{
    void *at =
        mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    madvise(at, n, MADV_WIPEONFORK);
    madvise(at, n, MADV_DONTDUMP);
    return at;
}

/* --- threads --- */

static bool thread_take(struct heap_thread *t)
{
    uint32_t nobody = 0;
    return t && atomic_compare_exchange_strong(&t->taken, &nobody, 1);
}

/* One that a thread has left, or a new one. */
static struct heap_thread *thread_new(void)
{
    int i = 0;
    for (; i < THREADS_MAX; i++) {
        struct heap_thread *t = atomic_load(&threads[i]);
        if (!t)
            break;
        if (thread_take(t))
            return t;
    }
    struct heap_thread *t = map_wiped(sizeof *t), *none = NULL;
    if (t)
        t->taken = 1;
    for (; t && i < THREADS_MAX; i++, none = NULL)
        if (atomic_compare_exchange_strong(&threads[i], &none, t))
            break;
    return t;
}

static void thread_end(struct heap_thread *t)
{
    mine = NULL;
    channel_close_ring(&t->writer);
    t->ready = false;
    heap_walk_forget(t);
    t->stack_low = t->stack_end = 0;
    atomic_store(&t->taken, 0);
}

/* Destructors of other keys may come after ours and free: be called again, and be the last. */
static void thread_over(void *rounds)
{
    uintptr_t left = (uintptr_t)rounds;
    if (left > 1) {
        pthread_setspecific(key, (void *)(left - 1));
        return;
    }
    ended = true;
    if (mine && mine->ready)
        thread_end(mine);
}

static struct heap_thread *thread_open(void)
{
    struct heap_thread *t = thread_new();
    if (!t)
        return NULL;
    if (!channel_open_ring(&t->writer, heap_task.bit)) {
        atomic_store(&t->taken, 0);
        return NULL;
    }
    t->walking = false;
    t->last_ticks = 0;
    t->stamp_left = 0;
    t->stamp_records = 1;
    atomic_fetch_add(&heap_process->n_threads, 1);
    t->last = NULL;
    t->random = heap_ticks() ^ (uintptr_t)t << 20 ^ (uint64_t)heap_process->pid << 44;
    if (heap_sample_bytes)
        heap_sampled_draw(t);
    t->ready = true;
    mine = t;
    if (has_key && !ended)
        pthread_setspecific(key, (void *)PTHREAD_DESTRUCTOR_ITERATIONS);
    return t;
}

/* --- the process --- */

static void tell_fork(struct heap_thread *t)
{
    struct record *r = heap_reserve(t, HEAP_FORK, 3);
    if (!r)
        return;
    r->own = heap_process->root;
    r->payload[0] = t->last_ticks = heap_ticks();
    r->payload[1] = (uint64_t)told_pid;
    ring_commit(&t->writer);
}

static bool find_recorder(void)
{
    channel_find_in(heap_task.env);
    if (!channel_wants(heap_task.bit) || channel->stop || !heap_walk_init() || !heap_images_init())
        return false;
    has_counter = channel->params[HEAP_PARAM_TICKS] == 1;
    return heap_sampled_init(channel->params[HEAP_PARAM_SAMPLE_BYTES]);
}

/* A program begins, or the child of a fork. */
static enum heap_state process_begin(void)
{
    struct heap_process *p = heap_process;
    if (!find_recorder())
        return HEAP_OFF;
    if (!has_key)
        has_key = pthread_key_create(&key, thread_over) == 0;
    p->pid = (int32_t)syscall(SYS_getpid);
    p->root = heap_trie_add(0, HEAP_ROOT | (uint64_t)p->pid << 32 | (uint32_t)proc_now_ns());
    struct heap_thread *t = thread_open();
    if (!t)
        return HEAP_OFF;
    if (told_pid)
        tell_fork(t);
    else
        heap_announce(t, HEAP_START);
    told_pid = p->pid;
    return HEAP_ON;
}

/* Where two threads come first at once, the second waits for the first. */
static bool process_is_on(void)
{
    static _Atomic uint32_t mapping;
    if (!heap_process && !atomic_exchange(&mapping, 1))
        heap_process = map_wiped(sizeof *heap_process);
    uint32_t new = HEAP_NEW;
    struct heap_process *p = heap_process;
    if (!p)
        return false;
    if (atomic_compare_exchange_strong(&p->state, &new, HEAP_BEGINNING))
        atomic_store(&p->state, process_begin());
    while (atomic_load(&p->state) == HEAP_BEGINNING)
        sched_yield();
    return atomic_load(&p->state) == HEAP_ON;
}

static struct heap_thread *thread_begin(void)
{
    if (inside || (heap_process && heap_process->state == HEAP_OFF))
        return NULL;
    int e = errno;
    inside = true;
    struct heap_thread *t = NULL;
    if (process_is_on())
        t = mine && mine->ready ? mine : thread_open();
    inside = false;
    errno = e;
    return t;
}

struct heap_thread *heap_thread_get(void)
{
    struct heap_thread *t = mine;
    return HEAP_LIKELY(t && t->ready) ? t : thread_begin();
}

/* --- records --- */

/* The recorder is gone: from now on the program runs as if nobody had been there. */
static struct record *heap_thread_give_up(struct heap_thread *t)
{
    t->ready = false;
    atomic_store(&heap_process->state, HEAP_OFF);
    return NULL;
}

/* A full ring makes the thread wait, but for a handler above a record that is not finished. */
struct record *heap_reserve(struct heap_thread *t, uint16_t kind, uint16_t words)
{
    struct record *r;
    while (!(r = ring_reserve(&t->writer, kind, words))) {
        ring_abandon(&t->writer);
        if (t->writer.depth) {
            atomic_fetch_add_explicit(&t->writer.ring->lost, 1, memory_order_relaxed);
            return NULL;
        }
        if (!channel_wait(&t->writer))
            return heap_thread_give_up(t);
    }
    return r;
}

/* After the last destructor of a thread nobody would close its ring. */
static inline void heap_thread_finish(struct heap_thread *t)
{
    ring_commit(&t->writer);
    if (__builtin_expect(ended, 0))
        thread_end(t);
}

uint32_t heap_thread_stack_of(struct heap_thread *t, const struct heap_call *call)
{
    if (t->walking)
        return heap_trie_add(heap_process->root, HEAP_END_HANDLER);
    t->walking = true;
    uint32_t node = heap_walk(t, call);
    t->walking = false;
    return node;
}

void heap_tell_alloc(void *p, size_t size, const struct heap_call *call)
{
    struct heap_thread *t = heap_thread_get();
    if (!t)
        return;
    t->last = p;
    t->blocks++;
    t->bytes += size;
    if (heap_sample_bytes && (!heap_sampled(t, size) || !heap_sampled_add(p)))
        return;
    uint64_t at = (uintptr_t)p;
    bool small = size < (1u << HEAP_SIZE_BITS) && !(at & 7);
    uint32_t node = heap_thread_stack_of(t, call);
    uint64_t now = stamp(t);
    bool same = small && now == t->last_ticks;
    enum heap_kind kind = same ? HEAP_ALLOC_SAME : small ? HEAP_ALLOC : HEAP_ALLOC_LARGE;
    struct record *r = heap_reserve(t, (uint16_t)kind, same ? 2 : small ? 3 : 4);
    if (!r)
        return;
    r->own = node;
    if (!same)
        r->payload[0] = t->last_ticks = now;
    r->payload[!same] = small ? at >> 3 << HEAP_SIZE_BITS | size : at;
    if (!small)
        r->payload[2] = size;
    heap_thread_finish(t);
}

bool heap_tell_free(void *p, uint64_t flags)
{
    if (heap_sample_bytes && !heap_sampled_take(p))
        return false;
    struct heap_thread *t = heap_thread_get();
    if (!t)
        return false;
    uint64_t now = stamp(t), delta = now - t->last_ticks;
    bool late = delta > UINT32_MAX;
    struct record *r = heap_reserve(t, late ? HEAP_FREE_LATE : HEAP_FREE, late ? 3 : 2);
    if (!r)
        return false;
    r->own = late ? 0 : (uint32_t)delta;
    if (t->last == p && !flags)
        flags = HEAP_FREE_TEMPORARY;
    r->payload[0] = (uintptr_t)p | flags << HEAP_FREE_SHIFT;
    if (late)
        r->payload[1] = now;
    t->last_ticks = now;
    heap_thread_finish(t);
    return true;
}

void heap_tell_kept(void *p)
{
    if (heap_sample_bytes)
        heap_sampled_add(p);
    struct heap_thread *t = heap_thread_get();
    struct record *r = t ? heap_reserve(t, HEAP_KEPT, 2) : NULL;
    if (!r)
        return;
    r->own = 0;
    r->payload[0] = t->last_ticks = heap_ticks();
    heap_thread_finish(t);
}
