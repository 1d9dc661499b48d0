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

struct stack_id stacks_intern(struct stacks *s, const struct frame_id *frames, size_t n)
{
    struct stack_id id = {0};
    for (size_t i = 0; i < n; i++)
        id = stacks_push(s, id, frames[i]);
    return id;
}

struct stack_id stacks_intern_leaf_first(struct stacks *s, const struct frame_id *frames, size_t n)
{
    struct stack_id id = {0};
    while (n > 0)
        id = stacks_push(s, id, frames[--n]);
    return id;
}

size_t stacks_depth(const struct stacks *s, struct stack_id id)
{
    size_t n = 0;
    for (; id.i; id = s->nodes.at[id.i].parent)
        n++;
    return n;
}
