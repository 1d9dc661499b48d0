/*
 * perfdata_chains.h - call chains of a perf.data file that were seen before.
 *
 * A hot program's samples contain the same chain of addresses thousands of times. A chain is known
 * by 128 bits of hash over its bytes, what it means depends on what was mapped: so both lead to
 * its stack in one look. A fixed number of places; a newer chain takes an older one's.
 */
#pragma once
#include "base/text.h"
#include "model/stacks.h"

#include <xxhash.h>

struct perfdata_chain {
    XXH128_hash_t hash;
    struct stack_id stack; /* 0 = free; the empty stack is not kept */
    uint32_t row;          /* of its event's stream, where the last one was put */
};

struct perfdata_chains {
    struct perfdata_chain *places;
};

void perfdata_chains_init(struct perfdata_chains *c);
void perfdata_chains_done(struct perfdata_chains *c); /* zeroed is fine */

/* The hash of a chain's BYTES and of a number for what else of the sample it depends on. */
XXH128_hash_t perfdata_chain_hash(struct text bytes, uint64_t what);

/* Prefetch the memory of a chain's slot, which will be read soon. */
void perfdata_chains_expect(const struct perfdata_chains *c, XXH128_hash_t hash, uint32_t space);

/*
 * The place of a chain whose addresses are in SPACE, a number for what was mapped. Its stack is 0
 * when it is new: set it then. Good until the next look.
 */
struct perfdata_chain *perfdata_chains_look(struct perfdata_chains *c, XXH128_hash_t hash,
                                            uint32_t space);
