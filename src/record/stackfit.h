/*
 * stackfit.h - how much of each stack is worth copying: a part, or all that may be copied.
 *
 * Copying much costs the program that is sampled time, and most programs need little. It begins
 * with all. Once so many walks in a row would have reached the bottom with the part alone, the part
 * is copied; the first walk that the part cuts off brings all back, and then twice as many in a row
 * must do with the part before it is tried again. So a program that now and then needs all
 * gets all, after a few stacks that were cut.
 *
 * It is one choice for all processes of a recording, as the kernel turns events on and off for a
 * thread and all its heirs together.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct stackfit {
    bool part;       /* copy only a part now */
    uint32_t needed; /* walks in a row that must fit before the part is copied */
    uint32_t fits;   /* so many did */
    uint32_t idle;   /* walks that need not be looked at */
};

void stackfit_init(struct stackfit *f);

/* Whether it is worth to find out if the next stack, copied whole, would do with the part. */
bool stackfit_asks(struct stackfit *f);

/* A walk did or would do with the part, or not. True when f->part changed. */
bool stackfit_add(struct stackfit *f, bool fits);
