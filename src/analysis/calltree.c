#include "analysis/calltree_inner.h"

#include "base/buf.h"

uint32_t calltree_new_node(struct builder *b, uint32_t parent, uint32_t label)
{
    *vec_push(&b->parent) = parent;
    *vec_push(&b->label) = label;
    return (uint32_t)b->parent.n - 1;
}

static uint32_t child_of(struct builder *b, uint32_t parent, uint32_t label)
{
    uint32_t hash = hash_pair(parent, label);
    for_each_match (&b->map, hash, id) {
        if (b->parent.at[id] == parent && b->label.at[id] == label)
            return id;
    }
    uint32_t id = calltree_new_node(b, parent, label);
    idmap_add(&b->map, hash, id);
    return id;
}

static struct stack_id stack_at(const struct builder *b, size_t i)
{
    return b->s->stream->rows.stack[row_at(b, i)];
}

/* --- what stands above the first frame --- */

static void group_name(struct buf *s, const struct profile *p, const struct thread *t,
                       const struct calltree_opts *o)
{
    struct text name = profile_str(p, t->name);
    int32_t pid = profile_pid(p, t);
    buf_add(s, name.at, name.n);
    for (size_t i = 0; o->underscores && i < s->n; i++)
        if (s->at[i] == ' ')
            s->at[i] = '_';
    if (o->group >= GROUP_PID && pid == THREAD_NO_ID)
        buf_str(s, "-?");
    else if (o->group >= GROUP_PID)
        buf_printf(s, "-%d", pid);
    if (o->group == GROUP_TID && t->tid != THREAD_NO_ID)
        buf_printf(s, "/%d", t->tid);
}

static void blanks_to_underscores(char *s)
{
    for (; *s; s++)
        *s = *s == ' ' ? '_' : *s;
}

static void label_labels(struct builder *b)
{
    for (uint32_t i = 0; i < b->o->by->names.strings.n; i++) {
        autofree char *title = grouping_title(b->o->by, i, b->o->by_key);
        if (b->o->underscores)
            blanks_to_underscores(title);
        *vec_push(&b->group_of_label) = labels_add(&b->t->labels, text_of(title), FRAME_USER) + 1;
    }
}

static void label_groups(struct builder *b)
{
    const struct profile *p = b->p;
    if (b->o->group == GROUP_LABEL) {
        label_labels(b);
        return;
    }
    for (size_t i = 0; i < p->threads.n; i++) {
        const struct thread *t = &p->threads.at[i];
        autobuf struct buf name = {0};
        bool known = t->name.i || t->tid != THREAD_NO_ID;
        uint32_t label = 0;
        if (b->o->group != GROUP_NONE && known) {
            group_name(&name, p, t, b->o);
            label = labels_add(&b->t->labels, buf_text(&name), FRAME_USER) + 1;
        }
        *vec_push(&b->group_of_thread) = label;
    }
}

static bool has_groups(const struct builder *b)
{
    if (b->o->group == GROUP_LABEL)
        return true;
    for (size_t i = 0; i < b->group_of_thread.n; i++)
        if (b->group_of_thread.at[i])
            return true;
    return false;
}

/* --- the stack trie is the tree already --- */

/*
 * When each frame has one label and no two frames share one, the trie of stacks needs no merging:
 * its nodes become the tree's. Folded files are like that, and they are the largest inputs.
 */
static bool trie_is_tree(struct builder *b)
{
    const struct profile *p = b->p;
    if (has_groups(b) || b->o->callers_first || b->o->order != ORDER_NAME ||
        !selection_is_all(b->s))
        return false;
    for (size_t i = 0; i < p->frames.n; i++) {
        struct frame_id id = {(uint32_t)i};
        if (labels_count(&p->frames.at[i]) != 1)
            return false;
        if (labels_of_frame(&b->t->labels, p, id, 0) != i)
            return false;
    }
    return true;
}

