/*
 * race_dot.c - is a dot product with AVX2 right, and how much faster is it?
 *
 *     cc -O2 -Iinclude examples/race_dot.c build/libkelvin_bench.a -lm -o race_dot && ./race_dot
 *
 * Sums of floating-point numbers depend on the order, so the results may differ: each addition can
 * be wrong by 2^-24 of what was summed up by then, on both sides.
 */
#include <immintrin.h>
#include <kelvin_bench.h>
#include <math.h>
#include <stdio.h>

static float dot_plain(const float *x, const float *y, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

__attribute__((target("avx2,fma"))) static float dot_avx2(const float *x, const float *y, size_t n)
{
    __m256 a = _mm256_setzero_ps(), b = a, e = a, f = a;
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        a = _mm256_fmadd_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i), a);
        b = _mm256_fmadd_ps(_mm256_loadu_ps(x + i + 8), _mm256_loadu_ps(y + i + 8), b);
        e = _mm256_fmadd_ps(_mm256_loadu_ps(x + i + 16), _mm256_loadu_ps(y + i + 16), e);
        f = _mm256_fmadd_ps(_mm256_loadu_ps(x + i + 24), _mm256_loadu_ps(y + i + 24), f);
    }
    __m256 all = _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(e, f));
    float lanes[8], sum = 0;
    _mm256_storeu_ps(lanes, all);
    for (int k = 0; k < 8; k++)
        sum += lanes[k];
    for (; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* What rounding errors are measured by. */
static double magnitude(const float *x, const float *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fabs((double)x[i] * y[i]);
    return sum;
}

KELVIN_EQUAL(dot)
{
    KELVIN_RACE_LENGTHS(c, 64, 4096);
    size_t n = kelvin_length(c, "n", 100);
    const float *x = kelvin_in_f32(c, "x", n, KELVIN_ORDINARY | KELVIN_INFINITE | KELVIN_NAN);
    const float *y = kelvin_in_f32(c, "y", n, KELVIN_ORDINARY);
    float (*dot)(const float *, const float *, size_t) = KELVIN_SIDE(c, dot_plain, dot_avx2);
    float sum = 0;
    KELVIN_RACE(c) sum = dot(x, y, n);
    kelvin_tolerance(c, KELVIN_RELATIVE, (double)(n + 1) * 0x1p-23);
    kelvin_scale(c, magnitude(x, y, n));
    kelvin_min_speedup(c, n < 100 ? 1.0 : 2.0);
    kelvin_result_f32(c, "sum", sum);
}

int main(int argc, char **argv)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return puts("this processor has no AVX2"), 0;
    return kelvin_main(argc, argv);
}
