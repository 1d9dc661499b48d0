/* test_modes.c - two groups of runs are seen, and none where there is one. */
#include "stats/modes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { N = 60 };

static double dice(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

static double bell(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += dice(state);
    return sum;
}

static void two_groups_are_seen_with_their_shares(void **unused)
{
    (void)unused;
    uint64_t state = 1;
    double v[N];
    struct modes m;
    for (int i = 0; i < N; i++)
        v[i] = (i % 3 == 0 ? 190 : 120) + 4 * bell(&state);
    assert_true(modes_find(&m, v, N));
    assert_true(fabs(m.share[0] - 2. / 3) < 0.01 && fabs(m.share[1] - 1. / 3) < 0.01);
    assert_true(fabs(m.median[0] - 120) < 3 && fabs(m.median[1] - 190) < 3);
    assert_true(m.changes > 30);
    for (int i = 0; i < N; i++)
        v[i] = (i >= 20 ? 190 : 120) + 4 * bell(&state);
    assert_true(modes_find(&m, v, N));
    assert_int_equal(m.changes, 1);
    assert_false(modes_find(&m, v, MODES_LEAST_RUNS - 1));
}

/* Bells, uniform spreads, long tails, a few slow runs, equal values: two thousand of each. */
static void one_group_is_not_taken_for_two(void **unused)
{
    (void)unused;
    uint64_t state = 7;
    int alarms = 0;
    for (int try = 0; try < 2000; try++) {
        double v[5][MODES_LEAST_RUNS];
        struct modes m;
        for (int i = 0; i < MODES_LEAST_RUNS; i++) {
            v[0][i] = 100 + 20 * bell(&state);
            v[1][i] = 100 + 50 * dice(&state);
            v[2][i] = 100 - 40 * log(1 - dice(&state));
            v[3][i] = i % 10 == 0 ? 500 : 100 + bell(&state);
            v[4][i] = 100;
        }
        for (int k = 0; k < 5; k++)
            alarms += modes_find(&m, v[k], MODES_LEAST_RUNS);
    }
    assert_true(alarms <= 10); /* one in a thousand */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_groups_are_seen_with_their_shares),
        cmocka_unit_test(one_group_is_not_taken_for_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
