/*
 * cpulimits.h - what keeps threads from the CPUs that is no other thread: a quota, or the host.
 *
 *     throttled  the program's cgroup, or one that it is in, had used up its quota (cpu.stat)
 *     stolen     the hypervisor ran somebody else on a virtual CPU (/proc/stat)
 *
 * Both are counts of the kernel since long ago: what counts is by how much they grow.
 */
#pragma once
#include <stdint.h>

struct cpulimits {
    char cgroup[512]; /* the folder of its cpu.stat, below CPULIMITS_ROOT; "" = not known */
    uint64_t throttled_ns, stolen_ns; /* at the start */
};

/* Look at the cgroup of a process, and at the machine. */
void cpulimits_start(struct cpulimits *l, int pid);

/* Since the start. */
uint64_t cpulimits_throttled_ns(const struct cpulimits *l);
uint64_t cpulimits_stolen_ns(const struct cpulimits *l);

/* The folder in one line of /proc/PID/cgroup, both forms; false where it is of something else. */
int cpulimits_folder(const char *line, char *ret, unsigned long size);

/* The nanoseconds in the text of a cpu.stat, both forms. */
uint64_t cpulimits_throttled_in(const char *stat);
