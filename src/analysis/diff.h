/*
 * diff.h - what changed between profiles, and what of it is more than chance.
 *
 * All runs are laid over each other by canonical names (overlay.h): a list of functions and a tree
 * of call paths, each with its share before and after. Shares always add up to 100%: when one
 * function grows, the others' shares shrink. The cost is tested instead: the share times the cost
 * of the run (runcost.h), in seconds of CPU time if that is known. Where it is not, a
 * share next to what the typical function's share did (difftest.h) has to do. Functions too small
 * to matter (min_share) are kept but not tested, as every further test makes all others less
 * sure.
 *
 * A plain test of shares would call every function changed when one grows, and would call that one
 * shrunk where it is most of the program.
 *
 * With one run per side only the error of sampling is known, but runs of one program differ by
 * more: pairchance.h has the factors beyond which a cost counts. The verdict needs 5% of the time,
 * or 20% on a busy machine.
 *
 * The level is 1% (0.5% for the whole), and there is a band: the interval must be beyond 2%, or
 * 5% where the runs of one side were made first, as machines drift; 50% where the machine was
 * busy then. An interval of the CPU time inside the band is "unchanged". The verdict is taken from
 * the CPU time where that is proven to have changed, else from the sum of the proven costs, if the
 * CPU time went the same way. bench/diff_truth.py counts how often all this is right. A change
 * that is not proven may exist anyway: "detectable" is the growth that runs like these would
 * prove in nine of ten comparisons.
 *
 * Interrupts, and kernel functions that run a tenth of their time and more in them, are not tested:
 * devices, timers and the scheduler's tick stop whatever runs, on behalf of others too. Their sum
 * is shown by itself.
 *
 * Functions of a module that has names on one side only are not compared, and the verdict then
 * rests on CPU time or is inconclusive. The floor below which nothing is tested does not look at
 * which side is which, so it does not bias the tests. No total of what is on nearly every stack is
 * tested.
 */
#pragma once
#include "analysis/overlay.h"
#include "analysis/pairchance.h"
#include "analysis/runcost.h"
#include "base/buf.h"
#include "stats/stats.h"

struct diff_opts {
    const struct selection *const *runs; /* those of before first */
    size_t n_before, n_runs;
    double min_share;    /* the mean of both sides must reach it to be tested */
    double band;         /* changes up to this do not matter: 0.02 = 2%; 0 = DIFF_BAND or more */
    enum overlay_by by;  /* what `functions` are; places only of the stream of a heap */
    bool same_arguments; /* known of profiles that leave their arguments out */
};

/*
 * At this rate of false discoveries the change of a function counts as proven, at this p that of
 * the whole: of 100 comparisons of a program with itself about one may call something.
 */
#define DIFF_LEVEL 0.01
#define DIFF_WHOLE_LEVEL 0.005

/*
 * Runs of one program that take turns differ by less than DIFF_BAND besides chance. When the runs
 * of one side were made first, the machine had time to change, by DIFF_BAND_APART; a busy one slows
 * five runs in a row by a quarter and the next five not at all, so DIFF_BAND_BUSY.
 */
#define DIFF_BAND 0.02
#define DIFF_BAND_APART 0.05
#define DIFF_BAND_BUSY 0.5

/*
 * Of one run per side, all that is proven must add up to this part of the whole before to be a
 * verdict.
 */
#define DIFF_PAIR_PART 0.05
#define DIFF_PAIR_PART_BUSY 0.2 /* on a busy machine: garbage that two threads mark, or one */

struct diff_value {
    double before, after;           /* mean of the runs; shares are 0 to 1 */
    double before_cost, after_cost; /* mean of the runs, in the unit of the whole; or NAN */
    double low, high;               /* 95% interval of after - before; NAN where not tested */
    double cost; /* factor from before to after; by scale relative to the typical one's */
    double cost_low, cost_high; /* its 95% interval; NAN where not tested */
    double p, q; /* that the cost is the same; q: with regard to the number of tests; or NAN */
    double detectable; /* several runs: the smallest growth proven in nine of ten comparisons like
                          this one, 0.04 = 4%; or NAN */
    bool proven; /* beyond chance, beyond the band, and of a pair beyond what runs differ by */
};

static inline double diff_points(const struct diff_value *v)
{
    return (v->after - v->before) * 100;
}

/* A function, or a place in the tree of calls. */
struct diff_entry {
    uint32_t name, parent; /* parent: of paths only; [0] is the root of all */
    struct diff_value self, total;
    bool unnamed;     /* of a module that has names on one side only: not compared */
    bool interrupt;   /* functions: of the kernel, on behalf of devices and timers: not tested */
    uint32_t renamed; /* functions: the other's name + 1, of one that came and one that went */
};

enum diff_verdict { DIFF_IMPROVED, DIFF_REGRESSED, DIFF_UNCHANGED, DIFF_INCONCLUSIVE };

