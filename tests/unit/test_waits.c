/* From records of context switches to waits and states of threads. */
#include "support_waits.h"

static void a_wait_lasts_from_leaving_to_running_again(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 100, THREAD_RUNNING);
    leaves(&s, 7, 130, "do_nanosleep");
    runs(&s, 7, 180);
    is_preempted(&s, 7, 200);
    runs(&s, 7, 207);
    ends(&s, 7, 210);
    assert_int_equal(count_waits(&s), 2);
    assert_int_equal(wait_value(&s, WAIT_BLOCKED, 0), 50);
    assert_int_equal(wait_value(&s, WAIT_RUNNABLE, 0), 0);
    assert_int_equal(wait_value(&s, WAIT_BLOCKED, 1), 0);
    assert_int_equal(wait_value(&s, WAIT_RUNNABLE, 1), 7);
    assert_int_equal(profile_stream(s.profile, s.streams.waits)->rows.time_ns[0], 130);
    assert_int_equal(profile_stream(s.profile, s.streams.waits)->rows.duration_ns[0], 50);
    stage_close(&s);
}

/* The stack of a thread that leaves at FROM_NS is copied until OUT_NS. */
static void leaves_slowly(struct stage *s, uint64_t from_ns, uint64_t out_ns, uint64_t wake_ns,
                          bool preempted)
{
    struct waits_at from = at(s, 7, from_ns), out = at(s, 7, out_ns);
    struct waits_wake wake = {.tid = 7, .time_ns = wake_ns};
    waits_leave(s->waits, &from, stack_of(s, "work", "do_nanosleep"), UNWIND_WHOLE);
    if (wake_ns && waits_wants_wake(s->waits, &wake))
        waits_wake(s->waits, &wake);
    waits_out(s->waits, &out, preempted);
}

static void a_wait_begins_before_its_stack_is_copied(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 100, THREAD_RUNNING);
    leaves_slowly(&s, 130, 140, 0, false);
    runs(&s, 7, 180);
    leaves_slowly(&s, 200, 210, 204, false); /* woken meanwhile */
    runs(&s, 7, 217);
    leaves_slowly(&s, 220, 230, 224, true); /* it went on anyway */
    runs(&s, 7, 240);
    leaves_slowly(&s, 250, 260, 245, false); /* of an earlier wait */
    runs(&s, 7, 300);
    is_preempted(&s, 7, 310); /* without a stack, nothing is before it */
    runs(&s, 7, 311);
    ends(&s, 7, 320);
    const int64_t blocked[] = {50, 4, 0, 50, 0}, runnable[] = {0, 13, 20, 0, 1};
    assert_int_equal(count_waits(&s), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(wait_value(&s, WAIT_BLOCKED, i), blocked[i]);
        assert_int_equal(wait_value(&s, WAIT_RUNNABLE, i), runnable[i]);
    }
    assert_int_equal(state_total(&s, THREAD_RUNNING), 220 - 104 - 34);
    stage_close(&s);
}

static void states_add_up_to_the_life_of_a_thread(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 100, THREAD_RUNNABLE);
    runs(&s, 7, 110);
    leaves(&s, 7, 130, "do_nanosleep");
    waits_flush(s.waits); /* what is open is written later */
    runs(&s, 7, 180);
    is_preempted(&s, 7, 200);
    runs(&s, 7, 207);
    ends(&s, 7, 210);
    assert_int_equal(state_total(&s, THREAD_RUNNING), 20 + 20 + 3);
    assert_int_equal(state_total(&s, THREAD_RUNNABLE), 10 + 7);
    assert_int_equal(state_total(&s, THREAD_BLOCKED), 50);
    assert_int_equal(state_total(&s, THREAD_UNKNOWN), 0);
    stage_close(&s);
}

