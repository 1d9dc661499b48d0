/*
 * diff.h - what changed between profiles, and what of it is more than chance.
 *
 * All runs are laid over each other by canonical names (overlay.h): a list of functions and a tree
 * of call paths, each with its share before and after. Shares are of a run's own total, so runs
 * of unlike length compare; but they always add up to 100 %: when one function grows, the others
 * shrink. What is tested is therefore the cost: a share next to what the typical function's share
 * did (difftest.h). What is too small to matter (min_share) is kept but not tested, as every test
 * more makes all others less sure.
 */
#pragma once
#include "analysis/overlay.h"
#include "base/buf.h"

struct diff_opts {
    const struct selection *const *runs; /* those of before first */
    size_t n_before, n_runs;
    double min_share; /* the mean of both sides must reach it to be tested */
};

/* At this rate of false discoveries a difference counts as proven. */
#define DIFF_LEVEL 0.05

struct diff_value {
    double before, after;       /* mean of the runs; shares are 0 to 1 */
    double low, high;           /* 95 % interval of after - before; NAN where not tested */
    double cost;                /* factor from before to after, next to the typical function's */
    double cost_low, cost_high; /* its 95 % interval; NAN where not tested */
    double p, q; /* that the cost is the same; q: with regard to the number of tests; or NAN */
    bool proven; /* p and q <= DIFF_LEVEL */
};

static inline double diff_points(const struct diff_value *v)
{
    return (v->after - v->before) * 100;
}

/* A function, or a place in the tree of calls. */
struct diff_entry {
    uint32_t name, parent; /* parent: of paths only; [0] is the root of all */
    struct diff_value self, total;
};

enum diff_verdict { DIFF_IMPROVED, DIFF_REGRESSED, DIFF_UNCHANGED, DIFF_INCONCLUSIVE };

struct diff {
    struct intern names;
    VEC(struct diff_entry) functions, paths; /* a path's parent comes before it */
    size_t n_before, n_after, n_tested;      /* runs; functions that were tested */
    bool by_runs;     /* several runs: their scatter is known. Else sampling error only */
    bool has_samples; /* else nothing could be tested */
    double least_p;   /* that so many runs can reach; 0 for one run a side */
    double min_share;
    double typical; /* factor by which the typical function's share changed */
    bool has_cpu;
    struct diff_value cpu_s; /* CPU time of a run in seconds; tested with several runs only */
    const char *noun;        /* "time", or "total" where the value is none: shares are of that */
    enum diff_verdict verdict;
    char why[400]; /* what the verdict is based on */
};

struct diff *diff_build(const struct diff_opts *o);
void diff_free(struct diff *d); /* NULL is fine */

static inline struct text diff_name(const struct diff *d, const struct diff_entry *e)
{
    return intern_get(&d->names, e->name);
}

extern const char *const diff_verdict_names[];

/*
 * Append to B why the runs should not be compared, a line each: another event, kind of samples,
 * rate, machine, scope or value. Nothing where they are alike, or it is not known.
 */
void diff_unlike(const struct diff_opts *o, struct buf *b);
