#include "model/stacks.h"

void stacks_init(struct stacks *s)
{
    *s = (struct stacks){0};
    *vec_push(&s->nodes) = (struct stack_node){0};
}

void stacks_done(struct stacks *s)
{
    vec_done(&s->nodes);
    idmap_done(&s->map);
}

/* The node of PARENT and FRAME, or 0. */
static inline uint32_t find(const struct stacks *s, uint32_t parent, uint32_t frame, uint32_t hash)
{
    for_each_match (&s->map, hash, id) {
        const struct stack_node *n = &s->nodes.at[id];
        if (n->parent.i == parent && n->frame.i == frame)
            return id;
    }
    return 0;
}

static inline uint32_t append(struct stacks *s, uint32_t parent, uint32_t frame, uint32_t hash)
{
    uint32_t id = (uint32_t)s->nodes.n;
    *vec_push(&s->nodes) = (struct stack_node){{parent}, {frame}};
    idmap_add(&s->map, hash, id);
    return id;
}

struct stack_id stacks_push(struct stacks *s, struct stack_id parent, struct frame_id frame)
{
    uint32_t hash = hash_pair(parent.i, frame.i);
    uint32_t id = find(s, parent.i, frame.i, hash);
    return (struct stack_id){id ? id : append(s, parent.i, frame.i, hash)};
}

/*
 * Append N frames below PARENT, none of which is there yet. Their ids are known beforehand, so
 * all places in the table are asked for before the first is used: the cache misses overlap.
 */
static uint32_t append_all(struct stacks *s, uint32_t parent, const struct frame_id *first,
                           int step, size_t n)
{
    uint32_t next = (uint32_t)s->nodes.n, above = parent;
    for (size_t i = 0; i < n; i++) {
        idmap_prefetch(&s->map, hash_pair(above, first[(long)i * step].i));
        above = next++;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t frame = first[(long)i * step].i;
        parent = append(s, parent, frame, hash_pair(parent, frame));
    }
    return parent;
}

/* Walk from the root as long as nodes are known; below the first new one all are new. */
static struct stack_id intern(struct stacks *s, const struct frame_id *first, int step, size_t n)
{
    uint32_t at = 0;
    for (; n; n--, first += step) {
        uint32_t id = find(s, at, first->i, hash_pair(at, first->i));
        if (!id)
            break;
        at = id;
    }
    return (struct stack_id){append_all(s, at, first, step, n)};
}

struct stack_id stacks_intern(struct stacks *s, const struct frame_id *frames, size_t n)
{
    return intern(s, frames, 1, n);
}

struct stack_id stacks_intern_leaf_first(struct stacks *s, const struct frame_id *frames, size_t n)
{
    return n ? intern(s, frames + n - 1, -1, n) : (struct stack_id){0};
}

size_t stacks_depth(const struct stacks *s, struct stack_id id)
{
    size_t n = 0;
    for (; id.i; id = s->nodes.at[id.i].parent)
        n++;
    return n;
}
