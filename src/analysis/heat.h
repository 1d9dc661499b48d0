/*
 * heat.h - how much of a profile was spent at each address of each file.
 */
#pragma once
#include "analysis/selection.h"
#include "base/vec.h"

/* The samples whose innermost frame is at one address. */
struct heat_spot {
    struct mapping_id mapping; /* the first one of its file */
    uint64_t pc;
    int64_t self;
};

struct heat {
    VEC(struct heat_spot) spots; /* by mapping, then by address */
    int64_t total;               /* of all samples, those without an address included */
    int64_t no_address;
};

/* Free with heat_done(). */
void heat_build(struct heat *h, const struct selection *s);
void heat_done(struct heat *h);
