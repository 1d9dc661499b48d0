/*
 * scaling.h - profiles of growing input: how the cost of a program and of its functions grows.
 *
 * The cost of a function is its share of a run times what the run cost (runcost.h): nanoseconds of
 * CPU time wherever that is known, so that recordings of unlike rates compare; else in the unit of
 * the value that is shown. Functions are the same in two runs where their canonical names are
 * (canon.h). The cost of a scope of the program is the time that its spans took, by the clock.
 *
 * Where all runs say how many items they did (tokens, requests), costs are per item: else a large
 * run that does half as many would look as cheap as a small one.
 */
#pragma once
#include "analysis/flat.h"
#include "analysis/scopetree.h"
#include "base/arena.h"
#include "base/buf.h"
#include "stats/growth.h"

struct scaling_run {
    const struct selection *selection;
    double size;                    /* above 0 */
    const struct selection *scopes; /* the spans of the same run; NULL = none */
    double items;                   /* what it did: tokens, requests; 0 = not known */
};

/* The costs of one thing, one per run. */
struct scaling_cost {
    double *cost; /* 0 where it was not met */
    bool fits;    /* met at two sizes or more, so that there is a growth */
    struct growth growth;
};

struct scaling_function {
    struct text name;         /* canonical */
    struct flat_share at_end; /* self share in the largest run */
    struct scaling_cost self, total;
};

/* Of a scope of the program, with the scopes inside and without. */
struct scaling_scope {
    struct text name;
    struct scaling_cost self, total;
};

struct scaling {
    struct scaling_run *runs; /* smallest first */
    struct flat **lists;      /* one per run, by function */
    struct scopetree *trees;  /* one per run; zeros where it has no scopes */
    size_t n;
    bool per_item;            /* the costs are */
    enum dimension dimension; /* what the costs are */
    struct text unit;         /* theirs, as the field calls it */
    struct scaling_cost whole;
    VEC(struct scaling_function) functions; /* the hottest of the largest run, by self */
    VEC(struct scaling_scope) scopes;       /* the longest of the largest run, by total */
    struct arena arena;
};

/*
 * Append to B why the costs of N runs do not compare: another event, or counts of samples that were
 * taken at unlike rates. Nothing where they do.
 */
void scaling_unlike(const struct scaling_run *runs, size_t n, struct buf *b);

/*
 * Of N runs in any order, at least two; the selections must outlive S. TOP functions and as many
 * scopes are included.
 * Free with scaling_done().
 */
void scaling_build(struct scaling *s, const struct scaling_run *runs, size_t n, size_t top);
void scaling_done(struct scaling *s); /* of zeros is fine */

/* Of one function, by its canonical name. Its memory belongs to S. */
struct scaling_cost scaling_of(struct scaling *s, struct text name, enum flat_what what);

/* Of a scope, by its whole name; false where no run has it. */
bool scaling_of_scope(struct scaling *s, struct text name, enum flat_what what,
                      struct scaling_cost *ret);

/* The last is the largest. */
static inline const struct scaling_run *scaling_largest(const struct scaling *s)
{
    return &s->runs[s->n - 1];
}

/* By which factor a cost grew from the first run it was met in to the last, and the size in it. */
struct scaling_ratio {
    double size, cost; /* 1 and 1 where there are no two */
};
struct scaling_ratio scaling_ratio_of(const struct scaling *s, const struct scaling_cost *c);
