/*
 * test_benchlib.c - the parts of the benchmark library that need no clock: how rounds are planned,
 * how times are printed. Its names are not in the library for the tests, so its files are included.
 */
#include "../../lib/bench/rounds.c"
#include "../../lib/bench/table.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* A body on a machine without noise: the first iteration can be slower than the rest. */
struct body {
    double first_ns, each_ns;
};

struct run {
    struct rounds rounds;
    double counts[200], warm_ns, ns;
    size_t n, calls;
};

static void play(struct run *r, struct body body, struct loop_plan plan)
{
    double last_ns = 0;
    bool first = true;
    *r = (struct run){0};
    rounds_init(&r->rounds, &plan);
    for (size_t count; (count = rounds_next(&r->rounds, last_ns)) != 0; first = false) {
        assert_true(++r->calls < 10000);
        last_ns = (double)count * body.each_ns + (first ? body.first_ns : 0);
        if (r->rounds.warm) {
            r->counts[r->n++] = (double)count;
            r->ns += last_ns;
        } else {
            r->warm_ns += last_ns;
        }
    }
}

static const struct loop_plan usual = {.warm_up_ns = 3e9, .time_ns = 5e9, .samples = 100};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void linear_rounds_grow_in_equal_steps_and_take_the_time_given(void **state)
{
    (void)state;
    static const double times[] = {0.3, 1, 20, 333, 1e4, 9e5};
    struct run r;
    for (size_t t = 0; t < sizeof times / sizeof *times; t++) {
        play(&r, (struct body){0, times[t]}, usual);
        assert_false(r.rounds.flat);
        assert_int_equal(r.n, 100);
        assert_true(r.warm_ns > 2.9e9 && r.warm_ns < 3.2e9);
        assert_true(r.ns > 4.9e9 && r.ns < 10e9);
        qsort(r.counts, r.n, sizeof *r.counts, by_value);
        for (size_t i = 0; i < r.n; i++)
            assert_true(r.counts[i] == r.counts[0] * (double)(i + 1));
    }
}

/* What the machine does in the first half of the time must not all fall on short rounds. */
static void rounds_are_scattered(void **state)
{
    (void)state;
    for (size_t samples = 2; samples <= 200; samples++) {
        struct loop_plan plan = {.time_ns = 1e9, .samples = samples};
        struct run r;
        play(&r, (struct body){0, 10}, plan);
        assert_int_equal(r.n, samples);
        double early = 0, all = 0;
        for (size_t i = 0; i < r.n; i++) {
            all += r.counts[i];
            early += i < r.n / 2 ? r.counts[i] : 0;
        }
        assert_true(samples < 30 || (early / all > 0.4 && early / all < 0.6));
    }
}

static void slow_bodies_get_equal_rounds_and_the_slowest_six(void **state)
{
    (void)state;
    struct run r;
    play(&r, (struct body){0, 4e6}, usual); /* 1 + 2 + ... + 100 iterations would be 20 s */
    assert_true(r.rounds.flat);
    assert_int_equal(r.n, 100);
    assert_true(r.counts[0] == 12 && r.counts[99] == 12);
    play(&r, (struct body){0, 2e8}, usual);
    assert_int_equal(r.n, 25);
    assert_true(r.counts[0] == 1);
    play(&r, (struct body){0, 60e9}, usual);
    assert_int_equal(r.n, ROUNDS_LEAST);
    assert_int_equal(r.calls, 2 + ROUNDS_LEAST);
}

static void a_cold_start_does_not_spoil_the_plan(void **state)
{
    (void)state;
    struct run r;
    struct loop_plan plan = {.warm_up_ns = 1e7, .time_ns = 1e8, .samples = 50};
    play(&r, (struct body){2e9, 10}, plan);
    assert_false(r.rounds.flat);
    assert_true(r.ns > 0.9e8 && r.ns < 2e8);
}

/* The numbers of iterations stay numbers that a loop can count. */
static void a_body_of_next_to_no_time_comes_to_an_end(void **state)
{
    (void)state;
    struct loop_plan plan = {.samples = 2};
    struct rounds r;
    rounds_init(&r, &plan);
    size_t calls = 0;
    for (size_t count = rounds_next(&r, 0); count && calls < 200; calls++) {
        assert_true(count <= (size_t)1 << 52);
        count = rounds_next(&r, (double)count * 1e-5);
    }
    assert_true(calls < 200);
}

static void times_have_as_many_digits_as_make_sense(void **state)
{
    (void)state;
    char s[UNITS_MAX];
    assert_string_equal(table_time(s, 0, 0.3), "0 ns");
    assert_string_equal(table_time(s, 81.234, 0.35), "81.23 ns");
    assert_string_equal(table_time(s, 81.234, 35), "81 ns");
    assert_string_equal(table_time(s, 1234.5, 2), "1.234 us");
    assert_string_equal(table_time(s, 999, 30), "999 ns");
    assert_string_equal(table_time(s, 2.5e9, 1e8), "2.50 s");
    assert_string_equal(table_interval(s, 973, 906, 1116), "906 .. 1116 ns");
    assert_string_equal(table_interval(s, 0, 0, 0.43), "0 .. 0.43 ns");
    assert_string_equal(table_interval(s, 5, -INFINITY, INFINITY), "unknown");
    assert_string_equal(table_rate(s, 12.34e9, "B/s"), "12.3 GB/s");
    assert_string_equal(table_rate(s, 999.9, "B/s"), "1 kB/s");
    assert_string_equal(table_rate(s, 3, "/s"), "3 /s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_rounds_grow_in_equal_steps_and_take_the_time_given),
        cmocka_unit_test(rounds_are_scattered),
        cmocka_unit_test(slow_bodies_get_equal_rounds_and_the_slowest_six),
        cmocka_unit_test(a_cold_start_does_not_spoil_the_plan),
        cmocka_unit_test(a_body_of_next_to_no_time_comes_to_an_end),
        cmocka_unit_test(times_have_as_many_digits_as_make_sense),
    };
    return cmocka_run_group_tests_name("benchlib", tests, NULL, NULL);
}
