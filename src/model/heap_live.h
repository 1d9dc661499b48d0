/*
 * heap_live.h - the blocks that a program holds, by address.
 *
 * Open addressing with linear probing; what is taken out leaves no mark behind. 24 bytes a place,
 * between two fifths and four fifths of them in use: at most 60 bytes per block.
 *
 *     0            6         8      16         20
 *     | address    | size hi | time | size low | site |
 */
#pragma once
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

void heap_live_done(struct heap_live *l);

/* Put B in. False when there is a block at its address already, which B replaces and RET_OLD is. */
bool heap_live_add(struct heap_live *l, const struct heap_block *b, struct heap_block *ret_old);

/* Take the block at ADDRESS out; false when there is none. */
bool heap_live_take(struct heap_live *l, uint64_t address, struct heap_block *ret);

/* The next block at or after place *AT, or false. Start with 0. */
bool heap_live_next(const struct heap_live *l, size_t *at, struct heap_block *ret);
