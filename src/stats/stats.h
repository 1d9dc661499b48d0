/*
 * stats.h - how sure a share is: intervals that know that samples hang together.
 *
 * A sampler that looks a thousand times a second sees the same loop many times in a row. Such
 * samples carry less information than as many independent ones would, so an interval is made from
 * the effective number of samples: how many independent ones would be as informative.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Half the width of a 95% interval, in standard deviations. */
#define STATS_Z95 1.959964

struct interval {
    double low, high;
};

/*
 * Wilson's score interval of a share (0 to 1) seen in N_EFFECTIVE samples. Holds its promise for
 * small numbers and at 0 and 1, where the usual "plus or minus" has no width. Without samples
 * nothing is known: 0 to 1. N_EFFECTIVE need not be whole.
 */
struct interval stats_wilson(double share, double n_effective, double z);

/*
 * The exact interval (Garwood's) of the mean of a Poisson distribution of which N were seen: 0 to
 * 3.7 where none was. N need not be whole.
 */
struct interval stats_poisson(double n, double z);

/* The logarithm of N over K; neither need be whole. */
double stats_log_choose(double n, double k);

/*
 * The effective number of samples behind the share of 1s in HITS: N samples in time order, each
 * 0 or 1. It is N divided by how much more the sums of L samples in a row spread than those of
 * independent samples would, which is 1 + 2 * the sum of autocorrelations below a distance of L: a
 * bootstrap of blocks of L samples worked out in closed form. L starts at sqrt(N) and is doubled
 * until it is eight times as long as the samples hang together, at most to N / 8. As few blocks
 * show their spread badly, the number is lowered by (z / t)^2, t being Student's.
 *
 * The spread is that between neighbouring blocks, and blocks do not grow where the 1s come in one
 * stretch: a phase that comes once, such as loading before working, is the program's shape, which
 * another run would show again, and not chance. Phases that come and go are chance, and count as
 * such while they are shorter than about a twentieth of the recording; with longer ones the number
 * is too high.
 *
 * Between 1 and N: that samples spread more evenly than chance would is not trusted. Below
 * STATS_MIN_SERIES samples, or when all are alike, there is nothing to estimate from: N.
 */
enum { STATS_MIN_SERIES = 16 };
double stats_effective_n(const uint8_t *hits, size_t n);

/*
 * The same from sums: how often there was a hit in each PER samples in a row, N times. PER must be
 * what stats_samples_per_sum() says for that many samples.
 */
struct stats_series {
    const uint8_t *sums; /* NULL: see hits */
    size_t n, per;
    const uint32_t *hits; /* few hits are quicker by the sum that each is in, in order */
    size_t n_hits;        /* of hits, or of all sums; there 0 = not counted yet */
};

size_t stats_samples_per_sum(size_t n_samples);
double stats_effective_n_of_sums(const struct stats_series *s);

/*
 * The same for samples that weigh unlike: (sum of weights)^2 / sum of weights^2 (Kish), from the
 * two sums. 0 when SUM is.
 */
double stats_weighted_n(double sum, double sum_of_squares);

/*
 * Student's t: half the width of a 95% interval, in standard errors that were estimated with DOF
 * degrees of freedom. DOF need not be whole; below 1 it counts as 1. Between whole numbers up to
 * ten it errs on the wide side.
 */
double stats_t95(double dof);

/* Student's t, two-sided: how often chance alone gives T or more, with DOF degrees of freedom. */
double stats_t_p(double t, double dof);

/* The other way round: what chance alone reaches with probability P, two-sided; 0 < P < 1. */
double stats_t_above(double p, double dof);
