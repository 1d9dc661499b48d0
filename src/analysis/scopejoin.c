#include "analysis/scopejoin.h"

#include "analysis/extract.h"
#include "analysis/scopetree.h"
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
    uint32_t row;
};

/* For each row that asks, or for each span: the span around it, as row + 1. */
static void join_sweep(const join_items *items, uint32_t *ret_asking, uint32_t *ret_spans)
{
    VEC(struct join_open) open = {0};
    for (size_t i = 0; i < items->n; i++) {
        const struct join_item *at = &items->at[i];
        while (open.n && (open.at[open.n - 1].thread != at->thread ||
                          open.at[open.n - 1].end_ns <= at->time_ns))
            open.n--;
        uint32_t around = open.n ? open.at[open.n - 1].row + 1 : 0;
        if (at->asks)
            ret_asking[at->row] = around;
        else if (ret_spans)
            ret_spans[at->row] = around;
        if (!at->asks)
            *vec_push(&open) =
                (struct join_open){at->thread, at->time_ns + at->duration_ns, at->row};
    }
    vec_done(&open);
}

static void sort_items(join_items *items)
{
    if (items->n)
        qsort(items->at, items->n, sizeof *items->at, by_thread_and_time);
}

struct stack_id *scopejoin_build(const struct profile *p, int scopes, const struct stream *stream)
{
    const struct rows *spans = &profile_stream(p, scopes)->rows;
    join_items items = {0};
    if (!spans->time_ns || !spans->duration_ns || !stream->rows.time_ns)
        return NULL;
    autofree uint32_t *around = mem_calloc(stream->rows.n + 1, sizeof *around);
    add_items(&items, p, spans, false);
    add_items(&items, p, &stream->rows, true);
    sort_items(&items);
    join_sweep(&items, around, NULL);
    vec_done(&items);
    struct stack_id *ret = mem_calloc(stream->rows.n + 1, sizeof *ret);
    for (size_t i = 0; i < stream->rows.n; i++)
        ret[i] = around[i] ? spans->stack[around[i] - 1] : (struct stack_id){0};
    return ret;
}

uint32_t *scopejoin_parents(const struct profile *p, const struct stream *scopes)
{
    join_items items = {0};
    if (!scopes->rows.time_ns || !scopes->rows.duration_ns)
        return NULL;
    uint32_t *ret = mem_calloc(scopes->rows.n + 1, sizeof *ret);
    add_items(&items, p, &scopes->rows, false);
    sort_items(&items);
    join_sweep(&items, NULL, ret);
    vec_done(&items);
    return ret;
}

/* --- labels --- */

bool scopejoin_by_label(const struct stream *s)
{
    return s->obtained == BY_EXACT_COUNT || s->obtained == BY_BYTES;
}

bool scopejoin_has_labels(const struct profile *p)
{
    return meta_find(&p->meta, META_HEAP_SCOPED) != NULL;
}

uint8_t *scopejoin_label_sets(const struct profile *p, bool (*fits)(const void *arg, const char *),
                              const void *arg)
{
    uint8_t *has = mem_calloc(p->attrs.nodes.n, 1);
    for (size_t i = 1; i < p->attrs.nodes.n; i++) {
        const struct attr_node *n = &p->attrs.nodes.at[i];
        bool is = !n->attr.is_number && text_is(profile_str(p, n->attr.key), SCOPE_KEY);
        has[i] = has[n->parent.i] || (is && fits(arg, profile_str(p, n->attr.text).at));
    }
    return has;
}

bool scopejoin_has_scope(const struct profile *p, const char *name)
{
    int scopes = scopetree_stream(p);
    const struct rows *rows = scopes < 0 ? NULL : &profile_stream(p, scopes)->rows;
    struct stack_id last = {0};
    for (size_t i = 0; rows && i < rows->n; i++) {
        if (rows->stack[i].i == last.i)
            continue;
        last = rows->stack[i];
        if (text_is(profile_str(p, scopetree_name(p, last)), name))
            return true;
    }
    return false;
}

/* --- scopes as the first frames of stacks --- */

struct join_stacks {
    const struct profile *from;
    struct profile *to;
    VEC(uint32_t) frames; /* innermost first */
};

/* The frames of STACK on top of PARENT. */
static struct stack_id push_all(struct join_stacks *j, const struct stacks *from,
                                struct stack_id parent, struct stack_id stack)
{
    j->frames.n = 0;
    for (; stack.i; stack = from->nodes.at[stack.i].parent)
        *vec_push(&j->frames) = from->nodes.at[stack.i].frame.i;
    while (j->frames.n)
        parent =
            stacks_push(&j->to->stacks, parent, (struct frame_id){j->frames.at[--j->frames.n]});
    return parent;
}

/* The scopes of a set of labels as frames. */
static struct stack_id push_labels(struct join_stacks *j, struct attrs_id set)
{
    const struct profile *p = j->from;
    struct stack_id stack = {0};
    j->frames.n = 0;
    for (; set.i; set = p->attrs.nodes.at[set.i].parent)
        *vec_push(&j->frames) = set.i;
    while (j->frames.n) {
        const struct attr *a = &p->attrs.nodes.at[j->frames.at[--j->frames.n]].attr;
        if (text_is(profile_str(p, a->key), SCOPE_KEY))
            stack =
                stacks_push(&j->to->stacks, stack,
                            profile_add_named_frame(j->to, profile_str(p, a->text), FRAME_USER));
    }
    return stack;
}

static int scopes_of_rows(const struct selection *s, struct stack_id **ret, struct err *err)
{
    int scopes = scopetree_stream(s->profile);
    *ret = NULL;
    if (scopes < 0)
        return err_set(err, EXIT_INPUT,
                       "there are no scopes in this profile: the program must use kelvin.h");
    if (scopejoin_by_label(s->stream))
        return scopejoin_has_labels(s->profile) ? 0 : err_set(err, EXIT_INPUT, SCOPEJOIN_NO_LABELS);
    *ret = scopejoin_build(s->profile, scopes, s->stream);
    if (!*ret)
        return err_set(err, EXIT_INPUT, "scopes cannot be joined: the input has no times");
    return 0;
}

int scopejoin_stacks(const struct selection *s, struct profile **ret, struct err *err)
{
    autofree struct stack_id *in = NULL;
    if (scopes_of_rows(s, &in, err) != 0)
        return -1;
    struct join_stacks j = {.from = s->profile, .to = extract_build(s)};
    struct rows *rows = &profile_stream(j.to, 0)->rows;
    const struct attrs_id *labels = s->stream->rows.attrs;
    for (size_t i = 0; i < rows->n; i++) {
        size_t row = selection_row(s, i);
        struct stack_id around = {0};
        if (in)
            around = push_all(&j, &s->profile->stacks, around, in[row]);
        else if (labels)
            around = push_labels(&j, labels[row]);
        rows->stack[i] = push_all(&j, &j.to->stacks, around, rows->stack[i]);
    }
    vec_done(&j.frames);
    *ret = j.to;
    return 0;
}
