/* test_stats.c - intervals of shares hold what they promise. */
#include "base/mem.h"
#include "stats/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

/* A fixed generator: the tests are the same every time. */
static double draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static void near(double value, double want, double within)
{
    if (fabs(value - want) > within)
        fail_msg("%g is not within %g of %g", value, within, want);
}

static void wilson_matches_published_values(void **state)
{
    (void)state;
    struct interval i = stats_wilson(0.1, 10, STATS_Z95); /* 1 of 10 */
    near(i.low, 0.0179, 0.0001);
    near(i.high, 0.4042, 0.0001);
    i = stats_wilson(0.5, 100, STATS_Z95);
    near(i.low, 0.4038, 0.0001);
    near(i.high, 0.5962, 0.0001);
}

/* Tables of Garwood's limits; and the cube goes on where the series ends. */
static void poisson_matches_published_values(void **state)
{
    (void)state;
    static const double table[][3] = {{0, 0, 3.689},
                                      {1, 0.0253, 5.572},
                                      {5, 1.623, 11.668},
                                      {10, 4.795, 18.390},
                                      {100, 81.364, 121.627}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct interval is = stats_poisson(table[i][0], STATS_Z95);
        assert_float_equal(is.low, table[i][1], 0.002);
        assert_float_equal(is.high, table[i][2], 0.002);
    }
    struct interval below = stats_poisson(1000, STATS_Z95),
                    above = stats_poisson(1000.001, STATS_Z95);
    assert_float_equal(below.low, above.low, 0.05);
    assert_float_equal(below.high, above.high, 0.05);
}

static void wilson_has_width_at_the_edges(void **state)
{
    (void)state;
    struct interval none = stats_wilson(0, 20, STATS_Z95), all = stats_wilson(1, 20, STATS_Z95);
    for (int n = 1; n < 1000; n++) /* whatever rounding leaves */
        assert_true(stats_wilson(0, n, STATS_Z95).low == 0 &&
                    stats_wilson(1, n, STATS_Z95).high == 1);
    assert_true(none.low == 0);
    near(none.high, 0.1611, 0.0001);
    near(all.low, 0.8389, 0.0001);
    assert_true(all.high == 1);
    struct interval nothing = stats_wilson(0.3, 0, STATS_Z95);
    assert_true(nothing.low == 0 && nothing.high == 1);
}

static void weights_that_differ_count_for_less(void **state)
{
    (void)state;
    near(stats_weighted_n(10, 10), 10, 1e-9);            /* ten samples of weight 1 */
    near(stats_weighted_n(109, 9 + 10000), 1.187, 0.01); /* one outweighs nine */
    assert_true(stats_weighted_n(0, 0) == 0);
}

/* Hits with share P, where a sample is a copy of the one before with probability STICK. */
static void make_series(uint8_t *hits, size_t n, double p, double stick, uint64_t seed)
{
    uint64_t rng = seed * 0x9e3779b97f4a7c15u | 1;
    for (int i = 0; i < 20; i++)
        draw(&rng);
    for (size_t i = 0; i < n; i++) {
        bool copy = i > 0 && draw(&rng) < stick;
        double u = draw(&rng);
        hits[i] = copy ? hits[i - 1] : u < p;
    }
}

enum { N = 10000 };

static void independent_samples_count_in_full(void **state)
{
    (void)state;
    autofree uint8_t *hits = mem_calloc(N, 1);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        make_series(hits, N, 0.3, 0, seed);
        double n = stats_effective_n(hits, N);
        assert_true(n <= N && n > 0.65 * N);
    }
}

static void samples_that_stick_together_count_for_less(void **state)
{
    (void)state;
    autofree uint8_t *hits = mem_calloc(N, 1);
    double sum = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        make_series(hits, N, 0.3, 0.8, seed);
        sum += stats_effective_n(hits, N) / 20;
    }
    near(sum, N / 9.0, 0.2 * N / 9.0); /* (1 + 0.8) / (1 - 0.8) = 9 samples tell one's worth */
}

static void even_spread_is_not_trusted(void **state)
{
    (void)state;
    uint8_t hits[400];
    for (size_t i = 0; i < 400; i++)
        hits[i] = i % 2;
    assert_true(stats_effective_n(hits, 400) == 400);
}

static void a_phase_that_comes_once_is_shape_one_that_comes_and_goes_is_chance(void **state)
{
    (void)state;
    uint8_t once[400] = {0}, between[400] = {0}, often[400] = {0};
    memset(once, 1, 200);
    memset(between + 150, 1, 70);
    for (size_t i = 0; i < 400; i += 80)
        memset(often + i, 1, 40);
    assert_true(stats_effective_n(once, 400) > 150);
    assert_true(stats_effective_n(between, 400) > 50);
    assert_true(stats_effective_n(often, 400) < 20);
}

