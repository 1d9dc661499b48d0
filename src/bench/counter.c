/* counter.c - the CPU's counters; see counter.h. */
#include "bench/counter.h"
#include "base/mem.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

/* The first that is asked for leads. */
static const struct counter_event {
    enum measure measure;
    uint64_t config;
} counter_events[COUNTERS_MAX] = {
    {MEASURE_INSTRUCTIONS, PERF_COUNT_HW_INSTRUCTIONS},
    {MEASURE_CYCLES, PERF_COUNT_HW_CPU_CYCLES},
    {MEASURE_CACHE_MISSES, PERF_COUNT_HW_CACHE_MISSES},
    {MEASURE_BRANCH_MISSES, PERF_COUNT_HW_BRANCH_MISSES},
};

static int open_event(uint64_t config, pid_t pid, bool on_exec, int leader)
{
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = PERF_TYPE_HARDWARE,
        .config = config,
        .disabled = leader < 0,
        .enable_on_exec = leader < 0 && on_exec,
        .inherit = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    return (int)syscall(SYS_perf_event_open, &attr, pid, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

static int counter_open_for(struct counter_group *c, unsigned set, pid_t pid, bool on_exec)
{
    *c = (struct counter_group){0};
    for (int i = 0; i < COUNTERS_MAX; i++) {
        const struct counter_event *e = &counter_events[i];
        if (!(set & COUNTED(e->measure)))
            continue;
        int fd = open_event(e->config, pid, on_exec, c->n ? c->fds[0] : -1);
        if (fd < 0)
            return -1;
        c->fds[c->n] = fd;
        c->what[c->n++] = e->measure;
    }
    return 0;
}

int counter_open(struct counter_group *c, unsigned set, pid_t pid)
{
    return counter_open_for(c, set, pid, true);
}

void counter_close(struct counter_group *c)
{
    for (int i = 0; i < c->n; i++)
        close(c->fds[i]);
    c->n = 0;
}

static double counter_value(int fd)
{
    struct {
        uint64_t value, enabled_ns, running_ns;
    } r;
    if (read(fd, &r, sizeof r) != (ssize_t)sizeof r || r.running_ns < r.enabled_ns)
        return NAN;
    return (double)r.value;
}

void counter_read_all(const struct counter_group *c, double *values)
{
    for (int i = 0; i < c->n; i++)
        values[c->what[i]] = counter_value(c->fds[i]);
}

/* Some virtual machines open a counter and never count. */
bool counter_works(unsigned set, const char **ret_why)
{
    struct counter_group c;
    volatile unsigned work = 0;
    double values[MEASURES];
    unsigned with_work =
        set | COUNTED(MEASURE_INSTRUCTIONS); /* of which it is known what they do */
    if (counter_open_for(&c, with_work, 0, false) != 0) {
        *ret_why = errno == EACCES || errno == EPERM ? "kernel.perf_event_paranoid forbids it"
                   : errno == EINVAL                 ? "this CPU cannot count so much at once"
                                                     : "this machine has no such counter";
        counter_close(&c);
        return false;
    }
    ioctl(c.fds[0], PERF_EVENT_IOC_ENABLE, 0);
    while (work < 100000)
        work = work + 1;
    ioctl(c.fds[0], PERF_EVENT_IOC_DISABLE, 0);
    counter_read_all(&c, values);
    counter_close(&c);
    *ret_why = "the counter stands still";
    return values[MEASURE_INSTRUCTIONS] >= 100000;
}
