/*
 * What a scope costs.
 *
 *     scopes             next to two readings of the CPU's counter: the best of many short rounds
 *     scopes threads N   CPU time of a scope in each of N threads at once: the median of them
 *     scopes flood R S   R spans a second for S seconds, and how many that were
 *     scopes work N      N pieces of work of some 10 us in a scope each, and their CPU time
 */
#include "../include/kelvin.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

enum { SPANS = 20000, ROUNDS = 200, THREADS_MAX = 64 };

static volatile uint64_t sink;

static uint64_t time_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now_ns(void)
{
    return time_ns(CLOCK_MONOTONIC);
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

static void rest(void)
{
    struct timespec pause = {0, 10000000}; /* for the recorder: what is lost costs less */
    nanosleep(&pause, NULL);
}

static void cost(void)
{
    double bare = 1e9, scope = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t a = now_ns();
        read_twice();
        uint64_t b = now_ns();
        open_scopes();
        uint64_t c = now_ns();
        bare = (double)(b - a) / SPANS < bare ? (double)(b - a) / SPANS : bare;
        scope = (double)(c - b) / SPANS < scope ? (double)(c - b) / SPANS : scope;
        rest();
    }
    printf("%.2f %.2f\n", bare, scope);
}

/* The best round of a thread, by its own CPU time: others may have the CPU meanwhile. */
static void *one_of_many(void *ret)
{
    double best = 1e9;
    for (int i = 0; i < ROUNDS / 2; i++) {
        uint64_t a = time_ns(CLOCK_THREAD_CPUTIME_ID);
        open_scopes();
        uint64_t b = time_ns(CLOCK_THREAD_CPUTIME_ID);
        best = (double)(b - a) / SPANS < best ? (double)(b - a) / SPANS : best;
        rest();
    }
    *(double *)ret = best;
    return NULL;
}

static void threads(int n)
{
    pthread_t thread[THREADS_MAX];
    double best[THREADS_MAX];
    for (int i = 0; i < n; i++)
        pthread_create(&thread[i], NULL, one_of_many, &best[i]);
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && best[k] < best[k - 1]; k--) {
            double swapped = best[k];
            best[k] = best[k - 1];
            best[k - 1] = swapped;
        }
    printf("%.2f\n", best[n / 2]);
}

static void flood(double per_second, double seconds)
{
    enum { AT_ONCE = 100 };
    uint64_t start = now_ns(), n = 0;
    for (double s = 0; s < seconds; s = (double)(now_ns() - start) / 1e9)
        for (; (double)n < s * per_second; n += AT_ONCE)
            for (int i = 0; i < AT_ONCE; i++) {
                KELVIN_SCOPE("span");
            }
    printf("%llu %.3f\n", (unsigned long long)n, (double)(now_ns() - start) / 1e9);
}

static void work(long n)
{
    for (long i = 0; i < n; i++) {
        KELVIN_SCOPE("work");
        for (volatile int k = 0; k < 15000; k++)
            ;
    }
    printf("%.6f\n", (double)time_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "threads") == 0)
        threads(atoi(argv[2]) < THREADS_MAX ? atoi(argv[2]) : THREADS_MAX);
    else if (argc > 3 && strcmp(argv[1], "flood") == 0)
        flood(atof(argv[2]), atof(argv[3]));
    else if (argc > 2 && strcmp(argv[1], "work") == 0)
        work(atol(argv[2]));
    else
        cost();
    return 0;
}
