#include "suite/threadtimes.h"

#include "base/clock.h"
#include "record/runqueue.h"

/* Shorter than this, the kernel's ticks are too coarse for a part of it. */
enum { LEAST_NS = 100000000 };

/* Threads that nobody has asked for longest make room. */
enum { THREADS_MAX = 4096 };

static void forget_first(struct threadtimes *t)
{
    vec_done(&t->threads.at[0].readings);
    t->threads.n--;
    memmove(t->threads.at, t->threads.at + 1, t->threads.n * sizeof *t->threads.at);
}

static struct threadtimes_thread *find_thread(const struct threadtimes *t, int tid)
{
    for (size_t i = 0; i < t->threads.n; i++)
        if (t->threads.at[i].tid == tid)
            return &t->threads.at[i];
    return NULL;
}

bool threadtimes_is_new(const struct threadtimes *t, int tid)
{
    return !find_thread(t, tid);
}

static struct threadtimes_thread *threadtimes_thread_of(struct threadtimes *t, int tid)
{
    struct threadtimes_thread *known = find_thread(t, tid);
    if (known)
        return known;
    if (t->threads.n == THREADS_MAX)
        forget_first(t);
    struct threadtimes_thread *new = vec_push(&t->threads);
    *new = (struct threadtimes_thread){.tid = tid};
    return new;
}

/* Of what was read before FROM_NS only the last is needed, if it is not much older than that. */
static void forget_old(struct threadtimes_thread *t, uint64_t from_ns, uint64_t window_ns)
{
    size_t n = 0;
    if (!t->readings.n)
        return;
    while (n + 1 < t->readings.n && t->readings.at[n + 1].time_ns <= from_ns)
        n++;
    n += t->readings.at[n].time_ns + window_ns / 2 < from_ns;
    t->readings.n -= n;
    memmove(t->readings.at, t->readings.at + n, t->readings.n * sizeof *t->readings.at);
}

bool threadtimes_ask(struct threadtimes *t, int pid, int tid, uint64_t window_ns,
                     double ret[THREAD_TIMES])
{
    struct threadtimes_reading now = {.time_ns = clock_kernel_ns()};
    if (!runqueue_read(pid, tid, &now.cpu_ns, &now.queued_ns))
        return false;
    struct threadtimes_thread *thread = threadtimes_thread_of(t, tid);
    size_t n = thread->readings.n;
    if (n && thread->readings.at[n - 1].cpu_ns > now.cpu_ns) /* another one of the same number */
        thread->readings.n = 0;
    forget_old(thread, now.time_ns > window_ns ? now.time_ns - window_ns : 0, window_ns);
    *vec_push(&thread->readings) = now;
    const struct threadtimes_reading *from = &thread->readings.at[0];
    double all = (double)(now.time_ns - from->time_ns);
    if (all < LEAST_NS)
        return false;
    double running = (double)(now.cpu_ns - from->cpu_ns) / all;
    double runnable = (double)(now.queued_ns - from->queued_ns) / all;
    ret[TIME_RUNNING] = running < 1 ? running : 1;
    ret[TIME_RUNNABLE] = runnable < 1 - ret[TIME_RUNNING] ? runnable : 1 - ret[TIME_RUNNING];
    ret[TIME_BLOCKED] = 1 - ret[TIME_RUNNING] - ret[TIME_RUNNABLE];
    return true;
}

void threadtimes_done(struct threadtimes *t)
{
    for (size_t i = 0; i < t->threads.n; i++)
        vec_done(&t->threads.at[i].readings);
    vec_done(&t->threads);
}
