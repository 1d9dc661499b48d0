/*
 * kelvin_interleave.h - small thread bodies under every schedule, up to a bound of preemptions.
 *
 *     #define KELVIN_INTERLEAVE_ATOMICS       // atomics and locks below are scheduling points
 *     #include <kelvin_bench.h>
 *     #include "queue.c"                      // the code under test
 *
 *     static struct queue q;
 *     static void push_one(void *value) { queue_push(&q, value); }
 *
 *     KELVIN_INTERLEAVE(two_pushes)
 *     {
 *         queue_init(&q);                     // before each schedule
 *         kelvin_spawn(push_one, "a");
 *         kelvin_spawn(push_one, "b");
 *         kelvin_join();                      // runs them under one schedule
 *         KELVIN_EXPECT(queue_length(&q) == 2);
 *     }
 *
 * One thread runs at a time; at each point another may go on in its place. A body must do the same
 * under the same schedule: no clock, no random numbers. Schedules with no preemption are tried
 * first, then those with one, and so on, so that what fails fails with as few as possible. What is
 * found is printed step by step, with the word for --schedule that runs it again.
 *
 * Each point sees all writes before it, as on a machine without store buffers: errors that only a
 * weaker memory order makes are not found. Where nothing is interleaved, points cost a call and
 * locks are the system's own.
 */
