/*
 * paired.h - is one thing faster than another? Judged from runs made side by side.
 *
 * The machine's disturbances hit both sides of a block of runs alike, so only the ratio inside
 * each block counts. Of the logarithms of these ratios the median is taken, with an interval
 * between order statistics that is exact whatever the noise looks like: where the order inside a
 * block is a toss of a coin, equal programs give ratios above and below 1 like tosses of a coin, be
 * the machine as restless as it may. Looking again after every few blocks and stopping at the first
 * "proof" would find differences in noise. So there is a plan of looks, each with its own part of
 * the risk.
 *
 * There are at most 16 looks, at 14, 21, 32, 47... blocks. The probability that equal things ever
 * cross the line is worked out exactly in the tests, not simulated.
 */
#pragma once
#include "stats/stats.h"

#include <stdbool.h>

enum verdict {
    VERDICT_INCONCLUSIVE, /* the interval holds both a real change and none */
    VERDICT_SAME,         /* the interval lies within the band */
    VERDICT_FASTER,       /* less of what is measured than before */
    VERDICT_SLOWER,
};

extern const char *const verdict_names[]; /* "inconclusive", "same", "faster", "slower" */

/*
 * The risk that, over all looks and comparisons, any interval misses the true ratio is at most
 * this. It is the rate of false verdicts among comparisons of equal things.
 */
#define PAIRED_RISK 0.005
#define PAIRED_BAND 0.01

struct paired_opts {
    double band;        /* changes up to this factor less one do not matter: PAIRED_BAND */
    double risk;        /* PAIRED_RISK */
    size_t comparisons; /* made at once: the risk is shared among them; 0 counts as 1 */
};

struct paired {
    size_t n;                 /* blocks; of things not measured side by side: the fewer runs */
    size_t ties;              /* blocks in which both were equal: the clock may be too coarse */
    double ratio;             /* median of after / before; NAN without blocks */
    struct interval interval; /* of the ratio, at 1 - miss; 0 to INFINITY = nothing known */
    double miss;              /* probability that the interval misses, after all corrections */
    double detectable; /* smallest change that so many blocks show in 4 of 5 cases: 0.02 = 2% */
    enum verdict verdict;
};

/*
 * Compare N blocks at their look number LOOK of the plan (0 = the first), before and after of each
 * block in BEFORE and AFTER; a block where one of them is not above 0 is left out.
 *
 * Faster and slower mean: the interval leaves out 1, and the median lies outside the band.
 */
void paired_compare(struct paired *p, const double *before, const double *after, size_t n,
                    const struct paired_opts *opts, int look);

/*
 * Blocks at which look number LOOK takes place; at most MOST. LOOK beyond the plan: MOST.
 * PAIRED_ONLY_LOOK is for blocks whose number was fixed before: it has the whole risk.
 *
 * PAIRED_LAST_LOOK + LOOK: look number LOOK where no other can follow, because the time is over. It
 * has all of the risk that those before it left. Use it only if the decision to stop does not
 * depend on the results: how long a block takes does not depend on which of two equal programs
 * was slower in it.
 */
enum { PAIRED_LOOKS = 16, PAIRED_ONLY_LOOK = -1, PAIRED_LAST_LOOK = 1000 };
size_t paired_look_at(int look, size_t most);

/*
 * For runs that were not made side by side, such as a stored baseline: values of two sessions, each
 * in the order of time. Each session is cut into up to a dozen pieces, and the medians of these are
 * compared by ranks (Hodges-Lehmann), so that slow changes of the machine widen the interval.
 * No number of runs can show differences between whole sessions. Faster and slower therefore mean
 * that the whole interval lies outside the band. Fewer than about six runs per side
 * prove nothing.
 */
void paired_compare_apart(struct paired *p, const double *before, size_t n_before,
                          const double *after, size_t n_after, const struct paired_opts *opts);

/*
 * For counts that repeat almost exactly, such as instructions: the interval goes from the smallest
 * to the largest ratio of any run after to any run before; `miss` is 0 as nothing is estimated.
 */
void paired_compare_counts(struct paired *p, const double *before, const double *after, size_t n,
                           const struct paired_opts *opts);

/* A gate: after may take LIMIT (0.1 = 10%) longer than before. A limit below the band is the band.
 * A LIMIT of NAN is no gate. */
enum gate { GATE_NONE, GATE_HOLDS, GATE_UNDECIDED, GATE_BROKEN }; /* the worse, the later */
extern const char *const gate_names[];                            /* "", "holds"... */
enum gate paired_gate(const struct paired *p, double limit, double band);
