#include "held.h"
#include "locks.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

const struct stackwalk_task stackwalk_task = {.env = LOCKS_ENV, .bit = CHANNEL_LOCKS};

_Atomic uintptr_t locks_waited_for[1 << LOCKS_TABLE_BITS];
_Atomic uint8_t locks_contended[1 << LOCKS_TABLE_BITS];
__thread struct locks_held locks_held;

held_count kelvin_locks_held;

LOCKS_API const uint32_t *kelvin_locks_held(void)
{
    return &locks_held.n;
}

/* --- the functions behind --- */

/* volatile: libc's headers promise that dlsym does not call us. */
static __thread volatile bool finding;

/*
 * Condition variables that threads of old programs share have another layout and the same names:
 * dlsym() may find those.
 */
static const char *version_of(const char *name)
{
    bool two = strncmp(name, "pthread_cond_", 13) == 0 && strcmp(name + 13, "clockwait") != 0;
    return two ? "GLIBC_2.3.2" : NULL;
}

void *locks_find(const char *name)
{
    if (finding)
        return NULL;
    int e = errno;
    finding = true;
    const char *version = version_of(name);
    void *at = version ? dlvsym(RTLD_NEXT, name, version) : NULL;
    if (!at)
        at = dlsym(RTLD_NEXT, name);
    finding = false;
    errno = e;
    return at;
}

/* --- records --- */

/* The thread, if there is somebody who listens. */
static struct stackwalk_thread *listened_to(void)
{
    struct stackwalk_thread *t = stackwalk_thread_get();
    return t && !atomic_load_explicit(&channel->stop, memory_order_relaxed) ? t : NULL;
}

/* Unlike the heap's this never waits: who is here may hold what others wait for. */
static struct record *locks_reserve(struct stackwalk_thread *t, enum locks_record kind,
                                    uint32_t node, uint16_t words)
{
    struct record *r = ring_reserve(&t->writer, (uint16_t)kind, words);
    if (!r) {
        ring_abandon(&t->writer);
        atomic_fetch_add_explicit(&t->writer.ring->lost, 1, memory_order_relaxed);
        return NULL;
    }
    r->own = node;
    return r;
}

void locks_wait_begin(struct locks_wait *w, const void *lock, unsigned kind, int holder,
                      const struct stackwalk_call *call)
{
    w->thread = listened_to();
    w->kind = kind;
    if (!w->thread)
        return;
    w->lock = locks_word(lock, kind);
    w->holder = (uint32_t)holder;
    w->start = stackwalk_ticks();
    atomic_store_explicit(locks_slot(lock), (uintptr_t)lock, memory_order_relaxed);
    if (kind <= LOCKS_WRITE)
        atomic_store_explicit(locks_contended_slot(lock), LOCKS_MEASURED, memory_order_relaxed);
    w->node = stackwalk(w->thread, call);
    _Atomic uint64_t *waiting = w->thread->writer.ring->waiting;
    uint64_t where = (uint64_t)w->holder << 32 | w->node;
    atomic_store_explicit(&waiting[LOCKS_WAITING_LOCK], w->lock, memory_order_relaxed);
    atomic_store_explicit(&waiting[LOCKS_WAITING_WHERE], where, memory_order_relaxed);
    atomic_store_explicit(&waiting[LOCKS_WAITING_START], w->start, memory_order_release);
}

/* In the child of a fork the thread is wiped. */
bool locks_wait_over(const struct locks_wait *w)
{
    if (!w->thread || !w->thread->ready)
        return false;
    _Atomic uint64_t *waiting = w->thread->writer.ring->waiting;
    atomic_store_explicit(&waiting[LOCKS_WAITING_START], 0, memory_order_relaxed);
    return true;
}

uint64_t locks_wait_end(const struct locks_wait *w)
{
    if (!locks_wait_over(w))
        return 0;
    uint64_t now = stackwalk_ticks();
    struct record *r = locks_reserve(w->thread, LOCKS_WAIT, w->node, 5);
    if (!r)
        return now;
    r->payload[0] = w->start;
    r->payload[1] = now > w->start ? now - w->start : 0;
    r->payload[2] = w->lock;
    r->payload[3] = w->holder;
    ring_commit(&w->thread->writer);
    return now;
}

void locks_tell_release(const struct locks_release *how, const struct stackwalk_call *call)
{
    struct stackwalk_thread *t = listened_to();
    if (!t)
        return;
    uint32_t node = stackwalk(t, call);
    struct record *r = locks_reserve(t, LOCKS_RELEASE, node, 4);
    if (!r)
        return;
    r->payload[0] = how->ticks;
    r->payload[1] = locks_word(how->lock, how->kind);
    r->payload[2] = how->since && how->ticks > how->since ? how->ticks - how->since : 0;
    ring_commit(&t->writer);
}

