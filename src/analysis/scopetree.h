/*
 * scopetree.h - the spans of a selection, summed up: by scope and the scopes around it, by name,
 * and by the value of an attribute.
 *
 * Total is the length of all spans; self is that without the scopes inside. Where a scope is inside
 * of one of the same name, the table by name counts the outermost for the total.
 */
#pragma once
#include "analysis/scopeblocks.h"
#include "analysis/selection.h"
#include "stats/histogram.h"

/* The span that took longest, the first of them. */
struct scope_slowest {
    uint64_t time_ns;
    struct thread_id thread;
    struct attrs_id attrs;
    struct scope_blocks blocks;
};

struct scope_sum {
    uint64_t calls, total_ns, self_ns;
    struct scope_blocks blocks; /* as total_ns: scopes inside included; see has_blocks */
    uint64_t min_ns, max_ns;
    double mean_ns, square_ns; /* square_ns: sum of squared distances from the mean */
    struct scope_slowest slowest;
    struct histogram times;
};

struct scope_node {
    struct str_id name;
    struct attr attr;       /* of a group; key "" = none */
    uint32_t parent, depth; /* of a tree; the first are at depth 0 */
    uint32_t id;            /* in its table, in the order of the rows */
    struct scope_sum sum;
};

typedef VEC(struct scope_node) scope_nodes;

/* Which nodes the spans belong to. */
struct scope_index;

/* The ids of a span's nodes, + 1; 0 = none. */
struct scope_ids {
    uint32_t tree, flat, group;
};

struct scopetree {
    const struct selection *selection;
    struct scope_index *index;
    uint64_t start_ns, end_ns; /* of the spans */
    uint64_t spans;
    bool has_blocks;    /* spans know what was allocated in them */
    scope_nodes tree;   /* in the order to show: a scope, then what is inside, longest first */
    scope_nodes flat;   /* by name, longest first */
    scope_nodes groups; /* by name and value of the attribute asked for */
};

/*
 * Sum up S, whose stream must have durations. BY is the key of an attribute, "thread" for
 * the name of the thread, or NULL. Fails when there are no durations, or nothing has that
 * attribute.
 */
int scopetree_build(struct scopetree *t, const struct selection *s, const char *by,
                    struct err *err);

/*
 * The same in parts, for spans that are read one chunk after the other and not kept: begin, add the
 * rows of a stream any number of times, end. Names are looked up at the end; ids of rows
 * (scopetree_ids) are then those of S.
 */
void scopetree_begin(struct scopetree *t, const char *by);
void scopetree_add(struct scopetree *t, const struct selection *s);
int scopetree_end(struct scopetree *t, const struct selection *s, struct err *err);
void scopetree_done(struct scopetree *t);

/* The nodes that a row of the selection was summed up in. */
struct scope_ids scopetree_ids(const struct scopetree *t, size_t row);

/* The stream of scopes of a profile, or -1. */
int scopetree_stream(const struct profile *p);

/* Its column of self times; false where there is none. */
bool scopetree_find(const struct profile *p, struct value_ref *ret);

/* The name of the scope that a stack of the stream of scopes ends with. */
struct str_id scopetree_name(const struct profile *p, struct stack_id stack);

double scope_sum_sd_ns(const struct scope_sum *s);

/* How far a quantile is known: scopequantile.h. */
uint64_t scope_sum_quantile_ns(const struct scope_sum *s, double q);

/* Whether there are enough spans for one to lie beyond the quantile: 10 for 0.9. */
bool scope_sum_has_quantile(const struct scope_sum *s, double q);