static void a_lost_end_is_counted_and_not_made_up(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 0, THREAD_RUNNING);
    leaves(&s, 7, 10, "do_nanosleep");
    waits_lose(s.waits, 3);
    runs(&s, 7, 50); /* perhaps not for the first time */
    ends(&s, 7, 60);
    assert_int_equal(count_waits(&s), 0);
    assert_int_equal(waits_facts(s.waits)->unknown_ends, 1);
    assert_int_equal(waits_facts(s.waits)->lost, 3);
    assert_int_equal(state_total(&s, THREAD_RUNNING), 10 + 10);
    assert_int_equal(state_total(&s, THREAD_BLOCKED), 0);
    assert_int_equal(state_total(&s, THREAD_UNKNOWN), 40);
    stage_close(&s);
}

static void who_has_ended_waits_for_nothing(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 0, THREAD_RUNNABLE);
    runs(&s, 7, 10);
    ends(&s, 7, 20);
    leaves(&s, 7, 21, "do_exit"); /* as events of CPUs see it */
    waits_flush(s.waits);
    runs(&s, 7, 22);
    leaves(&s, 7, 23, "do_task_dead");
    begins(&s, 7, 30, THREAD_RUNNABLE); /* another */
    runs(&s, 7, 36);
    ends(&s, 7, 40);
    for (int i = 0; i < 3; i++)
        waits_flush(s.waits);
    runs(&s, 7, 90); /* and one whose birth was lost */
    waits_stop(s.waits, 100);
    assert_int_equal(count_waits(&s), 2);
    assert_int_equal(state_total(&s, THREAD_RUNNABLE), 10 + 6);
    assert_int_equal(state_total(&s, THREAD_RUNNING), 10 + 4 + 10);
    assert_int_equal(state_total(&s, THREAD_BLOCKED), 0);
    assert_int_equal(state_total(&s, THREAD_UNKNOWN), 0);
    stage_close(&s);
}

static void who_comes_has_the_cpu_since_the_other_left(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 0, THREAD_RUNNABLE);
    struct waits_at in = at(&s, 7, 30);
    in.came_ns = 20; /* the other's stack was copied until 30 */
    waits_in(s.waits, &in);
    leaves(&s, 7, 50, "do_nanosleep");
    in = at(&s, 7, 60);
    in.came_ns = 40; /* cannot be */
    waits_in(s.waits, &in);
    ends(&s, 7, 70);
    assert_int_equal(wait_value(&s, WAIT_RUNNABLE, 0), 20);
    assert_int_equal(wait_value(&s, WAIT_BLOCKED, 1), 10);
    assert_int_equal(state_total(&s, THREAD_RUNNING), 30 + 10);
    stage_close(&s);
}

static void what_others_say_in_a_hole_is_no_wait(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 0, THREAD_RUNNING);
    leaves(&s, 7, 10, "do_nanosleep");
    waits_begin_hole(s.waits);
    runs(&s, 7, 40); /* whatever it did before */
    leaves(&s, 7, 50, "do_nanosleep");
    runs(&s, 7, 90);
    waits_end_hole(s.waits);
    leaves(&s, 7, 100, "do_nanosleep");
    runs(&s, 7, 105);
    ends(&s, 7, 110);
    assert_int_equal(count_waits(&s), 1);
    assert_int_equal(wait_value(&s, WAIT_BLOCKED, 0), 5);
    assert_int_equal(waits_facts_of_file(s.waits).unknown_ends, 1);
    assert_int_equal(state_total(&s, THREAD_RUNNING), 10 + 5);
    assert_int_equal(state_total(&s, THREAD_UNKNOWN), 90);
    assert_int_equal(state_total(&s, THREAD_BLOCKED), 5);
    stage_close(&s);
}

static void records_that_contradict_each_other_make_the_time_between_unknown(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 0, THREAD_RUNNING);
    leaves(&s, 7, 10, "do_nanosleep");
    leaves(&s, 7, 30, "do_nanosleep"); /* it must have run */
    runs(&s, 7, 40);
    runs(&s, 7, 70); /* it must have left */
    ends(&s, 7, 80);
    ends(&s, 7, 90); /* nobody any more */
    assert_int_equal(count_waits(&s), 1);
    assert_int_equal(wait_value(&s, WAIT_BLOCKED, 0), 10);
    assert_int_equal(waits_facts(s.waits)->unknown_ends, 1);
    assert_int_equal(state_total(&s, THREAD_UNKNOWN), 20 + 30);
    assert_int_equal(state_total(&s, THREAD_RUNNING), 10 + 10);
    stage_close(&s);
}

