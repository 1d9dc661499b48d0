/*
 * locks_work.c - locks that are free, and one that four threads want.
 *
 *     pair      nanoseconds of a lock and unlock, and of two, one inside the other: the best of 40
 *     contend   seconds of CPU time of four threads that need one mutex for half of their work
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TIMES = 250000, ROUNDS = 40, THREADS = 4, WORK = 400000 };

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static volatile long shared;

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
    for (int i = 0; i < WORK; i++) {
        pthread_mutex_lock(&outer);
        for (int k = 0; k < 100; k++)
            shared++;
        pthread_mutex_unlock(&outer);
        for (volatile int k = 0; k < 100; k++)
            ;
    }
    return arg;
}

static void contend(void)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, contend_thread, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    printf("%.6f\n", now_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "pair") == 0)
        pair();
    else
        contend();
    return 0;
}
