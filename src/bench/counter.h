/*
 * counter.h - what a process and all it starts do, by the CPU's own counters: one group, so that
 * all count at the same time or none does.
 */
#pragma once
#include "model/series.h"

#include <stdbool.h>
#include <sys/types.h>

/* A set of measures that can be counted: bits of COUNTED(MEASURE_INSTRUCTIONS) and the like. */
#define COUNTED(measure) (1u << (measure))

enum { COUNTERS_MAX = 4 };

struct counter_group {
    int fds[COUNTERS_MAX]; /* the leader first */
    enum measure what[COUNTERS_MAX];
    int n;
};

/*
 * Count all of SET from the next exec of PID on, user code only. -1 with errno where one of them
 * cannot be had. Close either way.
 */
int counter_open(struct counter_group *c, unsigned set, pid_t pid);
void counter_close(struct counter_group *c);

/* Into VALUES, of MEASURES; NAN where a counter was not on the CPU all the time: a share is not a
 * count. */
void counter_read_all(const struct counter_group *c, double *values);

/* Do they count here? Otherwise why not, in a few words. */
bool counter_works(unsigned set, const char **ret_why);
