/*
 * Shares over several recordings: the interval is that of the recordings, and holds the truth.
 */
#include "analysis/runshares.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support.h"

static void the_interval_is_students_over_the_recordings(void **state)
{
    (void)state;
    double shares[] = {0.50, 0.52, 0.54};
    struct flat_share s = runshares_mean(shares, 3, 0);
    assert_true(fabs(s.share - 0.52) < 1e-9);
    /* sd 0.02, error 0.02 / sqrt(3), t of 2 degrees of freedom 4.3027 */
    assert_true(fabs(s.interval.high - s.share - 4.3027 * 0.02 / sqrt(3)) < 1e-6);
    assert_true(fabs(s.share - s.interval.low - 4.3027 * 0.02 / sqrt(3)) < 1e-6);
}

static void recordings_that_agree_by_luck_still_have_sampling_error(void **state)
{
    (void)state;
    double shares[] = {0.5, 0.5};
    struct flat_share s = runshares_mean(shares, 2, 400);
    struct interval least = stats_wilson(0.5, 400, STATS_Z95);
    assert_true(s.interval.low <= least.low && s.interval.high >= least.high);
    double none[] = {0, 0};
    s = runshares_mean(none, 2, 400);
    assert_true(s.interval.low == 0 && s.interval.high > 0.005 && s.interval.high < 0.02);
}

/* Runs that really differ: 95 of 100 intervals of five recordings hold the mean of all. */
static void intervals_hold_the_share_that_runs_scatter_around(void **state)
{
    (void)state;
    uint64_t x = 88172645463325252u;
    int held = 0;
    enum { TRIALS = 2000, RUNS = 5 };
    for (int t = 0; t < TRIALS; t++) {
        double shares[RUNS];
        for (int i = 0; i < RUNS; i++) {
            double sum = 0; /* of twelve: near enough to a bell curve */
            for (int k = 0; k < 12; k++) {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                sum += (double)(x >> 11) / (double)(1ull << 53);
            }
            shares[i] = 0.3 + 0.02 * (sum - 6);
        }
        struct flat_share s = runshares_mean(shares, RUNS, 0);
        held += s.interval.low <= 0.3 && 0.3 <= s.interval.high;
    }
    assert_true(held > TRIALS * 93 / 100 && held < TRIALS * 97 / 100);
}

static void functions_are_matched_by_name_and_missing_ones_count_as_nothing(void **state)
{
    (void)state;
    struct profile *a = support_folded("main;f 60\nmain;g 40\n");
    struct profile *b = support_folded("main;f.isra.0 80\nmain;h 20\n");
    struct selection one = selection_all(a, (struct value_ref){0, 0});
    struct selection two = selection_all(b, (struct value_ref){0, 0});
    const struct selection *runs[] = {&one, &two};
    struct runshares *r = runshares_build(runs, 2);
    const struct runshare *f = &r->rows.at[0];
    assert_string_equal(intern_get(&r->overlay.names, f->name).at, "f");
    assert_true(fabs(f->self.share - 0.7) < 1e-9);
    assert_int_equal(f->n_seen, 2);
    const struct runshare *g = &r->rows.at[1];
    assert_string_equal(intern_get(&r->overlay.names, g->name).at, "g");
    assert_true(fabs(g->self.share - 0.2) < 1e-9);
    assert_int_equal(g->n_seen, 1);
    assert_int_equal(r->rows.n, 4);
    runshares_free(r);
    runshares_free(NULL);
    profile_free(a);
    profile_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interval_is_students_over_the_recordings),
        cmocka_unit_test(recordings_that_agree_by_luck_still_have_sampling_error),
        cmocka_unit_test(intervals_hold_the_share_that_runs_scatter_around),
        cmocka_unit_test(functions_are_matched_by_name_and_missing_ones_count_as_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
