/*
 * scopediff.h - how long scopes took before and after, by quantile.
 *
 * With one run per side the interval of a change comes from those of the two quantiles
 * (scopequantile.h), joined on a logarithmic scale as Zou and Donner do (MOVER). It covers chance
 * within a run and not how runs differ, so only a change counts that is larger than two runs of one
 * program can differ by (pairchance.h). The rest (pairchance.h) are the scopes that are neither
 * around this one nor inside it, if there are three of them. With several runs per side
 * the interval comes from the runs' own quantiles (Welch's t on logarithms).
 *
 * A change is proven when its p, by Holm's method for all that is tested, is at most 0.01 and its
 * interval lies beyond the band, or what two runs can differ by. It is called the same when the
 * interval lies within the band.
 */
#pragma once
#include "analysis/pairchance.h"
#include "analysis/scopetree.h"
#include "stats/stats.h"

enum { SCOPEDIFF_QUANTILES = 3, SCOPEDIFF_MIN_RUNS = 4, SCOPEDIFF_MIN_REST = 3 };
extern const double scopediff_quantiles[SCOPEDIFF_QUANTILES]; /* 0.5, 0.9, 0.99 */

enum scope_verdict { SCOPE_UNPROVEN, SCOPE_SLOWER, SCOPE_FASTER, SCOPE_SAME };
extern const char *const scope_verdict_names[];

struct scope_change {
    double before_ns, after_ns; /* geometric means of the runs; NAN = too few spans */
    double change;              /* after / before - 1; NAN = not known */
    struct interval interval;   /* of it, 95%; infinite where it has no end */
    double p;                   /* adjusted; NAN = not tested */
    struct pairchance chance;   /* one run per side */
    enum scope_verdict verdict;
};

struct scope_side {
    double calls, total_ns; /* per run */
};

struct scopediff_row {
    struct text name;
    struct scope_side before, after;
    struct scope_change at[SCOPEDIFF_QUANTILES];
};

struct scopediff {
    VEC(struct scopediff_row) rows; /* what took longest first */
    struct scopetree *runs;
    size_t n_before, n_runs;
    double band;     /* changes up to this do not count */
    bool same, busy; /* one run per side: see pairchance.h */
    uint64_t lost;
    size_t n_tested, n_left_out; /* quantiles; scopes past the top */
};

struct scopediff_opts {
    const struct selection *const *runs; /* of streams of scopes; those of before first */
    size_t n_before, n_runs;
    double band;         /* 0 = what the number of runs suggests */
    size_t top;          /* scopes; only these are tested */
    bool same_arguments; /* known of profiles that leave their arguments out */
};

/* Everything that OPTS point to must outlive D. Call scopediff_done() in any case. */
int scopediff_build(struct scopediff *d, const struct scopediff_opts *opts, struct err *err);
void scopediff_done(struct scopediff *d);

/* Whether the sides have a run each. */
static inline bool scopediff_is_pair(const struct scopediff *d)
{
    return d->n_runs == 2;
}

/* Whether there are enough runs for a verdict. */
static inline bool scopediff_has_runs(const struct scopediff *d)
{
    size_t n_after = d->n_runs - d->n_before;
    return scopediff_is_pair(d) ||
           (d->n_before >= SCOPEDIFF_MIN_RUNS && n_after >= SCOPEDIFF_MIN_RUNS);
}
