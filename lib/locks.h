/*
 * locks.h - the inside of the lock agent, a library that reports every wait for a lock.
 *
 *     locks.c        stands in for mutexes and read-write locks
 *     locks_other.c  for condition variables, semaphores and barriers
 *     locks_tell.c   what is reported, and what each thread holds
 *
 * Every call is tried first in its form that does not wait. Where that succeeds nothing is
 * reported: only the list of what this thread holds changes, which needs no shared memory. Else
 * the stack is walked before the call that waits, so that no other thread waits for the walk.
 *
 * A thread that begins to wait leaves the lock's address in a table. An unlock looks there: the
 * first unlock of that lock takes the address away and reports its stack, after it has released
 * the lock. So a lock
 * costs its holder a stack for each wait, not for each unlock. The thread that holds a mutex is
 * known from the mutex itself.
 *
 * How long a lock was held is reported along with that. Reading a clock for each lock would cost
 * more than the lock: it is read after a wait, which has the time anyway, and the next few times
 * that a lock is taken which somebody has waited for (locks_contended).
 *
 * The functions that a program calls have no frame where nothing is reported: what reports is
 * called in their place (a tail call), so that its caller is the program.
 *
 * Threads, stacks and rings are those of stackwalk.h, in a channel of our own. Nothing here
 * takes a lock, uses malloc or waits: what finds no room is counted. C11's mtx_lock(), and locks
 * made of futexes by other libraries and languages, do not come by here.
 */
#pragma once
#include "stackwalk.h"
#include "wire/locks.h"

#define LOCKS_API __attribute__((visibility("default")))

/* --- the functions behind --- */

/* A function of libc, the version that programs are linked to today; NULL while the linker looks
 * for one. */
void *locks_find(const char *name);

