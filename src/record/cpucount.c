#include "record/cpucount.h"
#include "base/clock.h"
#include "model/profile.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 100 };

static bool read_process_clock(int pid, uint64_t *ret_ns)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return false;
    *ret_ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
    return true;
}

/* Of those that ended and were waited for, in ticks of 10 ms: the 16th and 17th field. */
static uint64_t read_children(int pid)
{
    char path[40], line[1024];
    unsigned long long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    autofclose FILE *f = fopen(path, "re");
    const char *behind = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    if (!behind ||
        sscanf(behind + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %llu %llu", &user,
               &system) != 2)
        return 0;
    return (user + system) * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* A clock that goes back is that of another process of the same number. */
static void look_at_process(struct cpucount_process *p)
{
    uint64_t own_ns;
    p->gone = p->gone || !read_process_clock(p->pid, &own_ns) || own_ns < p->own_ns;
    if (!p->gone)
        p->own_ns = own_ns;
}

static void look_at_first(struct cpucount *c)
{
    uint64_t children_ns = c->processes.at[0].gone ? 0 : read_children(c->processes.at[0].pid);
    c->children_ns = children_ns > c->children_ns ? children_ns : c->children_ns;
}

static bool cpucount_has(const struct cpucount *c, int pid)
{
    for (size_t i = c->processes.n; i-- > 0;)
        if (c->processes.at[i].pid == pid && !c->processes.at[i].gone)
            return true;
    return false;
}

void cpucount_begin(struct cpucount *c, int pid)
{
    struct cpucount_process first = {.pid = pid};
    look_at_process(&first);
    first.before_ns = first.own_ns;
    *vec_push(&c->processes) = first;
    look_at_first(c);
    c->children_before_ns = c->children_ns;
}

/* Processes that have threads: others are in the profile as parents. */
static void add_new_processes(struct cpucount *c, const struct profile *p)
{
    c->n_seen = c->n_seen ? c->n_seen : 1; /* [0] = not known */
    for (; c->n_seen < p->threads.n; c->n_seen++) {
        struct cpucount_process new = {.pid = profile_pid(p, &p->threads.at[c->n_seen])};
        if (new.pid <= 0 || cpucount_has(c, new.pid))
            continue;
        look_at_process(&new);
        if (!new.gone)
            *vec_push(&c->processes) = new;
    }
}

void cpucount_look(struct cpucount *c, const struct profile *p, bool now)
{
    uint64_t now_ns = clock_kernel_ns();
    if (!c->processes.n || (!now && now_ns - c->looked_ns < LOOK_MS * 1000000ull))
        return;
    c->looked_ns = now_ns;
    for (size_t i = 0; i < c->processes.n; i++)
        look_at_process(&c->processes.at[i]);
    look_at_first(c);
    add_new_processes(c, p);
}

/* A child that was seen and then waited for is in both sums, so the larger one it is. */
uint64_t cpucount_total(const struct cpucount *c)
{
    uint64_t all_ns = 0, first_ns = 0;
    for (size_t i = 0; i < c->processes.n; i++) {
        all_ns += c->processes.at[i].own_ns - c->processes.at[i].before_ns;
        first_ns = i ? first_ns : all_ns;
    }
    first_ns += c->children_ns - c->children_before_ns;
    return all_ns > first_ns ? all_ns : first_ns;
}

void cpucount_done(struct cpucount *c)
{
    vec_done(&c->processes);
}
