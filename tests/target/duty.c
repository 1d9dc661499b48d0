/*
 * duty.c - threads that know how much CPU time they used, and where.
 *
 * duty SECONDS LOOP_US GROUP...: a GROUP is COUNTxPERCENT, so many threads that are on a CPU so
 * much of the time; those of the first are called g0 and run in group_0(), of the second g1. Each
 * loop takes LOOP_US of CPU time, 10.4 % of it in rare_part() and the rest in rest_part(), then
 * sleeps as its duty asks. With DUTY_WAIT in the environment threads are there but wait until
 * somebody sends SIGUSR1. At the end a line for each thread: name, nanoseconds of CPU time,
 * nanoseconds of it in rare_part(), number.
 */
#define _GNU_SOURCE
#define SPIN_CLOCK CLOCK_THREAD_CPUTIME_ID
#include "spin.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 2048, RARE_PERMILLE = 104, GROUPS_MAX = 4 };

struct worker {
    pthread_t thread;
    int group, tid;
    double duty; /* of 1 */
    int64_t cpu_ns, rare_ns;
};

static struct worker workers[THREADS_MAX];
static int64_t end_ns, loop_ns;
static sem_t started;

__attribute__((noinline)) int64_t rare_part(int64_t until_ns)
{
    int64_t now_ns = spin_until(until_ns);
    __asm__ volatile("");
    return now_ns;
}

__attribute__((noinline)) void rest_part(int64_t until_ns)
{
    spin_until(until_ns);
    __asm__ volatile("" ::: "memory");
}

/* Sleeping late is made up for by sleeping less the next time. */
static void pause_for(double duty, int64_t start_ns, int64_t used_ns)
{
    int64_t wake_ns = start_ns + (int64_t)((double)used_ns / duty);
    struct timespec t = {wake_ns / 1000000000, wake_ns % 1000000000};
    if (duty < 1)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void loop_until_end(struct worker *w)
{
    /* Threads of one group do not run all at once. */
    int64_t start_ns = clock_ns(CLOCK_MONOTONIC), first_ns = cpu_ns();
    int64_t at_ns = (int64_t)((double)loop_ns / w->duty * (double)(rand() % 1000) / 1000);
    struct timespec t = {at_ns / 1000000000, at_ns % 1000000000};
    if (w->duty < 1) {
        nanosleep(&t, NULL);
        start_ns += at_ns;
    }
    while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
        int64_t begin_ns = cpu_ns();
        w->rare_ns += rare_part(begin_ns + loop_ns * RARE_PERMILLE / 1000) - begin_ns;
        rest_part(begin_ns + loop_ns);
        pause_for(w->duty, start_ns, cpu_ns() - first_ns);
    }
}

#define GROUP(n)                                               \
    __attribute__((noinline)) void group_##n(struct worker *w) \
    {                                                          \
        loop_until_end(w);                                     \
        __asm__ volatile("" ::"i"(n) : "memory");              \
    }
GROUP(0)
GROUP(1)
GROUP(2)
GROUP(3)

static void (*const groups_run[GROUPS_MAX])(struct worker *) = {group_0, group_1, group_2, group_3};

static void *work(void *arg)
{
    struct worker *w = arg;
    char name[16];
    snprintf(name, sizeof name, "g%d", w->group);
    prctl(PR_SET_NAME, name);
    w->tid = gettid();
    sem_wait(&started);
    groups_run[w->group](w);
    w->cpu_ns = cpu_ns();
    return NULL;
}

static void wait_for_start(void)
{
    sigset_t set;
    int got;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (getenv("DUTY_WAIT"))
        sigwait(&set, &got);
}

static int make_workers(int n_groups, char **groups)
{
    int n = 0;
    for (int g = 0; g < n_groups && g < GROUPS_MAX; g++) {
        int count = 0;
        double percent = 0;
        if (sscanf(groups[g], "%dx%lf", &count, &percent) != 2 || percent <= 0)
            return -1;
        for (int i = 0; i < count && n < THREADS_MAX; i++)
            workers[n++] = (struct worker){.group = g, .duty = percent / 100};
    }
    return n;
}

int main(int argc, char **argv)
{
    int n = argc > 3 ? make_workers(argc - 3, argv + 3) : -1;
    if (n <= 0) {
        fprintf(stderr, "usage: duty SECONDS LOOP_US COUNTxPERCENT...\n");
        return 1;
    }
    sigset_t start;
    sigemptyset(&start);
    sigaddset(&start, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &start, NULL);
    sem_init(&started, 0, 0);
    loop_ns = (int64_t)(atof(argv[2]) * 1e3);
    for (int i = 0; i < n; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    wait_for_start();
    end_ns = clock_ns(CLOCK_MONOTONIC) + (int64_t)(atof(argv[1]) * 1e9);
    for (int i = 0; i < n; i++)
        sem_post(&started);
    for (int i = 0; i < n; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < n; i++)
        printf("g%d %lld %lld %d\n", workers[i].group, (long long)workers[i].cpu_ns,
               (long long)workers[i].rare_ns, workers[i].tid);
    return 0;
}
