/*
 * runqueue.h - how long the threads of a recording could run and had no CPU.
 *
 * The kernel counts that for each thread in /proc, until the thread has ended. So the recorder
 * reads them now and then, and keeps the last numbers of threads that have ended. Beside the wait
 * stands the CPU time of the same thread: so the share of the program's CPU time that was covered
 * is known, and the wait of the rest is assumed to be like it.
 */
#pragma once
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
struct profile;

struct runqueue_thread {
    int pid, tid;
    bool gone;
    uint64_t cpu_ns, queued_ns;               /* as last seen */
    uint64_t cpu_before_ns, queued_before_ns; /* when the recording began */
};

struct runqueue {
    size_t n_seen; /* rows of the profile's table of threads that are in ours */
    size_t next;   /* where the next look begins */
    uint64_t looked_ns;
    VEC(struct runqueue_thread) threads;
};

/*
 * What the kernel counts of a thread: its CPU time, and how long it could run and had no CPU. False
 * where it has ended.
 */
bool runqueue_read(int pid, int tid, uint64_t *ret_cpu_ns, uint64_t *ret_queued_ns);

/* The recording begins with a process that was held until now: its waits by then do not count. */
void runqueue_begin_at(struct runqueue *q, int pid);

/* The recording begins with a process that runs: what its threads did by then does not count. */
void runqueue_begin_with(struct runqueue *q, int pid);

/* Look at the threads that P has, or some of them where they are many; at most every 100 ms unless
 * NOW. */
void runqueue_look(struct runqueue *q, const struct profile *p, bool now);

/* Look at the first thread of one process now: before it is waited for its last numbers are there.
 */
void runqueue_look_at(struct runqueue *q, int pid);

/*
 * The wait of all threads together, of a program that used CPU_NS. False if less than half of
 * that was covered.
 */
bool runqueue_total(const struct runqueue *q, uint64_t cpu_ns, uint64_t *ret_queued_ns);

void runqueue_done(struct runqueue *q);
