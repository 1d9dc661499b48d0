/*
 * split.c - a program that knows where its time goes.
 *
 * Spends 60, 30 and 10 % of its CPU time, by its own thread's clock, in three functions, each
 * under DEPTH levels of recursion, in THREADS threads. Prints what it measured, in percent.
 *
 * Usage: split SECONDS [DEPTH [THREADS]]
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SLICE_NS = 23700000, PARTS = 3 };

static const int shares[PARTS] = {60, 30, 10};

struct job {
    double seconds;
    int depth;
    uint64_t spent_ns[PARTS];
    volatile uint64_t sink;
};

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Some arithmetic that no compiler can leave out; the constant keeps the parts from being merged.
 */
#define WORK(job, constant)                              \
    do {                                                 \
        uint64_t x_ = (job)->sink + 1;                   \
        for (int i_ = 0; i_ < 20000; i_++)               \
            x_ = x_ * 6364136223846793005u + (constant); \
        (job)->sink = x_;                                \
    } while (0)

__attribute__((noinline)) static void part_sixty(struct job *j)
{
    WORK(j, 1442695040888963407u);
}

__attribute__((noinline)) static void part_thirty(struct job *j)
{
    WORK(j, 1442695040888963409u);
}

__attribute__((noinline)) static void part_ten(struct job *j)
{
    WORK(j, 1442695040888963411u);
}

/* Spin in one part until it has what is due to it. The buffer makes frames of different sizes. */
__attribute__((noinline)) static int descend(struct job *j, int part, int depth, uint64_t until_ns)
{
    volatile char frame[64];
    frame[0] = (char)depth;
    if (depth > 0)
        return descend(j, part, depth - 1, until_ns) + frame[0];
    while (j->spent_ns[part] < until_ns) {
        uint64_t start = cpu_ns();
        if (part == 0)
            part_sixty(j);
        else if (part == 1)
            part_thirty(j);
        else
            part_ten(j);
        j->spent_ns[part] += cpu_ns() - start;
    }
    return frame[0];
}

static void *run(void *arg)
{
    struct job *j = arg;
    uint64_t total_ns = (uint64_t)(j->seconds * 1e9);
    for (uint64_t t = SLICE_NS; t <= total_ns; t += SLICE_NS)
        for (int part = 0; part < PARTS; part++)
            descend(j, part, j->depth, t * (uint64_t)shares[part] / 100);
    return NULL;
}

int main(int argc, char **argv)
{
    enum { MAX = 1024 };
    static struct job jobs[MAX];
    static pthread_t threads[MAX];
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    int depth = argc > 2 ? atoi(argv[2]) : 5, n = argc > 3 ? atoi(argv[3]) : 1;
    uint64_t sum[PARTS] = {0}, total = 0;
    n = n < 1 ? 1 : n > MAX ? MAX : n;
    for (int i = 0; i < n; i++)
        jobs[i] = (struct job){.seconds = seconds, .depth = depth};
    for (int i = 1; i < n; i++)
        pthread_create(&threads[i], NULL, run, &jobs[i]);
    run(&jobs[0]);
    for (int i = 1; i < n; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < n; i++)
        for (int part = 0; part < PARTS; part++)
            total += jobs[i].spent_ns[part], sum[part] += jobs[i].spent_ns[part];
    printf("part_sixty %.2f\npart_thirty %.2f\npart_ten %.2f\n",
           100.0 * (double)sum[0] / (double)total, 100.0 * (double)sum[1] / (double)total,
           100.0 * (double)sum[2] / (double)total);
    return 0;
}
