/*
 * locks_work.c - locks that are free, and one that four threads want.
 *
 *     pair      nanoseconds of a lock and unlock, and of two, one inside the other: the best of 40
 *     contend N   four threads that need one mutex for half of their work, N increments each time:
 *                 how often they got it per second of wall time, and per second of CPU time, in
 *                 the third of a second after all have begun
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMES = 250000, ROUNDS = 40, THREADS = 4 };

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static volatile long shared, got[THREADS][8]; /* a cache line for each thread */
static volatile bool over;
static int work = 100;

static double now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double pair_ns(int nested)
{
    double start = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&outer);
        if (nested) {
            pthread_mutex_lock(&inner);
            pthread_mutex_unlock(&inner);
        }
        pthread_mutex_unlock(&outer);
    }
    return (now_ns(CLOCK_THREAD_CPUTIME_ID) - start) / TIMES;
}

static void pair(void)
{
    double best[2] = {1e9, 1e9};
    for (int i = 0; i < 2 * ROUNDS; i++) {
        double ns = pair_ns(i % 2);
        best[i % 2] = ns < best[i % 2] ? ns : best[i % 2];
    }
    printf("%.3f %.3f\n", best[0], best[1]);
}

static void *contend_thread(void *arg)
{
    volatile long *n = arg;
    for (; !over; ++*n) {
        pthread_mutex_lock(&outer);
        for (int k = 0; k < work; k++)
            shared++;
        pthread_mutex_unlock(&outer);
        for (volatile int k = 0; k < work; k++)
            ;
    }
    return arg;
}

static long count_locks(void)
{
    long n = 0;
    for (int i = 0; i < THREADS; i++)
        n += got[i][0];
    return n;
}

static void nap_ms(long ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

static void contend(void)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, contend_thread, (void *)got[i]);
    nap_ms(20);
    long before = count_locks();
    double wall = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    nap_ms(333);
    double n = (double)(count_locks() - before);
    wall = now_ns(CLOCK_MONOTONIC) - wall;
    cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    over = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    printf("%.1f %.1f\n", n / wall * 1e9, n / cpu * 1e9);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "pair") == 0)
        pair();
    else {
        work = argc > 2 ? atoi(argv[2]) : work;
        contend();
    }
    return 0;
}
