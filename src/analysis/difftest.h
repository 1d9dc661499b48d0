/*
 * difftest.h - whether numbers differ by more than chance.
 *
 * One run per side: only the error of sampling is known. Several runs per side: how much runs
 * differ among themselves is seen in them, and nothing is assumed about its shape.
 *
 * One run: a score test on the effective number of samples (stats.h), Fisher's where fewer than
 * five are expected. Several: Student's t on the logarithms of the runs' costs, adjusted by
 * Benjamini-Hochberg with weights, so that a test counts more the more time it is about. A
 * permutation test has to agree at 5%; alone it cannot prove anything about one of ten functions,
 * as five runs per side reach no p below 0.0079. Eight and more runs per side do: then either may
 * prove it, Student at 80% of the level and permutations at 20%. One run that another program
 * slowed to half its speed makes Student blind (seen: p 0.15 for 8% more, 10 against 10), not
 * them.
 *
 * Five runs per side say little about how much one function scatters: a test with eight degrees of
 * freedom that has to hold among ten asks for a change of 5 standard errors, a test that knows the
 * scatter for 3.3. So all functions are asked: each scatters as the whole does, plus what sampling
 * gives, which is known, plus what functions have on top, which is one number for all. A
 * function's own runs count next to that, and alone where they scatter more than twice as much.
 * The scatter counts at least as what sampling alone would give.
 *
 * The typical function is the weighted mean of what functions of 0.5 to 50% changed by, without
 * interrupts and without those that hold the extreme 30% of the time at either end.
 */
#pragma once
#include "stats/stats.h"

#include <stdbool.h>

/* --- what moved together --- */

/* The change of one function: the log of after / before, its uncertainty, and its weight. */
struct difftest_change {
    double log; /* first, as it is sorted by */
    double variance;
    double time; /* share of the time, any unit */
};

/*
 * Shares add up to 100%: when one function grows, all others shrink by a common factor. The
 * typical change is an estimate of that factor: the mean of the logs, weighted by their variance,
 * without the functions that changed most: those that hold 30% of the time at either end have no
 * say. Trimmed by time and not by number, as a change in one place touches many small functions.
 * Below three functions there is no telling: 0, and a variance of 0.
 */
struct difftest_typical {
    double log, variance;
};

struct difftest_typical difftest_typical(const struct difftest_change *at, size_t n);

/* --- one run per side --- */

/* A share of each side, and how many independent samples stand behind it. */
struct difftest_share {
    double share, n_effective;
};

struct difftest {
    double low, high; /* 95% interval of after - before */
    double p;         /* two-sided; NAN where nothing can be said */
};

/*
 * Two shares: a score test (Fisher's exact test where fewer than five samples are expected
 * somewhere) and Newcombe's interval from two of Wilson's.
 */
struct difftest difftest_pair(struct difftest_share before, struct difftest_share after);

/*
 * The same test of whether they differ by anything else than the typical change, which is taken off
 * the larger of the two costs.
 */
double difftest_pair_p(struct difftest_share before, struct difftest_share after,
                       struct difftest_typical typical);

/*
 * The 95% interval of after / before over the typical change: Katz's, of the logarithms, with half
 * a sample more per side, which keeps the log of nothing finite. What was not seen may be gone.
 */
struct interval difftest_pair_ratio(struct difftest_share before, struct difftest_share after,
                                    struct difftest_typical typical);

/* --- several runs per side --- */

/* Welch's interval of the difference of the means; without bounds for one run on a side. */
struct interval difftest_runs_interval(const double *values, size_t n_before, size_t n);

/*
 * M quantities of N runs, row by row, the N_BEFORE runs of the first side in front. NOISE is how
 * much each would vary from sampling alone, a variance; 0 where not known: such a quantity is
 * judged by its own runs. COMMON is what all rows have in common, one value for each run, such as
 * the log of the CPU time where they are logs of costs; NULL for nothing.
 */
struct difftest_family {
    const double *values, *noise, *common;
    size_t m, n, n_before;
};

/*
 * The estimate of one quantity from the runs. P: a permutation test, over all ways to deal out the
 * runs, or DIFFTEST_DEALS random ones (always the same) where there are more. Assumes nothing, but
 * has a smallest p that is too large to stand out of many tests: 2 / 252 for five runs per side.
 * FINE: Student's t test, which has no such step; with enough runs, of both tests together.
 */
struct difftest_effect {
    double diff, error; /* mean of after - mean of before, and its standard error */
    double dof;         /* degrees of freedom behind the error */
    double p, fine;
    bool by_deals;         /* FINE and the interval are those of the permutation test */
    struct interval dealt; /* differences that it does not rule out at 5% */
};

enum { DIFFTEST_DEALS = 20000 };
void difftest_runs(const struct difftest_family *f, struct difftest_effect *ret);

/* 95%. */
struct interval difftest_effect_interval(const struct difftest_effect *e);

/*
 * The smallest true difference that would be proven in nine of ten comparisons like this one: at
 * level P, and with an interval beyond BAND.
 */
double difftest_detectable(const struct difftest_effect *e, double p, double band);

/*
 * The smallest p that a permutation test can reach. From DIFFTEST_DEALS_ENOUGH on, which takes
 * eight runs per side, it can prove something by itself.
 */
#define DIFFTEST_DEALS_ENOUGH 2e-4
double difftest_least_p(size_t n_before, size_t n);

/* --- many tests --- */

/*
 * Benjamini-Hochberg: replace each p by the rate of false discoveries at which it would count
 * as one. NAN stays and is not counted.
 */
void difftest_adjust(double *p, size_t n);

/*
 * The same where tests matter unlike (Genovese, Roeder and Wasserman): WEIGHT, of any unit, must
 * not depend on which side is which. What matters more needs a less small p.
 */
void difftest_adjust_weighted(double *p, const double *weight, size_t n);
