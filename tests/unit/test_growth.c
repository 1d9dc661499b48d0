/* test_growth.c - exponents of known laws come back, with intervals that hold them. */
#include "stats/growth.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N = 6 };

static void near(double value, double want, double within)
{
    if (!(fabs(value - want) <= within))
        fail_msg("%g is not within %g of %g", value, within, want);
}

/* 1000, 2000, 4000... and what a law costs there. */
static void make(struct growth_point *points, double exponent, double log_power)
{
    for (int i = 0; i < N; i++) {
        double size = 1000 * pow(2, i);
        points[i] =
            (struct growth_point){size, 7 * pow(size, exponent) * pow(log(size), log_power)};
    }
}

static void a_power_law_comes_back_exactly(void **state)
{
    (void)state;
    struct growth_point points[N];
    struct growth g;
    for (double e = -1; e < 3.1; e += 0.5) {
        make(points, e, 0);
        assert_true(growth_fit(&g, points, N));
        near(g.exponent, e, 1e-9);
        near(g.interval.low, e, 1e-5);
        near(g.interval.high, e, 1e-5);
        near(g.r2, 1, 1e-9);
    }
}

static void shapes_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        double exponent, log_power;
        enum growth_shape shape;
        const char *name;
    } laws[] = {{0, 0, GROWTH_1, "constant"}, {0, 1, GROWTH_LOG_N, "log n"},
                {1, 0, GROWTH_N, "n"},        {1, 1, GROWTH_N_LOG_N, "n log n"},
                {2, 0, GROWTH_N2, "n^2"},     {3, 0, GROWTH_N3, "n^3"}};
    struct growth_point points[N];
    struct growth g;
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
        make(points, laws[i].exponent, laws[i].log_power);
        assert_true(growth_fit(&g, points, N));
        assert_int_equal(g.shape, laws[i].shape);
        assert_string_equal(growth_shape_names[g.shape], laws[i].name);
        near(g.shape_error, 1, 0.001);
    }
}

static double draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static double normal(uint64_t *state)
{
    double u = draw(state) + 1e-18;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * draw(state));
}

static void the_interval_holds_the_true_exponent_95_times_of_100(void **state)
{
    (void)state;
    uint64_t rng = 88172645463325252u;
    int covered = 0;
    for (int run = 0; run < 2000; run++) {
        struct growth_point points[N];
        struct growth g;
        make(points, 1.3, 0);
        for (int i = 0; i < N; i++)
            points[i].cost *= exp(0.1 * normal(&rng));
        assert_true(growth_fit(&g, points, N));
        covered += g.interval.low <= 1.3 && 1.3 <= g.interval.high;
    }
    if (covered < 1870 || covered > 1930)
        fail_msg("%d of 2,000", covered);
}

static void the_error_is_a_factor(void **state)
{
    (void)state;
    /* a tenth up, a tenth down, around n */
    const struct growth_point points[] = {{1, 1.1}, {2, 2 / 1.1}, {4, 4.4}, {8, 8 / 1.1}};
    struct growth g;
    assert_true(growth_fit(&g, points, 4));
    assert_int_equal(g.shape, GROWTH_N);
    near(g.shape_error, 1.116, 0.01); /* three free of four */
    assert_true(g.r2 > 0.95 && g.r2 < 1);
}

/* On a line by luck: what the points are known by themselves still counts. */
static void the_interval_allows_for_the_errors_of_the_points(void **state)
{
    (void)state;
    const double e = 0.1, l = log(2);
    const struct growth_point points[] = {{1, 3, e}, {2, 6, e}, {4, 12, e}};
    struct growth g;
    assert_true(growth_fit(&g, points, 3));
    near(g.exponent, 1, 1e-9);
    near(g.interval.high - 1, 1.96 * e / sqrt(2 * l * l), 1e-4);
    near(1 - g.interval.low, 1.96 * e / sqrt(2 * l * l), 1e-4);
}

static void two_points_have_an_exponent_but_no_interval(void **state)
{
    (void)state;
    const struct growth_point points[] = {{10, 5}, {20, 20}};
    struct growth g;
    assert_true(growth_fit(&g, points, 2));
    near(g.exponent, 2, 1e-9);
    assert_true(isinf(g.interval.low) && isinf(g.interval.high));
}

static void what_cannot_be_fitted_is_refused(void **state)
{
    (void)state;
    const struct growth_point same[] = {{10, 5}, {10, 6}, {10, 7}};
    const struct growth_point bad[] = {{0, 5}, {10, 0}, {-1, 2}, {10, NAN}, {INFINITY, 1}, {2, 2}};
    struct growth g;
    assert_false(growth_fit(&g, same, 3));
    assert_false(growth_fit(&g, bad, 6));
    assert_false(growth_fit(&g, NULL, 0));
}

static void points_that_are_no_measurements_are_left_out(void **state)
{
    (void)state;
    const struct growth_point points[] = {{1, 1}, {2, 4}, {0, 9}, {4, 16}, {8, -3}};
    struct growth g;
    assert_true(growth_fit(&g, points, 5));
    near(g.exponent, 2, 1e-9);
    assert_int_equal(g.shape, GROWTH_N2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_power_law_comes_back_exactly),
        cmocka_unit_test(shapes_are_told_apart),
        cmocka_unit_test(the_interval_holds_the_true_exponent_95_times_of_100),
        cmocka_unit_test(the_error_is_a_factor),
        cmocka_unit_test(the_interval_allows_for_the_errors_of_the_points),
        cmocka_unit_test(two_points_have_an_exponent_but_no_interval),
        cmocka_unit_test(what_cannot_be_fitted_is_refused),
        cmocka_unit_test(points_that_are_no_measurements_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
