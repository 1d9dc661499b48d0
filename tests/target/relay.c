/*
 * relay.c - a thread that works, then starts another one and waits for it, again and again.
 *
 * relay TURNS FIRST_US SECOND_US [fork]: the first works FIRST_US of CPU time in relay_first(),
 * then a thread, or with "fork" a process, is born, works SECOND_US in relay_second(), and ends.
 * Prints how many percent of the CPU time of both relay_second() had. They count turns of a loop,
 * as asking for the time would be work of the kernel.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double turns_per_ns;
static int64_t second_ns;
static int64_t *second_used_ns; /* shared with processes */

static int64_t used_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void turn(double n)
{
    for (volatile int64_t i = 0; i < (int64_t)n; i++)
        continue;
}

__attribute__((noinline)) static void relay_first(int64_t ns)
{
    turn((double)ns * turns_per_ns);
    __asm__ volatile("");
}

__attribute__((noinline)) static void relay_second(int64_t ns)
{
    turn((double)ns * turns_per_ns);
    __asm__ volatile("" ::: "memory");
}

/* The fastest of a few tries, as others may disturb. */
static void calibrate(void)
{
    enum { TURNS = 200000 };
    for (int i = 0; i < 5; i++) {
        int64_t before_ns = used_ns();
        turn(TURNS);
        double rate = (double)TURNS / (double)(used_ns() - before_ns);
        turns_per_ns = rate > turns_per_ns ? rate : turns_per_ns;
    }
}

static void *run_second(void *unused)
{
    int64_t before_ns = used_ns();
    relay_second(second_ns);
    *second_used_ns += used_ns() - before_ns;
    return unused;
}

static void pass_on(int in_process)
{
    pthread_t thread;
    if (!in_process) {
        pthread_create(&thread, NULL, run_second, NULL);
        pthread_join(thread, NULL);
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        run_second(NULL);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    int turns = atoi(argv[1]);
    int64_t first_ns = atoll(argv[2]) * 1000, first_used_ns = 0;
    second_ns = atoll(argv[3]) * 1000;
    second_used_ns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    calibrate();
    for (int i = 0; i < turns; i++) {
        int64_t before_ns = used_ns();
        relay_first(first_ns);
        first_used_ns += used_ns() - before_ns;
        pass_on(argc > 4);
    }
    printf("%.2f\n", 100 * (double)*second_used_ns / (double)(first_used_ns + *second_used_ns));
    return 0;
}