static void a_record_that_comes_late_makes_no_wait(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 0, THREAD_RUNNING);
    runs(&s, 7, 20);
    is_preempted(&s, 7, 10); /* before that */
    leaves(&s, 7, 50, "do_nanosleep");
    runs(&s, 7, 40); /* of a wait before this one */
    runs(&s, 7, 60);
    ends(&s, 7, 70);
    assert_int_equal(count_waits(&s), 1);
    assert_int_equal(wait_value(&s, WAIT_BLOCKED, 0), 10);
    assert_int_equal(waits_facts(s.waits)->unknown_ends, 1);
    assert_int_equal(state_total(&s, THREAD_UNKNOWN), 20);
    assert_int_equal(state_total(&s, THREAD_RUNNING), 30 + 10);
    stage_close(&s);
}

static void a_wait_that_lasts_counts_up_to_the_end_of_the_recording(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 0, THREAD_RUNNING);
    leaves(&s, 7, 10, "do_nanosleep");
    begins(&s, 8, 0, THREAD_RUNNING);
    waits_stop(s.waits, 100);
    const struct stream *waits = profile_stream(s.profile, s.streams.waits);
    assert_int_equal(count_waits(&s), 1);
    assert_int_equal(wait_value(&s, WAIT_BLOCKED, 0), 90);
    assert_int_equal(waitstream_part_of(s.profile, waits, 0), WAIT_NO_END);
    assert_int_equal(waits_facts(s.waits)->open, 1);
    assert_int_equal(state_total(&s, THREAD_RUNNING), 10 + 100);
    assert_int_equal(state_total(&s, THREAD_BLOCKED), 90);
    stage_close(&s);
}

static void a_thread_that_never_runs_is_runnable_all_its_life(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 0, THREAD_RUNNABLE);
    begins(&s, 8, 20, THREAD_RUNNABLE);
    struct waits_at a = at(&s, 9, 0); /* there before, and nothing is heard of it */
    waits_found(s.waits, &a, &(struct waits_look){THREAD_UNKNOWN, 5, {0}});
    ends(&s, 8, 30); /* killed before its first CPU */
    waits_stop(s.waits, 100);
    const struct stream *waits = profile_stream(s.profile, s.streams.waits);
    assert_int_equal(count_waits(&s), 1);
    assert_int_equal(wait_value(&s, WAIT_RUNNABLE, 0), 100);
    assert_int_equal(waitstream_part_of(s.profile, waits, 0), WAIT_NO_END);
    assert_int_equal(state_total(&s, THREAD_RUNNING), 0);
    assert_int_equal(state_total(&s, THREAD_RUNNABLE), 100);
    assert_int_equal(state_total(&s, THREAD_UNKNOWN), 10 + 100);
    stage_close(&s);
}

static void a_wait_over_two_files_belongs_to_the_one_in_which_it_ends(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 0, THREAD_RUNNING);
    leaves(&s, 7, 10, "do_nanosleep");
    runs(&s, 7, 20);
    leaves(&s, 7, 30, "do_nanosleep");
    waits_lose(s.waits, 0);
    leaves(&s, 7, 40, "do_nanosleep");
    waits_set_lost(s.waits, 3);
    waits_flush(s.waits);
    struct stream *waits = profile_stream(s.profile, s.streams.waits);
    assert_int_equal(count_waits(&s), 1);
    assert_int_equal(waits->lost, 3);
    assert_int_equal(waits_facts_of_file(s.waits).unknown_ends, 1);
    waits_start_over(s.waits);
    assert_int_equal(count_waits(&s), 0);
    assert_int_equal(state_total(&s, THREAD_RUNNING), 0);
    runs(&s, 7, 90);
    ends(&s, 7, 95);
    waits_flush(s.waits);
    assert_int_equal(count_waits(&s), 1);
    assert_int_equal(wait_value(&s, WAIT_BLOCKED, 0), 50);
    assert_int_equal(state_total(&s, THREAD_BLOCKED), 50);
    assert_int_equal(state_total(&s, THREAD_RUNNING), 5);
    assert_int_equal(waits->lost, 0);
    assert_int_equal(waits_facts_of_file(s.waits).unknown_ends, 0);
    assert_int_equal(waits_facts(s.waits)->waits, 2);
    stage_close(&s);
}

