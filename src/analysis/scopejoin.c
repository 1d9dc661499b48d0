#include "analysis/scopejoin.h"

#include "base/mem.h"

#include <stdlib.h>

/* A span that begins, or a row that asks. */
struct join_item {
    uint64_t thread; /* process and tid: a thread may change its name */
    uint64_t time_ns, duration_ns;
    uint32_t row;
    bool asks;
};

typedef VEC(struct join_item) join_items;

/* Of what begins at once the longest is around the others; who asks is inside of them. */
static int by_thread_and_time(const void *a, const void *b)
{
    const struct join_item *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (x->asks != y->asks)
        return x->asks ? 1 : -1;
    if (x->duration_ns != y->duration_ns)
        return x->duration_ns > y->duration_ns ? -1 : 1;
    return x->row > y->row ? -1 : x->row < y->row; /* spans are written when they end */
}

static void add_items(join_items *items, const struct profile *p, const struct rows *rows,
                      bool asks)
{
    uint32_t key = intern_find(&p->strings, text_of(SCOPE_ASYNC_KEY));
    for (size_t i = 0; i < rows->n; i++) {
        const struct thread *t = &p->threads.at[rows->thread[i].i];
        if (!asks && key != IDMAP_NONE && rows->attrs &&
            attrs_find(&p->attrs, rows->attrs[i], (struct str_id){key}))
            continue;
        *vec_push(items) = (struct join_item){
            .thread = (uint64_t)t->process.i << 32 | (uint32_t)t->tid,
            .time_ns = rows->time_ns[i],
            .duration_ns = asks ? 0 : rows->duration_ns[i],
            .row = (uint32_t)i,
            .asks = asks,
        };
    }
}

/* A span that is open, and when it ends. */
struct join_open {
    uint64_t thread, end_ns;
    struct stack_id stack;
};

static void sweep(const join_items *items, const struct rows *spans, struct stack_id *ret)
{
    VEC(struct join_open) open = {0};
    for (size_t i = 0; i < items->n; i++) {
        const struct join_item *at = &items->at[i];
        while (open.n && (open.at[open.n - 1].thread != at->thread ||
                          open.at[open.n - 1].end_ns <= at->time_ns))
            open.n--;
        if (!at->asks)
            *vec_push(&open) = (struct join_open){at->thread, at->time_ns + at->duration_ns,
                                                  spans->stack[at->row]};
        else if (open.n)
            ret[at->row] = open.at[open.n - 1].stack;
    }
    vec_done(&open);
}

struct stack_id *scopejoin_build(const struct profile *p, int scopes, const struct stream *stream)
{
    const struct rows *spans = &profile_stream(p, scopes)->rows;
    join_items items = {0};
    if (!spans->time_ns || !spans->duration_ns || !stream->rows.time_ns)
        return NULL;
    struct stack_id *ret = mem_calloc(stream->rows.n + 1, sizeof *ret);
    add_items(&items, p, spans, false);
    add_items(&items, p, &stream->rows, true);
    if (items.n)
        qsort(items.at, items.n, sizeof *items.at, by_thread_and_time);
    sweep(&items, spans, ret);
    vec_done(&items);
    return ret;
}
