/* Clocks of threads that live for less than a period: what their ticks stand for. */
#include "record/birthclock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { PERIOD_NS = 909500, DRAWS = 20000 };

/* What threads that used LIVED_NS each seem to have used, by their clocks, next to that. */
static double share_seen(uint64_t lived_ns, uint64_t late_ns)
{
    struct birthclock b = {.period_ns = PERIOD_NS};
    double sum = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint64_t period_ns = birthclock_draw(&b, (i + 0.5) / DRAWS);
        for (uint64_t age_ns = period_ns; age_ns <= lived_ns; age_ns += period_ns)
            sum += (double)birthclock_weight(&b, period_ns, age_ns + late_ns);
    }
    return sum / DRAWS / (double)lived_ns;
}

static void ticks_of_all_threads_are_their_cpu_time_however_short_they_live(void **state)
{
    (void)state;
    for (double periods = 0.25; periods < 100; periods *= 1.23) {
        double seen = share_seen((uint64_t)(periods * PERIOD_NS), 3000);
        if (seen < 0.99 || seen > 1.01)
            fail_msg("%.2f periods: %.3f of the CPU time", periods, seen);
    }
}

static void a_thread_that_lives_for_less_than_the_shortest_period_is_not_seen(void **state)
{
    (void)state;
    assert_true(share_seen(PERIOD_NS / 11, 0) == 0);
}

static void a_tick_of_a_usual_clock_stands_for_its_period(void **state)
{
    struct birthclock b = {.period_ns = PERIOD_NS};
    (void)state;
    for (uint64_t n = 1; n < 30; n++)
        assert_int_equal(birthclock_weight(&b, PERIOD_NS, n * PERIOD_NS), PERIOD_NS);
    assert_int_equal(birthclock_weight(&b, 0, 0), 0);
}

static void no_period_that_is_drawn_is_the_usual_one(void **state)
{
    struct birthclock b = {.period_ns = 1000};
    (void)state;
    for (int i = 0; i <= 10000; i++)
        assert_int_not_equal(birthclock_draw(&b, i / 1e4), 1000);
    assert_int_equal(birthclock_draw(&b, 0), 100);
    assert_int_equal(birthclock_draw(&b, 1), 2500);
}

static bool step(struct birthclock *b, uint64_t ends, uint64_t samples)
{
    b->ends += ends;
    b->samples += samples;
    return birthclock_step(b);
}

static void periods_are_drawn_while_threads_end_as_often_as_samples_come(void **state)
{
    struct birthclock b = {.period_ns = PERIOD_NS};
    (void)state;
    assert_false(step(&b, 0, 1000));
    assert_false(step(&b, 1, 14)); /* not enough seen yet */
    assert_true(step(&b, 1, 0));
    assert_true(step(&b, 0, 10));
    assert_false(step(&b, 0, 10));
    assert_false(step(&b, 12, 100));
    assert_true(step(&b, 13, 100));
    assert_true(step(&b, 16, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_of_all_threads_are_their_cpu_time_however_short_they_live),
        cmocka_unit_test(a_thread_that_lives_for_less_than_the_shortest_period_is_not_seen),
        cmocka_unit_test(a_tick_of_a_usual_clock_stands_for_its_period),
        cmocka_unit_test(no_period_that_is_drawn_is_the_usual_one),
        cmocka_unit_test(periods_are_drawn_while_threads_end_as_often_as_samples_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