#ifndef KELVIN_INTERLEAVE_H
#define KELVIN_INTERLEAVE_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A body that is run once for each schedule. */
#define KELVIN_INTERLEAVE(name)                                      \
    static void INTERLEAVE_##name(void);                             \
    static struct kelvin_interleaving kelvin_row_##name = {          \
        {#name, __FILE__, __LINE__, NULL, NULL}, INTERLEAVE_##name}; \
    __attribute__((constructor)) static void kelvin_add_##name(void) \
    {                                                                \
        kelvin_add_interleaving(&kelvin_row_##name);                 \
    }                                                                \
    static void INTERLEAVE_##name(void)

/* Add a thread that will run BODY(ARG); at most 7. kelvin_join() runs them all to their end. */
void kelvin_spawn(void (*body)(void *arg), void *arg);
void kelvin_join(void);

/* A condition that must hold, in threads or after them. If it does not, the schedule ends here. */
#define KELVIN_EXPECT(condition) \
    ((condition) ? (void)0 : kelvin_expect_failed(#condition, __FILE__, __LINE__))

/* A scheduling point of your own, between accesses that are not atomic. */
#define KELVIN_POINT() kelvin_point("point", NULL, __FILE__, __LINE__)

/* --- behind the macros --- */

struct kelvin_interleaving {
    struct kelvin_entry entry;
    void (*body)(void);
};

void kelvin_add_interleaving(struct kelvin_interleaving *i);
void kelvin_expect_failed(const char *condition, const char *file, int line);
void kelvin_point(const char *what, const volatile void *at, const char *file, int line);
int kelvin_mutex_lock(pthread_mutex_t *m, const char *file, int line);
int kelvin_mutex_trylock(pthread_mutex_t *m, const char *file, int line);
int kelvin_mutex_unlock(pthread_mutex_t *m, const char *file, int line);
int kelvin_cond_wait(pthread_cond_t *c, pthread_mutex_t *m, const char *file, int line);
int kelvin_cond_signal(pthread_cond_t *c, bool all, const char *file, int line);
int kelvin_yield(const char *file, int line);

#ifdef __cplusplus
}
#endif
#endif

/*
 * Outside of the include guard: a second #include may ask for atomics. The compilers' atomics are
 * what <stdatomic.h> and <atomic> are made of; a name is not replaced inside of its own
 * replacement.
 */
#if defined KELVIN_INTERLEAVE_ATOMICS && !defined KELVIN_INTERLEAVE_ATOMICS_DONE
#define KELVIN_INTERLEAVE_ATOMICS_DONE

#define KELVIN_AT_(what, at) kelvin_point(what, (const volatile void *)(at), __FILE__, __LINE__)
#define KELVIN_FIRST_(first, ...) first
#define KELVIN_ATOMIC_(what, f, ...) \
    (KELVIN_AT_(what, KELVIN_FIRST_(__VA_ARGS__, 0)), f(__VA_ARGS__))

#define __atomic_load_n(...) KELVIN_ATOMIC_("load", __atomic_load_n, __VA_ARGS__)
#define __atomic_load(...) KELVIN_ATOMIC_("load", __atomic_load, __VA_ARGS__)
#define __atomic_store_n(...) KELVIN_ATOMIC_("store", __atomic_store_n, __VA_ARGS__)
#define __atomic_store(...) KELVIN_ATOMIC_("store", __atomic_store, __VA_ARGS__)
#define __atomic_exchange_n(...) KELVIN_ATOMIC_("exchange", __atomic_exchange_n, __VA_ARGS__)
#define __atomic_exchange(...) KELVIN_ATOMIC_("exchange", __atomic_exchange, __VA_ARGS__)
#define __atomic_compare_exchange_n(...) \
    KELVIN_ATOMIC_("compare-exchange", __atomic_compare_exchange_n, __VA_ARGS__)
#define __atomic_compare_exchange(...) \
    KELVIN_ATOMIC_("compare-exchange", __atomic_compare_exchange, __VA_ARGS__)
#define __atomic_fetch_add(...) KELVIN_ATOMIC_("fetch-add", __atomic_fetch_add, __VA_ARGS__)
#define __atomic_fetch_sub(...) KELVIN_ATOMIC_("fetch-sub", __atomic_fetch_sub, __VA_ARGS__)
#define __atomic_fetch_or(...) KELVIN_ATOMIC_("fetch-or", __atomic_fetch_or, __VA_ARGS__)
#define __atomic_fetch_and(...) KELVIN_ATOMIC_("fetch-and", __atomic_fetch_and, __VA_ARGS__)
#define __atomic_add_fetch(...) KELVIN_ATOMIC_("add-fetch", __atomic_add_fetch, __VA_ARGS__)
#define __atomic_sub_fetch(...) KELVIN_ATOMIC_("sub-fetch", __atomic_sub_fetch, __VA_ARGS__)
#define __atomic_test_and_set(...) \
    KELVIN_ATOMIC_("test-and-set", __atomic_test_and_set, __VA_ARGS__)
#define __atomic_clear(...) KELVIN_ATOMIC_("clear", __atomic_clear, __VA_ARGS__)
#ifdef __clang__ /* whose <stdatomic.h> has others */
#define __c11_atomic_load(...) KELVIN_ATOMIC_("load", __c11_atomic_load, __VA_ARGS__)
#define __c11_atomic_store(...) KELVIN_ATOMIC_("store", __c11_atomic_store, __VA_ARGS__)
#define __c11_atomic_exchange(...) KELVIN_ATOMIC_("exchange", __c11_atomic_exchange, __VA_ARGS__)
#define __c11_atomic_compare_exchange_strong(...) \
    KELVIN_ATOMIC_("compare-exchange", __c11_atomic_compare_exchange_strong, __VA_ARGS__)
#define __c11_atomic_compare_exchange_weak(...) \
    KELVIN_ATOMIC_("compare-exchange", __c11_atomic_compare_exchange_weak, __VA_ARGS__)
#define __c11_atomic_fetch_add(...) KELVIN_ATOMIC_("fetch-add", __c11_atomic_fetch_add, __VA_ARGS__)
#define __c11_atomic_fetch_sub(...) KELVIN_ATOMIC_("fetch-sub", __c11_atomic_fetch_sub, __VA_ARGS__)
#define __c11_atomic_fetch_or(...) KELVIN_ATOMIC_("fetch-or", __c11_atomic_fetch_or, __VA_ARGS__)
#define __c11_atomic_fetch_and(...) KELVIN_ATOMIC_("fetch-and", __c11_atomic_fetch_and, __VA_ARGS__)
#endif

#define pthread_mutex_lock(m) kelvin_mutex_lock(m, __FILE__, __LINE__)
#define pthread_mutex_trylock(m) kelvin_mutex_trylock(m, __FILE__, __LINE__)
#define pthread_mutex_unlock(m) kelvin_mutex_unlock(m, __FILE__, __LINE__)
#define pthread_cond_wait(c, m) kelvin_cond_wait(c, m, __FILE__, __LINE__)
#define pthread_cond_signal(c) kelvin_cond_signal(c, false, __FILE__, __LINE__)
#define pthread_cond_broadcast(c) kelvin_cond_signal(c, true, __FILE__, __LINE__)
#define sched_yield() kelvin_yield(__FILE__, __LINE__)
#endif
