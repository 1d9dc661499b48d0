/*
 * fixed.c - a fixed amount of work, timed by the program itself.
 *
 * Usage: fixed ROUNDS. Prints the wall-clock seconds it took.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static uint64_t spin(uint64_t x)
{
    for (int i = 0; i < 10000000; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 10;
    volatile uint64_t sink = 1;
    double start = seconds();
    for (int i = 0; i < rounds; i++)
        sink = spin(sink);
    printf("%.6f\n", seconds() - start);
    return 0;
}
