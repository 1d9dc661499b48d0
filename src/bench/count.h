/*
 * count.h - counts as a measure: noise-free, by the CPU's counters or by valgrind.
 *
 * Where a virtual machine has no counters, valgrind's cachegrind counts, 30 to 80 times slower: the
 * instructions of the first process only (what it starts runs uncounted), of user code only, as a
 * CPU without the newest vector instructions would execute them. Misses of caches and branches are
 * then those of its model, and labelled so; it has no cycles.
 */
#pragma once
#include "base/err.h"
#include "base/text.h"
#include "bench/counter.h"

enum count_by { COUNT_BY_CPU, COUNT_BY_VALGRIND, COUNT_BY_MODEL, COUNT_ALLOCATIONS };

/* "instructions,branch-misses": what can be counted together, and which of it comes first. */
int count_read(const char *words, unsigned *ret_set, enum measure *ret_first, struct err *err);

/* How SET can be counted here; fails when there is no way. */
int count_find(unsigned set, enum count_by *ret, struct err *err);

/* Words to put in front of a command, ends with NULL. */
const char *const *count_valgrind_words(unsigned set);

/* What of SET is in what valgrind said, into VALUES of MEASURES; NAN where it is not. */
void count_parse(struct text said, unsigned set, double *values);

/* How it was counted, and what that leaves out: for the report. */
const char *count_words(enum count_by by);