static void take_trie(struct builder *b)
{
    b->is_trie = true;
    for (size_t i = 0; i < b->s->n_rows; i++)
        b->node_of_row[i] = b->s->stream->rows.stack[i].i;
}

static uint32_t parent_of(const struct builder *b, size_t node)
{
    return b->is_trie ? b->p->stacks.nodes.at[node].parent.i : b->parent.at[node];
}

static uint32_t label_of(const struct builder *b, size_t node)
{
    return b->is_trie ? b->p->stacks.nodes.at[node].frame.i : b->label.at[node];
}

/* --- merging by name --- */

/* ROOT is what the stack stands on: no function, even if its name is that of one. */
static uint32_t descend(struct builder *b, uint32_t root, uint32_t node, struct frame_id frame)
{
    size_t n = labels_count(profile_frame(b->p, frame));
    for (size_t i = 0; i < n; i++) {
        if (selection_hides(b->s, frame, i))
            continue;
        uint32_t label = labels_of_frame(&b->t->labels, b->p, frame, i);
        if (!b->s->merge_recursion || node == root || b->label.at[node] != label)
            node = child_of(b, node, label);
    }
    return node;
}

/* The rows that count sorted by their group, by counting; NULL if all have the same. Free it. */
static uint32_t *rows_by_group(const struct builder *b)
{
    size_t n = b->s->n_rows, n_groups = b->t->labels.at.n + 1;
    uint32_t *start = mem_calloc(n_groups + 1, sizeof *start);
    for (size_t i = 0; i < n; i++)
        start[group_at(b, i) + 1]++;
    if (n == 0 || start[group_at(b, 0) + 1] == n) {
        free(start);
        return NULL;
    }
    uint32_t *rows = mem_array(n, sizeof *rows);
    for (size_t g = 0; g < n_groups; g++)
        start[g + 1] += start[g];
    for (size_t i = 0; i < n; i++)
        rows[start[group_at(b, i)]++] = (uint32_t)i;
    free(start);
    return rows;
}

struct memo {
    uint32_t group, node; /* node is good for this group + 1 only */
};

struct memos {
    struct memo *memo;  /* by stack */
    VEC(uint32_t) path; /* empty between two stacks */
};

/* The tree node of a stack, remembering those of its callers. */
static uint32_t node_of_stack(struct builder *b, struct memos *m, uint32_t group, uint32_t root,
                              struct stack_id stack)
{
    const struct stack_node *nodes = b->p->stacks.nodes.at;
    uint32_t s = stack.i;
    for (; s && m->memo[s].group != group + 1; s = nodes[s].parent.i)
        *vec_push(&m->path) = s;
    uint32_t node = s ? m->memo[s].node : root;
    while (m->path.n) {
        s = m->path.at[--m->path.n];
        node = descend(b, root, node, nodes[s].frame);
        m->memo[s] = (struct memo){group + 1, node};
    }
    return node;
}

static void merge_by_name(struct builder *b)
{
    struct memos memos = {.memo = mem_calloc(b->p->stacks.nodes.n, sizeof *memos.memo)};
    uint32_t *order = rows_by_group(b), group = 0, root = 0;
    for (size_t i = 0; i < b->s->n_rows; i++) {
        uint32_t at = order ? order[i] : (uint32_t)i;
        if (group_at(b, at) != group) {
            group = group_at(b, at);
            root = child_of(b, 0, group - 1); /* those without a group come first */
        }
        b->node_of_row[at] = node_of_stack(b, &memos, group, root, stack_at(b, at));
    }
    free(order);
    free(memos.memo);
    vec_done(&memos.path);
}

/* --- whole paths, for trees from the leaf and for charts --- */

static void add_to_path(struct builder *b, struct path *path, struct frame_id frame)
{
    for (size_t i = labels_count(profile_frame(b->p, frame)); i-- > 0;) {
        if (selection_hides(b->s, frame, i))
            continue;
        uint32_t label = labels_of_frame(&b->t->labels, b->p, frame, i);
        size_t n = path->labels.n;
        if (!b->s->merge_recursion || !n || path->labels.at[n - 1] != label)
            *vec_push(&path->labels) = label;
    }
}

