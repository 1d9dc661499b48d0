/*
 * planted.c - candidates that are wrong in one way each. Run with the name of one; all must be
 * caught. Real vector code where the processor has it, so that strays are those of vector code.
 */
#include <kelvin_bench.h>
#include <math.h>
#include <stdlib.h>

typedef float vec __attribute__((vector_size(16), aligned(4), may_alias));
typedef float aligned_vec __attribute__((vector_size(16), may_alias));

typedef float sum_function(const float *x, size_t n);
typedef void map_function(const float *x, float *y, size_t n);

/* --- sums of small whole numbers, exact in any order --- */

static float sum_plain(const float *x, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

static float lanes(vec v)
{
    return v[0] + v[1] + v[2] + v[3];
}

/* The last elements, fewer than four, are left out. */
static float sum_without_tail(const float *x, size_t n)
{
    vec sum = {0};
    for (size_t i = 0; i + 4 <= n; i += 4)
        sum += *(const vec *)(x + i);
    return lanes(sum);
}

/* The last four are read even where there are fewer. */
static float sum_overread(const float *x, size_t n)
{
    vec sum = {0};
    for (size_t i = 0; i < n; i += 4) {
        vec v = *(const vec *)(x + i);
        for (size_t k = 0; k < 4; k++)
            v[k] = i + k < n ? v[k] : 0;
        sum += v;
    }
    return lanes(sum);
}

/* Reads one element before the first. */
static float sum_underread(const float *x, size_t n)
{
    float sum = n ? ((const volatile float *)x)[-1] * 0 : 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return isnan(sum) ? sum_plain(x, n) : sum;
}

/* Expects addresses that are multiples of 16. */
static float sum_aligned(const float *x, size_t n)
{
    aligned_vec sum = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        sum += *(const aligned_vec *)(x + i);
    float rest = sum[0] + sum[1] + sum[2] + sum[3];
    for (; i < n; i++)
        rest += x[i];
    return rest;
}

static float sum_and_clear(const float *x, size_t n)
{
    float sum = sum_plain(x, n);
    if (n > 2)
        ((float *)x)[2] = 7;
    return sum;
}

static float sum_forever(const float *x, size_t n)
{
    for (volatile size_t i = n; n > 5; i++)
        if (i == 0)
            break;
    return sum_plain(x, n);
}

static float sum_abort(const float *x, size_t n)
{
    if (n == 17)
        abort();
    return sum_plain(x, n);
}

/* Puts a mark behind the last element that counts, and takes it away again. */
static float sum_sentinel(const float *x, size_t n)
{
    volatile float *last = (float *)x + n - 1;
    if (n < 4)
        return sum_plain(x, n);
    float was = *last;
    *last = 1e9F;
    float sum = sum_plain(x, n - 1) + was;
    *last = was;
    return sum;
}

/* Forgets its buffer on the way out that few inputs take. */
static float sum_leak(const float *x, size_t n)
{
    float *volatile copy = malloc((n + 1) * sizeof *copy);
    if (!copy)
        return 0;
    for (size_t i = 0; i < n; i++)
        copy[i] = x[i];
    float sum = sum_plain(copy, n);
    if (n != 33)
        free(copy);
    return sum;
}

/* Flushes subnormals to zero, and forgets to stop where it returns early. */
static float sum_mode(const float *x, size_t n)
{
#ifdef __x86_64__
    unsigned old = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(old | 0x8040);
    float sum = sum_plain(x, n);
    if (n % 8 != 3)
        __builtin_ia32_ldmxcsr(old);
    return sum;
#else
    return sum_plain(x, n);
#endif
}

static void whole(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = isfinite(x[i]) ? (float)((int)x[i] % 100) : 1;
}

static void prove_sum(struct kelvin_case *c, sum_function *candidate)
{
    size_t n = kelvin_length(c, "n", 200);
    float *x = kelvin_in_f32(c, "x", n, KELVIN_ORDINARY);
    whole(x, n);
    sum_function *sum = KELVIN_SIDE(c, sum_plain, candidate);
    kelvin_tolerance(c, KELVIN_ABSOLUTE, 0);
    kelvin_result_f32(c, "sum", sum(x, n));
}

KELVIN_EQUAL(tail)
{
    prove_sum(c, sum_without_tail);
}

KELVIN_EQUAL(overread)
{
    prove_sum(c, sum_overread);
}

KELVIN_EQUAL(underread)
{
    prove_sum(c, sum_underread);
}

KELVIN_EQUAL(aligned)
{
    prove_sum(c, sum_aligned);
}

KELVIN_EQUAL(changes)
{
    prove_sum(c, sum_and_clear);
}

KELVIN_EQUAL(sentinel)
{
    prove_sum(c, sum_sentinel);
}

KELVIN_EQUAL(leak)
{
    prove_sum(c, sum_leak);
}

KELVIN_EQUAL(mode)
{
    prove_sum(c, sum_mode);
}

KELVIN_EQUAL(forever)
{
    prove_sum(c, sum_forever);
}

KELVIN_EQUAL(aborts)
{
    prove_sum(c, sum_abort);
}

/* --- the largest number; NaN counts for nothing --- */

static float max_plain(const float *x, size_t n)
{
    float max = -INFINITY;
    for (size_t i = 0; i < n; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

/* As the instruction maxps does it: the second operand when one is NaN. */
static float max_nan(const float *x, size_t n)
{
    float max = -INFINITY;
    for (size_t i = 0; i < n; i++)
        max = max > x[i] ? max : x[i];
    return max;
}

KELVIN_EQUAL(nan)
{
    size_t n = kelvin_length(c, "n", 200);
    const float *x = kelvin_in_f32(c, "x", n, KELVIN_ANY);
    sum_function *max = KELVIN_SIDE(c, max_plain, max_nan);
    kelvin_tolerance(c, KELVIN_ULP, 0);
    kelvin_result_f32(c, "max", max(x, n));
}

/* --- y = 2x --- */

static void twice_plain(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = 2 * x[i];
}

/* Writes whole groups of four, past the end. */
static void twice_overwrite(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = 2 * x[i];
    for (size_t i = n; i % 4; i++)
        y[i] = 0;
}

/* Forgets that -0 has a sign. */
static void twice_zero(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = 2 * x[i] + 0;
}

static void prove_twice(struct kelvin_case *c, map_function *candidate)
{
    size_t n = kelvin_length(c, "n", 200);
    const float *x = kelvin_in_f32(c, "x", n, KELVIN_ANY);
    float *y = kelvin_out_f32(c, "y", n);
    map_function *twice = KELVIN_SIDE(c, twice_plain, candidate);
    twice(x, y, n);
}

KELVIN_EQUAL(overwrite)
{
    prove_twice(c, twice_overwrite);
}

KELVIN_EQUAL(zero)
{
    prove_twice(c, twice_zero);
}

/* --- in place, and by a number --- */

static void add_plain(int16_t *x, size_t n, int16_t k)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (int16_t)(x[i] + k);
}

/* Saturates instead of going round. */
static void add_saturated(int16_t *x, size_t n, int16_t k)
{
    for (size_t i = 0; i < n; i++) {
        int sum = x[i] + k;
        x[i] = (int16_t)(sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : sum);
    }
}

KELVIN_EQUAL(saturated)
{
    size_t n = kelvin_length(c, "n", 50);
    int16_t *x = kelvin_inout_i16(c, "x", n, KELVIN_ANY);
    int16_t k = kelvin_draw_i16(c, "k", -300, 300);
    void (*add)(int16_t *, size_t, int16_t) = KELVIN_SIDE(c, add_plain, add_saturated);
    add(x, n, k);
}

BENCH_MAIN
