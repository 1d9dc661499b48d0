/* test_changepoint.c - changes of level are found where they are, and noise is left alone. */
#include "base/mem.h"
#include "stats/changepoint.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>

/* About normal, mean 0, deviation 1; the same every time. */
static double noise(uint64_t *state)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*state >> 11) / 9007199254740992.0;
    }
    return sum - 6;
}

static void fill(double *v, size_t n, double level, double sd, uint64_t *state)
{
    for (size_t i = 0; i < n; i++)
        v[i] = level + sd * noise(state);
}

static void step_is_found_at_its_place(void **state)
{
    double v[60];
    uint64_t seed = 7;
    struct changepoint_opts o = CHANGEPOINT_DEFAULTS;
    struct changepoint *found;
    (void)state;
    fill(v, 40, 100, 1, &seed);
    fill(v + 40, 20, 110, 1, &seed);
    assert_int_equal(changepoint_find(v, 60, &o, &found), 1);
    assert_int_equal(found[0].at, 40);
    assert_true(fabs(found[0].before - 100) < 1 && fabs(found[0].after - 110) < 1);
    assert_true(found[0].p <= 0.01);
    free(found);
}

static void step_up_and_down_are_two_points(void **state)
{
    double v[90];
    uint64_t seed = 3;
    struct changepoint_opts o = CHANGEPOINT_DEFAULTS;
    struct changepoint *found;
    (void)state;
    fill(v, 30, 100, 1, &seed);
    fill(v + 30, 30, 105, 1, &seed);
    fill(v + 60, 30, 100, 1, &seed);
    assert_int_equal(changepoint_find(v, 90, &o, &found), 2);
    assert_true(found[0].at >= 29 && found[0].at <= 31);
    assert_true(found[1].at >= 59 && found[1].at <= 61);
    free(found);
}

/* In 200 series of pure noise a level of 1 % may raise a few false alarms, not many. */
static void noise_has_hardly_any_points(void **state)
{
    double v[50];
    uint64_t seed = 11;
    struct changepoint_opts o = CHANGEPOINT_DEFAULTS;
    size_t alarms = 0;
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct changepoint *found;
        fill(v, 50, 100, 3, &seed);
        alarms += changepoint_find(v, 50, &o, &found) > 0;
        free(found);
    }
    assert_true(alarms <= 7);
}

static void one_outlier_is_no_change_of_level(void **state)
{
    double v[40];
    uint64_t seed = 5;
    struct changepoint_opts o = CHANGEPOINT_DEFAULTS;
    struct changepoint *found;
    (void)state;
    fill(v, 40, 100, 1, &seed);
    v[20] = 300;
    assert_int_equal(changepoint_find(v, 40, &o, &found), 0);
    free(found);
}

static void change_too_small_to_matter_is_left_out(void **state)
{
    double v[60];
    uint64_t seed = 7;
    struct changepoint_opts o = CHANGEPOINT_DEFAULTS;
    struct changepoint *found;
    (void)state;
    fill(v, 30, 100, 0.01, &seed);
    fill(v + 30, 30, 100.2, 0.01, &seed);
    assert_int_equal(changepoint_find(v, 60, &o, &found), 0);
    free(found);
    o.min_change = 0.001;
    assert_int_equal(changepoint_find(v, 60, &o, &found), 1);
    free(found);
}

static void long_series_is_looked_at_in_windows(void **state)
{
    enum { N = 2000 };
    autofree double *v = mem_calloc(N, sizeof *v);
    uint64_t seed = 9;
    struct changepoint_opts o = {.level = 0.001, .min_change = 0.01, .shuffles = 999};
    struct changepoint *found;
    (void)state;
    fill(v, 1234, 100, 1, &seed);
    fill(v + 1234, N - 1234, 104, 1, &seed);
    assert_int_equal(changepoint_find(v, N, &o, &found), 1);
    assert_true(found[0].at >= 1232 && found[0].at <= 1236);
    free(found);
}

static void few_values_have_no_points(void **state)
{
    const double v[] = {1, 1, 9, 9, 9};
    struct changepoint_opts o = CHANGEPOINT_DEFAULTS;
    struct changepoint *found;
    (void)state;
    for (size_t n = 0; n <= 5; n++) {
        assert_int_equal(changepoint_find(v, n, &o, &found), 0);
        free(found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_is_found_at_its_place),
        cmocka_unit_test(step_up_and_down_are_two_points),
        cmocka_unit_test(noise_has_hardly_any_points),
        cmocka_unit_test(one_outlier_is_no_change_of_level),
        cmocka_unit_test(change_too_small_to_matter_is_left_out),
        cmocka_unit_test(long_series_is_looked_at_in_windows),
        cmocka_unit_test(few_values_have_no_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
