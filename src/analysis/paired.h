/*
 * paired.h - is one thing faster than another? Judged from runs made side by side.
 *
 * Whatever the machine did to a block of runs it did to both sides, so only the ratio inside each
 * block counts. Of the logarithms of these ratios the median is taken, with an interval between
 * order statistics that is exact whatever the noise looks like. Looking again after every few
 * blocks and stopping at the first "proof" would find differences in noise; so there is a plan
 * of looks, each with its own part of the risk.
 */
#pragma once
#include "analysis/stats.h"

enum verdict {
    VERDICT_INCONCLUSIVE, /* the interval holds both a real change and none */
    VERDICT_SAME,         /* the interval lies within the band */
    VERDICT_FASTER,       /* less of what is measured than before */
    VERDICT_SLOWER,
};

extern const char *const verdict_names[]; /* "inconclusive", "same", "faster", "slower" */

struct paired_opts {
    double band;        /* changes up to this factor less one do not matter: 0.01 */
    double risk;        /* of a false faster or slower over all looks and comparisons: 0.01 */
    size_t comparisons; /* made at once: the risk is shared among them */
};

struct paired {
    size_t n;                 /* blocks */
    size_t ties;              /* blocks in which both were equal: the clock may be too coarse */
    double ratio;             /* median of after / before */
    struct interval interval; /* of the ratio, at 1 - miss */
    double miss;              /* probability that the interval misses, after all corrections */
    double detectable;        /* smallest change that so many blocks would most likely show: 0.02 */
    enum verdict verdict;
};

/*
 * Compare N blocks at their look number LOOK of the plan (0 = the first), before and after of each
 * block in BEFORE and AFTER, all above 0.
 */
void paired_compare(struct paired *p, const double *before, const double *after, size_t n,
                    const struct paired_opts *opts, int look);

/* Blocks at which look number LOOK takes place; at most MOST. LOOK beyond the plan: MOST. */
size_t paired_look_at(int look, size_t most);

/*
 * For runs that were not made side by side, such as a stored baseline: blocks are sessions that
 * may differ as a whole. Compares the medians of the sessions' runs; wide when there are few.
 */
void paired_compare_apart(struct paired *p, const double *before, size_t n_before,
                          const double *after, size_t n_after, const struct paired_opts *opts);
