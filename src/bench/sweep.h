/*
 * sweep.h - how cost grows along each parameter that is a number.
 */
#pragma once
#include "bench/session.h"
#include "stats/growth.h"

struct sweep {
    char *name, *parameter; /* "./app --n {n}", "n" */
    struct growth growth;
    VEC(struct growth_point) points; /* sorted by size; cost is the median */
};

struct sweeps {
    VEC(struct sweep) at;
};

/* One for each parameter and each combination of the others with at least three sizes. */
void sweeps_build(struct sweeps *w, const struct session *s);
void sweeps_done(struct sweeps *w);
