#include "base/trie.h"

void trie_init(struct trie *t)
{
    *t = (struct trie){0};
    *vec_push(&t->nodes) = (struct trie_node){0};
}

void trie_done(struct trie *t)
{
    vec_done(&t->nodes);
    idmap_done(&t->map);
}

static inline uint32_t find_hashed(const struct trie *t, uint32_t parent, uint32_t key,
                                   uint32_t hash)
{
    for_each_match (&t->map, hash, id) {
        const struct trie_node *n = &t->nodes.at[id];
        if (n->parent == parent && n->key == key)
            return id;
    }
    return 0;
}

static inline uint32_t trie_append(struct trie *t, uint32_t parent, uint32_t key, uint32_t hash)
{
    uint32_t id = (uint32_t)t->nodes.n;
    *vec_push(&t->nodes) = (struct trie_node){parent, key};
    idmap_add(&t->map, hash, id);
    return id;
}

uint32_t trie_push(struct trie *t, uint32_t parent, uint32_t key)
{
    uint32_t hash = hash_pair(parent, key);
    uint32_t id = find_hashed(t, parent, key, hash);
    return id ? id : trie_append(t, parent, key, hash);
}

uint32_t trie_find(const struct trie *t, uint32_t parent, uint32_t key)
{
    return find_hashed(t, parent, key, hash_pair(parent, key));
}

/*
 * Append N keys below PARENT, none of which is there yet. Their ids are known beforehand, so
 * all places in the table are asked for before the first is used: the cache misses overlap.
 */
static uint32_t append_all(struct trie *t, uint32_t parent, const uint32_t *first, int step,
                           size_t n)
{
    uint32_t next = (uint32_t)t->nodes.n, above = parent;
    for (size_t i = 0; i < n; i++) {
        idmap_prefetch(&t->map, hash_pair(above, first[(long)i * step]));
        above = next++;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t key = first[(long)i * step];
        parent = trie_append(t, parent, key, hash_pair(parent, key));
    }
    return parent;
}

/* Walk from the root as long as nodes are known; below the first new one all are new. */
uint32_t trie_intern(struct trie *t, const uint32_t *first, int step, size_t n)
{
    uint32_t at = 0;
    for (; n; n--, first += step) {
        uint32_t id = find_hashed(t, at, *first, hash_pair(at, *first));
        if (!id)
            break;
        at = id;
    }
    return append_all(t, at, first, step, n);
}

size_t trie_depth(const struct trie *t, uint32_t node)
{
    size_t n = 0;
    for (; node; node = t->nodes.at[node].parent)
        n++;
    return n;
}
