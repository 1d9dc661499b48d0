/*
 * listing.h - the instructions of a function in basic blocks, with the time spent at each.
 */
#pragma once
#include "base/text.h"
#include "base/vec.h"
#include "code/x86.h"
#include "model/profile.h"

struct listing_insn {
    uint64_t pc;
    struct x86 x;
    int64_t self;
    int64_t total;          /* with what it called; 0 where nobody set it */
    struct frame_id frame;  /* in the profile that has its lines */
    struct frame_id target; /* the same for where it calls or jumps to; 0 = not known */
    uint32_t block;
    const uint8_t *bytes;
};

struct listing_block {
    size_t first, n; /* instructions */
    int64_t self;
    int64_t most; /* the largest total of its instructions */
    bool loop;    /* it branches back to its own start */
    bool of_loop; /* it lies between a branch back and where that leads */
    bool in_loop; /* the same, and no call does */
};

struct listing {
    VEC(struct listing_insn) insns; /* by address */
    VEC(struct listing_block) blocks;
    int64_t self;
};

/* ", a loop", ", in a loop" or "". */
static inline const char *listing_loop_words(const struct listing_block *b)
{
    return b->loop ? ", a loop" : b->of_loop ? ", in a loop" : "";
}

/* Append the instructions of CODE, which starts at address START. */
void listing_add(struct listing *l, uint64_t start, struct text code);

/* Add to the instruction that holds PC. */
void listing_heat(struct listing *l, uint64_t pc, int64_t self);

/* Index of the instruction that holds PC, or SIZE_MAX. */
size_t listing_find(const struct listing *l, uint64_t pc);

/* Cut into blocks: they end after a branch and before the target of one. */
void listing_cut(struct listing *l);
void listing_done(struct listing *l);

/* Numbers of the blocks, hottest first. Free it. */
uint32_t *listing_order(const struct listing *l);
