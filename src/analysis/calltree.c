#include "analysis/calltree_inner.h"

#include "base/block.h"
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
        bool known = t->name.i || (b->o->group != GROUP_COMM && t->tid != THREAD_NO_ID);
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

BLOCK_CALL static void count_groups(const struct builder *b, uint32_t *n_of, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        n_of[group_at(b, i)]++;
}

BLOCK_CALL static void sort_by_group(const struct builder *b, uint32_t *start, uint32_t *rows,
                                     size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        rows[start[group_at(b, i)]++] = (uint32_t)i;
}

/* The rows that count sorted by their group, by counting; NULL if all have the same. Free it. */
static uint32_t *rows_by_group(const struct builder *b)
{
    size_t n = b->s->n_rows, n_groups = b->t->labels.at.n + 1;
    uint32_t *start = mem_calloc(n_groups + 1, sizeof *start);
    for_each_block(from, to, n) count_groups(b, start + 1, from, to);
    if (n == 0 || start[group_at(b, 0) + 1] == n) {
        free(start);
        return NULL;
    }
    uint32_t *rows = mem_array(n, sizeof *rows);
    for (size_t g = 0; g < n_groups; g++)
        start[g + 1] += start[g];
    for_each_block(from, to, n) sort_by_group(b, start, rows, from, to);
    free(start);
    return rows;
}

struct memo {
    uint32_t group, node; /* node is good for this group + 1 only */
};

struct memos {
    struct memo *memo;  /* by stack */
    VEC(uint32_t) path; /* empty between two stacks */
    uint32_t *order;    /* of the rows, by group; NULL = theirs */
    uint32_t group, root;
};

/* The tree node of a stack that is met for the first time, remembering those of its callers. */
BLOCK_CALL static uint32_t node_of_stack(struct builder *b, struct memos *m, uint32_t stack)
{
    const struct stack_node *nodes = b->p->stacks.nodes.at;
    uint32_t s = stack;
    for (; s && m->memo[s].group != m->group + 1; s = nodes[s].parent.i)
        *vec_push(&m->path) = s;
    uint32_t node = s ? m->memo[s].node : m->root;
    while (m->path.n) {
        s = m->path.at[--m->path.n];
        node = descend(b, m->root, node, nodes[s].frame);
        m->memo[s] = (struct memo){m->group + 1, node};
    }
    return node;
}

BLOCK_CALL static void enter_group(struct builder *b, struct memos *m, uint32_t group)
{
    m->group = group;
    m->root = child_of(b, 0, group - 1); /* those without a group come first */
}

/* Little code, so that a browser soon has the better one: most rows only read the memo. */
BLOCK_CALL static void merge_rows(struct builder *b, struct memos *m, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        uint32_t at = m->order ? m->order[i] : (uint32_t)i, stack = stack_at(b, at).i;
        if (group_at(b, at) != m->group)
            enter_group(b, m, group_at(b, at));
        struct memo memo = m->memo[stack];
        b->node_of_row[at] = memo.group == m->group + 1 ? memo.node : node_of_stack(b, m, stack);
    }
}

static void merge_by_name(struct builder *b)
{
    struct memos memos = {.memo = mem_calloc(b->p->stacks.nodes.n, sizeof *memos.memo),
                          .order = rows_by_group(b)};
    for_each_block(from, to, b->s->n_rows) merge_rows(b, &memos, from, to);
    free(memos.order);
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

BLOCK_CALL static void sum_some(const struct builder *b, const int64_t *value, int64_t *self,
                                size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        self[b->node_of_row[i]] += value[row_at(b, i)];
}

static void sum_column(const struct builder *b, const int64_t *value, struct sums *s)
{
    size_t size_bytes = b->n_nodes * sizeof *s->self;
    memset(s->self, 0, size_bytes);
    for_each_block(from, to, b->s->n_rows) sum_some(b, value, s->self, from, to);
    memcpy(s->total, s->self, size_bytes);
    for (size_t i = b->n_nodes - 1; i > 0; i--)
        s->total[parent_of(b, i)] += s->total[i];
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

BLOCK_CALL static void mark_some(const struct builder *b, const uint32_t *new_id,
                                 const uint32_t *outermost, size_t from, size_t to)
{
    struct calltree *t = b->t;
    for (size_t i = from; i < to; i++) {
        uint32_t id = new_id[outermost[b->node_of_row[i]]];
        if (id != LEFT_OUT && !t->group[id])
            t->group[id] = group_at(b, i) && t->label[id] == group_at(b, i) - 1;
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
    for_each_block(from, to, b->s->n_rows) mark_some(b, new_id, outermost, from, to);
}

BLOCK_CALL static void show_some(uint32_t *node_of_row, const uint32_t *shown, size_t from,
                                 size_t to)
{
    for (size_t i = from; i < to; i++)
        node_of_row[i] = shown[node_of_row[i]];
}

/* Rows of a node that was left out are shown at the nearest caller that was not. */
static void keep_rows(struct builder *b, const uint32_t *new_id)
{
    autofree uint32_t *shown = mem_array(b->n_nodes, sizeof *shown);
    shown[0] = 0;
    for (size_t i = 1; i < b->n_nodes; i++)
        shown[i] = new_id[i] == LEFT_OUT ? shown[parent_of(b, i)] : new_id[i];
    for_each_block(from, to, b->s->n_rows) show_some(b->node_of_row, shown, from, to);
    b->t->node_of_row = b->node_of_row;
    b->node_of_row = NULL;
}

static void sum_and_prune(struct builder *b)
{
    struct calltree *t = b->t;
    size_t size_bytes = b->n_nodes * sizeof(int64_t);
    const int64_t *value = selection_values(b->s), *count = selection_counts(b->s);
    struct sums sums = {mem_table(size_bytes), mem_table(size_bytes)};
    sum_column(b, value, &sums);
    uint32_t *new_id = calltree_choose_nodes(b, sums.total);
    calltree_copy_nodes(b, new_id);
    mark_groups(b, new_id);
    copy_column(b, &sums, new_id, &t->self, &t->total);
    if (count) {
        sum_column(b, count, &sums);
        copy_column(b, &sums, new_id, &t->self_count, &t->total_count);
    }
    if (b->o->keep_rows)
        keep_rows(b, new_id);
    mem_table_free(new_id, b->n_nodes * sizeof *new_id);
    mem_table_free(sums.self, size_bytes);
    mem_table_free(sums.total, size_bytes);
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
    calltree_list_children(&b);
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
