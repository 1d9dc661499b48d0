/*
 * input.h - numbers that are likely to break things, from a seed.
 *
 * Each case has a generator of its own, seeded with the run's seed and its number: any case can be
 * made again without those before it.
 */
#pragma once
#include "bench.h"

struct dice {
    uint64_t state;
};

struct dice dice_seed(uint64_t seed, uint64_t case_number);
uint64_t dice_roll(struct dice *d);
uint64_t dice_below(struct dice *d, uint64_t n); /* 0 to n - 1; 0 when n is 0 */

size_t type_size(enum kelvin_type type);
bool type_is_float(enum kelvin_type type);
bool type_is_signed(enum kelvin_type type);

/*
 * N elements of TYPE to AT. VALUES are the kinds of floating-point numbers, as in kelvin_equal.h.
 * Most arrays are of ordinary numbers, with none or few of the rest: one NaN in each array would
 * hide everything else. PLAIN: only ordinary ones, evenly spread, for a race.
 */
struct input_kind {
    enum kelvin_type type;
    unsigned values;
    bool plain;
};

void input_fill(struct dice *d, struct input_kind kind, void *at, size_t n);

/* A whole number between LOW and HIGH, both included, often near the ends or 0. */
int64_t input_signed(struct dice *d, int64_t low, int64_t high);
uint64_t input_unsigned(struct dice *d, uint64_t low, uint64_t high);

/* A length up to MOST, more often short than long. */
size_t input_length(struct dice *d, size_t most);
