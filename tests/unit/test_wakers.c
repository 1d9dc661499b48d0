/* Wakers and weights: who ended a wait, and what becomes of waits that have no stack of their own.
 */
#include "analysis/parallel.h"
#include "record/perfthin.h"
#include "record/tracefs.h"
#include "record/waits.h"
#include "view/waitsum.h"

#include <sys/epoll.h>

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

struct scene {
    struct profile *profile;
    struct waits *waits;
    struct waitstream streams;
};

static struct scene scene_open(void)
{
    struct scene s = {.profile = profile_new()};
    struct err err;
    s.waits = waits_new(s.profile);
    waits_expect_wakes(s.waits);
    assert_int_equal(waits_start(s.waits, &err), 0);
    assert_true(waitstream_find(s.profile, &s.streams));
    assert_true(s.streams.wakes >= 0);
    return s;
}

static void scene_close(struct scene *s)
{
    waits_free(s->waits);
    profile_free(s->profile);
}

static struct waits_at scene_at(struct scene *s, int tid, uint64_t time_ns)
{
    struct thread_key key = {profile_add_str(s->profile, text_of("worker")), 1, tid};
    return (struct waits_at){1, tid,         time_ns, profile_add_thread(s->profile, &key),
                             0, WAITS_NO_CPU};
}

static void scene_begins(struct scene *s, int tid, uint64_t ns)
{
    struct waits_at a = scene_at(s, tid, ns);
    waits_begin(s->waits, &a, THREAD_RUNNING);
}

/* KERNEL NULL: without a stack. */
static void scene_leaves(struct scene *s, int tid, uint64_t ns, const char *user,
                         const char *kernel)
{
    struct waits_at a = scene_at(s, tid, ns);
    if (kernel) {
        struct frame_id frames[] = {
            profile_add_named_frame(s->profile, text_of(user), FRAME_USER),
            profile_add_named_frame(s->profile, text_of(kernel), FRAME_KERNEL)};
        waits_leave(s->waits, &a, stacks_intern(&s->profile->stacks, frames, 2), UNWIND_WHOLE);
    }
    waits_out(s->waits, &a, false);
}

static void scene_runs(struct scene *s, int tid, uint64_t ns)
{
    struct waits_at a = scene_at(s, tid, ns);
    waits_in(s->waits, &a);
}

/* Whether anybody wanted to know. */
static bool scene_wakes(struct scene *s, int tid, uint64_t ns, const char *waker,
                        const char *function)
{
    struct profile *p = s->profile;
    struct waits_wake w = {tid, ns, function ? WAKER_WALKED : WAKER_NAMED, {0}};
    if (!waits_wants_wake(s->waits, &w))
        return false;
    w.stack = stacks_push(&p->stacks, w.stack, waitstream_waker(p, text_of(waker)));
    if (function)
        w.stack = stacks_push(&p->stacks, w.stack,
                              profile_add_named_frame(p, text_of(function), FRAME_WAKER));
    waits_wake(s->waits, &w);
    return true;
}

static int64_t scene_value(struct scene *s, enum wait_column column, size_t row)
{
    return profile_stream(s->profile, s->streams.waits)
        ->rows.value[s->streams.wait_column[column]][row];
}

static int64_t scene_state(struct scene *s, enum thread_state state)
{
    return profile_stream(s->profile, s->streams.states)
        ->types[s->streams.state_column[state]]
        .total;
}

static int64_t scene_total(struct scene *s, enum wait_column column)
{
    return profile_stream(s->profile, s->streams.waits)
        ->types[s->streams.wait_column[column]]
        .total;
}

static struct waitsum scene_sum(struct scene *s, struct selection *waits, struct selection *states)
{
    struct waitsum w;
    struct err err;
    *waits = selection_all(s->profile, (struct value_ref){s->streams.waits, 0});
    *states = selection_all(s->profile, (struct value_ref){s->streams.states, 0});
    assert_int_equal(waitsum_build(&w, waits, states, &err), 0);
    return w;
}