void locks_tell_create(const void *lock, unsigned kind, const struct stackwalk_call *call)
{
    static _Atomic uint32_t told;
    if (atomic_load_explicit(&told, memory_order_relaxed) >= LOCKS_CREATED_MAX)
        return;
    struct stackwalk_thread *t = listened_to();
    if (!t || atomic_fetch_add(&told, 1) >= LOCKS_CREATED_MAX)
        return;
    uint32_t node = stackwalk(t, call);
    struct record *r = locks_reserve(t, LOCKS_CREATE, node, 3);
    if (!r)
        return;
    r->payload[0] = stackwalk_ticks();
    r->payload[1] = locks_word(lock, kind);
    ring_commit(&t->writer);
}

/* --- what this thread holds --- */

/*
 * Orders that were reported, with 16 bits for the thread that came first; an address that is used
 * again counts as the lock before.
 */
enum { ORDER_BITS = 14, ORDER_TRIES = 8 };
#define ORDER_WHO UINT64_C(0xffff)
static _Atomic uint64_t orders[1 << ORDER_BITS];

/* Adds KEY with WHO and returns 0; or returns who has added it. WHO where there is no room left. */
static uint64_t order_add(uint64_t key, uint64_t who)
{
    uint64_t at = key >> (64 - ORDER_BITS);
    for (int i = 0; i < ORDER_TRIES; i++, at = (at + 1) & ((1 << ORDER_BITS) - 1)) {
        uint64_t is = atomic_load_explicit(&orders[at], memory_order_relaxed);
        if (!is && atomic_compare_exchange_strong(&orders[at], &is, (key & ~ORDER_WHO) | who))
            return 0;
        if ((is & ~ORDER_WHO) == (key & ~ORDER_WHO))
            return is & ORDER_WHO;
    }
    return who;
}

/*
 * True the first time, and the first time of another thread: opposite orders of one thread alone
 * are no danger. Where there is no room left, nothing more is reported.
 */
static bool order_is_new(uint64_t held, uint64_t taken)
{
    uint64_t key = (held * UINT64_C(0x9e3779b97f4a7c15) ^ taken) * UINT64_C(0xbf58476d1ce4e5b9);
    uint64_t who = ((uintptr_t)&locks_held >> 6 & ORDER_WHO) | 1; /* memory of each thread's own */
    uint64_t first = order_add(key, who);
    return !first || (first != who && !order_add(~key, who));
}

void locks_tell_order(uint64_t lock, const struct stackwalk_call *call)
{
    uint64_t held = locks_held.at[locks_held.n - 1];
    if ((held & LOCKS_ADDRESS_MASK) == (lock & LOCKS_ADDRESS_MASK))
        return; /* recursive */
    locks_held.told[locks_held.n - 1] = (struct locks_order){held, lock};
    struct stackwalk_thread *t = order_is_new(held, lock) ? listened_to() : NULL;
    if (!t)
        return;
    uint32_t node = stackwalk(t, call);
    struct record *r = locks_reserve(t, LOCKS_ORDER, node, 4);
    if (!r)
        return;
    r->payload[0] = stackwalk_ticks();
    r->payload[1] = held;
    r->payload[2] = lock;
    ring_commit(&t->writer);
}

uint64_t locks_drop_inner(uint64_t address)
{
    struct locks_held *h = &locks_held;
    for (uint32_t i = h->n; i-- > 0;) {
        if ((h->at[i] & LOCKS_ADDRESS_MASK) != address)
            continue;
        uint64_t since = h->since[i];
        memmove(&h->at[i], &h->at[i + 1], (h->n - i - 1) * sizeof *h->at);
        memmove(&h->since[i], &h->since[i + 1], (h->n - i - 1) * sizeof *h->since);
        h->n--;
        return since;
    }
    return 0;
}

/* --- names --- */

/* Called by include/kelvin.h. */
void kelvin_lock_named(const void *lock, const char *name);

LOCKS_API void kelvin_lock_named(const void *lock, const char *name)
{
    struct stackwalk_thread *t = listened_to();
    size_t n = name ? strnlen(name, LOCKS_NAME_MAX) : 0;
    struct record *r = t && n ? locks_reserve(t, LOCKS_NAME, 0, (uint16_t)(4 + (n + 7) / 8)) : NULL;
    if (!r)
        return;
    r->payload[0] = stackwalk_ticks();
    r->payload[1] = (uintptr_t)lock;
    r->payload[2] = n;
    memcpy(&r->payload[3], name, n);
    ring_commit(&t->writer);
}

/* --- life --- */

/* What is mapped is reported now: the first wait must not wait for the recorder. */
__attribute__((constructor)) static void locks_start(void)
{
    stackwalk_thread_get();
}

/* Another library may come to lie where this one was. */
LOCKS_API int dlclose(void *handle)
{
    __typeof__(&dlclose) next = LOCKS_NEXT(dlclose);
    int rc = next ? next(handle) : -1;
    stackwalk_forget_modules();
    return rc;
}
