/* Ticks of the CPUs' clocks that found no room: how many of them can have been the program's. */
#include "record/perffilter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void lost_ticks_fit_into_the_time_without_samples(void **state)
{
    (void)state;
    assert_int_equal(perffilter_lost(269, 2500000, 1000), 3); /* 2.5 ms at 1,000 per second */
    assert_int_equal(perffilter_lost(2, 2500000, 1000), 2);
    assert_int_equal(perffilter_lost(0, 2500000, 1000), 0);
}

static void where_all_time_has_samples_nothing_of_the_program_was_lost(void **state)
{
    (void)state;
    assert_int_equal(perffilter_lost(269, 0, 999), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_ticks_fit_into_the_time_without_samples),
        cmocka_unit_test(where_all_time_has_samples_nothing_of_the_program_was_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
