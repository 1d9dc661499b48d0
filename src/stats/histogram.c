#include "stats/histogram.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* The first "octave" has the values 0 to 63 themselves; octave k has 64 << (k - 1) and up. */
static unsigned histogram_octave(uint64_t value)
{
    return value < HISTOGRAM_STEPS ? 0 : (unsigned)(58 - __builtin_clzll(value));
}

static unsigned histogram_step(uint64_t value, unsigned octave)
{
    return (unsigned)(octave ? value >> (octave - 1) : value) & (HISTOGRAM_STEPS - 1);
}

/* The middle of a class. */
static uint64_t histogram_value(unsigned octave, unsigned step)
{
    if (octave == 0)
        return step;
    uint64_t low = (uint64_t)(HISTOGRAM_STEPS + step) << (octave - 1);
    return low + ((UINT64_C(1) << (octave - 1)) - 1) / 2;
}

void histogram_done(struct histogram *h)
{
    for (int i = 0; i < HISTOGRAM_OCTAVES; i++)
        free(h->octaves[i]);
    *h = (struct histogram){0};
}

void histogram_add(struct histogram *h, uint64_t value, uint64_t times)
{
    unsigned octave = histogram_octave(value);
    if (!h->octaves[octave])
        h->octaves[octave] = mem_calloc(HISTOGRAM_STEPS, sizeof **h->octaves);
    h->octaves[octave][histogram_step(value, octave)] += times;
    h->n += times;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
    for (unsigned o = 0; o < HISTOGRAM_OCTAVES; o++)
        for (unsigned k = 0; from->octaves[o] && k < HISTOGRAM_STEPS; k++)
            if (from->octaves[o][k])
                histogram_add(to, histogram_value(o, k), from->octaves[o][k]);
}

/* The value of rank RANK, 1 being the least. */
static uint64_t histogram_rank(const struct histogram *h, uint64_t rank)
{
    uint64_t seen = 0;
    for (unsigned o = 0; o < HISTOGRAM_OCTAVES; o++)
        for (unsigned k = 0; h->octaves[o] && k < HISTOGRAM_STEPS; k++)
            if ((seen += h->octaves[o][k]) >= rank)
                return histogram_value(o, k);
    return 0;
}

static uint64_t clamp_rank(double rank, uint64_t n)
{
    return rank < 1 ? 1 : rank >= (double)n ? n : (uint64_t)rank;
}

uint64_t histogram_quantile(const struct histogram *h, double q)
{
    return h->n ? histogram_rank(h, clamp_rank(ceil(q * (double)h->n), h->n)) : 0;
}

uint64_t histogram_count_to(const struct histogram *h, uint64_t value)
{
    unsigned last = histogram_octave(value), step = histogram_step(value, last);
    uint64_t n = 0;
    for (unsigned o = 0; o <= last; o++)
        for (unsigned k = 0; h->octaves[o] && k < HISTOGRAM_STEPS; k++)
            if (o < last || k <= step)
                n += h->octaves[o][k];
    return n;
}
