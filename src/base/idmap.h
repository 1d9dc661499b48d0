/*
 * idmap.h - from a hash to the ids of things kept elsewhere.
 *
 * The table holds only (hash, id) pairs; what an id stands for, and whether it is the one that
 * is looked for, the owner of the things knows:
 *
 *     for_each_match(&map, hash, id)
 *         if (same(things[id], key))
 *             return id;
 *     idmap_add(&map, hash, new_id);
 *
 * Linear probing, at most two thirds full. Nothing is ever removed.
 */
#pragma once
#include "base/mem.h"

#include <stdint.h>

#define IDMAP_NONE UINT32_MAX

struct idmap_slot {
    uint32_t hash, id_plus_1; /* 0 = free */
};

struct idmap {
    struct idmap_slot *slots; /* NULL or mask + 1 of them */
    uint32_t mask, n;
};

void idmap_done(struct idmap *m);
void idmap_grow(struct idmap *m);

static inline void idmap_put(struct idmap *m, uint32_t hash, uint32_t id)
{
    uint32_t i = hash & m->mask;
    while (m->slots[i].id_plus_1)
        i = (i + 1) & m->mask;
    m->slots[i] = (struct idmap_slot){hash, id + 1};
}

/* ID must not be IDMAP_NONE. */
static inline void idmap_add(struct idmap *m, uint32_t hash, uint32_t id)
{
    if (!m->slots || m->n >= m->mask / 3 * 2)
        idmap_grow(m);
    idmap_put(m, hash, id);
    m->n++;
}

/* Ask for the memory of HASH's place, to be used soon. */
static inline void idmap_prefetch(const struct idmap *m, uint32_t hash)
{
    if (m->slots)
        __builtin_prefetch(&m->slots[hash & m->mask], 1);
}

/* The next id of HASH at or after slot *POS, or IDMAP_NONE. */
static inline uint32_t idmap_next(const struct idmap *m, uint32_t hash, uint32_t *pos)
{
    if (!m->slots)
        return IDMAP_NONE;
    for (uint32_t i = *pos;; i++) {
        const struct idmap_slot *s = &m->slots[i & m->mask];
        if (!s->id_plus_1)
            return IDMAP_NONE;
        if (s->hash == hash) {
            *pos = i + 1;
            return s->id_plus_1 - 1;
        }
    }
}

#define for_each_match(map, hash, id)                                                 \
    for (uint32_t pos_ = (hash), id = idmap_next(map, hash, &pos_); id != IDMAP_NONE; \
         id = idmap_next(map, hash, &pos_))

/* Mix two words into a hash; good enough for ids, not for text. */
static inline uint32_t hash_pair(uint32_t a, uint32_t b)
{
    uint64_t x = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;
    x ^= x >> 32;
    return (uint32_t)(x * 0xd6e8feb86659fd93u >> 32);
}