static void a_wake_parts_blocked_from_runnable(void **state)
{
    (void)state;
    struct scene s = scene_open();
    scene_begins(&s, 7, 0);
    scene_leaves(&s, 7, 10, "work", "pipe_read");
    assert_true(scene_wakes(&s, 7, 50, "writer", "put"));
    scene_runs(&s, 7, 65);
    waits_stop(s.waits, 70);
    assert_int_equal(scene_value(&s, WAIT_BLOCKED, 0), 40);
    assert_int_equal(scene_value(&s, WAIT_RUNNABLE, 0), 15);
    assert_int_equal(profile_stream(s.profile, s.streams.waits)->rows.duration_ns[0], 55);
    assert_int_equal(scene_state(&s, THREAD_BLOCKED), 40);
    assert_int_equal(scene_state(&s, THREAD_RUNNABLE), 15);
    assert_int_equal(scene_state(&s, THREAD_RUNNING), 15);
    scene_close(&s);
}

static void wakes_of_threads_that_do_not_wait_are_not_wanted(void **state)
{
    (void)state;
    struct scene s = scene_open();
    scene_begins(&s, 7, 0);
    assert_false(scene_wakes(&s, 7, 5, "writer", "put"));
    assert_false(scene_wakes(&s, 99, 5, "writer", "put"));
    scene_leaves(&s, 7, 10, "work", "pipe_read");
    assert_false(scene_wakes(&s, 7, 9, "writer", "put")); /* of the time before */
    assert_true(scene_wakes(&s, 7, 20, "writer", "put"));
    assert_false(scene_wakes(&s, 7, 21, "writer", NULL)); /* the same once more */
    assert_false(scene_wakes(&s, 7, 22, "other", "put"));
    scene_runs(&s, 7, 30);
    waits_stop(s.waits, 40);
    assert_int_equal(waits_facts(s.waits)->woken, 1);
    scene_close(&s);
}

static void a_waker_with_functions_counts_more_than_its_name(void **state)
{
    (void)state;
    struct scene s = scene_open();
    struct selection waits, states;
    struct stack_id waiter;
    scene_begins(&s, 7, 0);
    scene_leaves(&s, 7, 10, "work", "pipe_read");
    assert_true(scene_wakes(&s, 7, 50, "writer", NULL));
    assert_true(scene_wakes(&s, 7, 51, "writer", "put"));
    scene_runs(&s, 7, 60);
    waits_stop(s.waits, 70);
    assert_int_equal(scene_value(&s, WAIT_BLOCKED, 0), 40);
    struct waitsum w = scene_sum(&s, &waits, &states);
    assert_int_equal(w.wakers.n, 1);
    assert_int_equal(w.wakers.at[0].sum.n, 1);
    assert_int_equal(w.wakers.at[0].sum.ns, 40);
    assert_int_equal(w.wakers.at[0].reason, WAIT_PIPE);
    assert_true(text_is(waitstream_waker_of(s.profile, w.wakers.at[0].stack, &waiter), "writer"));
    assert_int_equal(stacks_depth(&s.profile->stacks, w.wakers.at[0].stack), 4);
    assert_int_equal(stacks_depth(&s.profile->stacks, waiter), 2);
    assert_false(waitstream_waker_of(s.profile, waiter, &waiter).n);
    waitsum_done(&w);
    scene_close(&s);
}

