/*
 * locks.c - waits for locks in ways that are known, and prints how long each took, by itself:
 *
 *     locks convoy     four threads take one global mutex in turn, each holds it for a while
 *     locks kinds      one wait of each kind: read-write lock, condition, semaphore, barrier
 *     locks inversion  two threads take two mutexes in opposite orders, one after the other
 *     locks preempted  who lets a lock go is preempted by who waited, which lets go as well: exits
 *                      with 3 where a thread may not be urgent
 *     locks order      the same in one order
 *     locks alone      one thread takes them in both orders
 *     locks joined     and another in one of these
 *     locks greedy     one thread takes the lock again as soon as it lets go, another waits for it
 *     locks odd        recursive, error-checking, robust and PI mutexes, a thread that dies holding
 *                      one, a fork, timeouts, cancellation: exits with 0 if all behave as they
 * should locks pair N     N times lock and unlock of a free mutex: nanoseconds for each
 *
 * Lines are "NAME CALLS NANOSECONDS": as seen from around the calls that lock.
 */
#define _GNU_SOURCE
#include "../../include/kelvin.h"
#include "asleep.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void check(int is, int expected, const char *what)
{
    if (is == expected)
        return;
    printf("%s: %d, not %d\n", what, is, expected);
    exit(1);
}

/* --- convoy --- */

enum { CONVOY_THREADS = 4, CONVOY_ROUNDS = 25, CONVOY_MS = 5 };

pthread_mutex_t convoy_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t convoy_start;
static _Atomic uint64_t convoy_ns, convoy_calls;

/* What it tells is no less than what the waits take. */
KEPT void convoy_enter(void)
{
    uint64_t start = now_ns();
    pthread_mutex_lock(&convoy_lock);
    convoy_ns += now_ns() - start;
    convoy_calls++;
}

KEPT void convoy_leave(void)
{
    pthread_mutex_unlock(&convoy_lock);
    __asm__ volatile("");
}

static void *convoy_thread(void *arg)
{
    (void)arg;
    pthread_setname_np(pthread_self(), "convoy");
    pthread_barrier_wait(&convoy_start);
    for (int i = 0; i < CONVOY_ROUNDS; i++) {
        convoy_enter();
        sleep_ms(CONVOY_MS);
        convoy_leave();
        sleep_ms(1); /* let another have it */
    }
    return NULL;
}

static void convoy(void)
{
    pthread_t t[CONVOY_THREADS];
    pthread_barrier_init(&convoy_start, NULL, CONVOY_THREADS);
    for (int i = 0; i < CONVOY_THREADS; i++)
        pthread_create(&t[i], NULL, convoy_thread, NULL);
    for (int i = 0; i < CONVOY_THREADS; i++)
        pthread_join(t[i], NULL);
    printf("convoy_lock %llu %llu\n", (unsigned long long)convoy_calls,
           (unsigned long long)convoy_ns);
}

/* --- kinds --- */

static pthread_rwlock_t kinds_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t kinds_condition = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t kinds_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t kinds_barrier;
static sem_t kinds_semaphore;
static pthread_mutex_t *kinds_named;
static int kinds_ready;

static _Atomic int kinds_tid;

enum { KINDS_MS = 30 };

static void kinds_print(const char *name, uint64_t start)
{
    printf("%s 1 %llu\n", name, (unsigned long long)(now_ns() - start));
}

/* The main thread has what this one waits for. */
static void *kinds_thread(void *step)
{
    uint64_t start = now_ns();
    kinds_tid = gettid();
    switch (*(int *)step) {
    case 0:
        pthread_rwlock_rdlock(&kinds_rwlock);
        kinds_print("kinds_rwlock", start);
        pthread_rwlock_unlock(&kinds_rwlock);
        break;
    case 1:
        pthread_mutex_lock(&kinds_mutex);
        while (!kinds_ready)
            pthread_cond_wait(&kinds_condition, &kinds_mutex);
        pthread_mutex_unlock(&kinds_mutex);
        kinds_print("kinds_condition", start);
        break;
    case 2:
        while (sem_wait(&kinds_semaphore) != 0)
            ;
        kinds_print("kinds_semaphore", start);
        break;
    case 3:
        pthread_barrier_wait(&kinds_barrier);
        kinds_print("kinds_barrier", start);
        break;
    case 4:
        pthread_mutex_lock(kinds_named);
        kinds_print("cache of tiles", start);
        pthread_mutex_unlock(kinds_named);
        break;
    }
    return NULL;
}

