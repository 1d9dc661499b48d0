/*
 * waitinsight.h - what stands out in the waits of a program, and what to try.
 *
 *     no-cpu        threads that could run had no CPU for much of the time they wanted one
 *     stuck-on-locks  threads that wait for a lock from the beginning to the end
 *     lock-waits    much of the threads' time goes to waiting for locks
 *     wait-for-each-other  threads wait at one place until another of them is at a second one: most
 *                     often a lock that is not of pthreads. Known only where wakers are
 *     io-in-path    a thread that works spends much of its time waiting for files or memory
 *     page-faults   the same, of memory that must be read first
 *     wakes-often   a place where threads wait very often and very shortly
 *     timer-storm   the same, where only the clock wakes them
 *     pool-too-large  threads of one name are more than the CPUs, and wait for one
 *     pool-too-small  threads of one name never wait for work, while others wait for them and CPUs
 *                     are idle. Known only where wakers are
 *     pool-idle       threads of one name, most of which wait for work most of the time; of those
 *                     that have their program's name, at one place
 *
 * Threads that wait for work (conditions, poll, sleep) are no reason for advice.
 *
 * How to add one: write a test that speaks only where the numbers carry it, name it in
 * waitinsight_find(), and plant a program that gets it in tests/live/waitinsights.bats.
 */
#pragma once
#include "analysis/waitsum.h"

enum { WAITINSIGHTS_MAX = 10 };

struct waitinsight {
    const char *id, *advice;
    char evidence[400];
    int64_t ns; /* of thread time that it is about */
};

/* Returns how many there are, those about the most time first. */
size_t waitinsight_find(const struct waitsum *w, struct waitinsight ret[WAITINSIGHTS_MAX]);

/* Called by waitinsight_find(): threads that wait for each other. */
bool waitinsight_each_other(const struct waitsum *w, struct waitinsight *ret);

/* Called by waitinsight_find(): pools of threads, which are threads of a process with one name. */
bool waitinsight_large_pool(const struct waitsum *w, struct waitinsight *ret);
bool waitinsight_small_pool(const struct waitsum *w, struct waitinsight *ret);
bool waitinsight_idle_pool(const struct waitsum *w, struct waitinsight *ret);
