/*
 * cpulist.h - CPUs by number, and how long they did nothing.
 */
#pragma once
#include "base/err.h"
#include "base/text.h"
#include "base/vec.h"

typedef VEC(int) cpulist;

enum { CPULIST_MAX = 1 << 13 };

/* "0-3,8" as numbers, each once and in order. Free with vec_done(), also after a failure. */
int cpulist_parse(cpulist *ret, const char *text, struct err *err);

/*
 * From the lines of /proc/stat: how long the N CPUs were idle since the machine started, or all of
 * them where N is 0, and how many those are. Counted in ticks of 10 ms. 0 = not known.
 */
uint64_t cpulist_idle_ns(struct text stat, const int *cpus, size_t n, size_t *ret_cpus);

/* The same of this machine, now. */
uint64_t cpulist_idle_now_ns(const int *cpus, size_t n, size_t *ret_cpus);
