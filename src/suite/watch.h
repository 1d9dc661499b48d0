/*
 * watch.h - the last seconds of a process or of the machine, as a profile that is always at hand:
 * what `kelvin top` shows.
 *
 *     watch_open()    events are on
 *     watch_fd()      readable when there is something to take, at least every tenth of a second
 *     watch_take()    take samples
 *     watch_select()  the samples of the window, with names; good until the next call
 *     watch_times()   how a thread spent the window: running, wanting a CPU, waiting
 */
#pragma once
#include "analysis/selection.h"
#include "suite/threadtimes.h"

struct watch;

struct watch_opts {
    int pid;                          /* 0 = the machine, or what of it the next three leave */
    const char *cpus, *cgroup, *user; /* as in record_opts */
    double rate_hz, window_s;
};

int watch_open(struct watch **ret, const struct watch_opts *o, struct err *err);
void watch_close(struct watch *w); /* NULL is fine */

int watch_fd(const struct watch *w);
int watch_take(struct watch *w, struct err *err);

/* The present content of the window. */
struct watch_state {
    struct selection selection;
    double seconds;     /* that the window covers by now */
    double cpus;        /* that were used meanwhile, by the samples */
    size_t n_cpus;      /* of the machine, or of those asked for */
    double idle;        /* share of their time; only of the machine */
    bool idle_known;    /* not before the kernel's clock of it has moved on */
    uint64_t lost;      /* samples, so far */
    bool kernel_hidden; /* no right to see it */
};

/* Of one process all threads are in the profile, also those that have no sample. */
void watch_select(struct watch *w, struct watch_state *ret);

/* As threadtimes_ask(), of a thread of the profile. */
bool watch_times(struct watch *w, struct thread_id thread, double ret[THREAD_TIMES]);
