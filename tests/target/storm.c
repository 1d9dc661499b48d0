/*
 * storm.c - many short processes that know how much CPU time they used.
 *
 * storm PROCESSES LOW_US HIGH_US: forks one after the other; each works LOW_US to HIGH_US of CPU
 * time, a quarter of it in storm_first(), then the rest in storm_last(), and ends. Prints the CPU
 * time of all, the parent's included, in nanoseconds.
 */
#define SPIN_CLOCK CLOCK_PROCESS_CPUTIME_ID
#include "spin.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) void storm_first(int64_t until_ns)
{
    spin_until(until_ns);
    __asm__ volatile("");
}

__attribute__((noinline)) void storm_last(int64_t until_ns)
{
    spin_until(until_ns);
    __asm__ volatile("" ::: "memory");
}

static int64_t usage_ns(int who)
{
    struct rusage u;
    getrusage(who, &u);
    return ((int64_t)u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
           ((int64_t)u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

int main(int argc, char **argv)
{
    int n = argc > 3 ? atoi(argv[1]) : 0;
    int64_t low_ns = argc > 3 ? atoll(argv[2]) * 1000 : 0;
    int64_t high_ns = argc > 3 ? atoll(argv[3]) * 1000 : 0;
    for (int i = 0; i < n; i++) {
        int64_t ns = low_ns + (int64_t)((double)(high_ns - low_ns) * (rand() % 1000) / 1000);
        pid_t pid = fork();
        if (pid == 0) {
            int64_t start_ns = cpu_ns();
            storm_first(start_ns + ns / 4);
            storm_last(start_ns + ns);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    printf("%lld\n", (long long)(usage_ns(RUSAGE_SELF) + usage_ns(RUSAGE_CHILDREN)));
    return 0;
}