/* The labels of a row's stack, leaf first, its group last. */
void calltree_path_of_row(struct builder *b, size_t at, struct path *path)
{
    const struct stack_node *nodes = b->p->stacks.nodes.at;
    path->labels.n = 0;
    for (uint32_t s = stack_at(b, at).i; s; s = nodes[s].parent.i)
        add_to_path(b, path, nodes[s].frame);
    uint32_t group = group_at(b, at);
    if (group)
        *vec_push(&path->labels) = group - 1;
}

static void merge_from_leaf(struct builder *b)
{
    struct path path = {0};
    for (size_t at = 0; at < b->s->n_rows; at++) {
        calltree_path_of_row(b, at, &path);
        uint32_t node = 0;
        for (size_t i = 0; i < path.labels.n; i++)
            node = child_of(b, node, path.labels.at[i]);
        b->node_of_row[at] = node;
    }
    vec_done(&path.labels);
}

/* --- values and children --- */

/* What is at each node, and at or below it, before any is left out. */
struct sums {
    int64_t *self, *total;
};

static void sum_column(const struct builder *b, const int64_t *value, struct sums *s)
{
    size_t size_bytes = b->n_nodes * sizeof *s->self;
    memset(s->self, 0, size_bytes);
    for (size_t i = 0; i < b->s->n_rows; i++)
        s->self[b->node_of_row[i]] += value[row_at(b, i)];
    memcpy(s->total, s->self, size_bytes);
    for (size_t i = b->n_nodes - 1; i > 0; i--)
        s->total[parent_of(b, i)] += s->total[i];
}

#define LEFT_OUT UINT32_MAX

/* Number the nodes that stay: a child never outweighs its parent, so no parent is missing. */
static uint32_t *choose_nodes(struct builder *b, const int64_t *total)
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

static void copy_nodes(const struct builder *b, const uint32_t *new_id)
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

static void copy_column(const struct builder *b, const struct sums *s, const uint32_t *new_id,
                        int64_t **ret_self, int64_t **ret_total)
{
    int64_t *self = *ret_self = mem_calloc(b->t->n, sizeof *self);
    int64_t *total = *ret_total = mem_calloc(b->t->n, sizeof *total);
    for (size_t i = 0; i < b->n_nodes; i++) {
        if (new_id[i] == LEFT_OUT)
            continue;
        self[new_id[i]] = s->self[i];
        total[new_id[i]] = s->total[i];
    }
}

/* Which nodes are threads or processes: the last of a path from the root, or of one to it. */
static void mark_groups(const struct builder *b, const uint32_t *new_id)
{
    struct calltree *t = b->t;
    if (!has_groups(b))
        return;
    t->group = mem_calloc(t->n, sizeof *t->group);
    autofree uint32_t *outermost = mem_calloc(b->n_nodes, sizeof *outermost);
    for (size_t i = 1; i < b->n_nodes; i++) {
        uint32_t parent = parent_of(b, i);
        outermost[i] = parent && !b->o->callers_first ? outermost[parent] : (uint32_t)i;
    }
    for (size_t i = 0; i < b->s->n_rows; i++) {
        uint32_t id = new_id[outermost[b->node_of_row[i]]];
        if (id != LEFT_OUT && !t->group[id])
            t->group[id] = group_at(b, i) && t->label[id] == group_at(b, i) - 1;
    }
}

static void copy_rows(const struct builder *b, const uint32_t *new_id)
{
    b->t->node_of_row = mem_array(b->s->n_rows + 1, sizeof *b->t->node_of_row);
    for (size_t i = 0; i < b->s->n_rows; i++) {
        uint32_t node = b->node_of_row[i];
        while (node && new_id[node] == LEFT_OUT)
            node = parent_of(b, node);
        b->t->node_of_row[i] = node ? new_id[node] : 0;
    }
}

