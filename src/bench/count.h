/*
 * count.h - instructions as a measure: noise-free, by the CPU's counter or by valgrind.
 *
 * Where a virtual machine has no counter, valgrind's cachegrind without its cache model counts, 30
 * to 80 times slower: the instructions of the first process only (what it starts runs
 * uncounted), of user code only, as a CPU without the newest vector instructions would execute
 * them.
 */
#pragma once
#include "base/err.h"
#include "base/text.h"

enum count_by { COUNT_BY_CPU, COUNT_BY_VALGRIND, COUNT_ALLOCATIONS };

/* How it can be done here; fails when there is neither. */
int count_find(enum count_by *ret, struct err *err);

/* Words to put in front of a command, ends with NULL. */
extern const char *const count_valgrind_words[];

/* The count in what valgrind said; NAN when there is none. */
double count_parse(struct text said);

/* How it was counted, and what that leaves out: for the report. */
const char *count_words(enum count_by by);
