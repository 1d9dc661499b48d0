/*
 * counter.h - the processor's own counter, which agents write into records and the recorder reads.
 *
 * Cheaper than any clock. Whether it goes at one speed is the recorder's to find out
 * (record/ticks.h); where it does not, and on other processors, agents are not asked to read it.
 */
#pragma once
#include <stdint.h>
#if defined __x86_64__
#include <x86intrin.h>
#endif

static inline uint64_t counter_read(void)
{
#if defined __x86_64__
    return __rdtsc();
#elif defined __aarch64__
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#else
    return 0;
#endif
}
