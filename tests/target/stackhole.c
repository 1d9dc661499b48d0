/*
 * stackhole.c - a thread that works below a large buffer it never touches.
 *
 * stackhole SECONDS: the pages of the buffer are not in memory, and the callers' frames lie beyond
 * them.
 */
#define _GNU_SOURCE
#define SPIN_CLOCK CLOCK_THREAD_CPUTIME_ID
#include "spin.h"

#include <pthread.h>
#include <stdlib.h>

enum { BUFFER_BYTES = 20000 };

static double seconds;

__attribute__((noinline)) void hole_work(char *buffer)
{
    spin_until(cpu_ns() + (int64_t)(seconds * 1e9));
    __asm__ volatile("" ::"r"(buffer) : "memory");
}

__attribute__((noinline)) void hole_buffer(void)
{
    char buffer[BUFFER_BYTES];
    hole_work(buffer);
    __asm__ volatile("" ::"r"(buffer) : "memory");
}

__attribute__((noinline)) void hole_caller(void)
{
    hole_buffer();
    __asm__ volatile("" ::: "memory");
}

static void *run(void *unused)
{
    hole_caller();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    seconds = argc > 1 ? atof(argv[1]) : 1;
    return pthread_create(&thread, NULL, run, NULL) != 0 || pthread_join(thread, NULL) != 0;
}
