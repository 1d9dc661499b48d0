/*
 * locks.c - stands in for mutexes and read-write locks: tries, then waits and reports it.
 *
 * Where trying says anything but "busy", waiting would have said the same: that a robust lock's
 * owner died, that a recursive lock is the caller's, that a lock makes no sense. An error-checking
 * mutex that the caller holds is busy when tried, and waiting refuses it at once: no wait is
 * reported.
 */
#include "locks.h"

#include <errno.h>
#include <pthread.h>

#define NOINLINE __attribute__((noinline))

/* While the linker looks for libc's functions there is one thread, and nothing to wait for. */
#define CAN_PASS(f) LIKELY((f) != NULL)

/* Whether RC came after a wait. */
static bool has_waited(int rc)
{
    return rc == 0 || rc == EOWNERDEAD || rc == ETIMEDOUT;
}

static bool is_taken(int rc)
{
    return rc == 0 || rc == EOWNERDEAD;
}

static void locks_order(const void *lock, unsigned kind, const struct stackwalk_call *call)
{
    uint64_t word = locks_word(lock, kind);
    if (!locks_order_is_told(word))
        locks_tell_order(word, call);
}

/* The lock was taken by a call that may block. */
static void locks_take(const void *lock, unsigned kind, const struct stackwalk_call *call)
{
    locks_order(lock, kind, call);
    locks_hold(lock, kind);
}

/* Before a wait. The order is reported now: of two threads that wait for each other none comes
 * back. */
static void locks_wait_for(struct locks_wait *w, const void *lock, unsigned kind, int holder,
                           const struct stackwalk_call *call)
{
    locks_order(lock, kind, call);
    locks_wait_begin(w, lock, kind, holder, call);
}

/* After a wait that ended with RC. */
static int locks_waited(const struct locks_wait *w, int rc, const void *lock)
{
    uint64_t now = has_waited(rc) ? locks_wait_end(w) : (locks_wait_over(w), UINT64_C(0));
    if (is_taken(rc))
        locks_hold_since(lock, w->kind, now);
    return rc;
}

/* --- mutexes --- */

/* As glibc marks it. */
enum { MUTEX_IS_SHARED = 128 };

static void mutex_wait_begin(struct locks_wait *w, pthread_mutex_t *m,
                             const struct stackwalk_call *call)
{
    locks_wait_for(w, m, LOCKS_MUTEX, m->__data.__owner, call);
    if (m->__data.__kind & MUTEX_IS_SHARED)
        locks_expect_no_release(m);
}

static int mutex_wait(pthread_mutex_t *m, const struct stackwalk_call *call)
{
    struct locks_wait w;
    mutex_wait_begin(&w, m, call);
    return locks_waited(&w, LOCKS_NEXT(pthread_mutex_lock)(m), m);
}

static NOINLINE int mutex_take(pthread_mutex_t *m, int rc)
{
    if (rc == EBUSY)
        return mutex_wait(m, &STACKWALK_CALL);
    if (is_taken(rc))
        locks_take(m, LOCKS_MUTEX, &STACKWALK_CALL);
    return rc;
}

LOCKS_API int pthread_mutex_lock(pthread_mutex_t *m)
{
    __typeof__(&pthread_mutex_trylock) try = LOCKS_NEXT(pthread_mutex_trylock);
    int rc = CAN_PASS(try) ? try(m) : 0;
    if (!LIKELY(rc == 0 && locks_order_is_told(locks_word(m, LOCKS_MUTEX))))
        return mutex_take(m, rc);
    locks_hold(m, LOCKS_MUTEX);
    return 0;
}

LOCKS_API int pthread_mutex_trylock(pthread_mutex_t *m)
{
    __typeof__(&pthread_mutex_trylock) try = LOCKS_NEXT(pthread_mutex_trylock);
    int rc = CAN_PASS(try) ? try(m) : 0;
    if (is_taken(rc))
        locks_hold(m, LOCKS_MUTEX);
    return rc;
}

LOCKS_API int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
    struct locks_wait w;
    int rc = pthread_mutex_trylock(m);
    if (rc != EBUSY)
        return rc;
    mutex_wait_begin(&w, m, &STACKWALK_CALL);
    return locks_waited(&w, LOCKS_NEXT(pthread_mutex_timedlock)(m, until), m);
}

/* A clock that makes no sense is refused before the lock is looked at. */
static bool is_clock(clockid_t clock)
{
    return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME;
}

LOCKS_API int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
                                      const struct timespec *until)
{
    struct locks_wait w;
    int rc = is_clock(clock) ? pthread_mutex_trylock(m) : EBUSY;
    if (rc != EBUSY)
        return rc;
    mutex_wait_begin(&w, m, &STACKWALK_CALL);
    return locks_waited(&w, LOCKS_NEXT(pthread_mutex_clocklock)(m, clock, until), m);
}

/* A claimed lock was let go, or was not: RC. Its memory may be gone: only the address is used. */
static int locks_released(const struct locks_release *how, int rc,
                          const struct stackwalk_call *call)
{
    if (rc == 0)
        locks_tell_release(how, call);
    else
        locks_unclaim_release(how->lock);
    return rc;
}

static NOINLINE int mutex_release(pthread_mutex_t *m, uint64_t since)
{
    if (!locks_claim_release(m))
        return LOCKS_NEXT(pthread_mutex_unlock)(m);
    struct locks_release how = {m, LOCKS_MUTEX, stackwalk_ticks(), since};
    return locks_released(&how, LOCKS_NEXT(pthread_mutex_unlock)(m), &STACKWALK_CALL);
}

