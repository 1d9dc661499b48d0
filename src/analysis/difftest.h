/*
 * difftest.h - whether two numbers differ by more than chance.
 *
 * One run a side: only the error of sampling is known. Several runs a side: how much runs differ
 * among themselves is seen in them, and nothing is assumed about its shape.
 */
#pragma once
#include "analysis/stats.h"

struct difftest {
    double low, high; /* 95 % interval of after - before */
    double p;         /* two-sided; NAN where nothing can be said */
};

/* A share of each side, and how many independent samples stand behind it. */
struct difftest_share {
    double share, n_effective;
};

/*
 * Two shares: a score test (Fisher's exact test where fewer than five samples are expected
 * somewhere) and Newcombe's interval from two of Wilson's.
 */
struct difftest difftest_pair(struct difftest_share before, struct difftest_share after);

/*
 * Per-run values, the N_BEFORE of the first side in front: a permutation test on the means, over
 * all ways to deal out the runs, or DIFFTEST_DEALS random ones (always the same) where there are
 * more; and Welch's interval, which wants two runs a side: else it has no bounds.
 */
enum { DIFFTEST_DEALS = 20000 };
struct difftest difftest_runs(const double *values, size_t n_before, size_t n);

/* The smallest p that difftest_runs() can reach. */
double difftest_least_p(size_t n_before, size_t n);

/*
 * Benjamini-Hochberg: replace each p by the rate of false discoveries at which it would count
 * as one. NAN stays and is not counted.
 */
void difftest_adjust(double *p, size_t n);