static void kinds_begin(int step)
{
    if (step == 0)
        pthread_rwlock_wrlock(&kinds_rwlock);
    if (step == 4)
        pthread_mutex_lock(kinds_named);
}

KEPT void kinds_end(int step)
{
    switch (step) {
    case 0:
        pthread_rwlock_unlock(&kinds_rwlock);
        break;
    case 1:
        pthread_mutex_lock(&kinds_mutex);
        kinds_ready = 1;
        pthread_cond_signal(&kinds_condition);
        pthread_mutex_unlock(&kinds_mutex);
        break;
    case 2:
        sem_post(&kinds_semaphore);
        break;
    case 3:
        pthread_barrier_wait(&kinds_barrier);
        break;
    case 4:
        pthread_mutex_unlock(kinds_named);
        break;
    }
    __asm__ volatile(""); /* none of the calls is the last */
}

KEPT void kinds(void)
{
    pthread_barrier_init(&kinds_barrier, NULL, 2);
    sem_init(&kinds_semaphore, 0, 0);
    kinds_named = malloc(sizeof *kinds_named);
    pthread_mutex_init(kinds_named, NULL);
    kelvin_lock_name(kinds_named, "cache of tiles");
    for (int step = 0; step < 5; step++) {
        pthread_t t;
        kinds_begin(step);
        kinds_tid = 0;
        pthread_create(&t, NULL, kinds_thread, &step);
        while (!kinds_tid)
            sleep_ms(1);
        wait_until_asleep(kinds_tid);
        sleep_ms(KINDS_MS);
        kinds_end(step);
        pthread_join(t, NULL);
    }
    free(kinds_named);
}

/* --- inversion --- */

struct account {
    long money;
    pthread_mutex_t lock;
};

struct account account_a = {100, PTHREAD_MUTEX_INITIALIZER};
struct account account_b = {100, PTHREAD_MUTEX_INITIALIZER};

KEPT void transfer(struct account *from, struct account *to)
{
    pthread_mutex_lock(&from->lock);
    pthread_mutex_lock(&to->lock);
    from->money--, to->money++;
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
}

static void *pay_forth(void *arg)
{
    transfer(&account_a, &account_b);
    return arg;
}

static void *pay_back(void *arg)
{
    transfer(&account_b, &account_a);
    return arg;
}

/* Never at the same time: nobody waits, and nothing is wrong this time. */
static void inversion(bool inverted)
{
    pthread_t t;
    for (int i = 0; i < 10; i++) {
        pthread_create(&t, NULL, i % 2 && inverted ? pay_back : pay_forth, NULL);
        pthread_join(t, NULL);
    }
}

/* One thread in both orders: it does not wait for itself. With OTHER a second in one of them. */
static void alone(bool other)
{
    pthread_t t;
    pay_forth(NULL);
    pay_back(NULL);
    pay_forth(NULL);
    if (other && pthread_create(&t, NULL, pay_back, NULL) == 0)
        pthread_join(t, NULL);
}

/* --- odd ones --- */

static pthread_mutex_t odd_mutex(int type, int robust, int protocol)
{
    pthread_mutexattr_t a;
    pthread_mutex_t m;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, type);
    pthread_mutexattr_setrobust(&a, robust);
    pthread_mutexattr_setprotocol(&a, protocol);
    pthread_mutex_init(&m, &a);
    return m;
}

static struct timespec soon(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += 5000000;
    if (t.tv_nsec >= 1000000000)
        t.tv_sec++, t.tv_nsec -= 1000000000;
    return t;
}

static void *odd_die(void *m)
{
    pthread_mutex_lock(m);
    return NULL;
}