LOCKS_API int pthread_mutex_unlock(pthread_mutex_t *m)
{
    __typeof__(&pthread_mutex_unlock) next = LOCKS_NEXT(pthread_mutex_unlock);
    uint64_t since = locks_drop(m);
    if (!CAN_PASS(next))
        return 0;
    return LIKELY(!locks_is_waited_for(m)) ? next(m) : mutex_release(m, since);
}

LOCKS_API int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a)
{
    __typeof__(&pthread_mutex_init) next = LOCKS_NEXT(pthread_mutex_init);
    int rc = CAN_PASS(next) ? next(m, a) : 0;
    if (rc == 0)
        locks_tell_create(m, LOCKS_MUTEX, &STACKWALK_CALL);
    return rc;
}

/* --- read-write locks --- */

static int try_read(pthread_rwlock_t *l)
{
    __typeof__(&pthread_rwlock_tryrdlock) try = LOCKS_NEXT(pthread_rwlock_tryrdlock);
    return CAN_PASS(try) ? try(l) : 0;
}

static int try_write(pthread_rwlock_t *l)
{
    __typeof__(&pthread_rwlock_trywrlock) try = LOCKS_NEXT(pthread_rwlock_trywrlock);
    return CAN_PASS(try) ? try(l) : 0;
}

/* A call that waits, and what it is called with. */
struct rwlock_call {
    pthread_rwlock_t *lock;
    unsigned kind; /* LOCKS_READ or LOCKS_WRITE */
    int (*plain)(pthread_rwlock_t *);
    int (*timed)(pthread_rwlock_t *, const struct timespec *);
    int (*clocked)(pthread_rwlock_t *, clockid_t, const struct timespec *);
    clockid_t clock;
    const struct timespec *until;
};

static int rwlock_pass(const struct rwlock_call *c)
{
    if (c->plain)
        return c->plain(c->lock);
    return c->timed ? c->timed(c->lock, c->until) : c->clocked(c->lock, c->clock, c->until);
}

/* Trying said RC. */
static int rwlock_take(const struct rwlock_call *c, int rc, const struct stackwalk_call *call)
{
    struct locks_wait w;
    if (LIKELY(rc == 0))
        locks_take(c->lock, c->kind, call);
    if (LIKELY(rc != EBUSY))
        return rc;
    locks_wait_for(&w, c->lock, c->kind, c->lock->__data.__cur_writer, call);
    if (c->lock->__data.__shared)
        locks_expect_no_release(c->lock);
    return locks_waited(&w, rwlock_pass(c), c->lock);
}

LOCKS_API int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
    struct rwlock_call c = {l, LOCKS_READ, .plain = LOCKS_NEXT(pthread_rwlock_rdlock)};
    return rwlock_take(&c, try_read(l), &STACKWALK_CALL);
}

LOCKS_API int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
    struct rwlock_call c = {l, LOCKS_WRITE, .plain = LOCKS_NEXT(pthread_rwlock_wrlock)};
    return rwlock_take(&c, try_write(l), &STACKWALK_CALL);
}

LOCKS_API int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until)
{
    struct rwlock_call c = {l, LOCKS_READ, .timed = LOCKS_NEXT(pthread_rwlock_timedrdlock),
                            .until = until};
    return rwlock_take(&c, try_read(l), &STACKWALK_CALL);
}

LOCKS_API int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until)
{
    struct rwlock_call c = {l, LOCKS_WRITE, .timed = LOCKS_NEXT(pthread_rwlock_timedwrlock),
                            .until = until};
    return rwlock_take(&c, try_write(l), &STACKWALK_CALL);
}

LOCKS_API int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock,
                                         const struct timespec *until)
{
    struct rwlock_call c = {l, LOCKS_READ, .clocked = LOCKS_NEXT(pthread_rwlock_clockrdlock),
                            .clock = clock, .until = until};
    return rwlock_take(&c, is_clock(clock) ? try_read(l) : EBUSY, &STACKWALK_CALL);
}

LOCKS_API int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock,
                                         const struct timespec *until)
{
    struct rwlock_call c = {l, LOCKS_WRITE, .clocked = LOCKS_NEXT(pthread_rwlock_clockwrlock),
                            .clock = clock, .until = until};
    return rwlock_take(&c, is_clock(clock) ? try_write(l) : EBUSY, &STACKWALK_CALL);
}

LOCKS_API int pthread_rwlock_tryrdlock(pthread_rwlock_t *l)
{
    int rc = try_read(l);
    if (rc == 0)
        locks_hold(l, LOCKS_READ);
    return rc;
}

LOCKS_API int pthread_rwlock_trywrlock(pthread_rwlock_t *l)
{
    int rc = try_write(l);
    if (rc == 0)
        locks_hold(l, LOCKS_WRITE);
    return rc;
}

static NOINLINE int rwlock_release(pthread_rwlock_t *l, uint64_t since)
{
    if (!locks_claim_release(l))
        return LOCKS_NEXT(pthread_rwlock_unlock)(l);
    struct locks_release how = {l, LOCKS_WRITE, stackwalk_ticks(), since};
    return locks_released(&how, LOCKS_NEXT(pthread_rwlock_unlock)(l), &STACKWALK_CALL);
}

LOCKS_API int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
    __typeof__(&pthread_rwlock_unlock) next = LOCKS_NEXT(pthread_rwlock_unlock);
    uint64_t since = locks_drop(l);
    if (!CAN_PASS(next))
        return 0;
    return LIKELY(!locks_is_waited_for(l)) ? next(l) : rwlock_release(l, since);
}

LOCKS_API int pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *a)
{
    __typeof__(&pthread_rwlock_init) next = LOCKS_NEXT(pthread_rwlock_init);
    int rc = CAN_PASS(next) ? next(l, a) : 0;
    if (rc == 0)
        locks_tell_create(l, LOCKS_WRITE, &STACKWALK_CALL);
    return rc;
}
