/* threads.c - small threads to interleave: with errors planted, and without. */
#define KELVIN_INTERLEAVE_ATOMICS
#include <kelvin_bench.h>

#include "queue.h"

#include <stdlib.h>

KELVIN_INTERLEAVE(lost_update)
{
    count = 0;
    kelvin_spawn(count_racy, NULL);
    kelvin_spawn(count_racy, NULL);
    kelvin_join();
    KELVIN_EXPECT(count == 2);
}

KELVIN_INTERLEAVE(counted)
{
    count = 0;
    for (int i = 0; i < 3; i++)
        kelvin_spawn(count_well, NULL);
    kelvin_join();
    KELVIN_EXPECT(count == 3);
}

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

static void in_order(void *arg)
{
    pthread_mutex_t *a = arg ? &second : &first, *b = arg ? &first : &second;
    pthread_mutex_lock(a);
    pthread_mutex_lock(b);
    pthread_mutex_unlock(b);
    pthread_mutex_unlock(a);
}

KELVIN_INTERLEAVE(inversion)
{
    kelvin_spawn(in_order, NULL);
    kelvin_spawn(in_order, &first);
    kelvin_join();
}

KELVIN_INTERLEAVE(same_order)
{
    kelvin_spawn(in_order, NULL);
    kelvin_spawn(in_order, NULL);
    kelvin_join();
}

static atomic_int taken;

static void spin(void *arg)
{
    (void)arg;
    while (atomic_exchange(&taken, 1)) {
    }
    int n = count;
    KELVIN_POINT();
    count = n + 1;
    atomic_store(&taken, 0);
}

KELVIN_INTERLEAVE(spinlock)
{
    count = taken = 0;
    kelvin_spawn(spin, NULL);
    kelvin_spawn(spin, NULL);
    kelvin_join();
    KELVIN_EXPECT(count == 2);
}

static void wait_for_nobody(void *arg)
{
    (void)arg;
    while (!atomic_load(&taken))
        sched_yield();
}

KELVIN_INTERLEAVE(endless)
{
    taken = 0;
    kelvin_spawn(wait_for_nobody, NULL);
    kelvin_join();
}

static int got[2];

static void push_two(void *arg)
{
    (void)arg;
    queue_push(1);
    queue_push(2);
}

static void pop_one(void *to)
{
    *(int *)to = queue_pop();
}

KELVIN_INTERLEAVE(handed_over)
{
    queue.n = 0;
    kelvin_spawn(pop_one, &got[0]);
    kelvin_spawn(pop_one, &got[1]);
    kelvin_spawn(push_two, NULL);
    kelvin_join();
    KELVIN_EXPECT(got[0] + got[1] == 3);
}

static void dies_second(void *arg)
{
    (void)arg;
    KELVIN_POINT();
    if (count++ == 1)
        abort();
}

KELVIN_INTERLEAVE(dies)
{
    count = 0;
    kelvin_spawn(dies_second, NULL);
    kelvin_spawn(dies_second, NULL);
    kelvin_join();
}

static void unlocks(void *arg)
{
    (void)arg;
    pthread_mutex_unlock(&first);
}

KELVIN_INTERLEAVE(not_held)
{
    kelvin_spawn(unlocks, NULL);
    kelvin_join();
}

KELVIN_INTERLEAVE(forgotten)
{
    kelvin_spawn(count_well, NULL);
}

static int rounds;

static void every_other_round(void *arg)
{
    if (rounds++ % 2)
        count_well(arg);
    count_well(arg);
}

KELVIN_INTERLEAVE(moody)
{
    kelvin_spawn(every_other_round, NULL);
    kelvin_spawn(count_well, NULL);
    kelvin_spawn(count_well, NULL);
    kelvin_join();
}

BENCH_MAIN