/* What a cost is. */
enum diff_scale { DIFF_BY_CPU, DIFF_BY_AMOUNT, DIFF_BY_TYPICAL };

struct diff {
    struct intern names;
    VEC(struct diff_entry) functions, paths; /* a path's parent comes before it */
    size_t n_before, n_after, n_tested;      /* runs; functions that were tested */
    bool by_runs;     /* several runs: their scatter is known. Else sampling error only */
    bool apart;       /* several runs, those of one side made before those of the other */
    bool busy;        /* more work than CPUs when one of the runs began */
    bool same;        /* one run per side, of the same program with the same arguments */
    bool same_build;  /* the first and the last run are of one build of a program */
    bool has_rest;    /* one run per side: enough functions to see what the rest did */
    bool identical;   /* both sides are one recording */
    bool has_samples; /* else nothing could be tested */
    bool no_samples;  /* of a run: it is known to have none */
    bool exact;       /* every event was counted: there were no samples */
    double least_p;   /* that so many runs can reach; 0 for one run per side */
    double min_share;
    double band;      /* a change is proven beyond this */
    double no_change; /* and the whole is unchanged within this, which may be less: see band_of() */
    enum overlay_by by;
    enum diff_scale scale;
    struct interval rest; /* one run per side: the factor that the rest's costs changed by, 95%;
                             NAN without has_rest */
    double typical;       /* factor by which the share of what did not change changed */
    bool has_cpu;
    struct diff_value cpu_s; /* the whole where has_cpu */
    struct diff_value whole; /* what a run cost: seconds, or the unit of the value; of several runs
                                tested. Zeros where the scale is DIFF_BY_TYPICAL */
    enum scaled unit;        /* of the whole where it is no CPU time */
    const char *each;        /* "function", "line" or "place": what is compared */
    const char *noun;        /* "time", or "total" where the value is none: shares are of that */
    double common[2];        /* shares of both sides in functions that both have */
    double interrupts[2]; /* shares of both sides in interrupts, which are no work of the program */
    struct buf unnamed;   /* modules with names on one side only, a line each: not compared */
    enum diff_verdict verdict;
    char why[600]; /* what the verdict is based on */
};

struct diff *diff_build(const struct diff_opts *o);

/* Whether the first runs of both sides are of one build of a program and its libraries, with the
 * same arguments. False where that is not known. */
bool diff_is_same_program(const struct diff_opts *o);
void diff_free(struct diff *d); /* NULL is fine */

static inline struct text diff_name(const struct diff *d, const struct diff_entry *e)
{
    return intern_get(&d->names, e->name);
}

/* The factor that one function of a pair must have changed by. Without CPU time costs are next to
 * the typical function anyway. */
static inline double diff_pair_factor(const struct diff *d)
{
    return pairchance_factor(d->scale != DIFF_BY_CPU || d->has_rest, d->busy);
}

/* Several runs that prove nothing: two on a side hardly show by how much runs differ, and three per
 * side reach no p below 0.1. */
enum { DIFF_LEAST_RUNS = 3 };

static inline bool diff_has_few_runs(const struct diff *d)
{
    size_t fewer = d->n_before < d->n_after ? d->n_before : d->n_after;
    return d->by_runs && (fewer < DIFF_LEAST_RUNS || d->least_p > 0.05);
}

struct pairchance diff_pairchance(const struct diff *d);

static inline double diff_pair_part(const struct diff *d)
{
    return d->busy ? DIFF_PAIR_PART_BUSY : DIFF_PAIR_PART;
}

/* Whether hardly a function is found on both sides: they may be different programs. */
static inline bool diff_is_of_others(const struct diff *d)
{
    return d->functions.n && !d->unnamed.n && !d->same_build && d->common[0] < 0.5 &&
           d->common[1] < 0.5;
}

extern const char *const diff_verdict_names[];

/* Append a line where X and Y are of programs with other names and other functions. */
void diff_programs(const struct profile *x, const struct profile *y, struct buf *b);

/* Append "the arguments differ: '-O 1' before, '-O 2' after", or nothing. */
void diff_arguments(const struct profile *x, const struct profile *y, struct buf *b);

/* Whether one of them does not say its arguments, only how many there are: whether they differ is
 * not known then, unless their numbers do. */
bool diff_arguments_hidden(const struct profile *x, const struct profile *y);

/*
 * Append to B why the runs should not be compared, a line each: another program, event, kind of
 * samples, rate, machine, scope or value. Nothing where they are alike, or it is not known.
 */
void diff_unlike(const struct diff_opts *o, struct buf *b);

/* Whether both are the same rows of one recording, as far as its time of start is known. */
bool diff_is_same_recording(const struct selection *before, const struct selection *after);

/* Append "1.480 s -> 0.800 s": two costs in one unit. */
void diff_add_costs(struct buf *b, const struct diff *d, double before, double after);

/* The function whose own cost is proven to have grown most; NULL where none is. */
const struct diff_entry *diff_most_grown(const struct diff *d);
