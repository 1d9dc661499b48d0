/*
 * block.h - loops over many rows, a block at a time.
 *
 *     for_each_block (from, to, n)
 *         sum_some(rows, from, to);
 *
 * A browser first runs WebAssembly that was compiled in haste, and better code from the next call
 * of a function on. A million rows in one call would never get it; each block is a call.
 */
#pragma once
#include <stddef.h>

enum { BLOCK_ROWS = 1 << 15 };

#define for_each_block(from, to, n) \
    for (size_t from = 0, to;       \
         from < (n) && (to = (n)-from < BLOCK_ROWS ? (n) : from + BLOCK_ROWS, 1); from = to)

/* The code for one block must stay a function of its own. */
#define BLOCK_CALL __attribute__((noinline))
