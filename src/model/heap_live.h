/*
 * heap_live.h - the blocks that a program holds, by address.
 *
 * Open addressing with linear probing; removing a block leaves no mark. 24 bytes a place,
 * between two fifths and four fifths of them in use: at most 60 bytes per block.
 *
 *     0            6         8      16         20
 *     | address    | size hi | time | size low | site |
 */
#pragma once
#include "base/idmap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEAP_LIVE_BYTES = 60 };

struct heap_block {
    uint64_t address, size_bytes; /* both below 2^48 */
    uint64_t ticks;               /* when it was allocated */
    uint32_t site;                /* the caller's own */
};

struct heap_live {
    struct heap_place *places; /* NULL or mask + 1 */
    size_t mask, n;
};

#define HEAP_LIVE_LOW_48 ((UINT64_C(1) << 48) - 1)

struct heap_place {
    uint64_t address; /* and the upper 16 bits of the size above; 0 = free */
    uint64_t ticks;
    uint32_t size_low, site;
};

void heap_live_done(struct heap_live *l);

/* Twice the places. */
void heap_live_grow(struct heap_live *l);

static inline size_t heap_live_home_of(const struct heap_live *l, uint64_t address)
{
    uint64_t x = ((address >> 3) ^ hash_seeds[0]) * (hash_seeds[1] | 1);
    return (size_t)(x >> 20) & l->mask;
}

static inline uint64_t heap_live_address_of(const struct heap_place *p)
{
    return p->address & HEAP_LIVE_LOW_48;
}

/* The place of ADDRESS, or the free one where it would be. */
static inline size_t heap_live_find(const struct heap_live *l, uint64_t address)
{
    size_t i = heap_live_home_of(l, address);
    while (l->places[i].address && heap_live_address_of(&l->places[i]) != address)
        i = (i + 1) & l->mask;
    return i;
}

static inline struct heap_block heap_live_unpack(const struct heap_place *p)
{
    return (struct heap_block){.address = heap_live_address_of(p),
                               .size_bytes = p->address >> 48 << 32 | p->size_low,
                               .ticks = p->ticks,
                               .site = p->site};
}

/* Put B in. False when there is a block at its address already, which B replaces and RET_OLD is. */
static inline bool heap_live_add(struct heap_live *l, const struct heap_block *b,
                                 struct heap_block *ret_old)
{
    if (!l->places || l->n >= (l->mask + 1) / 5 * 4)
        heap_live_grow(l);
    struct heap_place *p = &l->places[heap_live_find(l, b->address & HEAP_LIVE_LOW_48)];
    bool new = !p->address;
    if (new)
        l->n++;
    else
        *ret_old = heap_live_unpack(p);
    *p = (struct heap_place){
        .address = (b->address & HEAP_LIVE_LOW_48) | b->size_bytes >> 32 << 48,
        .ticks = b->ticks,
        .size_low = (uint32_t)b->size_bytes,
        .site = b->site,
    };
    return new;
}

/* Blocks that had to move on because of a removed one move up, so that no search stops early. */
static inline void heap_live_close_gap(struct heap_live *l, size_t gap)
{
    for (size_t i = (gap + 1) & l->mask; l->places[i].address; i = (i + 1) & l->mask) {
        size_t home = heap_live_home_of(l, heap_live_address_of(&l->places[i]));
        if (((i - home) & l->mask) < ((i - gap) & l->mask))
            continue;
        l->places[gap] = l->places[i];
        gap = i;
    }
    l->places[gap].address = 0;
}

/* Take the block at ADDRESS out; false when there is none. */
static inline bool heap_live_take(struct heap_live *l, uint64_t address, struct heap_block *ret)
{
    if (!l->n || !(address & HEAP_LIVE_LOW_48))
        return false;
    size_t i = heap_live_find(l, address & HEAP_LIVE_LOW_48);
    if (!l->places[i].address)
        return false;
    *ret = heap_live_unpack(&l->places[i]);
    heap_live_close_gap(l, i);
    l->n--;
    return true;
}

/* The next block at or after place *AT, or false. Start with 0. */
bool heap_live_next(const struct heap_live *l, size_t *at, struct heap_block *ret);
