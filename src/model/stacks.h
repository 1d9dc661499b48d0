/*
 * stacks.h - all call stacks of a profile as one trie.
 *
 * A stack is its parent stack (the callers) plus one more frame. Stacks with the same callers
 * share them, so ten million samples need only as many nodes as there are distinct call paths.
 * A parent's id is always smaller than its children's: one pass backwards sums a tree.
 */
#pragma once
#include "base/trie.h"

#include <assert.h>

struct frame_id {
    uint32_t i;
};
struct stack_id {
    uint32_t i; /* 0 = the empty stack */
};

/* A node of the trie, with ids that have types. */
struct stack_node {
    union {
        struct trie_node node;
        struct {
            struct stack_id parent;
            struct frame_id frame; /* not meaningful in node 0 */
        };
    };
};
static_assert(sizeof(struct stack_node) == sizeof(struct trie_node), "one is read as the other");

struct stacks {
    union {
        struct trie trie;
        VEC(struct stack_node) nodes; /* the trie's: [0] = the empty stack */
    };
};

void stacks_init(struct stacks *s);
void stacks_done(struct stacks *s);

/* The stack of PARENT with FRAME called from it. */
struct stack_id stacks_push(struct stacks *s, struct stack_id parent, struct frame_id frame);

/* The stack of N frames, root first. */
struct stack_id stacks_intern(struct stacks *s, const struct frame_id *frames, size_t n);

/* The same from a list that starts with the leaf, as most samplers write it. */
struct stack_id stacks_intern_leaf_first(struct stacks *s, const struct frame_id *frames, size_t n);

/* Number of frames. O(depth). */
size_t stacks_depth(const struct stacks *s, struct stack_id id);