static void sum_and_prune(struct builder *b)
{
    struct calltree *t = b->t;
    size_t size_bytes = b->n_nodes * sizeof(int64_t);
    const int64_t *value = selection_values(b->s), *count = selection_counts(b->s);
    struct sums sums = {mem_table(size_bytes), mem_table(size_bytes)};
    sum_column(b, value, &sums);
    uint32_t *new_id = choose_nodes(b, sums.total);
    copy_nodes(b, new_id);
    mark_groups(b, new_id);
    if (b->o->keep_rows)
        copy_rows(b, new_id);
    copy_column(b, &sums, new_id, &t->self, &t->total);
    if (count) {
        sum_column(b, count, &sums);
        copy_column(b, &sums, new_id, &t->self_count, &t->total_count);
    }
    mem_table_free(new_id, b->n_nodes * sizeof *new_id);
    mem_table_free(sums.self, size_bytes);
    mem_table_free(sums.total, size_bytes);
}

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

/* label -> its place in the order of names */
static uint32_t *rank_labels(struct labels *l)
{
    size_t n = l->at.n;
    uint32_t *order = mem_calloc(n + 1, sizeof *order), *rank = mem_calloc(n + 1, sizeof *rank);
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, n, sizeof *order, by_name, l);
    for (size_t i = 0; i < n; i++)
        rank[order[i]] = (uint32_t)i;
    free(order);
    return rank;
}

/* All nodes but the root in the order of their names, by counting. */
static uint32_t *nodes_by_name(struct calltree *t)
{
    uint32_t *rank = rank_labels(&t->labels);
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

/* Each node's children side by side, sorted by name, or in the order they came in time. */
static void list_children(struct builder *b)
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

static void make_nodes(struct builder *b)
{
    calltree_new_node(b, 0, 0);
    bool clocked = b->s->stream->rows.time_ns && !b->o->callers_first;
    if (b->o->order == ORDER_TIME && clocked)
        calltree_merge_by_clock(b);
    else if (b->o->order == ORDER_TIME)
        calltree_merge_by_time(b);
    else if (b->o->callers_first)
        merge_from_leaf(b);
    else if (trie_is_tree(b))
        take_trie(b);
    else
        merge_by_name(b);
    b->n_nodes = b->is_trie ? b->p->stacks.nodes.n : b->parent.n;
    idmap_done(&b->map);
}

struct calltree *calltree_build(const struct selection *s, const struct calltree_opts *opts)
{
    struct calltree *t = mem_new(struct calltree);
    struct builder b = {.s = s, .p = s->profile, .o = opts, .t = t};
    labels_init(&t->labels, s->profile, &opts->labels);
    b.node_of_row = mem_array(s->n_rows + 1, sizeof *b.node_of_row);
    label_groups(&b);
    make_nodes(&b);
    sum_and_prune(&b);
    list_children(&b);
    vec_done(&b.parent);
    vec_done(&b.label);
    vec_done(&b.start);
    vec_done(&b.extent);
    free(b.node_of_row);
    vec_done(&b.group_of_thread);
    vec_done(&b.group_of_label);
    return t;
}

void calltree_free(struct calltree *t)
{
    if (!t)
        return;
    labels_done(&t->labels);
    free(t->parent);
    free(t->label);
    free(t->self);
    free(t->total);
    free(t->self_count);
    free(t->total_count);
    free(t->start);
    free(t->extent);
    free(t->group);
    free(t->node_of_row);
    free(t->child_at);
    free(t->child_end);
    free(t->list);
    free(t);
}

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
    uint32_t *new_id = choose_nodes(&b, total);
    *ret_from = mem_calloc(t->n, sizeof **ret_from);
    copy_nodes(&b, new_id);
    copy_values(&b, nodes, new_id, total, *ret_from);
    list_children(&b);
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
