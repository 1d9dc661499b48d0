#include "record/birthclock.h"

#include <math.h>

/* Shortest and longest, in usual periods: together a third more ticks than of usual ones. */
#define SHORTEST 0.1
#define LONGEST 2.5

/* From here on S(t) is 1 but for a few per cent. In longest periods. */
#define GROWN 8

/* A thread that ends has lost half a period on average: worth while if there is one for so many
 * samples. */
enum { SAMPLES_PER_END = 8, STEP_LEAST = 16 };

bool birthclock_step(struct birthclock *b)
{
    if (b->ends + b->samples >= STEP_LEAST) {
        b->on = b->ends * SAMPLES_PER_END >= b->samples;
        b->ends = b->samples = 0;
    }
    return b->on;
}

uint64_t birthclock_draw(const struct birthclock *b, double u)
{
    uint64_t ns = (uint64_t)((double)b->period_ns * (SHORTEST + (LONGEST - SHORTEST) * u));
    return ns == b->period_ns ? ns + 1 : ns; /* or it would be taken for a usual one */
}

/* S(t), where T is anything between SHORTEST and LONGEST. */
static double ticks_at(double t)
{
    double sum = 0;
    for (double k = ceil(t / LONGEST); k <= t / SHORTEST; k++)
        sum += 1 / (k * k);
    return sum * t / (LONGEST - SHORTEST);
}

uint64_t birthclock_weight(const struct birthclock *b, uint64_t period_ns, uint64_t age_ns)
{
    if (period_ns == b->period_ns || !period_ns)
        return period_ns;
    double usual = (double)b->period_ns, period = (double)period_ns;
    double n = fmax(1, round((double)age_ns / period)); /* which tick: they come a little late */
    double t = fmin(fmax(period / usual, SHORTEST), LONGEST) * n;
    if (t >= GROWN * LONGEST)
        return period_ns;
    double before = t < 2 * SHORTEST ? 2 : 1; /* what came before any clock can tick */
    return (uint64_t)llround(before * period / ticks_at(t));
}
