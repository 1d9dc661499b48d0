/*
 * scopequantile.h - a quantile of how long a scope took, and how far it is known.
 *
 * The interval is of order statistics: the ranks between which the quantile lies in 95 of 100
 * cases. Spans that follow each other are often alike, so it is as wide as the effective number of
 * spans makes it (stats_effective_n()). An end that so few spans do not bound is 0 or INFINITY.
 * Lost spans may have been of any scope and of any length: both ends move by as many ranks.
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

/* The scope of that name in T->flat, or -1. */
int scope_find(const struct scopetree *t, struct text name);

/* How many independent spans it takes to bound quantile Q on both sides. */
double scope_quantile_least(double q);
