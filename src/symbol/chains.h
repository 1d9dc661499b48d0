/*
 * chains.h - for the addresses in one unit: the function, and those inlined there.
 */
#pragma once
#include "base/vec.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* A function or inlined function that holds an address. */
struct chain_link {
    Dwarf_Die die;
    uint32_t outer; /* the link of the function it is inlined into; 0 = none */
};

struct chains {
    const uint64_t *pcs; /* sorted, each once */
    size_t n;
    uint32_t *innermost;          /* for each address a link; 0 = no function */
    VEC(struct chain_link) links; /* [0] is not used */
};

/*
 * Walk UNIT for N addresses. BUDGET is how many steps may be made over ranges and the addresses in
 * them: hostile files have ranges that all overlap, and cost addresses times ranges.
 */
void chains_build(struct chains *c, Dwarf_Die *unit, const uint64_t *pcs, size_t n,
                  uint64_t *budget);
void chains_done(struct chains *c);
