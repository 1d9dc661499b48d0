/*
 * trie.h - lists of numbers that share their beginnings: a node is its parent plus one key more.
 *
 * Equal lists have the same node, and a parent's id is always smaller than its children's: one pass
 * backwards sums a tree. The caller knows what the keys stand for.
 */
#pragma once
#include "base/idmap.h"
#include "base/vec.h"

struct trie_node {
    uint32_t parent;
    uint32_t key; /* not meaningful in node 0 */
};

struct trie {
    VEC(struct trie_node) nodes; /* [0] = the empty list */
    struct idmap map;
};

void trie_init(struct trie *t);
void trie_done(struct trie *t);

/* The node of PARENT and KEY, added if new. */
uint32_t trie_push(struct trie *t, uint32_t parent, uint32_t key);

/* The node of PARENT and KEY, or 0. */
uint32_t trie_find(const struct trie *t, uint32_t parent, uint32_t key);

/* The node of N keys, of which the first is at FIRST and each next one STEP further, 1 or -1. */
uint32_t trie_intern(struct trie *t, const uint32_t *first, int step, size_t n);

/* How many keys lead to a node. O(depth). */
size_t trie_depth(const struct trie *t, uint32_t node);
