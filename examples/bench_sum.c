/*
 * bench_sum.c - what a sum of floats costs: one after the other, and in four lanes.
 *
 *     cc -O2 bench_sum.c $(pkg-config --cflags --libs kelvin) -o bench_sum && ./bench_sum --quick
 */
#include <kelvin_bench.h>

#include <stdlib.h>

static float sum(const float *xs, size_t n)
{
    float total = 0;
    for (size_t i = 0; i < n; i++)
        total += xs[i];
    return total;
}

/* Four sums that do not wait for each other. */
static float sum_lanes(const float *xs, size_t n)
{
    float lanes[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++)
            lanes[k] += xs[i + k];
    for (; i < n; i++)
        lanes[0] += xs[i];
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

static float *numbers(size_t n)
{
    float *xs = malloc(n * sizeof *xs);
    if (!xs)
        abort();
    for (size_t i = 0; i < n; i++)
        xs[i] = (float)(i % 100);
    KELVIN_HIDE(xs); /* else a sum of known numbers may be worked out once, before the loop */
    kelvin_items((double)n);
    kelvin_bytes((double)(n * sizeof *xs));
    return xs;
}

BENCH_OVER(sum, n, 1000, 100000)
{
    float *xs = numbers(n);
    BENCH_LOOP
    {
        KELVIN_KEEP(sum(xs, n));
    }
    free(xs);
}

BENCH_OVER(sum_lanes, n, 1000, 100000)
{
    float *xs = numbers(n);
    BENCH_LOOP
    {
        KELVIN_KEEP(sum_lanes(xs, n));
    }
    free(xs);
}

BENCH_MAIN
