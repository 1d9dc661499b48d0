/* The processor's counter and nanoseconds: there and back, and numbers no clock ever showed. */
#include "record/ticks.h"

#include "base/clock.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

static const struct ticks three_ghz = {
    .counter = true, .ns_0 = 5000000000, .ticks_0 = 7000000000, .ns_per_tick = 1.0 / 3};

static void ticks_become_nanoseconds_and_back(void **state)
{
    (void)state;
    assert_int_equal(ticks_ns(&three_ghz, 7000000000 + 3000000), 5000000000 + 1000000);
    assert_int_equal(ticks_ns(&three_ghz, 7000000000 - 3000000), 5000000000 - 1000000);
    assert_in_range(ticks_at(&three_ghz, 5001000000), 7002999999, 7003000001);
    assert_int_equal(ticks_length_ns(&three_ghz, 3000), 1000);
}

static void no_number_is_too_large_or_too_small(void **state)
{
    (void)state;
    struct ticks unknown = {.counter = true};
    assert_int_equal(ticks_at(&three_ghz, 0), 7000000000);
    assert_int_equal(ticks_at(&three_ghz, UINT64_MAX), UINT64_MAX);
    assert_int_equal(ticks_at(&unknown, 1), UINT64_MAX);
    assert_int_equal(ticks_ns(&three_ghz, 7000000000 + (UINT64_C(1) << 63)), 0);
    assert_int_equal(ticks_length_ns(&three_ghz, UINT64_MAX), (uint64_t)TICKS_MAX_NS);
}

static void the_time_now_is_what_the_clock_shows(void **state)
{
    (void)state;
    struct ticks t;
    ticks_init(&t);
    uint64_t before = clock_monotonic_ns(), now = ticks_ns(&t, ticks_now(&t));
    int64_t off = (int64_t)(now - before);
    assert_true(off > -1000000000 && off < 1000000000);
}

/* As if the first look had been a second ago, and the counter had jumped since. */
static void a_counter_that_steps_is_noticed(void **state)
{
    (void)state;
    struct ticks t;
    ticks_init(&t);
    if (!t.counter)
        skip();
    t.ns_0 -= 1000000000;
    t.ticks_0 -= (uint64_t)(1e9 / t.ns_per_tick);
    t.ticks_0 -= (uint64_t)(4e8 / t.ns_per_tick);
    t.off_ns = 0;
    ticks_look(&t);
    assert_true(t.off_ns > 3e8);
    double once = t.off_ns;
    ticks_look(&t);
    assert_true(t.off_ns >= once); /* the largest is kept */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_become_nanoseconds_and_back),
        cmocka_unit_test(no_number_is_too_large_or_too_small),
        cmocka_unit_test(the_time_now_is_what_the_clock_shows),
        cmocka_unit_test(a_counter_that_steps_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
