/*
 * heapcount.h - blocks and bytes that a thread allocates, where `kelvin record --heap` counts them.
 *
 * The agent is asked for by name: it is there only when the program is recorded.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct heapcount {
    uint64_t blocks, bytes; /* of the calling thread, since it began */
};

/* Whether anybody counts. */
bool heapcount_is_there(void);

/* Zeros where nobody does. */
struct heapcount heapcount_now(void);

/* Let a recorder know what an iteration of the benchmark NAME allocates. */
void heapcount_tell(const char *name, double blocks, double bytes);
