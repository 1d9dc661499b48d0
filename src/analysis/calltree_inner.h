/* calltree_inner.h - a call tree while it is built: shared by the files of calltree.h. */
#pragma once
#include "analysis/calltree.h"

struct builder {
    const struct selection *s;
    const struct profile *p;
    const struct calltree_opts *o;
    struct calltree *t;
    VEC(uint32_t) parent, label; /* nodes so far, if not the trie's */
    bool is_trie;                /* the nodes are those of p->stacks, labels its frame ids */
    size_t n_nodes;
    struct idmap map;              /* (parent, label) -> node */
    uint32_t *node_of_row;         /* of the rows that count; the tree's where it keeps them */
    VEC(uint32_t) group_of_thread; /* label + 1; 0 = none */
    VEC(uint32_t) group_of_label;  /* the same, of groups by a label */
    VEC(int64_t) start;            /* of each node; charts only */
    VEC(int64_t) extent;           /* of each node; charts with times only */
};

/* The labels of a stack, leaf first, its group last. */
struct path {
    VEC(uint32_t) labels;
};

/* The row of the stream that is the I-th to count. */
static inline size_t row_at(const struct builder *b, size_t i)
{
    return selection_row(b->s, i);
}

static inline uint32_t group_at(const struct builder *b, size_t i)
{
    size_t row = row_at(b, i);
    if (b->o->group == GROUP_LABEL)
        return b->group_of_label.at[b->o->by->of_row[row]];
    return b->group_of_thread.at[b->s->stream->rows.thread[row].i];
}

static inline uint32_t parent_of(const struct builder *b, size_t node)
{
    return b->is_trie ? b->p->stacks.nodes.at[node].parent.i : b->parent.at[node];
}

static inline uint32_t label_of(const struct builder *b, size_t node)
{
    return b->is_trie ? b->p->stacks.nodes.at[node].frame.i : b->label.at[node];
}

uint32_t calltree_new_node(struct builder *b, uint32_t parent, uint32_t label);
void calltree_path_of_row(struct builder *b, size_t at, struct path *path);

/* Make the nodes of a chart. */
void calltree_merge_by_time(struct builder *b);
void calltree_merge_by_clock(struct builder *b);

#define LEFT_OUT UINT32_MAX

/*
 * Number the nodes that stay, by what is at or below each: the new ids, or LEFT_OUT. Free it with
 * mem_table_free().
 */
uint32_t *calltree_choose_nodes(struct builder *b, const int64_t *total);
void calltree_copy_nodes(const struct builder *b, const uint32_t *new_id);

/* Each node's children side by side, sorted by name, or in the order they came in time. */
void calltree_list_children(struct builder *b);
