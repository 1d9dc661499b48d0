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

static void unlike_scatter_does_not_move_a_step(void **state)
{
    struct changepoint_opts o = CHANGEPOINT_DEFAULTS;
    (void)state;
    for (int quiet_first = 0; quiet_first < 2; quiet_first++)
        for (uint64_t seed = 1; seed <= 10; seed++) {
            double v[50];
            uint64_t rng = seed;
            struct changepoint *found;
            fill(v, 25, 100, quiet_first ? 0.1 : 6, &rng);
            fill(v + 25, 25, 130, quiet_first ? 6 : 0.1, &rng);
            assert_int_equal(changepoint_find(v, 50, &o, &found), 1);
            assert_int_equal(found[0].at, 25);
            free(found);
        }
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

/* In 200 series of pure noise a level of 1% may raise a few false alarms, not many. */
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

/* Whether a step of 51% in runs that scatter by 2% is found at its place; then it is in RET. */
static bool find_step(size_t before, size_t after, uint64_t seed, struct changepoint *ret)
{
    double v[40];
    struct changepoint_opts o = CHANGEPOINT_DEFAULTS;
    struct changepoint *found;
    fill(v, before, 100, 2, &seed);
    fill(v + before, after, 151, 2, &seed);
    size_t n = changepoint_find(v, before + after, &o, &found), i = 0;
    while (i < n && found[i].at != before)
        i++;
    if (i < n)
        *ret = found[i];
    free(found);
    return i < n;
}

static void a_large_step_of_few_runs_is_likely_and_of_more_is_proven(void **state)
{
    struct changepoint c;
    size_t proven = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        assert_false(find_step(3, 3, seed, &c)); /* 2 of 20 deals are as good */
        assert_true(find_step(4, 4, seed, &c));
        assert_true(c.likely);
        assert_true(fabs(c.p - 2.0 / 70) < 1e-12); /* counted, not drawn */
        for (size_t n = 5; n <= 12; n++) {
            assert_true(find_step(n, n, seed, &c));
            assert_int_equal(c.likely, n == 5 && c.p > 0.01);
        }
        assert_true(find_step(12, 3, seed, &c));
        proven += !c.likely;
    }
    assert_true(proven >= 36); /* the others have one more point, by chance */
}

static void few_runs_of_one_level_are_hardly_ever_likely_to_have_two(void **state)
{
    size_t alarms = 0;
    uint64_t seed = 17;
    struct changepoint_opts o = CHANGEPOINT_DEFAULTS;
    (void)state;
    for (int i = 0; i < 400; i++) {
        struct changepoint *found;
        double v[8];
        fill(v, 8, 100, 10, &seed);
        alarms += changepoint_find(v, 8, &o, &found) > 0;
        free(found);
    }
    assert_true(alarms <= 4);
}

/* Division by nothing, as in a rate of a run that took no time. */
static void values_that_are_no_numbers_have_no_points(void **state)
{
    struct changepoint_opts o = CHANGEPOINT_DEFAULTS;
    static const double odd[] = {INFINITY, -INFINITY, NAN};
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        autofree double *v = mem_calloc(12, sizeof *v);
        struct changepoint *found;
        for (size_t i = 0; i < 12; i++)
            v[i] = i % 2 ? odd[k] : 1;
        assert_int_equal(changepoint_find(v, 12, &o, &found), 0);
        free(found);
    }
}

static void a_step_below_what_counts_is_none(void **state)
{
    double values[40];
    struct changepoint_opts o = CHANGEPOINT_DEFAULTS;
    struct changepoint *points;
    (void)state;
    o.min_change = 0;
    for (size_t i = 0; i < 40; i++)
        values[i] = (i < 20 ? 0.100 : 0.104) + 0.0001 * (double)(i % 3);
    assert_int_equal(changepoint_find(values, 40, &o, &points), 1);
    free(points);
    o.least = 0.005;
    assert_int_equal(changepoint_find(values, 40, &o, &points), 0);
    free(points);
    for (size_t i = 20; i < 40; i++)
        values[i] += 0.002;
    assert_int_equal(changepoint_find(values, 40, &o, &points), 1);
    assert_int_equal(points[0].at, 20);
    free(points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_below_what_counts_is_none),
        cmocka_unit_test(values_that_are_no_numbers_have_no_points),
        cmocka_unit_test(step_is_found_at_its_place),
        cmocka_unit_test(unlike_scatter_does_not_move_a_step),
        cmocka_unit_test(step_up_and_down_are_two_points),
        cmocka_unit_test(noise_has_hardly_any_points),
        cmocka_unit_test(one_outlier_is_no_change_of_level),
        cmocka_unit_test(change_too_small_to_matter_is_left_out),
        cmocka_unit_test(long_series_is_looked_at_in_windows),
        cmocka_unit_test(few_values_have_no_points),
        cmocka_unit_test(a_large_step_of_few_runs_is_likely_and_of_more_is_proven),
        cmocka_unit_test(few_runs_of_one_level_are_hardly_ever_likely_to_have_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
