/* calltree_nodes.c - trees of known nodes, and the node that a stack ends in; see calltree.h. */
#include "analysis/calltree_inner.h"

/* --- from nodes --- */

static void take_nodes(struct builder *b, const struct calltree_nodes *in)
{
    calltree_new_node(b, 0, 0);
    for (size_t i = 1; i < in->n; i++)
        calltree_new_node(b, in->parent[i], labels_add(&b->t->labels, in->name[i], FRAME_USER));
    b->n_nodes = b->parent.n;
}

static void copy_values(const struct builder *b, const struct calltree_nodes *in,
                        const uint32_t *new_id, const int64_t *total, uint32_t *ret_from)
{
    struct calltree *t = b->t;
    t->self = mem_calloc(t->n, sizeof *t->self);
    t->total = mem_calloc(t->n, sizeof *t->total);
    for (size_t i = 0; i < in->n; i++) {
        if (new_id[i] == LEFT_OUT)
            continue;
        t->self[new_id[i]] = in->self[i];
        t->total[new_id[i]] = total[i];
        ret_from[new_id[i]] = (uint32_t)i;
    }
}

struct calltree *calltree_of_nodes(const struct calltree_nodes *nodes, double min_share,
                                   uint32_t **ret_from)
{
    struct calltree *t = mem_new(struct calltree);
    struct calltree_opts opts = {.min_share = min_share};
    struct builder b = {.o = &opts, .t = t};
    autofree int64_t *total = mem_calloc(nodes->n, sizeof *total);
    labels_init(&t->labels, NULL, &opts.labels);
    take_nodes(&b, nodes);
    for (size_t i = nodes->n; i-- > 0;) {
        total[i] += nodes->self[i];
        if (i)
            total[nodes->parent[i]] += total[i];
    }
    uint32_t *new_id = calltree_choose_nodes(&b, total);
    *ret_from = mem_calloc(t->n, sizeof **ret_from);
    calltree_copy_nodes(&b, new_id);
    copy_values(&b, nodes, new_id, total, *ret_from);
    calltree_list_children(&b);
    mem_table_free(new_id, b.n_nodes * sizeof *new_id);
    vec_done(&b.parent);
    vec_done(&b.label);
    return t;
}

/* --- where stacks are in it --- */

/* The child of NODE with a LABEL, or 0. */
static uint32_t child_by_label(const struct calltree *t, uint32_t node, uint32_t label)
{
    for_each_child (t, node, child)
        if (t->label[child] == label)
            return child;
    return 0;
}

/* The node below NODE that FRAME leads to; sets ENDED where that was left out. */
static uint32_t calltree_follow(const struct calltree *t, const struct selection *s, uint32_t node,
                                struct frame_id frame, bool *ended)
{
    size_t n = labels_count(profile_frame(s->profile, frame));
    for (size_t k = 0; k < n && !*ended; k++) {
        if (selection_hides(s, frame, k))
            continue;
        uint32_t label = labels_get(&t->labels, s->profile, frame, k);
        if (s->merge_recursion && node && t->label[node] == label)
            continue;
        uint32_t next = child_by_label(t, node, label);
        node = next ? next : node;
        *ended = !next;
    }
    return node;
}

uint32_t *calltree_nodes_of_stacks(const struct calltree *t, const struct selection *s)
{
    const struct stacks *stacks = &s->profile->stacks;
    uint32_t *node_of = mem_calloc(stacks->nodes.n, sizeof *node_of);
    autofree bool *ended = mem_calloc(stacks->nodes.n, sizeof *ended);
    for (size_t i = 1; i < stacks->nodes.n; i++) {
        struct stack_node n = stacks->nodes.at[i];
        ended[i] = ended[n.parent.i];
        node_of[i] = calltree_follow(t, s, node_of[n.parent.i], n.frame, &ended[i]);
    }
    return node_of;
}
