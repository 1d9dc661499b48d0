/*
 * plunge.c - first flat, then at the bottom of 40,000 bytes of stack, again and again.
 *
 * plunge SECONDS: a third of that time of CPU time in plunge_flat(), the rest in plunge_deep().
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { FRAMES = 40, FRAME_BYTES = 1000 };

static volatile uint64_t sink;

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline __attribute__((always_inline)) void spin_until(double end)
{
    uint64_t x = sink;
    while (cpu_seconds() < end)
        for (int i = 0; i < 2000; i++)
            x = x * 6364136223846793005u + 1442695040888963407u;
    sink = x;
}

__attribute__((noinline)) void plunge_flat(double end)
{
    spin_until(end);
    __asm__ volatile("");
}

__attribute__((noinline)) void plunge_deep(double end)
{
    spin_until(end);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static int dive(int frames, double end)
{
    volatile char bytes[FRAME_BYTES];
    bytes[frames] = 1;
    if (frames <= 0)
        plunge_deep(end);
    else
        dive(frames - 1, end);
    return bytes[frames];
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    plunge_flat(seconds / 3);
    return dive(FRAMES, seconds) != 1;
}
