/* Locks that are none of pthreads', by who ends whose waits. */
#include "analysis/waitinsight.h"
#include "support_waits.h"

static struct frame_id named(struct stage *s, const char *name, enum frame_kind kind)
{
    return profile_add_named_frame(s->profile, text_of(name), kind);
}

static void leaves_at(struct stage *s, int tid, uint64_t ns, const struct frame_id *frames,
                      size_t n)
{
    struct waits_at a = at(s, tid, ns);
    waits_leave(s->waits, &a, stacks_intern(&s->profile->stacks, frames, n), UNWIND_WHOLE);
    waits_out(s->waits, &a, false);
}

/* Thread TID waits for 0.3 s in TAKES, below work(); then WAKER wakes it from ENDS. */
static void waits_for(struct stage *s, int tid, const char *takes, const char *waker,
                      const char *ends)
{
    struct stacks *stacks = &s->profile->stacks;
    struct frame_id frames[] = {named(s, "work", FRAME_USER), named(s, takes, FRAME_USER),
                                named(s, "futex_do_wait", FRAME_KERNEL)};
    begins(s, tid, 0, THREAD_RUNNING);
    leaves_at(s, tid, 100000000, frames, 3);
    struct waits_wake wake = {tid, 400000000, WAKER_WALKED, {0}};
    assert_true(waits_wants_wake(s->waits, &wake));
    wake.stack = stacks_push(stacks, wake.stack, waitstream_waker(s->profile, text_of(waker)));
    wake.stack = stacks_push(stacks, wake.stack, named(s, "work", FRAME_WAKER));
    wake.stack = stacks_push(stacks, wake.stack, named(s, ends, FRAME_WAKER));
    waits_wake(s->waits, &wake);
    runs(s, tid, 400000000);
}

/* Thread TID is seen in ENDS itself. */
static void is_in(struct stage *s, int tid, const char *ends)
{
    struct frame_id frames[] = {named(s, "work", FRAME_USER), named(s, ends, FRAME_USER),
                                named(s, "futex_wake", FRAME_KERNEL)};
    leaves_at(s, tid, 500000000, frames, 3);
    runs(s, tid, 500010000);
}

/* What is said of such a lock; "" where nothing is. */
static char *said(struct stage *s)
{
    struct waitsum w;
    struct err err;
    struct waitinsight found;
    waits_stop(s->waits, 1000000000);
    struct selection waits = selection_all(s->profile, (struct value_ref){s->streams.waits, 0});
    struct selection states = selection_all(s->profile, (struct value_ref){s->streams.states, 0});
    assert_int_equal(waitsum_build(&w, &waits, &states, &err), 0);
    char *text = mem_strdup(waitinsight_each_other(&w, &found) ? found.evidence : "");
    waitsum_done(&w);
    return text;
}

static void threads_that_wait_for_each_other_have_a_lock(void **state)
{
    (void)state;
    struct stage s = stage_with_wakes();
    waits_for(&s, 7, "my_lock", "eight", "my_unlock");
    waits_for(&s, 8, "my_lock", "seven", "my_unlock");
    is_in(&s, 7, "my_unlock");
    is_in(&s, 8, "my_unlock");
    autofree char *text = said(&s);
    assert_string_equal(text, "600 ms of thread time (30%) goes to 2 waits (futex) in my_lock that "
                              "end when another of these threads calls my_unlock");
    stage_close(&s);
}

static void who_waits_for_work_has_none(void **state)
{
    (void)state;
    struct stage s = stage_with_wakes();
    waits_for(&s, 7, "take_job", "main", "give_job");
    waits_for(&s, 8, "take_job", "main", "give_job");
    begins(&s, 9, 0, THREAD_RUNNING);
    is_in(&s, 9, "give_job");
    autofree char *text = said(&s);
    assert_string_equal(text, "");
    stage_close(&s);
}

/* All come to one place, and the last one ends the waits of the others. */
static void a_barrier_is_none(void **state)
{
    (void)state;
    struct stage s = stage_with_wakes();
    waits_for(&s, 7, "meet", "eight", "meet");
    waits_for(&s, 8, "meet", "seven", "meet");
    is_in(&s, 7, "meet");
    is_in(&s, 8, "meet");
    autofree char *text = said(&s);
    assert_string_equal(text, "");
    stage_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_wait_for_each_other_have_a_lock),
        cmocka_unit_test(who_waits_for_work_has_none),
        cmocka_unit_test(a_barrier_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
