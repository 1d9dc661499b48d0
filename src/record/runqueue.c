#include "record/runqueue.h"
#include "base/clock.h"
#include "model/profile.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOOK_MS = 100, LOOKS_MAX = 64 };

/* "CPU_NS QUEUED_NS TURNS" */
bool runqueue_read(int pid, int tid, uint64_t *ret_cpu_ns, uint64_t *ret_queued_ns)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", pid, tid);
    FILE *in = fopen(path, "re");
    if (!in)
        return false;
    bool ok = fscanf(in, "%" SCNu64 " %" SCNu64, ret_cpu_ns, ret_queued_ns) == 2;
    fclose(in);
    return ok;
}

static bool read_schedstat(struct runqueue_thread *t)
{
    uint64_t cpu, queued;
    if (!runqueue_read(t->pid, t->tid, &cpu, &queued) ||
        cpu < t->cpu_ns) /* another thread of the same number */
        return false;
    t->cpu_ns = cpu;
    t->queued_ns = queued;
    return true;
}

static struct runqueue_thread *runqueue_find(struct runqueue *q, int tid)
{
    for (size_t i = q->threads.n; i-- > 0;)
        if (q->threads.at[i].tid == tid && !q->threads.at[i].gone)
            return &q->threads.at[i];
    return NULL;
}

static void runqueue_add(struct runqueue *q, int pid, int tid)
{
    struct runqueue_thread new = {.pid = pid, .tid = tid};
    if (pid <= 0 || tid <= 0 || runqueue_find(q, tid) || !read_schedstat(&new))
        return;
    *vec_push(&q->threads) = new;
}

/* A thread that has got another name is another row of the profile. */
static void runqueue_add_new(struct runqueue *q, const struct profile *p)
{
    q->n_seen = q->n_seen ? q->n_seen : 1; /* [0] = not known */
    for (; q->n_seen < p->threads.n; q->n_seen++) {
        const struct thread *t = &p->threads.at[q->n_seen];
        runqueue_add(q, profile_pid(p, t), t->tid);
    }
}

void runqueue_begin_with(struct runqueue *q, int pid)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    for (struct dirent *e; tasks && (e = readdir(tasks));)
        runqueue_add(q, pid, atoi(e->d_name));
    if (tasks)
        closedir(tasks);
    for (size_t i = 0; i < q->threads.n; i++) {
        q->threads.at[i].cpu_before_ns = q->threads.at[i].cpu_ns;
        q->threads.at[i].queued_before_ns = q->threads.at[i].queued_ns;
    }
}

void runqueue_begin_at(struct runqueue *q, int pid)
{
    runqueue_add(q, pid, pid);
    struct runqueue_thread *t = runqueue_find(q, pid);
    if (t)
        t->queued_before_ns = t->queued_ns;
}

void runqueue_look(struct runqueue *q, const struct profile *p, bool now)
{
    uint64_t now_ns = clock_kernel_ns();
    size_t n = q->threads.n, looks = now || n < LOOKS_MAX ? n : LOOKS_MAX;
    if (!now && now_ns - q->looked_ns < LOOK_MS * 1000000ull)
        return;
    q->looked_ns = now_ns;
    for (size_t tried = 0; looks && tried < n; tried++) {
        struct runqueue_thread *t = &q->threads.at[q->next++ % n];
        if (t->gone)
            continue;
        t->gone = !read_schedstat(t);
        looks--;
    }
    q->next = n ? q->next % n : 0;
    runqueue_add_new(q, p);
}

void runqueue_look_at(struct runqueue *q, int pid)
{
    struct runqueue_thread *t = runqueue_find(q, pid);
    if (t)
        read_schedstat(t);
    else
        runqueue_add(q, pid, pid);
}

bool runqueue_total(const struct runqueue *q, uint64_t cpu_ns, uint64_t *ret_queued_ns)
{
    double seen_ns = 0, queued_ns = 0;
    for (size_t i = 0; i < q->threads.n; i++) {
        seen_ns += (double)(q->threads.at[i].cpu_ns - q->threads.at[i].cpu_before_ns);
        queued_ns += (double)(q->threads.at[i].queued_ns - q->threads.at[i].queued_before_ns);
    }
    if (seen_ns <= 0 || seen_ns < 0.5 * (double)cpu_ns)
        return false;
    double rest = (double)cpu_ns > seen_ns ? (double)cpu_ns / seen_ns : 1;
    *ret_queued_ns = (uint64_t)(queued_ns * rest);
    return true;
}

void runqueue_done(struct runqueue *q)
{
    vec_done(&q->threads);
}