static void waits_between_stacks_are_shared_out_like_those_with_one(void **state)
{
    (void)state;
    struct scene s = scene_open();
    struct selection all, states;
    scene_begins(&s, 7, 0);
    waits_thin(s.waits, 1000);
    uint64_t t = 1000;
    /* 30 ns each at a pipe, 10 blocked and 20 runnable; every third 60 ns asleep. */
    for (int i = 0; i < 9; i++, t += 100) {
        scene_leaves(&s, 7, t, i % 3 ? "get" : "rest", i % 3 ? "pipe_read" : "do_nanosleep");
        if (i % 3)
            scene_wakes(&s, 7, t + 10, "writer", "put");
        scene_runs(&s, 7, t + (i % 3 ? 30 : 60));
    }
    for (int i = 0; i < 90; i++, t += 100) {
        scene_leaves(&s, 7, t, NULL, NULL);
        if (i == 50) /* by chance */
            scene_wakes(&s, 7, t + 30, "writer", "put");
        scene_runs(&s, 7, t + 40);
    }
    waits_stop(s.waits, t);
    assert_int_equal(waits_facts(s.waits)->summed, 90);
    assert_int_equal(scene_total(&s, WAIT_COUNT), 99);
    assert_int_equal(scene_total(&s, WAIT_BLOCKED) + scene_total(&s, WAIT_RUNNABLE),
                     6 * 30 + 3 * 60 + 90 * 40);
    assert_int_equal(scene_total(&s, WAIT_BLOCKED), scene_state(&s, THREAD_BLOCKED));
    assert_int_equal(scene_total(&s, WAIT_RUNNABLE), scene_state(&s, THREAD_RUNNABLE));
    struct waitsum w = scene_sum(&s, &all, &states);
    assert_int_equal(w.n_summed, 90);
    assert_int_equal(w.by_reason[WAIT_PIPE].n, 6 + 60);
    assert_int_equal(w.by_reason[WAIT_SLEEP].n, 3 + 30);
    assert_int_equal(w.by_reason[WAIT_SLEEP].ns, 180 + 1200);
    assert_int_equal(w.by_reason[WAIT_PIPE].ns, 60 + 800);
    assert_int_equal(w.runnable.ns, 120 + 1600);
    struct parallel q;
    parallel_build(&q, &states, NULL);
    assert_false(q.known); /* nobody knows when each was */
    waitsum_done(&w);
    scene_close(&s);
}

static char *scene_text(const struct waitsum *w)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    waitsum_print(out, &(struct waitsum_view){.sum = w, .subject = "x", .top = 9},
                  &(struct document_paper){.form = DOCUMENT_AS_TEXT, .width = 400});
    assert_int_equal(fclose(out), 0);
    return text;
}

static void wakers_are_counted_among_waits_that_somebody_ends(void **state)
{
    (void)state;
    struct scene s = scene_open();
    struct selection all, states;
    scene_begins(&s, 7, 0);
    scene_leaves(&s, 7, 10, "work", "pipe_read");
    scene_wakes(&s, 7, 50, "writer", "put");
    scene_runs(&s, 7, 60);
    waits_stop(s.waits, 70);
    struct waitsum w = scene_sum(&s, &all, &states);
    w.n_waits = 1000; /* most of them preemptions */
    w.by_reason[WAIT_PIPE].n = 3;
    w.n_summed = 20;
    autofree char *many = scene_text(&w);
    assert_non_null(strstr(many, "Wakers are known for 1 of the 3 waits in which a thread was"));
    assert_non_null(strstr(many, "Switches came too fast to take every stack: 20 of the waits"));
    w.n_summed = 5; /* half of one in a hundred */
    autofree char *few = scene_text(&w);
    assert_null(strstr(few, "too fast"));
    waitsum_done(&w);
    scene_close(&s);
}

static void without_any_stack_waits_are_counted_all_the_same(void **state)
{
    (void)state;
    struct scene s = scene_open();
    scene_begins(&s, 7, 0);
    waits_thin(s.waits, 10);
    scene_leaves(&s, 7, 20, NULL, NULL);
    waits_flush(s.waits); /* a stack may come yet */
    scene_runs(&s, 7, 50);
    waits_flush(s.waits);
    assert_int_equal(scene_total(&s, WAIT_COUNT), 0);
    waits_stop(s.waits, 60);
    assert_int_equal(scene_total(&s, WAIT_COUNT), 1);
    assert_int_equal(scene_total(&s, WAIT_BLOCKED), 30);
    assert_int_equal(scene_state(&s, THREAD_BLOCKED), 30);
    scene_close(&s);
}

static void a_cpu_sample_stands_in_for_a_stack_and_says_so(void **state)
{
    (void)state;
    struct scene s = scene_open();
    struct frame_id frame = profile_add_named_frame(s.profile, text_of("near"), FRAME_USER);
    scene_begins(&s, 7, 0);
    waits_near(s.waits, 7, stacks_intern(&s.profile->stacks, &frame, 1));
    waits_near(s.waits, 99, stacks_intern(&s.profile->stacks, &frame, 1));
    scene_leaves(&s, 7, 20, NULL, NULL);
    scene_runs(&s, 7, 50);
    waits_stop(s.waits, 60);
    const struct stream *waits = profile_stream(s.profile, s.streams.waits);
    assert_int_equal(waitstream_part_of(s.profile, waits, 0), WAIT_NEAR);
    assert_false(waitstream_is_no_stack(s.profile, waits->rows.stack[0]));
    scene_close(&s);
}

