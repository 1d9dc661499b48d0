/*
 * modes.h - do runs fall into two groups? Then a median stands for one of them only.
 *
 * Two groups are seen where a gap between neighbouring values is half as wide again as each group
 * that it parts (from its first to its last tenth), and both have their share of the runs. A bell,
 * a uniform spread and a long tail have no such gap, whatever their width.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { MODES_LEAST_RUNS = 20 };

struct modes {
    double share[2];  /* of the runs */
    double median[2]; /* the faster group first */
    size_t changes;   /* how often a run is of another group than the one before it */
};

/* False where there is one group, or too few of N values, which are in the order of time. */
bool modes_find(struct modes *ret, const double *values, size_t n);
