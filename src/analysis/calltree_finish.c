/* calltree_finish.c - which nodes of a tree stay, and their children; see calltree_inner.h. */
#include "analysis/calltree_inner.h"

/* --- which nodes stay --- */

/* A child never outweighs its parent, so no parent is missing. */
uint32_t *calltree_choose_nodes(struct builder *b, const int64_t *total)
{
    const int64_t *size = b->extent.n ? b->extent.at : total;
    uint32_t *new_id = mem_table(b->n_nodes * sizeof *new_id);
    double least = b->o->min_share * (double)size[0];
    size_t n = 1, n_left_out = 0, n_small = 0;
    for (size_t i = 1; i < b->n_nodes; i++)
        n_small += total[i] > 0 && (double)size[i] < least;
    if (n_small <= b->o->keep_up_to)
        least = 0;
    for (size_t i = 1; i < b->n_nodes; i++) {
        bool stays = total[i] > 0 && (double)size[i] >= least;
        new_id[i] = stays ? (uint32_t)n++ : LEFT_OUT;
        n_left_out += total[i] > 0 && !stays;
    }
    b->t->n = n;
    b->t->n_left_out = n_left_out;
    return new_id;
}

void calltree_copy_nodes(const struct builder *b, const uint32_t *new_id)
{
    struct calltree *t = b->t;
    t->parent = mem_calloc(t->n, sizeof *t->parent);
    t->label = mem_calloc(t->n, sizeof *t->label);
    t->start = b->start.n ? mem_calloc(t->n, sizeof *t->start) : NULL;
    t->extent = b->extent.n ? mem_calloc(t->n, sizeof *t->extent) : NULL;
    if (t->extent)
        t->extent[0] = b->extent.at[0];
    for (size_t i = 1; i < b->n_nodes; i++) {
        uint32_t id = new_id[i];
        if (id == LEFT_OUT)
            continue;
        t->parent[id] = new_id[parent_of(b, i)];
        t->label[id] = label_of(b, i);
        if (t->start)
            t->start[id] = b->start.at[i];
        if (t->extent)
            t->extent[id] = b->extent.at[i];
    }
}

/* --- children --- */

/*
 * As if every name ended in ';', the way it stands in a folded line: then children in this order
 * give lines that are sorted.
 */
static int compare_names(struct text a, struct text b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = memcmp(a.at, b.at, n);
    if (c || a.n == b.n)
        return c;
    return a.n < b.n ? ';' - (unsigned char)b.at[n] : (unsigned char)a.at[n] - ';';
}

static int by_name(const void *a, const void *b, void *context)
{
    const struct labels *l = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int c = compare_names(labels_text(l, x), labels_text(l, y));
    return c ? c : l->at.at[x].kind - l->at.at[y].kind;
}

/* label -> its place in the order of the names that nodes have; of others nothing */
static uint32_t *rank_labels(struct calltree *t)
{
    struct labels *l = &t->labels;
    size_t n = 0;
    uint32_t *order = mem_calloc(l->at.n + 1, sizeof *order);
    uint32_t *rank = mem_calloc(l->at.n + 1, sizeof *rank);
    for (size_t i = 1; i < t->n; i++)
        if (!rank[t->label[i]]++)
            order[n++] = t->label[i];
    qsort_r(order, n, sizeof *order, by_name, l);
    for (size_t i = 0; i < n; i++)
        rank[order[i]] = (uint32_t)i;
    free(order);
    return rank;
}

/* All nodes but the root in the order of their names, by counting. */
static uint32_t *nodes_by_name(struct calltree *t)
{
    uint32_t *rank = rank_labels(t);
    uint32_t *start = mem_calloc(t->labels.at.n + 2, sizeof *start);
    uint32_t *nodes = mem_calloc(t->n, sizeof *nodes);
    for (size_t i = 1; i < t->n; i++)
        start[rank[t->label[i]] + 1]++;
    for (size_t r = 0; r < t->labels.at.n; r++)
        start[r + 1] += start[r];
    for (size_t i = 1; i < t->n; i++)
        nodes[start[rank[t->label[i]]]++] = (uint32_t)i;
    free(start);
    free(rank);
    return nodes;
}

void calltree_list_children(struct builder *b)
{
    struct calltree *t = b->t;
    t->child_at = mem_calloc(t->n, sizeof *t->child_at);
    t->child_end = mem_calloc(t->n, sizeof *t->child_end);
    t->list = mem_calloc(t->n, sizeof *t->list);
    for (size_t i = 1; i < t->n; i++)
        t->child_end[t->parent[i]]++;
    for (size_t i = 0, at = 0; i < t->n; i++) {
        size_t n = t->child_end[i];
        t->child_at[i] = t->child_end[i] = (uint32_t)at;
        at += n;
    }
    uint32_t *sorted = b->o->order == ORDER_NAME ? nodes_by_name(t) : NULL;
    for (size_t i = 1; i < t->n; i++) {
        uint32_t node = sorted ? sorted[i - 1] : (uint32_t)i;
        t->list[t->child_end[t->parent[node]]++] = node;
    }
    free(sorted);
}
