/* test_repeats.c - summaries and intervals of repeated measurements hold what they promise. */
#include "base/mem.h"
#include "stats/repeats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* A fixed generator: the tests are the same every time. */
static double draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* Skewed, as times are: e to the power of a nearly normal number. */
static double draw_time(uint64_t *rng)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += draw(rng);
    return exp(sum);
}

static void near(double value, double want, double within)
{
    if (!(fabs(value - want) <= within))
        fail_msg("%g is not within %g of %g", value, within, want);
}

static void a_summary_matches_numbers_worked_out_by_hand(void **state)
{
    (void)state;
    const double values[] = {7, 1, 3, 2, 5, 4, 6, 8, 100, 20};
    struct repeats_summary s;
    repeats_summarize(&s, values, 10);
    assert_int_equal(s.n, 10);
    near(s.mean, 15.6, 1e-9);
    near(s.sd, 30.1301, 1e-3);
    near(s.median, 5.5, 1e-9);
    near(s.min, 1, 0);
    near(s.max, 100, 0);
    near(s.q1, 3.25, 1e-9);
    near(s.q3, 7.75, 1e-9);
    near(s.mad, 1.4826 * 2.5, 1e-9);
    assert_int_equal(s.mild_high, 1);   /* 20 is above 14.5 */
    assert_int_equal(s.severe_high, 1); /* 100 is above 21.25 */
    assert_int_equal(s.mild_low + s.severe_low, 0);
}

static void nothing_one_and_equal_values_are_no_trouble(void **state)
{
    (void)state;
    const double five[] = {5, 5, 5, 5, 5, 5, 5};
    struct repeats_summary s;
    repeats_summarize(&s, NULL, 0);
    assert_true(isnan(s.mean) && isnan(s.median) && isnan(s.min) && s.n == 0);
    repeats_summarize(&s, five, 1);
    assert_true(s.mean == 5 && s.median == 5 && s.sd == 0);
    assert_true(isinf(s.mean_interval.low) && isinf(s.median_interval.high));
    repeats_summarize(&s, five, 7);
    assert_true(s.mad == 0 && s.mean_interval.low == 5 && s.median_interval.high == 5);
    assert_int_equal(s.mild_low + s.mild_high + s.severe_low + s.severe_high, 0);
}

static void the_medians_interval_has_the_ranks_of_the_tables(void **state)
{
    (void)state;
    double v[1000];
    for (int i = 0; i < 1000; i++)
        v[i] = i + 1;
    assert_true(isinf(repeats_median_interval(v, 5, 0.05).low));
    static const struct {
        size_t n;
        double miss;
        int low; /* published ranks of the sign test */
    } rows[] = {{6, 0.05, 1},  {9, 0.05, 2},    {20, 0.05, 6},
                {25, 0.01, 6}, {100, 0.05, 40}, {1000, 0.05, 469}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct interval got = repeats_median_interval(v, rows[i].n, rows[i].miss);
        assert_int_equal((int)got.low, rows[i].low);
        assert_int_equal((int)got.high, (int)rows[i].n + 1 - rows[i].low);
    }
}

static void intervals_miss_as_seldom_as_they_say(void **state)
{
    (void)state;
    enum { TRIES = 600, N = 40 };
    double v[N], mean = exp(0.5);
    uint64_t rng = 12345;
    int exact = 0, median = 0, of_mean = 0;
    for (int i = 0; i < TRIES; i++) {
        for (int k = 0; k < N; k++)
            v[k] = draw_time(&rng);
        struct interval m = repeats_bootstrap_mean(v, N, 1000, 0.05);
        struct interval b = repeats_bootstrap_median(v, N, 1000, 0.05);
        repeats_sort(v, N);
        struct interval e = repeats_median_interval(v, N, 0.05);
        exact += e.low > 1 || e.high < 1;
        median += b.low > 1 || b.high < 1;
        of_mean += m.low > mean || m.high < mean;
    }
    assert_in_range(exact, TRIES / 100, TRIES * 6 / 100);
    assert_in_range(median, TRIES / 100, TRIES * 9 / 100);
    assert_in_range(of_mean, TRIES / 100, TRIES * 12 / 100); /* skewed: known to miss more */
}

