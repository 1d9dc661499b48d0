/*
 * stackwalk_thread.c - what is kept for each thread, and room for the records that it writes.
 */
#include "stackwalk.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Threads whose memory is used again when they end; of more it is given back. */
enum { THREADS_MAX = 4096 };

struct stackwalk_process *stackwalk_process;

static _Atomic(struct stackwalk_thread *) threads[THREADS_MAX];
__thread struct stackwalk_thread *stackwalk_mine;
static __thread volatile bool inside; /* stackwalk_thread_begin(); signals look at it */
__thread bool stackwalk_ended;
static int32_t told_pid; /* survives a fork: then it is the parent's */
bool stackwalk_has_counter;
static bool has_key;
static pthread_key_t key;

/* Memory that a child finds empty, so that it never writes to its parent's rings. */
static void *map_wiped(size_t n)
{
    void *at = proc_map(n);
    if (!at)
        return NULL;
    madvise(at, n, MADV_WIPEONFORK);
    madvise(at, n, MADV_DONTDUMP);
    return at;
}

/* --- threads --- */

static bool thread_take(struct stackwalk_thread *t)
{
    uint32_t nobody = 0;
    return t && atomic_compare_exchange_strong(&t->taken, &nobody, 1);
}

/* One that a thread has left, or a new one. */
static struct stackwalk_thread *thread_new(void)
{
    int i = 0;
    for (; i < THREADS_MAX; i++) {
        struct stackwalk_thread *t = atomic_load(&threads[i]);
        if (!t)
            break;
        if (thread_take(t))
            return t;
    }
    struct stackwalk_thread *t = map_wiped(sizeof *t), *none = NULL;
    if (t)
        t->taken = 1;
    for (; t && i < THREADS_MAX; i++, none = NULL)
        if (atomic_compare_exchange_strong(&threads[i], &none, t))
            break;
    return t;
}

void stackwalk_thread_end(struct stackwalk_thread *t)
{
    stackwalk_mine = NULL;
    channel_close_ring(&t->writer);
    t->ready = false;
    stackwalk_forget(t);
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
    stackwalk_ended = true;
    if (stackwalk_mine && stackwalk_mine->ready)
        stackwalk_thread_end(stackwalk_mine);
}

static struct stackwalk_thread *thread_open(void)
{
    struct stackwalk_thread *t = thread_new();
    if (!t)
        return NULL;
    if (!channel_open_ring(&t->writer, stackwalk_task.bit)) {
        atomic_store(&t->taken, 0);
        return NULL;
    }
    t->walking = false;
    t->last_seen = t->seen;
    t->last_seen->next = t->seen;
    t->last_ticks = 0;
    atomic_fetch_add(&stackwalk_process->n_threads, 1);
    t->ready = true;
    stackwalk_mine = t;
    if (stackwalk_task.thread_begin)
        stackwalk_task.thread_begin();
    if (has_key && !stackwalk_ended)
        pthread_setspecific(key, (void *)PTHREAD_DESTRUCTOR_ITERATIONS);
    return t;
}

/* --- the process --- */

static void tell_fork(struct stackwalk_thread *t)
{
    struct record *r = stackwalk_reserve(t, STACKWALK_FORK, 3);
    if (!r)
        return;
    r->own = stackwalk_process->root;
    r->payload[0] = t->last_ticks = stackwalk_ticks();
    r->payload[1] = (uint64_t)told_pid;
    ring_commit(&t->writer);
}

static bool find_recorder(void)
{
    channel_find_in(stackwalk_task.env);
    if (!channel_wants(stackwalk_task.bit) || channel->stop || !stackwalk_init() ||
        !stackwalk_images_init())
        return false;
    stackwalk_has_counter = channel->params[STACKWALK_PARAM_TICKS] == 1;
    return !stackwalk_task.process_begin || stackwalk_task.process_begin();
}

/* A program begins, or the child of a fork. */
static enum stackwalk_state process_begin(void)
{
    struct stackwalk_process *p = stackwalk_process;
    struct proc_ids ids;
    if (!find_recorder() || !proc_own_ids(channel->recorder_pid, &ids))
        return STACKWALK_OFF;
    if (!has_key)
        has_key = pthread_key_create(&key, thread_over) == 0;
    p->pid = ids.pid;
    p->root =
        stackwalk_trie_add(0, STACKWALK_ROOT | (uint64_t)p->pid << 32 | (uint32_t)proc_now_ns());
    struct stackwalk_thread *t = thread_open();
    if (!t)
        return STACKWALK_OFF;
    if (told_pid)
        tell_fork(t);
    else
        stackwalk_announce(t, STACKWALK_START);
    told_pid = p->pid;
    return STACKWALK_ON;
}

/* Where two threads come first at once, the second waits for the first. */
static bool process_is_on(void)
{
    static _Atomic uint32_t mapping;
    if (!stackwalk_process && !atomic_exchange(&mapping, 1))
        stackwalk_process = map_wiped(sizeof *stackwalk_process);
    uint32_t new = STACKWALK_NEW;
    struct stackwalk_process *p = stackwalk_process;
    if (!p)
        return false;
    if (atomic_compare_exchange_strong(&p->state, &new, STACKWALK_BEGINNING))
        atomic_store(&p->state, process_begin());
    while (atomic_load(&p->state) == STACKWALK_BEGINNING)
        sched_yield();
    return atomic_load(&p->state) == STACKWALK_ON;
}

struct stackwalk_thread *stackwalk_thread_begin(void)
{
    if (inside || (stackwalk_process && stackwalk_process->state == STACKWALK_OFF))
        return NULL;
    int e = errno;
    inside = true;
    struct stackwalk_thread *t = NULL;
    if (process_is_on())
        t = stackwalk_mine && stackwalk_mine->ready ? stackwalk_mine : thread_open();
    inside = false;
    errno = e;
    return t;
}

/* --- records --- */

/* The recorder is gone: from now on the program runs as if nobody had been there. */
static struct record *stackwalk_thread_give_up(struct stackwalk_thread *t)
{
    t->ready = false;
    atomic_store(&stackwalk_process->state, STACKWALK_OFF);
    return NULL;
}

/* A full ring makes the thread wait, but for a handler above a record that is not finished. */
struct record *stackwalk_reserve_patiently(struct stackwalk_thread *t, uint16_t kind,
                                           uint16_t words)
{
    struct record *r;
    while (!(r = ring_reserve(&t->writer, kind, words))) {
        ring_abandon(&t->writer);
        if (t->writer.depth) {
            atomic_fetch_add_explicit(&t->writer.ring->lost, 1, memory_order_relaxed);
            return NULL;
        }
        if (!channel_wait(&t->writer))
            return stackwalk_thread_give_up(t);
    }
    return r;
}
