/*
 * heap_count.h - numbers of blocks and bytes of whole commands: see wire/heapcount.h.
 *
 * While it is open, all that kelvin starts is counted.
 */
#pragma once
#include "record/preload.h"
#include "record/rings.h"
#include "wire/heapcount.h"

struct heap_count {
    struct shared memory;
    struct preload preload;
};

#define HEAP_COUNT_NONE ((struct heap_count){.memory.fd = -1})

int heap_count_open(struct heap_count *c, struct err *err);
void heap_count_close(struct heap_count *c); /* HEAP_COUNT_NONE is fine */

/* Before a command is started. */
void heap_count_reset(struct heap_count *c);

/* Blocks that were allocated since; NAN when no agent got into a program. */
double heap_count_blocks(const struct heap_count *c);
