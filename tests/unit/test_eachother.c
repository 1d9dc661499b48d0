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

/* Thread TID, which runs, waits from FROM_NS to TO_NS in the kernel's function KERNEL, below those
 * of TAKES; then WAKER wakes it from ENDS. Both are "f > g", outermost first. */
static void waits_from(struct stage *s, int tid, uint64_t from_ns, uint64_t to_ns,
                       const char *takes, const char *kernel, const char *ends)
{
    struct stacks *stacks = &s->profile->stacks;
    struct frame_id frames[8];
    size_t n = 0;
    for (struct text rest = text_of(takes); rest.n;) {
        struct text part = text_cut(&rest, '>');
        autofree char *name = mem_strndup(part.at, part.n);
        frames[n++] = named(s, name, FRAME_USER);
    }
    frames[n++] = named(s, kernel, FRAME_KERNEL);
    leaves_at(s, tid, from_ns, frames, n);
    struct waits_wake wake = {tid, to_ns, WAKER_WALKED, {0}};
    assert_true(waits_wants_wake(s->waits, &wake));
    wake.stack = stacks_push(stacks, wake.stack, waitstream_waker(s->profile, text_of("other")));
    for (struct text rest = text_of(ends); rest.n;) {
        struct text part = text_cut(&rest, '>');
        autofree char *name = mem_strndup(part.at, part.n);
        wake.stack = stacks_push(stacks, wake.stack, named(s, name, FRAME_WAKER));
    }
    waits_wake(s->waits, &wake);
    runs(s, tid, to_ns);
}

/* Thread TID waits for 0.3 s in TAKES, below work(); then another wakes it from ENDS. */
static void waits_for(struct stage *s, int tid, const char *takes, const char *ends)
{
    autofree char *waiter = mem_printf("work>%s", takes), *waker = mem_printf("work>%s", ends);
    begins(s, tid, 0, THREAD_RUNNING);
    waits_from(s, tid, 100000000, 400000000, waiter, "futex_do_wait", waker);
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
    waits_for(&s, 7, "my_lock", "my_unlock");
    waits_for(&s, 8, "my_lock", "my_unlock");
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
    waits_for(&s, 7, "take_job", "give_job");
    waits_for(&s, 8, "take_job", "give_job");
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
    waits_for(&s, 7, "meet", "meet");
    waits_for(&s, 8, "meet", "meet");
    is_in(&s, 7, "meet");
    is_in(&s, 8, "meet");
    autofree char *text = said(&s);
    assert_string_equal(text, "");
    stage_close(&s);
}

/* The same where the barrier is called from two places, and ends waits in a function of its own. */
static void a_barrier_that_several_call_is_none(void **state)
{
    (void)state;
    struct stage s = stage_with_wakes();
    const char *const callers[] = {"left", "right"};
    for (int i = 0; i < 2; i++) {
        autofree char *takes = mem_printf("%s>meet>sleep_there", callers[i]);
        autofree char *ends = mem_printf("%s>meet>wake_all", callers[!i]);
        begins(&s, 7 + i, 0, THREAD_RUNNING);
        waits_from(&s, 7 + i, 100000000, 400000000, takes, "futex_do_wait", ends);
        is_in(&s, 7 + i, "wake_all");
    }
    autofree char *text = said(&s);
    assert_string_equal(text, "");
    stage_close(&s);
}

/* A function that both use to ask the kernel is none by which a thread ends waits. */
static void a_helper_that_waits_as_well_ends_nothing(void **state)
{
    (void)state;
    struct stage s = stage_with_wakes();
    waits_for(&s, 7, "take_job>ask_kernel", "give_job>ask_kernel");
    waits_for(&s, 8, "take_job>ask_kernel", "give_job>ask_kernel");
    autofree char *text = said(&s);
    assert_string_equal(text, "");
    stage_close(&s);
}

/* Two threads that wait for each other for so long, in KERNEL, and end waits below PREFIX. */
static char *said_of_two(uint64_t wait_ns, const char *kernel, const char *prefix)
{
    struct stage s = stage_with_wakes();
    autofree char *takes = mem_printf("work>%slock", prefix);
    autofree char *ends = mem_printf("work>%sunlock", prefix);
    autofree char *in = mem_printf("%sunlock", prefix);
    for (int tid = 7; tid <= 8; tid++) {
        begins(&s, tid, 0, THREAD_RUNNING);
        waits_from(&s, tid, 100000000, 100000000 + wait_ns, takes, kernel, ends);
        is_in(&s, tid, in);
    }
    char *text = said(&s);
    stage_close(&s);
    return text;
}

/* The least is a tenth of 2 s; locks of pthreads and Go's idle threads have reports of their own.
 */
static void short_waits_and_those_known_otherwise_are_none(void **state)
{
    (void)state;
    static const struct {
        uint64_t wait_ns;
        const char *kernel, *prefix;
        bool is;
    } cases[] = {
        {110000000, "futex_do_wait", "my_", true},  {90000000, "futex_do_wait", "my_", false},
        {300000000, "futex_lock_pi", "my_", false}, {300000000, "ep_poll", "my_", true},
        {300000000, "do_nanosleep", "my_", false},  {300000000, "futex_do_wait", "runtime.", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        autofree char *text = said_of_two(cases[i].wait_ns, cases[i].kernel, cases[i].prefix);
        if (cases[i].is != (*text != '\0'))
            fail_msg("case %zu: '%s'", i, text);
    }
}

/* One thread that does both is not two, however often it is seen. */
static void one_thread_that_does_both_is_no_lock(void **state)
{
    (void)state;
    struct stage s = stage_with_wakes();
    waits_for(&s, 7, "my_lock", "my_unlock");
    waits_for(&s, 8, "my_lock", "my_unlock");
    is_in(&s, 7, "my_unlock");
    struct frame_id frames[] = {named(&s, "work", FRAME_USER), named(&s, "my_unlock", FRAME_USER)};
    leaves_at(&s, 7, 600000000, frames, 2);
    runs(&s, 7, 600010000);
    autofree char *text = said(&s);
    assert_string_equal(text, "");
    stage_close(&s);
}

/* Longer waits that no known function ended do not hide the lock. */
static void waits_that_end_somewhere_hide_no_lock(void **state)
{
    (void)state;
    struct stage s = stage_with_wakes();
    begins(&s, 9, 0, THREAD_RUNNING);
    waits_from(&s, 9, 100000000, 990000000, "work>my_lock", "futex_do_wait", "[app+0x10]");
    waits_for(&s, 7, "my_lock", "my_unlock");
    waits_for(&s, 8, "my_lock", "my_unlock");
    is_in(&s, 7, "my_unlock");
    is_in(&s, 8, "my_unlock");
    autofree char *text = said(&s);
    assert_non_null(strstr(text, "600 ms of thread time"));
    assert_non_null(strstr(text, " calls my_unlock"));
    stage_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_wait_for_each_other_have_a_lock),
        cmocka_unit_test(who_waits_for_work_has_none),
        cmocka_unit_test(a_barrier_is_none),
        cmocka_unit_test(a_barrier_that_several_call_is_none),
        cmocka_unit_test(a_helper_that_waits_as_well_ends_nothing),
        cmocka_unit_test(short_waits_and_those_known_otherwise_are_none),
        cmocka_unit_test(one_thread_that_does_both_is_no_lock),
        cmocka_unit_test(waits_that_end_somewhere_hide_no_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
