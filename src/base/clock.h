/*
 * clock.h - what time it is, in nanoseconds.
 *
 * CLOCK_MONOTONIC, read through the vDSO, costs some twenty nanoseconds. Counting cycles (rdtsc)
 * would be cheaper and finer, but is no clock on machines where the counter stops or is emulated,
 * and does not exist on others. Not CLOCK_MONOTONIC_RAW: it is a system call on older kernels.
 *
 * Times that are compared with the kernel's, those of samples and of runs, come by system calls:
 * a library that was preloaded to fake the time (libfaketime) replaces only libc's clocks.
 *
 * The agent inside a sampled program has a clock of its own: it may not use this room.
 */
#pragma once
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define CLOCK_SECOND_NS 1000000000u

static inline uint64_t clock_timespec_ns(struct timespec t)
{
    return (uint64_t)t.tv_sec * CLOCK_SECOND_NS + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_timeval_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * CLOCK_SECOND_NS + (uint64_t)t.tv_usec * 1000u;
}

static inline uint64_t clock_read_ns(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return clock_timespec_ns(t);
}

/* Since some moment in the past; it never jumps. The clock of samples and of whatever is timed. */
static inline uint64_t clock_monotonic_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

/* The same and others by a system call. */
static inline uint64_t clock_ask_kernel_ns(clockid_t which)
{
    struct timespec t = {0};
    syscall(SYS_clock_gettime, which, &t);
    return clock_timespec_ns(t);
}

static inline uint64_t clock_kernel_ns(void)
{
    return clock_ask_kernel_ns(CLOCK_MONOTONIC);
}

static inline double clock_monotonic_s(void)
{
    return (double)clock_monotonic_ns() / 1e9;
}

/* Since 1970. It may be set, forwards and backwards. */
static inline uint64_t clock_wall_ns(void)
{
    return clock_ask_kernel_ns(CLOCK_REALTIME);
}

/* CPU time that the calling thread has used. */
static inline uint64_t clock_thread_cpu_ns(void)
{
    return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* How often the kernel's tick comes: the clocks called coarse step once in so long. 0 = not known.
 */
static inline uint64_t clock_tick_ns(void)
{
    struct timespec t;
    return clock_getres(CLOCK_MONOTONIC_COARSE, &t) == 0 ? clock_timespec_ns(t) : 0;
}
