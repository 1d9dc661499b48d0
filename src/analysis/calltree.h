/*
 * calltree.h - samples folded into a tree of callers and callees.
 *
 * Built once from a selection, then read-only: two threads may read it. Nodes are numbered so that
 * a parent comes before its children; node 0 is the root that holds everything. The profile must
 * outlive the tree.
 */
#pragma once
#include "analysis/grouping.h"
#include "analysis/label.h"
#include "analysis/selection.h"

/* What stands below the root, above a stack's first frame. */
enum calltree_group {
    GROUP_NONE,
    GROUP_COMM,  /* the thread's name */
    GROUP_PID,   /* name-pid */
    GROUP_TID,   /* name-pid/tid */
    GROUP_LABEL, /* of calltree_opts.by */
};

enum calltree_order {
    ORDER_NAME, /* equal call paths merged, children sorted by name */
    /*
     * A flame chart: only neighbours in time merged, children in time order. Where rows have times,
     * each thread apart, and nothing is merged across a gap without samples.
     */
    ORDER_TIME,
};

struct calltree_opts {
    enum calltree_group group;
    const struct grouping *by; /* of the same stream; NULL unless by label */
    const char *by_key;
    enum calltree_order order;
    bool callers_first; /* the tree starts at the leaf and grows to its callers */
    double min_share;   /* leave out nodes below this share of the total, and what they call ... */
    size_t keep_up_to;  /* ... unless there are no more than so many of them */
    bool keep_rows;     /* fill node_of_row */
    bool underscores;   /* blanks in group names become '_' */
    struct label_opts labels;
};

struct calltree {
    struct labels labels;
    size_t n, n_left_out; /* nodes here; nodes with a value that were below min_share */
    uint32_t *parent;
    uint32_t *label; /* in labels; not meaningful for node 0 */
    int64_t *self, *total;
    int64_t *self_count, *total_count; /* samples behind them; NULL where not recorded */
    bool *group; /* whether a node is a thread or process, not a function; NULL = none is */
    uint32_t *node_of_row; /* of the selection's rows, the innermost that is here; or NULL */
    int64_t *start;    /* charts: nanoseconds since the first row, or without times the sum of the
                          values earlier; NULL in trees by name */
    int64_t *extent;   /* charts with times: nanoseconds from its start to its end; else NULL */
    uint64_t first_ns; /* charts with times: of the first row */
    uint32_t *child_at, *child_end; /* children: list[child_at[node] .. child_end[node]) */
    uint32_t *list;
};

/* Fold every row that counts. O(rows + nodes), or O(rows * depth) for callers_first and charts. */
struct calltree *calltree_build(const struct selection *s, const struct calltree_opts *opts);
void calltree_free(struct calltree *t); /* NULL is fine */

/* Nodes that are known already: parents before their children, [0] the root, which has no name. */
struct calltree_nodes {
    size_t n;
    const uint32_t *parent;
    const struct text *name;
    const int64_t *self; /* at least 0 */
};

/*
 * The tree of NODES without those below MIN_SHARE of the total. RET_FROM gets for each node of the
 * tree the index in NODES it was made from; free it.
 */
struct calltree *calltree_of_nodes(const struct calltree_nodes *nodes, double min_share,
                                   uint32_t **ret_from);

/*
 * For each stack of the profile the last node of T on it, where T was built from S by name, from
 * the root and without groups. Free it.
 */
uint32_t *calltree_nodes_of_stacks(const struct calltree *t, const struct selection *s);

/* Visit the children of NODE that are in its list. */
#define for_each_child(tree, node, child)                  \
    for (uint32_t at_ = (tree)->child_at[node], child = 0; \
         at_ < (tree)->child_end[node] && (child = (tree)->list[at_], 1); at_++)
