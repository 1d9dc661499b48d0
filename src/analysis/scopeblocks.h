/*
 * scopeblocks.h - what was allocated in each span, scopes inside included.
 *
 * Spans say what they allocated themselves (model/spanstream.h), so that columns add up. Those of a
 * thread come when they end, the ones inside before the one around them: a sum for each depth is
 * enough. Spans that were lost leave theirs to the next span around them.
 */
#pragma once
#include "base/idmap.h"
#include "model/profile.h"

struct scope_blocks {
    uint64_t blocks, bytes;
};

/* Sums of one thread by depth, of spans whose parent has not ended yet. */
struct scope_lane {
    struct process_id process;
    int32_t tid;
    VEC(struct scope_blocks) open;
};

/* Zero-initialised: nothing seen. */
struct scopeblocks {
    struct idmap map;
    VEC(struct scope_lane) lanes;
    VEC(uint32_t) depth_of_stack;
    VEC(struct scope_blocks) of_row;
};

/*
 * For each row of SCOPES, which come after those of the last call; NULL where spans do not know.
 * Valid until the next call.
 */
const struct scope_blocks *scopeblocks_add(struct scopeblocks *x, const struct profile *p,
                                           const struct stream *scopes);
void scopeblocks_done(struct scopeblocks *x);
