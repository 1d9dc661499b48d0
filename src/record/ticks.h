/*
 * ticks.h - the processor's counter, which agents read, and nanoseconds of CLOCK_MONOTONIC.
 *
 * The counter is used where it goes at one speed on all processors whatever they do; elsewhere
 * ticks are nanoseconds. Its speed is measured from the first look at both clocks to the last.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct ticks {
    bool counter; /* else ticks are nanoseconds */
    uint64_t ns_0, ticks_0;
    double ns_per_tick;
    double off_ns; /* largest difference between what the counter foretold and the clock */
};

/* Any program may have written any number of ticks: a hundred years are enough. */
#define TICKS_MAX_NS 3.2e18

void ticks_init(struct ticks *t);

/* Look at both clocks: the longer ago the first look, the better the ratio is known. */
void ticks_look(struct ticks *t);

uint64_t ticks_now(const struct ticks *t);
uint64_t ticks_ns(const struct ticks *t, uint64_t ticks);
uint64_t ticks_at(const struct ticks *t, uint64_t ns); /* from the first look to the last number */

static inline uint64_t ticks_length_ns(const struct ticks *t, uint64_t ticks)
{
    double ns = (double)ticks * t->ns_per_tick + 0.5;
    return ns < TICKS_MAX_NS ? (uint64_t)ns : (uint64_t)TICKS_MAX_NS;
}
