#include "model/stacks.h"

void stacks_init(struct stacks *s)
{
    trie_init(&s->trie);
}

void stacks_done(struct stacks *s)
{
    trie_done(&s->trie);
}

struct stack_id stacks_push(struct stacks *s, struct stack_id parent, struct frame_id frame)
{
    return (struct stack_id){trie_push(&s->trie, parent.i, frame.i)};
}

struct stack_id stacks_intern(struct stacks *s, const struct frame_id *frames, size_t n)
{
    return (struct stack_id){n ? trie_intern(&s->trie, &frames->i, 1, n) : 0};
}

struct stack_id stacks_intern_leaf_first(struct stacks *s, const struct frame_id *frames, size_t n)
{
    return (struct stack_id){n ? trie_intern(&s->trie, &frames[n - 1].i, -1, n) : 0};
}

size_t stacks_depth(const struct stacks *s, struct stack_id id)
{
    return trie_depth(&s->trie, id.i);
}
