/*
 * taskbits.h - a set of processes or threads: a bit for each number that one can have.
 *
 * 512 KiB, of which only the pages that were written to are in memory.
 */
#pragma once
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

enum { TASKBITS_NUMBERS = 1 << 22, TASKBITS_BYTES = TASKBITS_NUMBERS / 8 }; /* PID_MAX_LIMIT */

/* Free with free(). */
static inline uint8_t *taskbits_new(void)
{
    return mem_calloc(TASKBITS_BYTES, 1);
}

static inline bool taskbits_may_have(int n)
{
    return n >= 0 && n < TASKBITS_NUMBERS;
}

static inline bool taskbits_has(const uint8_t *bits, int n)
{
    return taskbits_may_have(n) && (bits[n / 8] & 1 << n % 8);
}

static inline void taskbits_set(uint8_t *bits, int n, bool on)
{
    if (!taskbits_may_have(n))
        return;
    uint8_t bit = (uint8_t)(1 << n % 8);
    bits[n / 8] = (uint8_t)(on ? bits[n / 8] | bit : bits[n / 8] & ~bit);
}
