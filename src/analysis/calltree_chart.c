/* calltree_chart.c - flame charts: trees in the order of time; see calltree.h. */
#include "analysis/calltree_inner.h"

/* --- without times: values side by side --- */

struct timed_row {
    uint64_t time_ns;
    uint32_t row;
};

static int chart_by_time(const void *a, const void *b)
{
    const struct timed_row *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static struct timed_row *rows_by_time(const struct builder *b)
{
    const uint64_t *time_ns = b->s->stream->rows.time_ns;
    struct timed_row *rows = mem_calloc(b->s->n_rows + 1, sizeof *rows);
    for (size_t i = 0; i < b->s->n_rows; i++)
        rows[i] = (struct timed_row){time_ns ? time_ns[row_at(b, i)] : 0, (uint32_t)i};
    qsort(rows, b->s->n_rows, sizeof *rows, chart_by_time);
    return rows;
}

/* Neighbours in time share the callers they have in common; the rest of the path is new. */
void calltree_merge_by_time(struct builder *b)
{
    struct timed_row *order = rows_by_time(b);
    const int64_t *value = selection_values(b->s);
    struct path path = {0};
    VEC(uint32_t) open = {0}; /* nodes of the previous path, root first */
    int64_t now = 0;          /* sum of the values so far */
    *vec_push(&b->start) = 0;
    for (size_t i = 0; i < b->s->n_rows; i++) {
        calltree_path_of_row(b, order[i].row, &path);
        size_t n = path.labels.n, depth = 0;
        bool from_leaf = b->o->callers_first;
#define LABEL_AT(d) path.labels.at[from_leaf ? (d) : n - 1 - (d)]
        while (depth < open.n && depth < n && b->label.at[open.at[depth]] == LABEL_AT(depth))
            depth++;
        open.n = depth;
        for (; depth < n; depth++) {
            uint32_t parent = depth ? open.at[depth - 1] : 0;
            *vec_push(&open) = calltree_new_node(b, parent, LABEL_AT(depth));
            *vec_push(&b->start) = now;
        }
#undef LABEL_AT
        b->node_of_row[order[i].row] = n ? open.at[n - 1] : 0;
        now += value[row_at(b, order[i].row)];
    }
    free(order);
    vec_done(&path.labels);
    vec_done(&open);
}

/* --- charts of real time --- */

struct clocked_row {
    uint64_t time_ns;
    uint32_t thread, row;
};

static int by_thread_and_time(const void *a, const void *b)
{
    const struct clocked_row *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int by_tid(const void *a, const void *b, void *context)
{
    const struct thread *threads = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (threads[x].tid != threads[y].tid)
        return threads[x].tid < threads[y].tid ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* thread -> its place from the top: a main thread stands above those that it made. Free it. */
static uint32_t *rank_threads(const struct profile *p)
{
    autofree uint32_t *order = mem_calloc(p->threads.n + 1, sizeof *order);
    uint32_t *rank = mem_calloc(p->threads.n + 1, sizeof *rank);
    for (uint32_t i = 0; i < p->threads.n; i++)
        order[i] = i;
    qsort_r(order, p->threads.n, sizeof *order, by_tid, p->threads.at);
    for (uint32_t i = 0; i < p->threads.n; i++)
        rank[order[i]] = i;
    return rank;
}

static struct clocked_row *rows_by_thread(const struct builder *b)
{
    const struct rows *rows = &b->s->stream->rows;
    autofree uint32_t *rank = rank_threads(b->p);
    struct clocked_row *at = mem_calloc(b->s->n_rows + 1, sizeof *at);
    for (size_t i = 0; i < b->s->n_rows; i++) {
        size_t row = row_at(b, i);
        uint32_t thread = b->o->group == GROUP_NONE ? 0 : rank[rows->thread[row].i];
        at[i] = (struct clocked_row){rows->time_ns[row], thread, (uint32_t)i};
    }
    qsort(at, b->s->n_rows, sizeof *at, by_thread_and_time);
    return at;
}

static int chart_by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/*
 * How long a sample stands for, in nanoseconds: what the rate says, else the median distance of
 * samples of a thread.
 */
static int64_t sample_length(const struct builder *b, const struct clocked_row *at)
{
    double rate = b->s->stream->rate_hz;
    if (rate > 0)
        return (int64_t)(1e9 / rate);
    autofree int64_t *distance = mem_calloc(b->s->n_rows + 1, sizeof *distance);
    size_t n = 0;
    for (size_t i = 1; i < b->s->n_rows; i++)
        if (at[i].thread == at[i - 1].thread)
            distance[n++] = (int64_t)(at[i].time_ns - at[i - 1].time_ns);
    qsort(distance, n, sizeof *distance, chart_by_size);
    return n && distance[n / 2] > 0 ? distance[n / 2] : 1;
}

/* A thread was elsewhere, or idle, where its next sample is later than this many lengths. */
enum { CHART_GAP = 3 };

static uint64_t first_time(const struct builder *b, const struct clocked_row *at)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < b->s->n_rows; i++)
        first = at[i].time_ns < first ? at[i].time_ns : first;
    return first;
}

struct chart_path {
    VEC(uint32_t) nodes; /* root first, without the tree's root */
};

/* Go on with what the last row of the thread was doing as far as it is the same. */
static void extend_chart(struct builder *b, struct chart_path *open, const struct path *path,
                         int64_t start, int64_t end)
{
    size_t n = path->labels.n, depth = 0;
    while (depth < open->nodes.n && depth < n &&
           b->label.at[open->nodes.at[depth]] == path->labels.at[n - 1 - depth])
        depth++;
    open->nodes.n = depth;
    for (; depth < n; depth++) {
        uint32_t parent = depth ? open->nodes.at[depth - 1] : 0;
        *vec_push(&open->nodes) = calltree_new_node(b, parent, path->labels.at[n - 1 - depth]);
        *vec_push(&b->start) = start;
        *vec_push(&b->extent) = 0;
    }
    for (size_t i = 0; i < n; i++)
        b->extent.at[open->nodes.at[i]] = end - b->start.at[open->nodes.at[i]];
    b->extent.at[0] = end > b->extent.at[0] ? end : b->extent.at[0];
}

void calltree_merge_by_clock(struct builder *b)
{
    struct clocked_row *at = rows_by_thread(b);
    struct path path = {0};
    struct chart_path open = {0};
    int64_t length = sample_length(b, at), last = 0;
    uint64_t first = b->t->first_ns = first_time(b, at);
    *vec_push(&b->start) = 0;
    *vec_push(&b->extent) = 0;
    for (size_t i = 0; i < b->s->n_rows; i++) {
        int64_t end = (int64_t)(at[i].time_ns - first) + length;
        bool other = i == 0 || at[i].thread != at[i - 1].thread;
        bool gap = other || end - last > CHART_GAP * length;
        if (other)
            open.nodes.n = 0;
        else if (gap && open.nodes.n) /* the thread itself goes on */
            open.nodes.n = group_at(b, at[i].row) ? 1 : 0;
        calltree_path_of_row(b, at[i].row, &path);
        extend_chart(b, &open, &path, gap ? end - length : last, end);
        b->node_of_row[at[i].row] = path.labels.n ? open.nodes.at[path.labels.n - 1] : 0;
        last = end;
    }
    free(at);
    vec_done(&path.labels);
    vec_done(&open.nodes);
}
