/* What a scope costs next to two readings of the CPU's counter: the best of many short rounds. */
#include "../include/kelvin.h"

#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

enum { SPANS = 20000, ROUNDS = 200 };

static volatile uint64_t sink;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void read_twice(void)
{
    for (int i = 0; i < SPANS; i++) {
        uint64_t start = __rdtsc();
        __asm__ volatile("" ::: "memory");
        sink = __rdtsc() - start;
    }
}

static void open_scopes(void)
{
    for (int i = 0; i < SPANS; i++) {
        KELVIN_SCOPE("span");
    }
}

int main(void)
{
    struct timespec pause = {0, 10000000}; /* for the recorder: what is lost costs less */
    double bare = 1e9, scope = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t a = now_ns();
        read_twice();
        uint64_t b = now_ns();
        open_scopes();
        uint64_t c = now_ns();
        bare = (double)(b - a) / SPANS < bare ? (double)(b - a) / SPANS : bare;
        scope = (double)(c - b) / SPANS < scope ? (double)(c - b) / SPANS : scope;
        nanosleep(&pause, NULL);
    }
    printf("%.2f %.2f\n", bare, scope);
    return 0;
}
