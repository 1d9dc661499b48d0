/*
 * runcost.h - what a run cost as a whole: its CPU time where that is known, else its total.
 *
 * A share of that is what a function cost, which compares between runs of unlike length, and
 * between recordings of unlike rates where it is a time.
 */
#pragma once
#include "analysis/selection.h"

enum runcost_kind {
    RUNCOST_UNKNOWN, /* counts of something: only shares compare */
    RUNCOST_CPU,     /* seconds of CPU time */
    RUNCOST_AMOUNT,  /* in the unit of the value: bytes, faults, instructions, cycles */
};

struct runcost {
    enum runcost_kind kind;
    double value; /* above 0 */
};

struct runcost runcost_of(const struct selection *s);

/* "with the kernel", "without the kernel", "only the kernel"; NULL where not known. */
const char *runcost_scope(const struct selection *s);