#define LOCKS_NEXT(name)                                                    \
    ({                                                                      \
        static __typeof__(&name) locks_at;                                  \
        __typeof__(&name) f = __atomic_load_n(&locks_at, __ATOMIC_RELAXED); \
        if (!LIKELY(f)) {                                                   \
            f = (__typeof__(&name))locks_find(#name);                       \
            __atomic_store_n(&locks_at, f, __ATOMIC_RELAXED);               \
        }                                                                   \
        f;                                                                  \
    })

/* --- waits --- */

struct locks_wait {
    struct stackwalk_thread *thread; /* NULL: it is not reported */
    uint64_t lock, start;
    uint32_t node, holder;
    unsigned kind;
};

/* KIND is one of LOCKS_*; HOLDER a thread id or 0. Errno stays as it was. */
void locks_wait_begin(struct locks_wait *w, const void *lock, unsigned kind, int holder,
                      const struct stackwalk_call *call);
/* Returns when it ended; 0 = it was not reported. */
uint64_t locks_wait_end(const struct locks_wait *w);
/* It was none: nothing is reported. False where nothing was begun. */
bool locks_wait_over(const struct locks_wait *w);

enum { LOCKS_TABLE_BITS = 12 };
extern _Atomic uintptr_t locks_waited_for[1 << LOCKS_TABLE_BITS];

static inline _Atomic uintptr_t *locks_slot(const void *lock)
{
    uint64_t hash = (uintptr_t)lock * UINT64_C(0x9e3779b97f4a7c15);
    return &locks_waited_for[hash >> (64 - LOCKS_TABLE_BITS)];
}

/* By place of the table: how many holds are measured yet since somebody waited. */
enum { LOCKS_MEASURED = 32 };
extern _Atomic uint8_t locks_contended[1 << LOCKS_TABLE_BITS];

static inline _Atomic uint8_t *locks_contended_slot(const void *lock)
{
    return &locks_contended[locks_slot(lock) - locks_waited_for];
}

/* Whether a thread has begun to wait for LOCK since it was last released. */
static inline bool locks_is_waited_for(const void *lock)
{
    return atomic_load_explicit(locks_slot(lock), memory_order_relaxed) == (uintptr_t)lock;
}

/*
 * Claim the report of LOCK's release for this thread, before it releases: the next holder may run
 * first and release, too, and is not the one that was waited for. False where another does.
 */
static inline bool locks_claim_release(const void *lock)
{
    uintptr_t is = (uintptr_t)lock;
    return locks_is_waited_for(lock) && atomic_compare_exchange_strong(locks_slot(lock), &is, 0);
}

/*
 * No release of LOCK will be reported: it is shared with other processes, and the next thread to
 * release it in this one may be the very thread that waited.
 */
static inline void locks_expect_no_release(const void *lock)
{
    atomic_store_explicit(locks_slot(lock), 0, memory_order_relaxed);
}

/* The lock was not released after all. */
static inline void locks_unclaim_release(const void *lock)
{
    atomic_store_explicit(locks_slot(lock), (uintptr_t)lock, memory_order_relaxed);
}

/* How a lock was released, after locks_claim_release(). */
struct locks_release {
    const void *lock; /* only the address counts: it may be gone */
    unsigned kind;
    uint64_t ticks, since; /* since: that it was taken; 0 = not known */
};

void locks_tell_release(const struct locks_release *r, const struct stackwalk_call *call);

/* LOCK was made. So many are reported. */
enum { LOCKS_CREATED_MAX = 1 << 14 };
void locks_tell_create(const void *lock, unsigned kind, const struct stackwalk_call *call);

/* --- what this thread holds --- */

enum { LOCKS_HELD_MAX = 32 };

struct locks_held {
    uint32_t n;
    uint64_t at[LOCKS_HELD_MAX];    /* with its kind; in the order in which they were taken */
    uint64_t since[LOCKS_HELD_MAX]; /* ticks; 0 = not known */
    struct locks_order {
        uint64_t held, taken;
    } told[LOCKS_HELD_MAX]; /* by place: the last order that is known to be reported */
};

extern __thread struct locks_held locks_held;

/* The lock on top was held when LOCK was taken: reported the first time. */
void locks_tell_order(uint64_t lock, const struct stackwalk_call *call);

/* Whether there is nothing to report when LOCK is taken now. */
static inline bool locks_order_is_told(uint64_t lock)
{
    uint32_t n = locks_held.n;
    if (!n)
        return true;
    const struct locks_order *o = &locks_held.told[n - 1];
    return o->taken == lock && o->held == locks_held.at[n - 1];
}

uint64_t locks_drop_inner(uint64_t address);

static inline uint64_t locks_word(const void *lock, unsigned kind)
{
    return (uintptr_t)lock | (uint64_t)kind << LOCKS_KIND_SHIFT;
}

/* SINCE: ticks, 0 = read the clock if it is worth it. */
static inline void locks_hold_since(const void *lock, unsigned kind, uint64_t since)
{
    uint32_t n = locks_held.n;
    if (LIKELY(n < LOCKS_HELD_MAX)) {
        locks_held.at[n] = locks_word(lock, kind);
        locks_held.since[n] = since;
        locks_held.n = n + 1;
    }
}

static inline void locks_hold(const void *lock, unsigned kind)
{
    _Atomic uint8_t *slot = locks_contended_slot(lock);
    uint8_t left = atomic_load_explicit(slot, memory_order_relaxed);
    if (!LIKELY(!left)) /* two threads may count one: no matter */
        atomic_store_explicit(slot, (uint8_t)(left - 1), memory_order_relaxed);
    locks_hold_since(lock, kind, LIKELY(!left) ? 0 : stackwalk_ticks());
}

/* Returns since when it was held; 0 = not known. */
static inline uint64_t locks_drop(const void *lock)
{
    uint32_t n = locks_held.n;
    if (LIKELY(n && (locks_held.at[n - 1] & LOCKS_ADDRESS_MASK) == (uintptr_t)lock)) {
        locks_held.n = n - 1;
        return locks_held.since[n - 1];
    }
    return n ? locks_drop_inner((uintptr_t)lock) : 0;
}
