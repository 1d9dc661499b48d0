/*
 * order.h - in which order the commands of a block run.
 *
 * The command that runs first may find the caches colder or the CPU cooler. In every N blocks of N
 * commands each command therefore has each place once (a Latin square), and which of these orders
 * comes when is random: no rhythm of the machine can favour one of them.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct order {
    uint64_t *rng;
    size_t n;
    size_t *base;  /* commands in a random order */
    size_t *shift; /* by how much it is turned in each block of the square */
    size_t at;     /* blocks of the square that are done */
};

void order_init(struct order *o, size_t n, uint64_t *rng);
void order_done(struct order *o);

/* The order of the next block: RET of n places. */
void order_next(struct order *o, size_t *ret);

/* 0 to N - 1, all equally likely. */
size_t order_random(uint64_t *rng, size_t n);
