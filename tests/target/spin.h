/*
 * spin.h - work that lasts until SPIN_CLOCK, a clock of CPU time, shows a moment. Inlined, so that
 * the time is that of the function that asks for it.
 */
#pragma once
#include <stdint.h>
#include <time.h>

static volatile uint64_t sink;

static inline int64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t cpu_ns(void)
{
    return clock_ns(SPIN_CLOCK);
}

/* Returns the last reading of the clock, so that what is timed is as much outside as inside. */
static inline __attribute__((always_inline)) int64_t spin_until(int64_t until_ns)
{
    uint64_t x = sink;
    int64_t now_ns;
    while ((now_ns = cpu_ns()) < until_ns)
        for (int i = 0; i < 2000; i++)
            x = x * 6364136223846793005u + 1442695040888963407u;
    sink = x;
    return now_ns;
}
