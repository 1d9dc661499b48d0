/*
 * clock.h - the clock of the benchmarks: CLOCK_MONOTONIC.
 *
 * Read through the vDSO it costs some twenty nanoseconds, twice for each timed round of at least
 * tens of microseconds. Counting cycles (rdtsc) would be cheaper and finer, but gains
 * nothing at that length, is no clock on machines where the counter stops or is emulated, and does
 * not exist on others. Not CLOCK_MONOTONIC_RAW: it is a system call on older kernels.
 */
#pragma once
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
