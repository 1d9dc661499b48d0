/*
 * scopequantile.h - a quantile of how long a scope took, or the mean, and how far it is known.
 *
 * The interval of a quantile is of order statistics: the ranks between which the quantile lies in
 * 95 of 100 cases. Spans that follow each other are often alike, so it is as wide as the effective
 * number of spans makes it (stats_effective_n()). An end that so few spans do not bound is 0 or
 * INFINITY. Lost spans may have been of any scope and of any length: both ends move by as many
 * ranks.
 *
 * The interval of the mean is of blocks of spans in a row: from how much the means of up to 30
 * blocks differ from the next one's, and never narrower than that of independent spans. Calls
 * that are alike for longer than a thirtieth of the recording still make it too narrow.
 */
#pragma once
#include "analysis/scopetree.h"
#include "stats/stats.h"

struct scope_quantile {
    double ns;
    struct interval interval;
    double n_effective; /* spans */
};

/* Quantile Q, 0 to 1, of the scope at index FLAT of T->flat. */
struct scope_quantile scope_quantile_of(const struct scopetree *t, size_t flat, double q);

struct scope_mean {
    double ns;
    struct interval interval;
};

struct scope_mean scope_mean_of(const struct scopetree *t, size_t flat);

/* The same quantiles of all scopes of T, in all its tables: one pass over the spans. */
enum { SCOPE_QUANTILES_MAX = 8 };

struct scope_quantiles;

struct scope_quantiles *scope_quantiles_new(const struct scopetree *t, const double *q, int n);
void scope_quantiles_free(struct scope_quantiles *s);

/* Quantile I of a node of TABLE, which is &T->tree, &T->flat or &T->groups. */
struct scope_quantile scope_quantiles_get(const struct scope_quantiles *s, const scope_nodes *table,
                                          const struct scope_node *node, int i);

/* The scope of that name in T->flat, or -1. */
int scope_find(const struct scopetree *t, struct text name);

/* How many independent spans it takes to bound quantile Q on both sides. */
double scope_quantile_least(double q);
