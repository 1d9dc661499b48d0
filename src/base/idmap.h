/*
 * idmap.h - from a hash to the ids of things kept elsewhere.
 *
 * The table holds only (hash, id) pairs. The caller knows what an id stands for, and compares it
 * with the key:
 *
 *     for_each_match(&map, hash, id)
 *         if (same(things[id], key))
 *             return id;
 *     idmap_add(&map, hash, new_id);
 *
 * Linear probing, at most two thirds full. Nothing is ever removed.
 *
 * Keys come from files that others wrote, so hashes start from numbers that differ from process
 * to process: nobody can write a file whose keys all meet in one place. Nothing may therefore
 * depend on where an id lies in the table; there is no way to walk over it.
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

/* Of this process; set before main() and never again. */
extern uint64_t hash_seeds[2];

/*
 * Mix two words into a hash; good enough for ids, not for text. The 128 bits of a product of
 * which both factors are secret: no two keys are known to meet, as they are where the secret is
 * only added.
 */
static inline uint32_t hash_pair(uint32_t a, uint32_t b)
{
    __uint128_t product = (__uint128_t)(hash_seeds[0] ^ a) * (hash_seeds[1] ^ b);
    uint64_t x = (uint64_t)(product >> 64) ^ (uint64_t)product;
    return (uint32_t)(x * 0xd6e8feb86659fd93u >> 32);
}

static inline uint32_t hash_u64(uint64_t id)
{
    return hash_pair((uint32_t)(id >> 32), (uint32_t)id);
}
