/*
 * treeshare.h - how sure the shares of a call tree's nodes are.
 *
 * The same intervals as those of a list of functions (flat.h), for the samples that reached a node
 * by just this path.
 */
#pragma once
#include "analysis/calltree.h"
#include "stats/stats.h"

struct treeshare {
    struct interval total, self;
    bool known; /* not where samples are not counted, or the node is too small to be worth it */
};

/*
 * One for each node of T, which was built from S with keep_rows; those with less than LEAST of the
 * total are not known. Free it.
 */
struct treeshare *treeshare_build(const struct calltree *t, const struct selection *s,
                                  double least);
