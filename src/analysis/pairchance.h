/*
 * pairchance.h - what two runs of one program can differ by without any change of it.
 *
 * One run per side shows the error of sampling, but not how much runs differ. In 1,872 pairs of
 * runs of seven real programs and a made one the CPU time of the whole differed by up to 2.1, one
 * function by 1.34 relative to the rest beyond its sampling error. So a change counts from a factor
 * of PAIR_ONE on, by itself and relative to the rest of the program (PAIR_BUSY on a busy machine),
 * or from PAIR_ALL by itself, which is also asked for where there is no rest to compare with. The
 * runs of one program with the same arguments prove nothing. `diff`, `diff --scopes` and rules on
 * changes all ask here.
 */
#pragma once
#include "stats/stats.h"

#include <stdbool.h>
#include <stddef.h>

#define PAIR_ONE 1.5
#define PAIR_BUSY 2.0 /* one function on a busy machine: threads that spin or mark garbage */
#define PAIR_ALL 3.0  /* where the rest changed too, or there is none to speak of */

struct selection;

struct pairchance {
    bool same;            /* the same program with the same arguments */
    bool has_rest;        /* else costs are relative to the rest already, or there is none */
    double factor;        /* by itself, and relative to the rest where that is known */
    struct interval rest; /* the factor that the rest changed by */
};

/* Whether the machine had more work than CPUs when one of the runs began. */
bool pairchance_was_busy(const struct selection *const *runs, size_t n);

static inline double pairchance_factor(bool has_rest, bool busy)
{
    return !has_rest ? PAIR_ALL : busy ? PAIR_BUSY : PAIR_ONE;
}

/*
 * The interval of the factor that a cost changed by, after removing the variation between two
 * runs, towards 1 and not beyond. A change is proven where that does not reach 1.
 */
struct interval pairchance_take_off(const struct pairchance *c, struct interval cost);
