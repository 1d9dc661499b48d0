/*
 * cpucount.h - the CPU time that the kernel counted for the processes of a recording.
 *
 * A perf event counts the time for which a thread has a CPU, with what the hypervisor took from it
 * and what interrupts and switches with all their records cost: at a load of 30 in a virtual
 * machine a program of 0.43 s had 0.52 s of that. Its clock in the kernel has neither. Threads that
 * have ended are in their process's clock; a process that has ended is not, but where it was waited
 * for it is in its parent's count of children.
 */
#pragma once
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
struct profile;

struct cpucount_process {
    int pid;
    bool gone;
    uint64_t own_ns;    /* as last seen */
    uint64_t before_ns; /* when the recording began */
};

struct cpucount {
    size_t n_seen; /* rows of the profile's table of threads that were looked at */
    uint64_t looked_ns;
    uint64_t children_ns, children_before_ns; /* of the first process: those it waited for */
    VEC(struct cpucount_process) processes;   /* [0] = the one the recording began with */
};

/* The recording begins with a process: what it used by then does not count. */
void cpucount_begin(struct cpucount *c, int pid);

/* Look at all processes of P, at most every 100 ms unless NOW. */
void cpucount_look(struct cpucount *c, const struct profile *p, bool now);

/* CPU time of all of them since the beginning, as far as it was seen; 0 = not known. */
uint64_t cpucount_total(const struct cpucount *c);

void cpucount_done(struct cpucount *c);
