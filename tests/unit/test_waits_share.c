/* Waits without a stack of their own: shared out over those like them, and nowhere else. */
#include "support_waits.h"

/* A wait of NS at KERNEL; NULL: its stack was not taken. */
static void waits_at_place(struct stage *s, uint64_t *now, uint64_t ns, const char *kernel)
{
    struct waits_at a = at(s, 7, *now += 1000);
    if (kernel)
        waits_leave(s->waits, &a, stack_of(s, "work", kernel), UNWIND_WHOLE);
    waits_out(s->waits, &a, false);
    runs(s, 7, *now += ns);
}

struct place_sum {
    int64_t n, ns, longest_ns;
};

/* What the rows say of a place: a row of several waits has their mean. */
static struct place_sum place_sum(struct stage *s, const char *kernel)
{
    struct place_sum sum = {0};
    const struct rows *rows = &profile_stream(s->profile, s->streams.waits)->rows;
    struct stack_id stack = kernel ? stack_of(s, "work", kernel) : waitstream_no_stack(s->profile);
    for (size_t i = 0; i < rows->n; i++) {
        int64_t n = wait_value(s, WAIT_COUNT, i);
        int64_t ns = wait_value(s, WAIT_BLOCKED, i) + wait_value(s, WAIT_RUNNABLE, i);
        assert_true(n > 0);
        if (rows->stack[i].i != stack.i)
            continue;
        sum.n += n;
        sum.ns += ns;
        sum.longest_ns = ns / n > sum.longest_ns ? ns / n : sum.longest_ns;
    }
    return sum;
}

static void a_burst_does_not_lengthen_the_lone_wait_after_it(void **state)
{
    (void)state;
    struct stage s = stage_open();
    uint64_t now = 1000;
    begins(&s, 7, now, THREAD_RUNNING);
    waits_thin(s.waits, now);
    for (int i = 0; i < 300; i++)
        waits_at_place(&s, &now, 100000, i % 3 ? NULL : "exc_page_fault");
    waits_at_place(&s, &now, 60000000, "pipe_read");
    waits_stop(s.waits, now);
    struct place_sum faults = place_sum(&s, "exc_page_fault"), pipe = place_sum(&s, "pipe_read");
    assert_int_equal(faults.n, 300);
    assert_int_equal(faults.ns, 300 * 100000);
    assert_int_equal(pipe.n, 1);
    assert_int_equal(pipe.ns, 60000000);
    stage_close(&s);
}

static void waits_of_like_length_go_to_those_of_their_time(void **state)
{
    (void)state;
    struct stage s = stage_open();
    uint64_t now = 1000;
    begins(&s, 7, now, THREAD_RUNNING);
    waits_thin(s.waits, now);
    for (int i = 0; i < 200; i++)
        waits_at_place(&s, &now, 1000000, i % 2 ? "exc_page_fault" : NULL);
    now += 500000000;
    for (int i = 0; i < 10; i++)
        waits_at_place(&s, &now, 1000000, "pipe_read");
    waits_stop(s.waits, now);
    assert_int_equal(place_sum(&s, "exc_page_fault").n, 200);
    assert_int_equal(place_sum(&s, "pipe_read").n, 10);
    stage_close(&s);
}

/* Number and time stay exact, and no place has more time than its waits can have taken. */
static void nothing_is_lost_nor_made_up(void **state)
{
    static const char *const places[] = {"exc_page_fault", "pipe_read", "do_nanosleep"};
    (void)state;
    struct stage s = stage_open();
    uint64_t now = 1000;
    int64_t true_ns = 0;
    begins(&s, 7, now, THREAD_RUNNING);
    waits_thin(s.waits, now);
    for (int i = 0; i < 1000; i++) {
        uint64_t ns = (uint64_t)(1000 + i * i % 977 * 1013);
        true_ns += (int64_t)ns;
        waits_at_place(&s, &now, ns, i % 7 ? NULL : places[i % 3]);
        if (i % 333 == 0)
            waits_flush(s.waits);
    }
    waits_stop(s.waits, now);
    struct place_sum all = {0};
    for (int i = 0; i < 3; i++) {
        struct place_sum one = place_sum(&s, places[i]);
        assert_true(one.n > 100);
        assert_true(one.ns <= one.n * (one.longest_ns + 1));
        all.n += one.n;
        all.ns += one.ns;
    }
    assert_int_equal(all.n, 1000);
    assert_int_equal(all.ns, true_ns);
    assert_int_equal(all.ns, state_total(&s, THREAD_BLOCKED) + state_total(&s, THREAD_RUNNABLE));
    stage_close(&s);
}

/* A wait that was preempted, with a stack or without. */
static void waits_for_a_cpu(struct stage *s, uint64_t *now, uint64_t ns, bool stack)
{
    struct waits_at a = at(s, 7, *now += 1000);
    if (stack)
        waits_leave(s->waits, &a, stack_of(s, "work", "preempt_schedule"), UNWIND_WHOLE);
    waits_out(s->waits, &a, true);
    runs(s, 7, *now += ns);
}

static void who_is_preempted_takes_no_time_from_who_is_blocked(void **state)
{
    enum { EACH = 100000, N = 300 };
    (void)state;
    struct stage s = stage_open();
    uint64_t now = 1000;
    begins(&s, 7, now, THREAD_RUNNING);
    waits_thin(s.waits, now);
    for (int i = 0; i < N; i++) {
        waits_for_a_cpu(&s, &now, EACH, i % 3 == 0);
        waits_at_place(&s, &now, EACH, i % 3 ? NULL : "pipe_read");
    }
    waits_stop(s.waits, now);
    int64_t blocked = 0, runnable = 0;
    for (size_t i = 0; i < count_waits(&s); i++) {
        blocked += wait_value(&s, WAIT_BLOCKED, i);
        runnable += wait_value(&s, WAIT_RUNNABLE, i);
    }
    assert_int_equal(blocked, N * EACH);
    assert_int_equal(runnable, N * EACH);
    assert_int_equal(state_total(&s, THREAD_BLOCKED), N * EACH);
    assert_int_equal(state_total(&s, THREAD_RUNNABLE), N * EACH);
    stage_close(&s);
}

static void who_never_has_a_stack_has_waits_without_one(void **state)
{
    (void)state;
    struct stage s = stage_open();
    uint64_t now = 1000;
    begins(&s, 7, now, THREAD_RUNNING);
    waits_thin(s.waits, now);
    for (int i = 0; i < 200; i++) { /* more kinds than are kept for a stack that may come */
        waits_at_place(&s, &now, 200000000, NULL);
        waits_flush(s.waits);
    }
    assert_true(count_waits(&s) > 100);
    waits_stop(s.waits, now);
    assert_int_equal(place_sum(&s, NULL).n, 200);
    assert_int_equal(waits_facts(s.waits)->stackless, 200);
    stage_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_does_not_lengthen_the_lone_wait_after_it),
        cmocka_unit_test(waits_of_like_length_go_to_those_of_their_time),
        cmocka_unit_test(nothing_is_lost_nor_made_up),
        cmocka_unit_test(who_is_preempted_takes_no_time_from_who_is_blocked),
        cmocka_unit_test(who_never_has_a_stack_has_waits_without_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
