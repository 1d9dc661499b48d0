#include "analysis/scopeblocks.h"

#include "analysis/scopejoin.h"
#include "model/spanstream.h"

/* By process and number: a thread may change its name while scopes are open. */
static struct scope_lane *lane_get(struct scopeblocks *x, const struct thread *t)
{
    uint32_t hash = hash_pair(t->process.i, (uint32_t)t->tid);
    for_each_match (&x->map, hash, i)
        if (x->lanes.at[i].process.i == t->process.i && x->lanes.at[i].tid == t->tid)
            return &x->lanes.at[i];
    idmap_add(&x->map, hash, (uint32_t)x->lanes.n);
    struct scope_lane *new = vec_push(&x->lanes);
    *new = (struct scope_lane){.process = t->process, .tid = t->tid};
    return new;
}

static void learn_depths(struct scopeblocks *x, const struct stacks *s)
{
    if (!x->depth_of_stack.n)
        *vec_push(&x->depth_of_stack) = 0;
    for (size_t i = x->depth_of_stack.n; i < s->nodes.n; i++) {
        uint32_t depth = x->depth_of_stack.at[s->nodes.at[i].parent.i] + 1;
        *vec_push(&x->depth_of_stack) = depth;
    }
}

/* A span at DEPTH has ended: what is known one deeper was inside of it. */
static struct scope_blocks lane_end(struct scope_lane *l, uint32_t depth, struct scope_blocks own)
{
    while (l->open.n <= depth + 1)
        *vec_push(&l->open) = (struct scope_blocks){0};
    struct scope_blocks *inside = &l->open.at[depth + 1], *here = &l->open.at[depth];
    own.blocks += inside->blocks;
    own.bytes += inside->bytes;
    *inside = (struct scope_blocks){0};
    here->blocks += own.blocks;
    here->bytes += own.bytes;
    return own;
}

const struct scope_blocks *scopeblocks_add(struct scopeblocks *x, const struct profile *p,
                                           const struct stream *scopes)
{
    struct span_blocks_columns in;
    const struct rows *rows = &scopes->rows;
    uint32_t async = intern_find(&p->strings, text_of(SCOPE_ASYNC_KEY));
    if (!spanstream_find_blocks(p, scopes, &in))
        return NULL;
    learn_depths(x, &p->stacks);
    x->of_row.n = 0;
    for (size_t i = 0; i < rows->n; i++) {
        struct scope_blocks own = {(uint64_t)rows->value[in.blocks][i],
                                   (uint64_t)rows->value[in.bytes][i]};
        bool crosses = async != IDMAP_NONE && rows->attrs &&
                       attrs_find(&p->attrs, rows->attrs[i], (struct str_id){async});
        if (!crosses)
            own = lane_end(lane_get(x, &p->threads.at[rows->thread[i].i]),
                           x->depth_of_stack.at[rows->stack[i].i], own);
        *vec_push(&x->of_row) = own;
    }
    return x->of_row.at;
}

void scopeblocks_done(struct scopeblocks *x)
{
    for (size_t i = 0; i < x->lanes.n; i++)
        vec_done(&x->lanes.at[i].open);
    vec_done(&x->lanes);
    vec_done(&x->depth_of_stack);
    vec_done(&x->of_row);
    idmap_done(&x->map);
}
