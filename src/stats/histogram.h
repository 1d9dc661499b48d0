/*
 * histogram.h - how often which value occurred, in little memory, whatever the values.
 *
 * Each power of two is cut into 64 equal classes, so a value that is read back is off by less than
 * 0.8%; below 128 values are exact. Histograms of parts add up to the one of the whole.
 */
#pragma once
#include <stdint.h>

enum { HISTOGRAM_STEPS = 64, HISTOGRAM_OCTAVES = 59 };

/* Zero-initialised: empty. */
struct histogram {
    uint64_t n;
    uint64_t *octaves[HISTOGRAM_OCTAVES]; /* of HISTOGRAM_STEPS; NULL = nothing there */
};

void histogram_done(struct histogram *h);
void histogram_add(struct histogram *h, uint64_t value, uint64_t times);
void histogram_merge(struct histogram *to, const struct histogram *from);

/* The value below or at which a share Q of all lies, 0 to 1; 0 where there is none. */
uint64_t histogram_quantile(const struct histogram *h, double q);

/* How many are below or at VALUE, to the precision of a class. */
uint64_t histogram_count_to(const struct histogram *h, uint64_t value);
