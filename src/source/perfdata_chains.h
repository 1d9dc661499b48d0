/*
 * perfdata_chains.h - call chains of a perf.data file that were seen before.
 *
 * A hot program's samples bring the same chain of addresses thousands of times. A chain is known
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
};

struct perfdata_chains {
    struct perfdata_chain *places; /* NULL until the first look */
};

void perfdata_chains_done(struct perfdata_chains *c); /* zeroed is fine */

/*
 * The place of a chain, by its BYTES and a number for all else that it depends on. Its stack is 0
 * when it is new: set it then. Good until the next look.
 */
struct perfdata_chain *perfdata_chains_look(struct perfdata_chains *c, struct text bytes,
                                            uint64_t what);
