#include "record/perfbirths.h"
#include "base/clock.h"
#include "record/taskbits.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>

/* They are opened for so many threads at most, and stay for so long when nothing ends any more. */
enum { CLOCKS_MAX = 2048, STAY_NS = 500000000 };

/* Setting periods may take one part in so many of the time; more often is not needed. */
enum { DRAW_COST = 100, DRAW_NS = 2000000 };

/* All that was in the rings when they were closed is taken after so long. */
enum { SETTLED_NS = 300000000 };

void perfbirths_open(struct perfbirths *b, const struct perfattr *a, size_t n, int epoll_fd)
{
    struct epoll_event edge = {.events = EPOLLIN | EPOLLET, .data.fd = -1};
    *b = PERFBIRTHS_NONE;
    while (b->event < n && !a[b->event].clock)
        b->event++;
    if (b->event == n)
        return;
    b->attr = a[b->event];
    b->clock.period_ns = perfevents_period(b->attr.attr.sample_period, 1, 0);
    b->random = clock_kernel_ns();
    b->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    b->able = perfattr_read_age(&b->attr) && b->timer_fd >= 0 &&
              epoll_ctl(epoll_fd, EPOLL_CTL_ADD, b->timer_fd, &edge) == 0;
    struct perf_event_attr *t = &b->attr.attr;
    t->mmap = t->mmap2 = t->comm = t->comm_exec = t->task = t->build_id = 0;
    t->disabled = t->enable_on_exec = 0;
    b->alive = taskbits_new();
    b->young = taskbits_new();
}

static void close_clocks(struct perfbirths *b)
{
    for (size_t i = 0; i < b->fds.n; i++)
        close(b->fds.at[i]);
    b->fds.n = 0;
    b->opened_ns = 0;
    b->closed_ns = clock_kernel_ns();
    memset(b->young, 0, TASKBITS_BYTES);
}

void perfbirths_close(struct perfbirths *b)
{
    for (size_t i = 0; i < b->fds.n; i++)
        close(b->fds.at[i]);
    vec_done(&b->fds);
    vec_done(&b->ids);
    free(b->alive);
    free(b->young);
    if (b->timer_fd >= 0)
        close(b->timer_fd);
    *b = PERFBIRTHS_NONE;
}

void perfbirths_stop(struct perfbirths *b)
{
    for (size_t i = 0; i < b->fds.n; i++)
        ioctl(b->fds.at[i], PERF_EVENT_IOC_DISABLE, 0);
}

void perfbirths_born(struct perfbirths *b, int tid, uint64_t at_ns)
{
    if (!b->able)
        return;
    taskbits_set(b->alive, tid, true);
    taskbits_set(b->young, tid, b->opened_ns && at_ns >= b->opened_ns);
}

void perfbirths_ended(struct perfbirths *b, int tid)
{
    if (!b->able)
        return;
    taskbits_set(b->alive, tid, false);
    taskbits_set(b->young, tid, false);
    b->clock.ends++;
}

/* --- the clocks --- */

static uint64_t draw_period(struct perfbirths *b)
{
    b->random = b->random * 6364136223846793005u + 1442695040888963407u;
    return birthclock_draw(&b->clock, (double)(b->random >> 40) / (double)(1 << 24));
}

/* False where no more of them can be had. Threads that end meanwhile need none. */
static bool open_clock(struct perfbirths *b, const struct perfevents *e, int tid, size_t ring)
{
    uint64_t id;
    b->attr.attr.sample_period = draw_period(b);
    int fd = perfattr_open(&b->attr, tid, e->cpus.at[ring]);
    if (fd < 0)
        return errno == ESRCH || errno == EACCES || errno == EPERM;
    if (b->fds.n == CLOCKS_MAX || ioctl(fd, PERF_EVENT_IOC_ID, &id) != 0 ||
        ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, e->fds[SET_WATCH].at[ring]) != 0) {
        close(fd);
        return false;
    }
    *vec_push(&b->fds) = fd;
    *vec_push(&b->ids) = id;
    return true;
}

static bool open_clocks_of(struct perfbirths *b, const struct perfevents *e, int tid)
{
    bool ok = true;
    for (size_t ring = 0; ok && ring < e->rings.n; ring++)
        ok = open_clock(b, e, tid, ring);
    return ok;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Who is born to a thread that has none yet is not young, and neither are its children. */
static void open_clocks(struct perfbirths *b, const struct perfevents *e)
{
    const uint64_t *words = (const uint64_t *)(const void *)b->alive;
    bool ok = true;
    b->ids.n = 0;
    for (int w = 0; ok && w < TASKBITS_NUMBERS / 64; w++)
        for (int bit = 0; ok && words[w] >> bit && bit < 64; bit++)
            if (words[w] >> bit & 1)
                ok = open_clocks_of(b, e, w * 64 + bit);
    qsort(b->ids.at, b->ids.n, sizeof *b->ids.at, compare_numbers);
    b->opened_ns = clock_kernel_ns();
    if (!ok) {
        close_clocks(b);
        b->able = false;
    }
}

static void set_periods(struct perfbirths *b, uint64_t now_ns)
{
    for (size_t i = 0; i < b->fds.n; i++) {
        uint64_t period_ns = draw_period(b);
        ioctl(b->fds.at[i], PERF_EVENT_IOC_PERIOD, &period_ns);
    }
    uint64_t rest_ns = DRAW_COST * (clock_kernel_ns() - now_ns);
    rest_ns = rest_ns > DRAW_NS ? rest_ns : DRAW_NS;
    struct itimerspec when = {
        .it_value = {(time_t)(rest_ns / 1000000000u), (long)(rest_ns % 1000000000u)}};
    timerfd_settime(b->timer_fd, 0, &when, NULL);
    b->next_ns = now_ns + rest_ns;
}

void perfbirths_step(struct perfbirths *b, const struct perfevents *e, size_t stack_bytes)
{
    if (!b->able)
        return;
    uint64_t now_ns = clock_kernel_ns();
    if (birthclock_step(&b->clock))
        b->wanted_ns = now_ns;
    bool wanted = b->wanted_ns && now_ns < b->wanted_ns + STAY_NS;
    if (b->opened_ns && !wanted)
        close_clocks(b);
    else if (b->opened_ns && now_ns >= b->next_ns)
        set_periods(b, now_ns);
    else if (wanted && !b->opened_ns && now_ns >= b->closed_ns + SETTLED_NS) {
        b->attr.attr.sample_stack_user = (uint32_t)stack_bytes;
        open_clocks(b, e);
    }
}

bool perfbirths_has(const struct perfbirths *b, uint64_t id)
{
    return b->ids.n && bsearch(&id, b->ids.at, b->ids.n, sizeof id, compare_numbers);
}

bool perfbirths_wants(const struct perfbirths *b, bool further, int tid)
{
    return !b->able || further == (b->opened_ns && taskbits_has(b->young, tid));
}
