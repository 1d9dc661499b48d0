/*
 * locks_other.c - stands in for condition variables, semaphores and barriers.
 *
 * A condition variable and a barrier always wait, so every call is reported. While a thread waits
 * for a condition it does not hold the mutex. A thread that is cancelled while it waits leaves no
 * wait.
 */
#include "locks.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

/* --- condition variables --- */

static void condition_begin(struct locks_wait *w, pthread_cond_t *c, pthread_mutex_t *m,
                            const struct stackwalk_call *call)
{
    locks_wait_begin(w, c, LOCKS_CONDITION, 0, call);
    struct locks_release how = {m, LOCKS_MUTEX, 0, locks_drop(m)};
    if (!locks_claim_release(m))
        return;
    how.ticks = stackwalk_ticks(); /* waiting lets go of it */
    locks_tell_release(&how, call);
}

static int condition_end(const struct locks_wait *w, pthread_mutex_t *m, int rc)
{
    if (rc == 0 || rc == ETIMEDOUT || rc == EOWNERDEAD)
        locks_wait_end(w);
    else
        locks_wait_over(w);
    locks_hold(m, LOCKS_MUTEX);
    return rc;
}

LOCKS_API int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    struct locks_wait w;
    condition_begin(&w, c, m, &STACKWALK_CALL);
    return condition_end(&w, m, LOCKS_NEXT(pthread_cond_wait)(c, m));
}

LOCKS_API int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                     const struct timespec *until)
{
    struct locks_wait w;
    condition_begin(&w, c, m, &STACKWALK_CALL);
    return condition_end(&w, m, LOCKS_NEXT(pthread_cond_timedwait)(c, m, until));
}

LOCKS_API int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
                                     const struct timespec *until)
{
    struct locks_wait w;
    condition_begin(&w, c, m, &STACKWALK_CALL);
    return condition_end(&w, m, LOCKS_NEXT(pthread_cond_clockwait)(c, m, clock, until));
}

/* Who wakes others: what comes after the call may find the condition gone. */
#define WAKE(c, kind, call)                                                                \
    do {                                                                                   \
        bool awaited = locks_claim_release(c);                                             \
        uint64_t now = LIKELY(!awaited) ? 0 : stackwalk_ticks();                           \
        int rc = call;                                                                     \
        if (!LIKELY(!awaited) && rc == 0)                                                  \
            locks_tell_release(&(struct locks_release){c, kind, now, 0}, &STACKWALK_CALL); \
        return rc;                                                                         \
    } while (0)

LOCKS_API int pthread_cond_signal(pthread_cond_t *c)
{
    WAKE(c, LOCKS_CONDITION, LOCKS_NEXT(pthread_cond_signal)(c));
}

LOCKS_API int pthread_cond_broadcast(pthread_cond_t *c)
{
    WAKE(c, LOCKS_CONDITION, LOCKS_NEXT(pthread_cond_broadcast)(c));
}

/* --- semaphores --- */

/* False where S was taken at once. Errno stays as it was. */
static bool semaphore_is_busy(sem_t *s)
{
    int e = errno;
    if (LOCKS_NEXT(sem_trywait)(s) == 0)
        return false;
    errno = e;
    return true;
}

/* A signal may end the wait: the program will wait again. */
static int semaphore_end(const struct locks_wait *w, int rc)
{
    if (rc == 0 || errno == ETIMEDOUT || errno == EINTR)
        locks_wait_end(w);
    else
        locks_wait_over(w);
    return rc;
}

LOCKS_API int sem_wait(sem_t *s)
{
    struct locks_wait w;
    if (!semaphore_is_busy(s))
        return 0;
    locks_wait_begin(&w, s, LOCKS_SEMAPHORE, 0, &STACKWALK_CALL);
    return semaphore_end(&w, LOCKS_NEXT(sem_wait)(s));
}

LOCKS_API int sem_timedwait(sem_t *s, const struct timespec *until)
{
    struct locks_wait w;
    if (!semaphore_is_busy(s))
        return 0;
    locks_wait_begin(&w, s, LOCKS_SEMAPHORE, 0, &STACKWALK_CALL);
    return semaphore_end(&w, LOCKS_NEXT(sem_timedwait)(s, until));
}

LOCKS_API int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until)
{
    struct locks_wait w;
    if ((clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME) && !semaphore_is_busy(s))
        return 0;
    locks_wait_begin(&w, s, LOCKS_SEMAPHORE, 0, &STACKWALK_CALL);
    return semaphore_end(&w, LOCKS_NEXT(sem_clockwait)(s, clock, until));
}

LOCKS_API int sem_post(sem_t *s)
{
    WAKE(s, LOCKS_SEMAPHORE, LOCKS_NEXT(sem_post)(s));
}

/* --- barriers --- */

/* glibc gives its special value to the thread that comes last, which waits for nobody. */
LOCKS_API int pthread_barrier_wait(pthread_barrier_t *b)
{
    struct locks_wait w;
    locks_wait_begin(&w, b, LOCKS_BARRIER, 0, &STACKWALK_CALL);
    int rc = LOCKS_NEXT(pthread_barrier_wait)(b);
    if (rc == 0)
        locks_wait_end(&w);
    else
        locks_wait_over(&w);
    if (rc == PTHREAD_BARRIER_SERIAL_THREAD && w.thread && locks_claim_release(b))
        locks_tell_release(&(struct locks_release){b, LOCKS_BARRIER, w.start, 0}, &STACKWALK_CALL);
    return rc;
}
