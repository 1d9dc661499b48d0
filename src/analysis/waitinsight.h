/*
 * waitinsight.h - what stands out in the waits of a program, and what to try.
 *
 *     no-cpu        threads that could run had no CPU for much of the time they wanted one
 *     lock-waits    much of the threads' time goes to waiting for locks
 *     io-in-path    a thread that works spends much of its time waiting for files or memory
 *     wakes-often   a place where threads wait very often and very shortly
 *
 * Threads that wait for work (conditions, poll, sleep) are no reason for advice.
 */
#pragma once
#include "analysis/waitsum.h"

enum { WAITINSIGHTS_MAX = 4 };

struct waitinsight {
    const char *id, *advice;
    char evidence[400];
};

/* Returns how many there are. */
size_t waitinsight_find(const struct waitsum *w, struct waitinsight ret[WAITINSIGHTS_MAX]);
