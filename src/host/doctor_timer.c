/*
 * doctor_timer.c - whether the engine `timer` can work: per-thread CPU timers, and how often the
 * kernel looks at them.
 */
#include "base/clock.h"
#include "host/doctor_inner.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { TRY_NS = 100000000 };

/* Burn CPU time until SIGNAL, which is blocked, is pending for this thread. */
static int spin_until(const sigset_t *set)
{
    uint64_t end = clock_thread_cpu_ns() + TRY_NS;
    while (clock_thread_cpu_ns() < end) {
        struct timespec now = {0};
        if (sigtimedwait(set, NULL, &now) > 0)
            return 0;
    }
    return ETIME;
}

/* Let a timer of a millisecond go off once. No handler is set: the signal is taken by hand. */
static int try_timer(const sigset_t *set, int signal_number)
{
    timer_t timer;
    struct sigevent to = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal_number};
    struct itimerspec once = {.it_value = {.tv_nsec = 1000000}};
    to.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &to, &timer) != 0)
        return errno;
    int e = timer_settime(timer, 0, &once, NULL) != 0 ? errno : spin_until(set);
    timer_delete(timer);
    return e;
}

void doctor_probe_timer(struct doctor *d)
{
    sigset_t set, old;
    struct timespec now = {0};
    sigemptyset(&set);
    sigaddset(&set, SIGRTMAX);
    sigprocmask(SIG_BLOCK, &set, &old);
    d->timer = try_timer(&set, SIGRTMAX);
    while (sigtimedwait(&set, NULL, &now) > 0)
        ; /* a late one would end the program */
    sigprocmask(SIG_SETMASK, &old, NULL);
    uint64_t tick_ns = clock_tick_ns();
    d->tick_hz = tick_ns ? (int)((CLOCK_SECOND_NS + tick_ns / 2) / tick_ns) : 0;
}

void doctor_timer(const struct doctor *d, struct doctor_finding *f)
{
    if (d->timer == ETIME)
        doctor_say(f, DOCTOR_NO, "a CPU timer was set but never went off");
    else if (d->timer)
        doctor_say(f, DOCTOR_NO, "timer_create says '%s'", strerror(d->timer));
    else if (d->engines.timer)
        doctor_say(f, DOCTOR_NO, "%s", d->engines.timer);
    else
        doctor_say(f, DOCTOR_OK,
                   "CPU timers of threads work; the kernel ticks at %d Hz, which bounds the rate",
                   d->tick_hz);
}