static void nothing_to_estimate_from(void **state)
{
    (void)state;
    uint8_t zeros[100] = {0}, few[] = {1, 1, 1, 0, 0, 0};
    assert_true(stats_effective_n(zeros, 100) == 100);
    assert_true(stats_effective_n(few, sizeof few) == 6);
    assert_true(stats_effective_n(few, 0) == 0);
}

/* Of 1,000 recordings, how many intervals hold the true share? */
static int covered(double p, double stick, bool naive)
{
    autofree uint8_t *hits = mem_calloc(5000, 1);
    int n = 0;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        make_series(hits, 5000, p, stick, seed);
        double ones = 0;
        for (size_t i = 0; i < 5000; i++)
            ones += hits[i];
        double effective = naive ? 5000 : stats_effective_n(hits, 5000);
        struct interval i = stats_wilson(ones / 5000, effective, STATS_Z95);
        n += i.low <= p && p <= i.high;
    }
    return n;
}

static void intervals_cover(void **state)
{
    (void)state;
    const double shares[] = {0.02, 0.1, 0.5, 0.9}, sticks[] = {0, 0.5, 0.8};
    for (size_t s = 0; s < 4; s++) {
        for (size_t t = 0; t < 3; t++) {
            int n = covered(shares[s], sticks[t], false);
            if (n < 930 || n > 970)
                fail_msg("share %g, stick %g: %d of 1,000", shares[s], sticks[t], n);
        }
    }
    assert_true(covered(0.5, 0.8, true) < 600); /* without the correction they do not */
}

static void intervals_cover_where_phases_last_long(void **state)
{
    (void)state;
    const double shares[] = {0.3, 0.5, 0.6}, sticks[] = {0.95, 0.98}; /* 20 and 50 samples */
    for (size_t s = 0; s < 3; s++) {
        for (size_t t = 0; t < 2; t++) {
            int n = covered(shares[s], sticks[t], false);
            if (n < 930 || n > 970)
                fail_msg("share %g, stick %g: %d of 1,000", shares[s], sticks[t], n);
        }
    }
}

/* Sums and the list of hits are two ways through the same windows. */
static void hits_tell_the_same_as_sums(void **state)
{
    enum { SUMS = 2003, PER = 3 };
    const double shares[] = {0.03, 0.1, 0.4}, sticks[] = {0, 0.5, 0.9};
    uint64_t seed = 4711;
    (void)state;
    for (size_t k = 0; k < 9; k++) {
        uint8_t sums[SUMS] = {0};
        uint32_t hits[SUMS * PER];
        size_t n = 0;
        bool on = false;
        for (uint32_t i = 0; i < SUMS * PER; i++) {
            if (draw(&seed) >= sticks[k / 3])
                on = draw(&seed) < shares[k % 3];
            sums[i / PER] += on;
            if (on)
                hits[n++] = i / PER;
        }
        struct stats_series dense = {.sums = sums, .n = SUMS, .per = PER};
        struct stats_series sparse = {.n = SUMS, .per = PER, .hits = hits, .n_hits = n};
        assert_true(n > 0);
        double effective = stats_effective_n_of_sums(&dense);
        assert_true(effective > 0 && effective == stats_effective_n_of_sums(&sparse));
        dense.n_hits = n;
        assert_true(effective == stats_effective_n_of_sums(&dense));
    }
}

static void students_t_matches_published_values(void **state)
{
    (void)state;
    const double known[][2] = {{1, 12.7062}, {2, 4.3027},  {5, 2.5706},   {10, 2.2281},
                               {11, 2.2010}, {30, 2.0423}, {120, 1.9799}, {1e9, 1.9600}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        near(stats_t95(known[i][0]), known[i][1], 0.001);
    assert_true(stats_t95(0) == stats_t95(1));
}

static void students_t_falls_with_every_degree_of_freedom(void **state)
{
    (void)state;
    for (double dof = 1; dof < 40; dof += 0.1)
        assert_true(stats_t95(dof + 0.1) < stats_t95(dof));
    near(stats_t95(2.5), 3.5747, 0.06);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wilson_matches_published_values),
        cmocka_unit_test(poisson_matches_published_values),
        cmocka_unit_test(wilson_has_width_at_the_edges),
        cmocka_unit_test(weights_that_differ_count_for_less),
        cmocka_unit_test(independent_samples_count_in_full),
        cmocka_unit_test(samples_that_stick_together_count_for_less),
        cmocka_unit_test(even_spread_is_not_trusted),
        cmocka_unit_test(a_phase_that_comes_once_is_shape_one_that_comes_and_goes_is_chance),
        cmocka_unit_test(nothing_to_estimate_from),
        cmocka_unit_test(intervals_cover),
        cmocka_unit_test(intervals_cover_where_phases_last_long),
        cmocka_unit_test(hits_tell_the_same_as_sums),
        cmocka_unit_test(students_t_matches_published_values),
        cmocka_unit_test(students_t_falls_with_every_degree_of_freedom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
