/*
 * verdict.h - compare and gate: the one place where two series become a verdict.
 *
 * Commands side by side, a measurement against a baseline, two baselines and the workloads of a
 * suite all come here, so that they cannot disagree on what slower, undecided or too much means.
 * comparison_say() (model/comparison.h) has the sentence for it.
 *
 * Slower: the interval lies above 1 and the median beyond the band. Same: the interval lies within
 * the band. A gate holds or breaks when the interval lies on one side of it, else it is undecided:
 * exit code 4, not 0. Where slow runs (tails.h) and the mean say otherwise, "same" and "holds" are
 * taken back.
 *
 * Between sessions apart, other work is part of wall time and hardly of CPU time. So a change of
 * wall time counts only where CPU time, if known, goes the same way and at least half as far. CPU
 * time makes no verdict unless asked to; a note says when there is one to be had.
 *
 * The sentence is in model because views need it too, which is why model may include stats. Rooms
 * name no option: the caller, which parsed it, hands over its words.
 */
#pragma once
#include "base/opt.h"
#include "model/comparison.h"

/* The values compared: of runs side by side those of blocks in which both ran, else all. If more
 * is better, 1 / value. A metric that may be 0 or negative is turned
 * into numbers above 0, so that their ratios are changes next to the middle of the baseline. Free
 * with verdict_values_done(). */
struct verdict_values {
    double *before, *after;
    size_t n_before, n_after;
};

struct verdict_values verdict_values(const struct comparison *c);
void verdict_values_done(struct verdict_values *v);

struct verdict_opts {
    double band, risk;  /* PAIRED_BAND, PAIRED_RISK */
    size_t comparisons; /* made at once: the risk is shared among them; 0 counts as 1 */
    int look;           /* side by side: the number of the look, or PAIRED_ONLY_LOOK */

    /*
     * Other programs take part in what is measured. Then times of two sessions break no gate, and
     * where CPU time is not known wall time keeps none: what else ran now or then is part of them.
     * Counts and runs side by side are not affected.
     */
    bool busy;
};

/*
 * Fill in `paired`, `band` and `gate` of C; the other members say what is compared. Runs side by
 * side are paired by their blocks; instructions are compared as counts. Where the runs are too few
 * for an interval a gate is undecided, or broken where each of them took more than twice as much
 * as it allows (five times as much where one or two ran on a busy machine).
 */
void verdict_compare(struct comparison *c, const struct verdict_opts *o);

struct verdict_rules {
    enum measure measure;
    double band, risk;
    const struct opt_list *gates; /* "10%", "NAME=10%"; see gates.h */
    bool busy;                    /* see struct verdict_opts */
};

/* Compare what both sets have, as measured apart; all of them share the risk. Adds to TO. */
void verdict_compare_sets(struct comparisons *to, const struct series_set *before,
                          const struct series_set *now, const struct verdict_rules *rules);

/* The worst gate of N comparisons; GATE_NONE where none has one. */
enum gate verdict_worst(const struct comparison *c, size_t n);

/* EXIT_FAILS where it is broken, EXIT_INCONCLUSIVE where it is not decided, else EXIT_OK. */
int verdict_code(enum gate gate);
