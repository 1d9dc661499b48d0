/* bench.c - benchmarks of hashtable.h, and a counter that two threads share, under every schedule.
 */
#define KELVIN_INTERLEAVE_ATOMICS
#include <kelvin_bench.h>

#include "hashtable.h"

#include <stdatomic.h>

static struct hashtable filled(size_t n)
{
    struct hashtable t;
    hashtable_init(&t, 16);
    for (uint64_t i = 1; i <= n; i++)
        hashtable_put(&t, i * 7919, i);
    return t;
}

BENCH_OVER(find, n, 1000, 10000)
{
    struct hashtable t = filled(n);
    uint64_t key = 7919;
    kelvin_items(1);
    BENCH_LOOP
    {
        KELVIN_KEEP(hashtable_find(&t, key));
        key = key % (n * 7919) + 7919;
    }
    hashtable_done(&t);
}

BENCH(fill)
{
    kelvin_items(1000);
    BENCH_LOOP
    {
        struct hashtable t = filled(1000);
        hashtable_done(&t);
    }
}

static atomic_size_t readers;

static void enter_and_leave(void *arg)
{
    (void)arg;
    atomic_fetch_add(&readers, 1);
    atomic_fetch_sub(&readers, 1);
}

KELVIN_INTERLEAVE(readers_are_counted)
{
    readers = 0;
    kelvin_spawn(enter_and_leave, NULL);
    kelvin_spawn(enter_and_leave, NULL);
    kelvin_join();
    KELVIN_EXPECT(readers == 0);
}

BENCH_MAIN
