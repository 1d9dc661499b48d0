/* test_eventrates.c - counters by function: rates, their intervals, and what says nothing. */
#include "analysis/eventrates.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support.h"

static int counter(struct profile *p, const char *event)
{
    int s = profile_add_stream(p, event, BY_HARDWARE);
    profile_add_value(p, s, "samples", "count");
    profile_add_value(p, s, event, "count");
    return s;
}

/* N samples of FUNCTION that stand for WEIGHT each. */
static void counts(struct profile *p, int stream, const char *function, int64_t weight, int n)
{
    struct frame_id f = profile_add_named_frame(p, text_of(function), FRAME_USER);
    struct err err;
    for (int i = 0; i < n; i++) {
        struct row row = {.stack = stacks_intern(&p->stacks, &f, 1),
                          .values = (const int64_t[]){1, weight}};
        assert_int_equal(profile_add_row(p, stream, &row, &err), 0);
    }
}

static uint32_t row_of(const struct flat *f, const char *name)
{
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (text_is(flat_name(f, i), name))
            return i;
    fail_msg("no row %s", name);
    return 0;
}

static void near(double is, double wanted)
{
    if (fabs(is - wanted) > 1e-9 * fabs(wanted))
        fail_msg("%.12g, not %.12g", is, wanted);
}

static void rates_are_of_a_functions_own_counts(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    int cycles = counter(p, "cycles:u"), instructions = counter(p, "cpu_core/instructions/u"),
        misses = counter(p, "branch-misses");
    counts(p, cycles, "fast", 1000, 100);
    counts(p, instructions, "fast", 3000, 100);
    counts(p, misses, "fast", 10, 20);
    counts(p, cycles, "slow", 1000, 300);
    counts(p, instructions, "slow", 500, 200);
    struct flat *f = flat_build(SUPPORT_ALL(p, 1), FLAT_FUNCTION);
    struct eventrates r = eventrates_build(f, (struct str_id){0});
    assert_true(r.has[RATE_IPC] && r.has[RATE_BRANCH_MISSES]);
    assert_false(r.has[RATE_CACHE_MISSES] || r.has[RATE_L1_MISSES]);
    near(eventrate_of(&r.rows[row_of(f, "fast")], RATE_IPC).value, 3);
    near(eventrate_of(&r.rows[row_of(f, "slow")], RATE_IPC).value, 1.0 / 3);
    near(eventrate_of(&r.whole, RATE_IPC).value, 1); /* 400,000 of 400,000 */
    near(eventrate_of(&r.rows[row_of(f, "fast")], RATE_BRANCH_MISSES).value, 200.0 / 300);
    assert_true(isnan(eventrate_of(&r.rows[row_of(f, "slow")], RATE_BRANCH_MISSES).value));
    eventrates_done(&r);
    flat_free(f);
    profile_free(p);
}

static void an_interval_has_the_error_of_both_sides(void **state)
{
    (void)state;
    struct eventrate_sum s = {0};
    s.value[COUNTED_CYCLES] = 100 * 1000;
    s.squares[COUNTED_CYCLES] = 100 * 1000.0 * 1000;
    s.samples[COUNTED_CYCLES] = 100;
    s.value[COUNTED_INSTRUCTIONS] = 400 * 500;
    s.squares[COUNTED_INSTRUCTIONS] = 400 * 500.0 * 500;
    s.samples[COUNTED_INSTRUCTIONS] = 400;
    struct eventrate_value v = eventrate_of(&s, RATE_IPC);
    double reach = exp(STATS_Z95 * sqrt(1.0 / 100 + 1.0 / 400));
    near(v.value, 2);
    near(v.interval.low, 2 / reach);
    near(v.interval.high, 2 * reach);
    s.samples[COUNTED_CYCLES] = EVENTRATE_FEW - 1;
    assert_true(isnan(eventrate_of(&s, RATE_IPC).value));
    s.samples[COUNTED_CYCLES] = EVENTRATE_FEW;
    assert_false(isnan(eventrate_of(&s, RATE_IPC).value));
}

static void software_events_and_parts_of_a_recording_have_no_rates(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    int cycles = counter(p, "cycles"), instructions = counter(p, "instructions");
    counts(p, cycles, "f", 1000, 20);
    counts(p, instructions, "f", 1000, 20);
    profile_stream(p, instructions)->obtained = BY_SOFTWARE_EVENT;
    struct flat *f = flat_build(SUPPORT_ALL(p, 1), FLAT_FUNCTION);
    struct eventrates r = eventrates_build(f, (struct str_id){0});
    assert_false(eventrates_any(&r));
    eventrates_done(&r);
    profile_stream(p, instructions)->obtained = BY_HARDWARE;
    r = eventrates_build(f, (struct str_id){0});
    assert_true(eventrates_any(&r));
    eventrates_done(&r);
    flat_free(f);
    profile_free(p);
}

/* The cycles of one kind of core are not those of another. */
static void kinds_of_cores_have_rates_of_their_own(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct str_id cores[EVENTRATE_CORES];
    int cycles = counter(p, "cycles:u"), instructions = counter(p, "instructions:u");
    counts(p, cycles, "f", 1000, 50);
    counts(p, instructions, "f", 4000, 50);
    assert_int_equal(eventrates_cores(p, cores), 0);
    profile_label_rows(p, cycles, CORE_KEY, text_of("cpu_core"));
    profile_label_rows(p, instructions, CORE_KEY, text_of("cpu_core"));
    int other[] = {counter(p, "cycles:u"), counter(p, "instructions:u")};
    counts(p, other[0], "f", 1000, 50);
    counts(p, other[1], "f", 1000, 50);
    for (int i = 1; i >= 0; i--) {
        struct err err;
        profile_label_rows(p, other[i], CORE_KEY, text_of("cpu_atom"));
        assert_int_equal(profile_join_streams(p, i ? instructions : cycles, other[i], &err), 0);
    }
    struct flat *f = flat_build(SUPPORT_ALL(p, 1), FLAT_FUNCTION);
    assert_int_equal(eventrates_cores(p, cores), 2);
    static const double ipc[] = {4, 1, 2.5};
    for (int i = 0; i < 3; i++) {
        struct eventrates r = eventrates_build(f, i < 2 ? cores[i] : (struct str_id){0});
        assert_true(r.has[RATE_IPC]);
        near(eventrate_of(&r.whole, RATE_IPC).value, ipc[i]);
        near(eventrate_of(&r.rows[row_of(f, "f")], RATE_IPC).value, ipc[i]);
        eventrates_done(&r);
    }
    flat_free(f);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_of_a_functions_own_counts),
        cmocka_unit_test(an_interval_has_the_error_of_both_sides),
        cmocka_unit_test(software_events_and_parts_of_a_recording_have_no_rates),
        cmocka_unit_test(kinds_of_cores_have_rates_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