static void threads_that_were_there_before_are_what_their_first_record_says(void **state)
{
    (void)state;
    struct stage s = stage_open();
    for (int tid = 7; tid <= 10; tid++) {
        struct waits_at a = at(&s, tid, 0);
        enum thread_state seen = tid == 8 ? THREAD_UNKNOWN : THREAD_BLOCKED;
        waits_found(s.waits, &a, &(struct waits_look){seen, 20, {0}});
    }
    runs(&s, 7, 10);          /* before the look: blocked or preempted, who knows */
    is_preempted(&s, 8, 30);  /* it ran */
    runs(&s, 9, 50);          /* it was blocked all the time */
    waits_stop(s.waits, 100); /* and so was the last */
    assert_int_equal(state_total(&s, THREAD_UNKNOWN), 10);
    assert_int_equal(state_total(&s, THREAD_RUNNING), 90 + 30 + 50);
    assert_int_equal(state_total(&s, THREAD_RUNNABLE), 70);
    assert_int_equal(state_total(&s, THREAD_BLOCKED), 50 + 100);
    const struct stream *waits = profile_stream(s.profile, s.streams.waits);
    assert_int_equal(waitstream_part_of(s.profile, waits, 0), WAIT_NO_START);
    assert_true(waitstream_is_no_stack(s.profile, waits->rows.stack[0]));
    stage_close(&s);
}

static void a_number_that_is_used_again_is_another_thread(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 0, THREAD_RUNNING);
    leaves(&s, 7, 10, "do_nanosleep");
    begins(&s, 7, 50, THREAD_RUNNABLE);
    runs(&s, 7, 60);
    ends(&s, 7, 70);
    assert_int_equal(state_total(&s, THREAD_BLOCKED), 0);
    assert_int_equal(state_total(&s, THREAD_RUNNABLE), 10);
    assert_int_equal(state_total(&s, THREAD_RUNNING), 10 + 10);
    begins(&s, -1, 0, THREAD_RUNNING); /* outside of our namespace */
    runs(&s, 1 << 30, 5);
    waits_stop(s.waits, 80);
    assert_int_equal(state_total(&s, THREAD_RUNNING), 10 + 10);
    stage_close(&s);
}

static void a_profile_without_waits_has_none(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct waitstream streams;
    int stream = stream_kind_add(p, STREAM_WAITS, BY_TRACE);
    profile_add_value(p, stream, "something", UNIT_COUNT); /* somebody else's */
    assert_false(waitstream_find(p, &streams));
    profile_free(p);
}

static void goes(struct stage *s, int tid, uint64_t ns, uint32_t cpu, bool in)
{
    struct waits_at a = at(s, tid, ns);
    a.cpu = cpu;
    if (in)
        waits_in(s->waits, &a);
    else
        waits_out(s->waits, &a, true);
}

/* Two threads on CPU 0 in turns, then a third program's; who moves to CPU 1 says nothing. */
static void queueing_behind_ones_own_threads_is_known(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 0, THREAD_UNKNOWN);
    begins(&s, 8, 0, THREAD_UNKNOWN);
    goes(&s, 7, 100, 0, true);
    goes(&s, 7, 200, 0, false);
    goes(&s, 8, 200, 0, true);
    goes(&s, 8, 300, 0, false);
    goes(&s, 7, 300, 0, true); /* it queued for 100, and 8 ran */
    assert_int_equal(waits_facts(s.waits)->queued_ns, 100);
    assert_int_equal(waits_facts(s.waits)->queued_own_ns, 100);
    goes(&s, 7, 400, 0, false);
    goes(&s, 8, 500, 0, true); /* 8 queued for 200: 7 ran in 100 of them, then somebody */
    assert_int_equal(waits_facts(s.waits)->queued_ns, 300);
    assert_int_equal(waits_facts(s.waits)->queued_own_ns, 200);
    goes(&s, 7, 600, 1, true);
    assert_int_equal(waits_facts(s.waits)->queued_ns, 300);
    ends(&s, 8, 700);
    goes(&s, 7, 800, 0, false); /* CPU 0 is nobody's since 8 has ended */
    goes(&s, 7, 900, 0, true);
    assert_int_equal(waits_facts(s.waits)->queued_ns, 400);
    assert_int_equal(waits_facts(s.waits)->queued_own_ns, 200);
    stage_close(&s);
}

