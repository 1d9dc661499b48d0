/*
 * runshares.h - shares of functions over several recordings of one program.
 *
 * One recording knows its sampling error only. Several know how much runs differ: the interval is
 * Student's, from the scatter of the recordings, and so holds whatever makes them differ. It is
 * never narrower than sampling alone would make it, as two recordings may agree by luck.
 */
#pragma once
#include "analysis/flat.h"
#include "analysis/overlay.h"

struct runshare {
    uint32_t name;                 /* in the overlay's names */
    struct flat_share self, total; /* means of the recordings */
    size_t n_seen;                 /* recordings that have it */
};

struct runshares {
    struct overlay overlay;
    VEC(struct runshare) rows; /* by self, largest first; those that were met */
};

/* Two recordings or more. Free with runshares_free(). */
struct runshares *runshares_build(const struct selection *const *runs, size_t n_runs);
void runshares_free(struct runshares *r); /* NULL is fine */

/* The mean of N shares, with its interval; SAMPLES is how many there are in all, 0 = not known. */
struct flat_share runshares_mean(const double *shares, size_t n, double samples);
