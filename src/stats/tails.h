/*
 * tails.h - do slow runs come more often? The median does not see what happens in one run of five.
 *
 * A run is slow when it takes more than TAILS_SLOW times the median of all runs of both sides. How
 * many are slow on each side is compared by Fisher's exact test, which asks for nothing but runs
 * that could have been dealt either way: those made side by side.
 */
#pragma once
#include <stddef.h>

#define TAILS_SLOW 1.5

struct tails {
    double slow_before, slow_after; /* shares of slow runs */
    double mean_ratio;              /* of the means, after / before; NAN without runs */
    double mean_z; /* how many standard errors the mean grew by: one slow run makes at most 1 */
    double p;      /* that the shares differ so much or more by chance, in either direction */
};

struct tails tails_compare(const double *before, size_t n_before, const double *after,
                           size_t n_after);
