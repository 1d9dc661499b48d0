/* Histograms: quantiles against a sorted list, and sums of parts. */
#include "base/mem.h"
#include "stats/histogram.h"

#include <math.h>
#include <stdlib.h>

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

enum { N = 100000 };

static uint64_t seed = 1;

static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Values of all sizes: 2^0 to 2^63. */
static uint64_t *draw_values(struct histogram *h)
{
    uint64_t *values = mem_calloc(N, sizeof *values);
    for (int i = 0; i < N; i++) {
        values[i] = draw() >> (draw() % 64);
        histogram_add(h, values[i], 1);
    }
    qsort(values, N, sizeof *values, by_value);
    return values;
}

static void a_quantile_is_off_by_one_percent_at_most(void **state)
{
    (void)state;
    struct histogram h = {0};
    autofree uint64_t *values = draw_values(&h);
    for (double q = 0.0005; q < 1; q += 0.0005) {
        double truth = (double)values[(size_t)ceil(q * N) - 1];
        double is = (double)histogram_quantile(&h, q);
        assert_true(fabs(is - truth) <= 0.01 * truth);
    }
    assert_true(histogram_quantile(&h, 0) <= values[0]);
    assert_true((double)histogram_quantile(&h, 1) >= 0.99 * (double)values[N - 1]);
    histogram_done(&h);
}

static void small_values_are_exact(void **state)
{
    (void)state;
    for (uint64_t v = 0; v < 128; v++) {
        struct histogram h = {0};
        histogram_add(&h, v, 3);
        assert_int_equal(histogram_quantile(&h, 0.5), v);
        assert_int_equal(histogram_count_to(&h, v), 3);
        assert_int_equal(v ? histogram_count_to(&h, v - 1) : 0, 0);
        histogram_done(&h);
    }
}

static void parts_add_up_to_the_whole(void **state)
{
    (void)state;
    struct histogram whole = {0}, parts[3] = {0}, sum = {0};
    for (int i = 0; i < N; i++) {
        uint64_t v = draw() >> (draw() % 64);
        histogram_add(&whole, v, 1);
        histogram_add(&parts[i % 3], v, 1);
    }
    for (int i = 0; i < 3; i++) {
        histogram_merge(&sum, &parts[i]);
        histogram_done(&parts[i]);
    }
    assert_int_equal(sum.n, N);
    for (double q = 0; q <= 1; q += 0.001)
        assert_true(histogram_quantile(&sum, q) == histogram_quantile(&whole, q));
    histogram_done(&whole);
    histogram_done(&sum);
}

static void nothing_has_no_quantile(void **state)
{
    (void)state;
    struct histogram h = {0};
    assert_int_equal(histogram_quantile(&h, 0.5), 0);
    histogram_add(&h, UINT64_MAX, 1);
    assert_true(histogram_quantile(&h, 0.99) > UINT64_MAX / 100 * 99);
    histogram_done(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quantile_is_off_by_one_percent_at_most),
        cmocka_unit_test(small_values_are_exact),
        cmocka_unit_test(parts_add_up_to_the_whole),
        cmocka_unit_test(nothing_has_no_quantile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
