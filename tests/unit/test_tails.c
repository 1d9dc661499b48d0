/* Slow runs that come more often are found, and equal ones are not called that. */
#include "stats/tails.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>

/* N values of 100, a little apart; every EVERY-th takes three times as long (0 = none). */
static void fill(double *v, size_t n, size_t every)
{
    for (size_t i = 0; i < n; i++)
        v[i] = (100 + (double)(i * 7 % 10) / 10) * (every && i % every == 0 ? 3 : 1);
}

static void slow_runs_are_counted_exactly(void **state)
{
    double a[10], b[10];
    (void)state;
    fill(a, 10, 0);
    fill(b, 10, 0);
    for (size_t i = 0; i < 5; i++)
        b[i] *= 3;
    struct tails t = tails_compare(a, 10, b, 10);
    assert_true(t.slow_before == 0 && t.slow_after == 0.5);
    assert_true(fabs(t.p - 0.03250774) < 1e-7); /* R: fisher.test(matrix(c(0,10,5,5),2)) */
    t = tails_compare(b, 10, a, 10);
    assert_true(fabs(t.p - 0.03250774) < 1e-7);
}

static void one_run_of_five_instead_of_one_of_twenty_is_found(void **state)
{
    double a[200], b[200];
    (void)state;
    fill(a, 200, 20);
    fill(b, 200, 5);
    struct tails t = tails_compare(a, 200, b, 200);
    assert_true(fabs(t.slow_before - 0.05) < 1e-9 && fabs(t.slow_after - 0.2) < 1e-9);
    assert_true(t.mean_ratio > 1.2 && t.mean_ratio < 1.35);
    assert_true(t.p < 0.0001);
    t = tails_compare(b, 200, b, 200);
    assert_true(t.p > 0.99 && t.mean_ratio == 1);
}

static void means_are_compared_whatever_the_number_of_runs(void **state)
{
    const double a[] = {1, 2, 3}, b[] = {4, 12};
    (void)state;
    assert_true(fabs(tails_compare(a, 3, b, 2).mean_ratio - 4) < 1e-12);
    assert_true(fabs(tails_compare(b, 2, a, 3).mean_ratio - 0.25) < 1e-12);
}

static void a_run_at_the_limit_is_not_slow(void **state)
{
    const double a[] = {100, 100, 100}, at[] = {100, 100, TAILS_SLOW * 100};
    (void)state;
    assert_true(tails_compare(a, 3, at, 3).slow_after == 0);
    assert_true(tails_compare(at, 3, a, 3).slow_before == 0);
}

static void nothing_is_no_proof(void **state)
{
    double a[] = {1};
    (void)state;
    assert_true(tails_compare(a, 0, a, 1).p == 1);
    assert_true(tails_compare(a, 1, a, 1).p == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_runs_are_counted_exactly),
        cmocka_unit_test(one_run_of_five_instead_of_one_of_twenty_is_found),
        cmocka_unit_test(means_are_compared_whatever_the_number_of_runs),
        cmocka_unit_test(a_run_at_the_limit_is_not_slow),
        cmocka_unit_test(nothing_is_no_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
