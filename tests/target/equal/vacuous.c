/* vacuous.c - proofs that could not fail. Run with the name of one; all must be refused. */
#include <kelvin_bench.h>
#include <stdlib.h>

typedef float sum_function(const float *x, size_t n);

static float sum_plain(const float *x, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

static float sum_backwards(const float *x, size_t n)
{
    float sum = 0;
    while (n--)
        sum += x[n];
    return sum;
}

static float nothing_a(const float *x, size_t n)
{
    (void)x, (void)n;
    return 4;
}

static float nothing_b(const float *x, size_t n)
{
    return x && n < 1000 ? 4 : 5;
}

KELVIN_EQUAL(same)
{
    size_t n = kelvin_length(c, "n", 20);
    const float *x = kelvin_in_f32(c, "x", n, KELVIN_ORDINARY);
    kelvin_result_f32(c, "sum", KELVIN_SIDE(c, sum_plain, sum_plain)(x, n));
}

KELVIN_EQUAL(constant)
{
    size_t n = kelvin_length(c, "n", 20);
    const float *x = kelvin_in_f32(c, "x", n, KELVIN_ORDINARY);
    kelvin_result_f32(c, "sum", KELVIN_SIDE(c, nothing_a, nothing_b)(x, n));
}

KELVIN_EQUAL(loose)
{
    size_t n = kelvin_length(c, "n", 20);
    const float *x = kelvin_in_f32(c, "x", n, KELVIN_ORDINARY);
    kelvin_tolerance(c, KELVIN_ABSOLUTE, 1e30);
    kelvin_result_f32(c, "sum", KELVIN_SIDE(c, sum_plain, sum_backwards)(x, n));
}

KELVIN_EQUAL(uncalled)
{
    size_t n = kelvin_length(c, "n", 20);
    const float *x = kelvin_in_f32(c, "x", n, KELVIN_ORDINARY);
    sum_function *sum = KELVIN_SIDE(c, sum_plain, sum_backwards);
    kelvin_result_f32(c, "sum", sum ? sum_plain(x, n) : 0);
}

KELVIN_EQUAL(unreported)
{
    size_t n = kelvin_length(c, "n", 20);
    const float *x = kelvin_in_f32(c, "x", n, KELVIN_ORDINARY);
    KELVIN_SIDE(c, sum_plain, sum_backwards)(x, n);
}

KELVIN_EQUAL(sideless)
{
    size_t n = kelvin_length(c, "n", 20);
    const float *x = kelvin_in_f32(c, "x", n, KELVIN_ORDINARY);
    kelvin_result_f32(c, "sum", sum_plain(x, n));
}

static void fill(float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)i;
}

static void fill_down(float *y, size_t n)
{
    while (n--)
        y[n] = (float)n;
}

KELVIN_EQUAL(empty)
{
    float *y = kelvin_out_f32(c, "y", kelvin_length(c, "n", 0));
    KELVIN_SIDE(c, fill, fill_down)(y, 0);
    kelvin_result_u64(c, "k", kelvin_draw_u64(c, "k", 0, 9));
}

KELVIN_EQUAL(unlike_draws)
{
    static int runs;
    size_t n = kelvin_length(c, "n", 20);
    const float *x = kelvin_in_f32(c, runs++ % 2 ? "x" : "y", n, KELVIN_ORDINARY);
    kelvin_result_f32(c, "sum", KELVIN_SIDE(c, sum_plain, sum_backwards)(x, n));
}

BENCH_MAIN
