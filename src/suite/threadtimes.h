/*
 * threadtimes.h - how threads spent the last seconds: running, wanting a CPU, or waiting.
 *
 * The kernel counts the first two for each thread in /proc, where anyone may read them. A thread is
 * read when somebody asks for it, so that a screen costs as many reads as it has rows; the first
 * answer is not known, later ones are of the time since the oldest reading of the window.
 */
#pragma once
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum thread_time { TIME_RUNNING, TIME_RUNNABLE, TIME_BLOCKED, THREAD_TIMES };

struct threadtimes_reading {
    uint64_t time_ns, cpu_ns, queued_ns;
};

struct threadtimes_thread {
    int tid;
    VEC(struct threadtimes_reading) readings; /* oldest first */
};

/* Zero-initialised: nothing read. */
struct threadtimes {
    VEC(struct threadtimes_thread) threads;
};

/*
 * Read thread TID of process PID now. RET: parts of the time since WINDOW_NS ago. False where that
 * is not known: it is read for the first time, or it has ended.
 */
bool threadtimes_ask(struct threadtimes *t, int pid, int tid, uint64_t window_ns,
                     double ret[THREAD_TIMES]);

/* Whether it was never asked for. */
bool threadtimes_is_new(const struct threadtimes *t, int tid);
void threadtimes_done(struct threadtimes *t);