static void odd_mutexes(void)
{
    static pthread_mutex_t m;
    pthread_t t;
    m = odd_mutex(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    check(pthread_mutex_lock(&m), 0, "recursive");
    check(pthread_mutex_lock(&m), 0, "recursive again");
    check(pthread_mutex_unlock(&m), 0, "recursive unlock");
    check(pthread_mutex_unlock(&m), 0, "recursive last unlock");
    check(pthread_mutex_unlock(&m), EPERM, "recursive one too many");
    m = odd_mutex(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    check(pthread_mutex_lock(&m), 0, "errorcheck");
    check(pthread_mutex_lock(&m), EDEADLK, "errorcheck again");
    check(pthread_mutex_trylock(&m), EBUSY, "errorcheck try");
    check(pthread_mutex_unlock(&m), 0, "errorcheck unlock");
    check(pthread_mutex_unlock(&m), EPERM, "errorcheck second unlock");
    m = odd_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
    pthread_create(&t, NULL, odd_die, &m);
    pthread_join(t, NULL);
    check(pthread_mutex_lock(&m), EOWNERDEAD, "robust");
    check(pthread_mutex_consistent(&m), 0, "robust made consistent");
    check(pthread_mutex_unlock(&m), 0, "robust unlock");
    pthread_create(&t, NULL, odd_die, &m);
    pthread_join(t, NULL);
    check(pthread_mutex_lock(&m), EOWNERDEAD, "robust a second time");
    check(pthread_mutex_unlock(&m), 0, "robust unlock without consistency");
    check(pthread_mutex_lock(&m), ENOTRECOVERABLE, "robust and lost");
    m = odd_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
    check(pthread_mutex_lock(&m), 0, "PI");
    check(pthread_mutex_unlock(&m), 0, "PI unlock");
}

static pthread_mutex_t odd_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t odd_condition = PTHREAD_COND_INITIALIZER;

static void odd_unlock(void *m)
{
    check(pthread_mutex_unlock(m), 0, "unlock after cancellation");
}

static void *odd_cancelled(void *arg)
{
    pthread_mutex_lock(&odd_lock);
    pthread_cleanup_push(odd_unlock, &odd_lock);
    for (;;)
        pthread_cond_wait(&odd_condition, &odd_lock);
    pthread_cleanup_pop(0);
    return arg;
}

static void odd_waits(void)
{
    pthread_t t;
    void *end;
    sem_t s;
    struct timespec real = soon(CLOCK_REALTIME), mono = soon(CLOCK_MONOTONIC);
    pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
    pthread_mutex_lock(&odd_lock);
    check(pthread_cond_timedwait(&odd_condition, &odd_lock, &real), ETIMEDOUT, "timedwait");
    check(pthread_cond_clockwait(&odd_condition, &odd_lock, CLOCK_MONOTONIC, &mono), ETIMEDOUT,
          "clockwait");
    pthread_mutex_unlock(&odd_lock);
    sem_init(&s, 0, 0);
    errno = 0;
    check(sem_timedwait(&s, &real), -1, "sem_timedwait");
    check(errno, ETIMEDOUT, "errno of sem_timedwait");
    check(sem_post(&s), 0, "sem_post");
    errno = 77;
    check(sem_wait(&s), 0, "sem_wait");
    check(errno, 77, "errno of a sem_wait that succeeds");
    pthread_rwlock_wrlock(&rw);
    check(pthread_rwlock_rdlock(&rw), EDEADLK, "rdlock of one's own");
    check(pthread_rwlock_timedwrlock(&rw, &real), EDEADLK, "timedwrlock of one's own");
    check(pthread_rwlock_tryrdlock(&rw), EBUSY, "tryrdlock");
    check(pthread_rwlock_unlock(&rw), 0, "rwlock unlock");
    pthread_create(&t, NULL, odd_cancelled, NULL);
    sleep_ms(10);
    pthread_cancel(t);
    pthread_join(t, &end);
    check(end == PTHREAD_CANCELED, 1, "cancelled in a condition");
    check(pthread_mutex_trylock(&odd_lock), 0, "lock after cancellation");
    check(pthread_mutex_unlock(&odd_lock), 0, "its unlock");
}

static _Atomic int odd_held, odd_comes;

static void *odd_holder(void *arg)
{
    pthread_mutex_lock(&odd_lock);
    odd_held = 1;
    while (!odd_comes)
        sleep_ms(1);
    wait_until_asleep(odd_comes);
    pthread_mutex_unlock(&odd_lock);
    return arg;
}

/* A child waits for a lock as well, and it is told as the child's. */
static void odd_fork(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        pthread_t t;
        pthread_create(&t, NULL, odd_holder, NULL);
        while (!odd_held)
            sleep_ms(1);
        odd_comes = gettid();
        pthread_mutex_lock(&odd_lock);
        pthread_mutex_unlock(&odd_lock);
        pthread_join(t, NULL);
        exit(0);
    }
    waitpid(child, &status, 0);
    check(status, 0, "child of a fork");
}

/* --- preempted --- */

static pthread_mutex_t preempted_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int preempted_tid;

static void *preempted_urgent(void *arg)
{
    preempted_tid = gettid();
    pthread_mutex_lock(&preempted_lock);
    pthread_mutex_unlock(&preempted_lock);
    return arg;
}

KEPT void preempted_holder(void)
{
    pthread_mutex_unlock(&preempted_lock);
    __asm__ volatile(""); /* not its last call */
}

/* All on one CPU; false where the system does not allow it. */
static bool be_urgent(pthread_attr_t *attr)
{
    struct sched_param first = {.sched_priority = 1};
    cpu_set_t all, one;
    int cpu = 0;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return false;
    while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_attr_init(attr);
    pthread_attr_setinheritsched(attr, PTHREAD_EXPLICIT_SCHED);
    return sched_setaffinity(0, sizeof one, &one) == 0 &&
           pthread_attr_setschedpolicy(attr, SCHED_FIFO) == 0 &&
           pthread_attr_setschedparam(attr, &first) == 0;
}

static int preempted(void)
{
    pthread_attr_t urgent;
    if (!be_urgent(&urgent))
        return 3;
    for (int i = 0; i < 5; i++) {
        pthread_t t;
        pthread_mutex_lock(&preempted_lock);
        preempted_tid = 0;
        if (pthread_create(&t, &urgent, preempted_urgent, NULL) != 0)
            return 3;
        while (!preempted_tid)
            sleep_ms(1);
        wait_until_asleep(preempted_tid);
        preempted_holder();
        pthread_join(t, NULL);
    }
    return 0;
}

/* --- greedy --- */

enum { GREEDY_ROUNDS = 100 };

static pthread_mutex_t greedy_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool greedy_has_it, greedy_is_done;

static void *greedy_thread(void *arg)
{
    for (int i = 0; i < GREEDY_ROUNDS; i++) {
        pthread_mutex_lock(&greedy_lock);
        greedy_has_it = true;
        sleep_ms(2);
        pthread_mutex_unlock(&greedy_lock);
    }
    greedy_is_done = true;
    return arg;
}

static void greedy(void)
{
    unsigned long long calls = 0;
    pthread_t t;
    pthread_create(&t, NULL, greedy_thread, NULL);
    while (!greedy_has_it)
        sleep_ms(1);
    uint64_t start = now_ns();
    for (; !greedy_is_done; calls++) {
        pthread_mutex_lock(&greedy_lock);
        pthread_mutex_unlock(&greedy_lock);
    }
    printf("greedy_lock %llu %llu\n", calls, (unsigned long long)(now_ns() - start));
    pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "convoy") == 0)
        convoy();
    else if (strcmp(what, "kinds") == 0)
        kinds();
    else if (strcmp(what, "inversion") == 0)
        inversion(true);
    else if (strcmp(what, "alone") == 0)
        alone(false);
    else if (strcmp(what, "joined") == 0)
        alone(true);
    else if (strcmp(what, "order") == 0)
        inversion(false);
    else if (strcmp(what, "odd") == 0)
        odd_mutexes(), odd_waits(), odd_fork();
    else if (strcmp(what, "greedy") == 0)
        greedy();
    else if (strcmp(what, "preempted") == 0)
        return preempted();
    else
        return 2;
    return 0;
}