/* Clocks of CPUs that differ, or two of which one is not seen to leave: never more than it queued.
 */
static void no_more_of_the_queueing_is_behind_ones_own_than_there_is(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 0, THREAD_UNKNOWN);
    begins(&s, 8, 0, THREAD_UNKNOWN);
    goes(&s, 7, 100, 0, true);
    goes(&s, 7, 200, 0, false);
    goes(&s, 8, 150, 0, true); /* by its clock before 7 left */
    goes(&s, 8, 310, 0, false);
    goes(&s, 7, 300, 0, true); /* by its clock before 8 left */
    assert_int_equal(waits_facts(s.waits)->queued_ns, 100);
    assert_int_equal(waits_facts(s.waits)->queued_own_ns, 100);
    stage_close(&s);
}

/* Who was found waiting waits there; who ran before it was looked at does not. */
static void a_thread_that_waits_already_waits_where_it_was_found(void **state)
{
    (void)state;
    struct stage s = stage_open();
    struct stack_id place = stack_of(&s, "work", "futex_wait_queue");
    for (int tid = 7; tid < 10; tid++) {
        struct waits_at a = at(&s, tid, 10);
        waits_found(s.waits, &a, &(struct waits_look){THREAD_BLOCKED, 20, place});
    }
    runs(&s, 8, 50);
    is_preempted(&s, 9, 30); /* it ran all the time */
    runs(&s, 9, 40);
    waits_stop(s.waits, 100);
    const struct rows *rows = &profile_stream(s.profile, s.streams.waits)->rows;
    int64_t there_ns = 0;
    for (size_t i = 0; i < rows->n; i++)
        there_ns += rows->stack[i].i == place.i ? wait_value(&s, WAIT_BLOCKED, i) : 0;
    assert_int_equal(there_ns, 90 + 40);
    stage_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_of_the_queueing_is_behind_ones_own_than_there_is),
        cmocka_unit_test(queueing_behind_ones_own_threads_is_known),
        cmocka_unit_test(a_thread_that_waits_already_waits_where_it_was_found),
        cmocka_unit_test(a_wait_lasts_from_leaving_to_running_again),
        cmocka_unit_test(a_wait_begins_before_its_stack_is_copied),
        cmocka_unit_test(states_add_up_to_the_life_of_a_thread),
        cmocka_unit_test(a_lost_end_is_counted_and_not_made_up),
        cmocka_unit_test(who_has_ended_waits_for_nothing),
        cmocka_unit_test(who_comes_has_the_cpu_since_the_other_left),
        cmocka_unit_test(what_others_say_in_a_hole_is_no_wait),
        cmocka_unit_test(records_that_contradict_each_other_make_the_time_between_unknown),
        cmocka_unit_test(a_record_that_comes_late_makes_no_wait),
        cmocka_unit_test(a_wait_that_lasts_counts_up_to_the_end_of_the_recording),
        cmocka_unit_test(a_thread_that_never_runs_is_runnable_all_its_life),
        cmocka_unit_test(a_wait_over_two_files_belongs_to_the_one_in_which_it_ends),
        cmocka_unit_test(threads_that_were_there_before_are_what_their_first_record_says),
        cmocka_unit_test(a_number_that_is_used_again_is_another_thread),
        cmocka_unit_test(a_profile_without_waits_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