/* --- when stacks rest --- */

static void stacks_rest_only_where_they_come_too_fast(void **state)
{
    (void)state;
    struct perfthin t;
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    assert_int_equal(perfthin_open(&t, epoll_fd), 0);
    uint64_t now = t.start_ns, stacks = 0;
    for (int i = 0; i < 100; i++) { /* half of what is allowed */
        now += 10000000;
        stacks += PERFTHIN_HZ / 200;
        assert_false(perfthin_step(&t, stacks, now));
    }
    uint64_t off_ns = 0, from = now, taken = stacks;
    for (int i = 0; i < 20000; i++) { /* ten times as much as is allowed, when they are on */
        now += 1000000;
        stacks += t.off ? 0 : PERFTHIN_HZ / 100;
        off_ns += t.off ? 1000000 : 0;
        perfthin_step(&t, stacks, now);
    }
    assert_true(off_ns > (now - from) / 2);
    double rate = (double)(stacks - taken) / ((double)(now - from) / 1e9);
    assert_true(rate > 0.7 * PERFTHIN_HZ && rate < 1.4 * PERFTHIN_HZ);
    perfthin_close(&t);
    perfthin_close(&t);
    close(epoll_fd);
}

/* Nanoseconds of ten seconds in which stacks are off; turning them takes AGAIN_NS, once FIRST_NS.
 */
static uint64_t rest_of_ten_seconds(uint64_t first_ns, uint64_t again_ns)
{
    struct perfthin t;
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    assert_int_equal(perfthin_open(&t, epoll_fd), 0);
    uint64_t now = t.start_ns, stacks = 0, off_ns = 0;
    for (int i = 0; i < 10000; i++) { /* a fifth more than is allowed */
        now += 1000000;
        stacks += t.off ? 0 : PERFTHIN_HZ / 1000 * 6 / 5;
        off_ns += t.off ? 1000000 : 0;
        if (perfthin_step(&t, stacks, now)) {
            perfthin_took(&t, first_ns);
            first_ns = again_ns;
        }
    }
    perfthin_close(&t);
    close(epoll_fd);
    return off_ns;
}

static void stacks_rest_for_what_turning_them_takes_but_not_for_one_delay(void **state)
{
    (void)state;
    assert_true(rest_of_ten_seconds(10000, 10000) < 3000000000u);
    assert_true(rest_of_ten_seconds(10000000, 10000) < 3000000000u);
    assert_true(rest_of_ten_seconds(10000000, 10000000) > 7000000000u);
}

static void fields_of_a_tracepoint_are_where_its_format_says(void **state)
{
    (void)state;
    static const char format[] = "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
                                 "\n\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n";
    assert_int_equal(tracefs_offset_in(format, "pid"), 24);
    assert_int_equal(tracefs_offset_in(format, "common_pid"), 4);
    assert_int_equal(tracefs_offset_in(format, "prio"), -1);
    assert_int_equal(tracefs_offset_in("\tfield:pid_t pid;\toffset:-4;", "pid"), -1);
    assert_int_equal(tracefs_offset_in("\tfield:pid_t pid;\toffset:x", "pid"), -1);
    assert_int_equal(tracefs_offset_in("", "pid"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wake_parts_blocked_from_runnable),
        cmocka_unit_test(wakes_of_threads_that_do_not_wait_are_not_wanted),
        cmocka_unit_test(a_waker_with_functions_counts_more_than_its_name),
        cmocka_unit_test(waits_between_stacks_are_shared_out_like_those_with_one),
        cmocka_unit_test(wakers_are_counted_among_waits_that_somebody_ends),
        cmocka_unit_test(without_any_stack_waits_are_counted_all_the_same),
        cmocka_unit_test(a_cpu_sample_stands_in_for_a_stack_and_says_so),
        cmocka_unit_test(stacks_rest_only_where_they_come_too_fast),
        cmocka_unit_test(stacks_rest_for_what_turning_them_takes_but_not_for_one_delay),
        cmocka_unit_test(fields_of_a_tracepoint_are_where_its_format_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
