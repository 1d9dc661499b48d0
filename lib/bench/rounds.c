/* rounds.c - linear and flat sampling; see rounds.h. */
#include "rounds.h"

#include <math.h>
#include <stdint.h>

/* A batch shorter than this says little about the time of an iteration: the clock has its grain. */
static const double warm_least_ns = 20e3;

/* More iterations than any loop would end with; they fit a size_t and are exact in a double. */
#define COUNT_MAX ((double)(SIZE_MAX >> 1 < (1ull << 52) ? SIZE_MAX >> 1 : 1ull << 52))

void rounds_init(struct rounds *r, const struct loop_plan *plan)
{
    *r = (struct rounds){.plan = *plan};
}

static size_t whole(double count)
{
    return (size_t)fmin(fmax(ceil(count), 1), COUNT_MAX);
}

/* Doubling, but not far beyond the time that is left. */
static size_t warm_count(const struct rounds *r)
{
    if (r->batches == 0)
        return 1;
    double left_ns = fmax(r->plan.warm_up_ns - r->warm_ns, 2 * warm_least_ns);
    return whole(fmin(2 * (double)r->count, left_ns / r->each_ns));
}

static size_t common_divisor(size_t a, size_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

/* Near the golden section of n, and without a common divisor: every round is met once. */
static size_t stride_of(size_t n)
{
    size_t stride = (size_t)(0.618 * (double)n);
    while (stride > 1 && common_divisor(stride, n) != 1)
        stride--;
    return stride ? stride : 1;
}

static void plan_rounds(struct rounds *r)
{
    r->light = r->each_ns < r->light_ns;
    double time_ns = r->plan.time_ns * (r->light ? 0.5 : 1);
    double each_ns = r->each_ns, n = (double)r->plan.samples, steps = n * (n + 1) / 2;
    r->n = r->plan.samples;
    r->unit = fmax(ceil(time_ns / (each_ns * steps)), 1);
    r->flat = r->unit * each_ns * steps > 2 * time_ns;
    if (r->flat) {
        double fits = fmax(floor(time_ns / each_ns), ROUNDS_LEAST);
        r->n = (size_t)fmin(n, fits);
        r->unit = fmax(floor(time_ns / (each_ns * (double)r->n)), 1);
    }
    r->stride = stride_of(r->n);
    r->warm = true;
}

static size_t measured_count(struct rounds *r)
{
    if (r->next == r->n)
        return 0;
    size_t step = r->next++ * r->stride % r->n + 1;
    return whole(r->unit * (r->flat ? 1 : (double)step));
}

/*
 * The first batch meets cold caches and pages that are not there yet, so it takes two at least; and
 * of short batches a single interruption would make the iterations seem slow.
 */
static void warm_batch(struct rounds *r, double last_ns)
{
    r->batches++;
    r->warm_ns += last_ns;
    if (r->batches <= 2 || r->count >= r->longest) {
        r->longest = r->count;
        r->each_ns = fmax(last_ns / (double)r->count, 1e-6);
    }
    if (r->batches > 1 && last_ns >= warm_least_ns && r->warm_ns >= r->plan.warm_up_ns)
        plan_rounds(r);
}

size_t rounds_next(struct rounds *r, double last_ns)
{
    if (!r->warm && r->count > 0)
        warm_batch(r, last_ns);
    r->count = r->warm ? measured_count(r) : warm_count(r);
    return r->count;
}
