#include "record/perfthin.h"

#include "base/clock.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Less is not worth a turn; turning may take one part in so many of the time. */
enum { LEAST_OFF_NS = 1000000, THIN_COST = 50 };

int perfthin_open(struct perfthin *t, int epoll_fd)
{
    struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.fd = -1};
    *t = (struct perfthin){.start_ns = clock_kernel_ns(), .random = clock_kernel_ns()};
    t->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return t->timer_fd < 0 ? -1 : epoll_ctl(epoll_fd, EPOLL_CTL_ADD, t->timer_fd, &ev);
}

void perfthin_close(struct perfthin *t)
{
    if (t->timer_fd >= 0)
        close(t->timer_fd);
    t->timer_fd = -1;
}

/* 0.5 to 1.5, evenly. */
static double random_factor(struct perfthin *t)
{
    t->random = t->random * 6364136223846793005u + 1442695040888963407u;
    return 0.5 + (double)(t->random >> 40) / (double)(1 << 24);
}

static void turn_off(struct perfthin *t, uint64_t now_ns, double off_ns)
{
    uint64_t ns = (uint64_t)(off_ns * random_factor(t));
    struct itimerspec when = {.it_value = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)}};
    t->off = true;
    t->until_ns = now_ns + ns;
    timerfd_settime(t->timer_fd, 0, &when, NULL);
}

/* Whether the stacks of this turn came so fast that it is time for a rest; how long. */
static double rest_ns(const struct perfthin *t, uint64_t stacks, uint64_t now_ns)
{
    double fair_ns = (double)(stacks - t->start_stacks) * (1e9 / PERFTHIN_HZ);
    double rest = fair_ns - (double)(now_ns - t->start_ns);
    uint64_t cost_ns = t->cost_ns[0] > t->cost_ns[1] ? t->cost_ns[0] : t->cost_ns[1];
    double least = (double)cost_ns * THIN_COST;
    if (rest < LEAST_OFF_NS)
        return 0;
    return rest < least ? least : rest;
}

bool perfthin_step(struct perfthin *t, uint64_t stacks, uint64_t now_ns)
{
    if (t->off) {
        if (now_ns < t->until_ns)
            return false;
        t->off = false;
        t->start_ns = now_ns;
        t->start_stacks = stacks;
        return true;
    }
    if (stacks - t->start_stacks < PERFTHIN_STACKS)
        return false;
    double rest = rest_ns(t, stacks, now_ns);
    if (rest > 0)
        turn_off(t, now_ns, rest);
    else
        t->start_ns = now_ns, t->start_stacks = stacks;
    return t->off;
}

void perfthin_took(struct perfthin *t, uint64_t ns)
{
    uint64_t *last = &t->last_ns[t->off];
    t->cost_ns[t->off] = ns < *last ? ns : *last;
    *last = ns;
}