static void the_same_values_give_the_same_interval(void **state)
{
    (void)state;
    double v[101];
    uint64_t rng = 7;
    for (int i = 0; i < 101; i++)
        v[i] = draw_time(&rng);
    struct interval a = repeats_bootstrap_mean(v, 101, 500, 0.05);
    struct interval b = repeats_bootstrap_mean(v, 101, 500, 0.05);
    assert_memory_equal(&a, &b, sizeof a);
    assert_true(a.low < a.high);
}

/* 2.5% of 21 is half a resample, which rounds to one beyond each end; of 20 it is none. */
static void an_interval_leaves_out_as_many_resamples_as_it_may_miss(void **state)
{
    (void)state;
    double v[40];
    uint64_t rng = 12;
    for (size_t i = 0; i < 40; i++)
        v[i] = draw_time(&rng);
    for (size_t n = 20; n <= 21; n++) {
        struct interval all = repeats_bootstrap_mean(v, 40, n, 0);
        struct interval most = repeats_bootstrap_mean(v, 40, n, 0.05);
        assert_int_equal(most.low > all.low, n == 21);
        assert_int_equal(most.high < all.high, n == 21);
    }
}

/* The resamples of mirrored values are the mirrored resamples, so that both ends are cut alike. */
static void mirrored_values_give_the_mirrored_interval(void **state)
{
    (void)state;
    double v[40], mirrored[40];
    uint64_t rng = 11;
    for (size_t i = 0; i < 40; i++) {
        v[i] = draw_time(&rng);
        mirrored[i] = -v[i];
    }
    for (size_t resamples = 20; resamples < 60; resamples++) {
        struct interval a = repeats_bootstrap_mean(v, 40, resamples, 0.1);
        struct interval b = repeats_bootstrap_mean(mirrored, 40, resamples, 0.1);
        near(a.low, -b.high, 1e-12);
        near(a.high, -b.low, 1e-12);
    }
}

static void a_slope_is_found_and_noise_widens_it(void **state)
{
    (void)state;
    double x[30], y[30];
    uint64_t rng = 99;
    struct slope s;
    for (int i = 0; i < 30; i++) {
        x[i] = 1000 * (i + 1);
        y[i] = 2.5 * x[i];
    }
    repeats_slope(&s, x, y, 30);
    near(s.slope, 2.5, 1e-12);
    near(s.r2, 1, 1e-12);
    near(s.interval.high - s.interval.low, 0, 1e-9);
    for (int i = 0; i < 30; i++)
        y[i] *= 1 + 0.1 * (draw(&rng) - 0.5);
    repeats_slope(&s, x, y, 30);
    near(s.slope, 2.5, 0.05);
    assert_true(s.r2 > 0.98 && s.r2 < 1);
    assert_true(s.interval.low < s.slope && s.interval.high > s.slope);
    assert_true(s.interval.high - s.interval.low < 0.1);
    x[0] = 0;
    repeats_slope(&s, x, y, 1);
    assert_true(isnan(s.slope));
}

/* The promise is 50 ms; ten times that leaves room for checked builds and busy machines. */
static void a_hundred_thousand_resamples_do_not_take_long(void **state)
{
    (void)state;
    double v[100];
    uint64_t rng = 3;
    for (int i = 0; i < 100; i++)
        v[i] = draw_time(&rng);
    clock_t before = clock();
    struct interval i = repeats_bootstrap_mean(v, 100, 100000, 0.05);
    double seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
    clock_t middle = clock();
    repeats_bootstrap_median(v, 100, 100000, 0.05);
    print_message("100,000 resamples of 100: mean %.1f ms, median %.1f ms of CPU time\n",
                  seconds * 1e3, (double)(clock() - middle) * 1e3 / CLOCKS_PER_SEC);
    assert_true(i.low < i.high);
    assert_true(seconds < 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_summary_matches_numbers_worked_out_by_hand),
        cmocka_unit_test(nothing_one_and_equal_values_are_no_trouble),
        cmocka_unit_test(the_medians_interval_has_the_ranks_of_the_tables),
        cmocka_unit_test(intervals_miss_as_seldom_as_they_say),
        cmocka_unit_test(the_same_values_give_the_same_interval),
        cmocka_unit_test(an_interval_leaves_out_as_many_resamples_as_it_may_miss),
        cmocka_unit_test(mirrored_values_give_the_mirrored_interval),
        cmocka_unit_test(a_slope_is_found_and_noise_widens_it),
        cmocka_unit_test(a_hundred_thousand_resamples_do_not_take_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
