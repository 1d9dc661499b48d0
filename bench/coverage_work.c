/*
 * coverage_work.c - a program whose shares are known: 60, 30 and 10 % of its CPU time in the long
 * run, in phases of random length that come in random order.
 *
 * Which part comes next and how long it lasts do not depend on each other, so the chances are the
 * shares. One run deviates from them as chance has it; an interval must allow for that.
 *
 * Usage: coverage_work SECONDS MEAN_PHASE_US SEED
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

static double cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* The constant keeps the compiler from making one function of three. */
#define PART(name, constant)                                    \
    __attribute__((noinline)) static void name(double until_us) \
    {                                                           \
        uint64_t x = sink + 1;                                  \
        do                                                      \
            for (int i = 0; i < 4000; i++)                      \
                x = x * 6364136223846793005u + (constant);      \
        while (cpu_us() < until_us);                            \
        sink = x;                                               \
    }

PART(part_sixty, 1442695040888963407u)
PART(part_thirty, 1442695040888963409u)
PART(part_ten, 1442695040888963411u)

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1, mean_us = argc > 2 ? atof(argv[2]) : 5000;
    srand48(argc > 3 ? atol(argv[3]) : 1);
    for (double at_us = cpu_us(); at_us < seconds * 1e6; at_us = cpu_us()) {
        double which = drand48(), until_us = at_us - mean_us * log(1 - drand48());
        (which < 0.6 ? part_sixty : which < 0.9 ? part_thirty : part_ten)(until_us);
    }
    return 0;
}
