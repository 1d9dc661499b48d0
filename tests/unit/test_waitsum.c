/* Sums of waits: by reason, thread and place. */
#include "support_waitsum.h"

static void sums_are_by_reason_by_thread_and_by_function(void **state)
{
    (void)state;
    struct stage s = stage_open();
    struct waitsum w;
    struct err err;
    begins(&s, 7, 0, THREAD_RUNNING);
    begins(&s, 8, 0, THREAD_RUNNING);
    for (uint64_t t = 0; t < 100; t += 20) {
        leaves(&s, 7, t + 5, "do_nanosleep");
        runs(&s, 7, t + 15);
    }
    leaves(&s, 8, 10, "anon_pipe_read");
    runs(&s, 8, 25);
    leaves(&s, 8, 25, "pipe_read"); /* the same for the program */
    runs(&s, 8, 40);
    is_preempted(&s, 8, 50);
    runs(&s, 8, 52);
    waits_stop(s.waits, 100);
    struct selection waits = selection_all(s.profile, (struct value_ref){s.streams.waits, 0});
    struct selection states = selection_all(s.profile, (struct value_ref){s.streams.states, 0});
    assert_int_equal(waitsum_build(&w, &waits, &states, &err), 0);
    assert_int_equal(w.n_waits, 8);
    assert_int_equal(w.by_reason[WAIT_SLEEP].n, 5);
    assert_int_equal(w.by_reason[WAIT_SLEEP].ns, 50);
    assert_int_equal(w.by_reason[WAIT_SLEEP].max_ns, 10);
    assert_int_equal(w.by_reason[WAIT_PIPE].ns, 30);
    assert_int_equal(w.runnable.ns, 2);
    assert_int_equal(w.wall_ns, 200);
    assert_int_equal(w.threads.n, 2);
    assert_int_equal(w.threads.at[0].tid, 7);
    assert_int_equal(w.threads.at[0].wall_ns, 100);
    assert_int_equal(w.threads.at[0].state_ns[THREAD_BLOCKED], 50);
    assert_int_equal(w.threads.at[0].reason_ns[WAIT_SLEEP], 50);
    assert_int_equal(waitsum_main_reason(&w.threads.at[1]), WAIT_PIPE);
    assert_int_equal(w.threads.at[1].state_ns[THREAD_RUNNABLE], 2);
    assert_int_equal(w.stacks.n, 3);
    assert_int_equal(w.stacks.at[0].sum.ns, 50);
    assert_int_equal(w.stacks.at[0].reason, WAIT_SLEEP);
    assert_true(w.stacks.at[2].runnable);
    waitsum_done(&w);
    stage_close(&s);
}

/* Which began before the recording is counted, and so is which did not end in it. */
static void waits_that_reach_out_of_the_recording_are_counted(void **state)
{
    (void)state;
    struct stage s = stage_open();
    struct waitsum w;
    struct err err;
    begins(&s, 7, 0, THREAD_BLOCKED);
    runs(&s, 7, 10);
    leaves(&s, 7, 20, "do_nanosleep");
    runs(&s, 7, 30);
    begins(&s, 8, 0, THREAD_RUNNING);
    leaves(&s, 8, 50, "do_nanosleep");
    waits_stop(s.waits, 100);
    struct selection waits = selection_all(s.profile, (struct value_ref){s.streams.waits, 0});
    assert_int_equal(waitsum_build(&w, &waits, NULL, &err), 0);
    assert_int_equal(w.n_waits, 3);
    assert_int_equal(w.n_begun, 1);
    assert_int_equal(w.n_open, 1);
    assert_int_equal(w.n_cut, 0);
    waitsum_done(&w);
    stage_close(&s);
}

static char *printed_with_cpu_time(struct stage *s, uint64_t cpu_ns)
{
    struct waitsum w;
    struct err err;
    char *text = NULL;
    size_t n = 0;
    struct selection waits = selection_all(s->profile, (struct value_ref){s->streams.waits, 0});
    struct selection states = selection_all(s->profile, (struct value_ref){s->streams.states, 0});
    meta_set_u64(&s->profile->meta, META_CPU_TIME_NS, cpu_ns);
    assert_int_equal(waitsum_build(&w, &waits, &states, &err), 0);
    FILE *out = open_memstream(&text, &n);
    waitsum_print(out, &(struct waitsum_view){.sum = &w, .subject = "x", .top = 5},
                  &(struct document_paper){DOCUMENT_AS_TEXT, 400, false});
    fclose(out);
    waitsum_done(&w);
    return text;
}

/* 10,000 switches of which each is charged 5 us that lie between the records of two switches. */
static void cpu_time_above_running_time_is_that_of_the_switches(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 0, THREAD_RUNNING);
    for (uint64_t i = 0; i < 10000; i++) {
        leaves(&s, 7, i * 300000 + 100000, "anon_pipe_read");
        runs(&s, 7, (i + 1) * 300000);
    }
    waits_stop(s.waits, 10000 * (uint64_t)300000);
    autofree char *more = printed_with_cpu_time(&s, 1050000000);
    autofree char *much = printed_with_cpu_time(&s, 2000000000);
    autofree char *less = printed_with_cpu_time(&s, 900000000);
    if (!strstr(more, "5.0% more than the switches show: it charges each switch to the thread that "
                      "comes next, here 5 us of each of 10,000."))
        fail_msg("%s", more);
    /* What is more than a switch can take has another cause, which is not known. */
    if (!strstr(much, "100.0% more than the switches show.") ||
        !strstr(less, "10.0% less than the switches show."))
        fail_msg("%s%s", much, less);
    stage_close(&s);
}

#define AGENT "/usr/lib/kelvin/libkelvin-locks.so"

/* The agent of locks is called in place of the C library; what else it does is its own. */
static void the_agent_is_no_place_where_a_program_waits(void **state)
{
    (void)state;
    struct stage s = stage_open();
    struct frame_id enter = frame_in(&s, "/bin/app", "enter");
    struct frame_id agent = frame_in(&s, AGENT, "mutex_wait");
    struct frame_id lock = frame_in(&s, LIBC, "pthread_mutex_lock");
    struct frame_id kernel =
        profile_add_named_frame(s.profile, text_of("futex_lock_pi"), FRAME_KERNEL);
    struct frame_id by_program[] = {enter, agent, agent, lock, kernel};
    struct frame_id plain[] = {enter, lock, kernel};
    struct frame_id own[] = {enter, agent, frame_in(&s, LIBC, "madvise")};
    struct frame_id cut[] = {agent, lock};
    struct stack_id waits = stacks_intern(&s.profile->stacks, by_program, 5);
    struct stack_id other = stacks_intern(&s.profile->stacks, plain, 3);
    struct stack_id in_lock = stacks_intern(&s.profile->stacks, by_program, 4);
    struct stack_id in_program = stacks_intern(&s.profile->stacks, by_program, 1);
    struct stack_id work = stacks_intern(&s.profile->stacks, own, 3); /* the agent's own */
    struct stack_id of_work = stacks_intern(&s.profile->stacks, own, 2);
    struct stack_id bottom = stacks_intern(&s.profile->stacks, cut, 1);
    struct stack_id from_bottom = stacks_intern(&s.profile->stacks, cut, 2);
    struct stack_id by_agent = stacks_intern(&s.profile->stacks, by_program, 3);
    standin_leave_out(s.profile);
    const struct stack_node *nodes = s.profile->stacks.nodes.at;
    assert_int_equal(nodes[in_lock.i].parent.i, in_program.i);
    assert_int_equal(nodes[waits.i].parent.i, in_lock.i);
    assert_int_equal(nodes[work.i].parent.i, of_work.i);
    assert_int_equal(nodes[from_bottom.i].parent.i, bottom.i);
    assert_int_equal(standin_parent(s.profile, in_lock).i, by_agent.i); /* as it is written */
    assert_int_equal(standin_parent(s.profile, waits).i, in_lock.i);
    assert_non_null(standin_find(s.profile, in_lock));
    assert_null(standin_find(s.profile, other));

    begins(&s, 7, 0, THREAD_RUNNING);
    for (int i = 0; i < 2; i++) {
        struct waits_at a = at(&s, 7, (uint64_t)i * 100000000 + 1000);
        waits_leave(s.waits, &a, i ? other : waits, UNWIND_WHOLE);
        waits_out(s.waits, &a, false);
        runs(&s, 7, a.time_ns + 90000000);
    }
    waits_stop(s.waits, 200000000);
    struct waitsum w;
    struct waitinsight list[WAITINSIGHTS_MAX];
    struct err err;
    struct selection all = selection_all(s.profile, (struct value_ref){s.streams.waits, 0});
    struct selection states = selection_all(s.profile, (struct value_ref){s.streams.states, 0});
    assert_int_equal(waitsum_build(&w, &all, &states, &err), 0);
    assert_int_equal(w.stacks.n, 1); /* with the agent and without it: one place */
    assert_int_equal(waitinsight_find(&w, list), 1);
    assert_non_null(strstr(list[0].evidence, "longest in enter"));
    struct waitpaths paths = {.sum = &w};
    autobuf struct buf path = {0};
    waitpaths_add(&paths, waits, (struct stack_id){0});
    waitpaths_inward(&paths, 0, &path);
    assert_string_equal(buf_cstr(&path), "enter > pthread_mutex_lock");
    waitpaths_done(&paths);
    waitsum_done(&w);
    stage_close(&s);
}

/* A thread waits at STACK, 10 ns each time, from the moment it is called with. */
static void waits_at_stack(struct stage *s, uint64_t time_ns, const struct frame_id *frames,
                           size_t n)
{
    struct waits_at a = at(s, 7, time_ns);
    waits_leave(s->waits, &a, stacks_intern(&s->profile->stacks, frames, n), UNWIND_WHOLE);
    waits_out(s->waits, &a, false);
    runs(s, 7, time_ns + 10);
}

/* One place of the program is one row, whatever the C library calls inside. */
static void rows_do_not_differ_only_inside_the_c_library(void **state)
{
    (void)state;
    struct stage s = stage_open();
    struct frame_id app = frame_in(&s, "/bin/app", "enter");
    struct frame_id other = frame_in(&s, "/bin/app", "leave");
    struct frame_id lock = frame_in(&s, LIBC, "pthread_mutex_lock");
    struct frame_id inner = frame_in(&s, LIBC, "__lll_lock_wait");
    struct frame_id sort = frame_in(&s, LIBC, "qsort"), merge = frame_in(&s, LIBC, "msort");
    struct frame_id futex = profile_add_named_frame(s.profile, text_of("futex_wait"), FRAME_KERNEL);
    struct waitsum w;
    struct err err;
    begins(&s, 7, 0, THREAD_RUNNING);
    waits_at_stack(&s, 100, (struct frame_id[]){app, lock, futex}, 3);
    waits_at_stack(&s, 200, (struct frame_id[]){app, lock, inner, futex}, 4);
    waits_at_stack(&s, 300, (struct frame_id[]){app, lock, inner, inner, futex}, 5);
    waits_at_stack(&s, 400, (struct frame_id[]){other, lock, inner, futex}, 4);
    /* What the library calls back is the program's: these are two places. */
    waits_at_stack(&s, 500, (struct frame_id[]){app, sort, other, lock, futex}, 5);
    waits_at_stack(&s, 600, (struct frame_id[]){app, sort, merge, other, lock, futex}, 6);
    waits_stop(s.waits, 1000);
    struct selection all = selection_all(s.profile, (struct value_ref){s.streams.waits, 0});
    assert_int_equal(waitsum_build(&w, &all, NULL, &err), 0);
    assert_int_equal(w.n_waits, 6);
    assert_int_equal(w.stacks.n, 4);
    assert_int_equal(w.stacks.at[0].sum.n, 3);
    assert_int_equal(w.stacks.at[0].sum.ns, 30);
    waitsum_done(&w);
    stage_close(&s);
}

static void names_of_runtimes_are_known(void **state)
{
    (void)state;
    static const char *const runtime[] = {"[app+0x10]",
                                          "std::condition_variable::wait",
                                          "void std::call_once<int>",
                                          "<std::net::TcpStream as std::io::Read>::read",
                                          "<&dyn core::ops::function::Fn<()> as X>::call",
                                          "<&mut core::iter::Map<I> as Iterator>::next"};
    assert_true(waitsum_is_runtime(text_of("alloc::vec::Vec<T>::push")));
    static const char *const own[] = {"app::critical",
                                      "main",
                                      "Pool::run(std::function<void ()>)",
                                      "<app::Job as std::fmt::Debug>::fmt",
                                      "standard_exec",
                                      ""};
    for (size_t i = 0; i < 6; i++) {
        assert_true(waitsum_is_runtime(text_of(runtime[i])));
        assert_false(waitsum_is_runtime(text_of(own[i])));
    }
}

static void waits_of_goroutines_are_said_to_be_missing(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 0, THREAD_RUNNING);
    leaves(&s, 7, 100, "futex_wait");
    runs(&s, 7, 200);
    waits_stop(s.waits, 300);
    autofree char *before = printed_with_cpu_time(&s, 200);
    assert_null(strstr(before, "Goroutines"));
    frame_in(&s, "/bin/app", "runtime.findRunnable");
    autofree char *after = printed_with_cpu_time(&s, 200);
    assert_non_null(strstr(after, "Goroutines wait without a thread"));
    stage_close(&s);
}

/* The report of what S has up to TO_NS in WIDTH columns, with wakers where these are seen; give it
 * back with free(). */
static char *report_until(struct stage *s, int width, uint64_t to_ns)
{
    struct waitsum w;
    struct err err;
    char *text = NULL;
    size_t n = 0;
    struct selection all = selection_all(s->profile, (struct value_ref){s->streams.waits, 0});
    all.moments.to_ns = to_ns;
    struct selection states = selection_all(s->profile, (struct value_ref){s->streams.states, 0});
    assert_int_equal(waitsum_build(&w, &all, s->streams.wakes < 0 ? NULL : &states, &err), 0);
    FILE *out = open_memstream(&text, &n);
    waitsum_print(out, &(struct waitsum_view){.sum = &w, .subject = "x", .top = 5},
                  &(struct document_paper){DOCUMENT_AS_TEXT, width, false});
    fclose(out);
    waitsum_done(&w);
    return text;
}

static char *report_of(struct stage *s, int width)
{
    return report_until(s, width, UINT64_MAX);
}

/* Who calls differs further out than there is room for: nobody could tell the rows apart. */
static void rows_that_would_look_alike_are_one(void **state)
{
    (void)state;
    struct stage s = stage_open();
    struct frame_id query = frame_in(&s, "/bin/app", "run_a_query");
    struct frame_id plan = frame_in(&s, "/bin/app", "plan_a_query");
    struct frame_id row = frame_in(&s, "/bin/app", "lock_row");
    struct frame_id lock = frame_in(&s, LIBC, "pthread_mutex_lock");
    struct frame_id futex = profile_add_named_frame(s.profile, text_of("futex_wait"), FRAME_KERNEL);
    struct frame_id start = frame_in(&s, LIBC, "__libc_start_call_main");
    struct frame_id nameless = frame_in(&s, "/bin/app", "[app+0x1000]");
    struct frame_id cut = frame_in(&s, "", "[unfinished]"),
                    mains = frame_in(&s, "/bin/app", "main");
    begins(&s, 7, 0, THREAD_RUNNING);
    waits_at_stack(&s, 10, (struct frame_id[]){nameless, start, mains, lock, futex}, 5);
    waits_at_stack(&s, 50, (struct frame_id[]){cut, mains, lock, futex}, 4);
    waits_at_stack(&s, 100, (struct frame_id[]){query, row, row, row, row, row, row, lock, futex},
                   9);
    waits_at_stack(&s, 200, (struct frame_id[]){plan, row, row, row, row, row, row, lock, futex},
                   9);
    waits_at_stack(&s, 300, (struct frame_id[]){plan, lock, futex}, 3);
    waits_stop(s.waits, 1000);
    autofree char *narrow = report_of(&s, 100), *wide = report_of(&s, 200);
    char *once = strstr(narrow, "  .. > lock_row > lock_row > pthread_mutex_lock");
    assert_non_null(once);
    assert_null(strstr(once + 1, "  .. > lock_row >"));
    assert_non_null(strstr(narrow, "\n  20 ns       40.0%      2"));
    assert_non_null(strstr(narrow, "  main > pthread_mutex_lock"));
    assert_null(strstr(narrow, "__libc_start_call_main"));
    assert_null(strstr(narrow, "[unfinished]"));
    assert_non_null(strstr(wide, "  run_a_query > lock_row >"));
    assert_non_null(strstr(wide, "  plan_a_query > lock_row >"));
    stage_close(&s);
}

/* Thread 7 waits for LASTS_NS at STACK. */
static void waits_for_ns(struct stage *s, uint64_t time_ns, uint64_t lasts_ns,
                         const struct frame_id *frames, size_t n)
{
    struct waits_at a = at(s, 7, time_ns);
    waits_leave(s->waits, &a, stacks_intern(&s->profile->stacks, frames, n), UNWIND_WHOLE);
    waits_out(s->waits, &a, false);
    runs(s, 7, time_ns + lasts_ns);
}

/* What rows have in sum decides their order, and the longest of all their waits is the row's. */
static void rows_that_are_one_are_summed_and_sorted_anew(void **state)
{
    (void)state;
    struct stage s = stage_open();
    struct frame_id query = frame_in(&s, "/bin/app", "run_a_query");
    struct frame_id plan = frame_in(&s, "/bin/app", "plan_a_query");
    struct frame_id row = frame_in(&s, "/bin/app", "lock_row");
    struct frame_id idle = frame_in(&s, "/bin/app", "idle");
    struct frame_id lock = frame_in(&s, LIBC, "pthread_mutex_lock");
    struct frame_id futex = profile_add_named_frame(s.profile, text_of("futex_wait"), FRAME_KERNEL);
    struct frame_id one[] = {query, row, row, row, row, row, row, lock, futex};
    struct frame_id other[] = {plan, row, row, row, row, row, row, lock, futex};
    begins(&s, 7, 0, THREAD_RUNNING);
    for (uint64_t i = 0; i < 3; i++)
        waits_for_ns(&s, 100 + 100 * i, 20, one, 9);
    for (uint64_t i = 0; i < 2; i++)
        waits_for_ns(&s, 500 + 100 * i, 25, other, 9);
    waits_for_ns(&s, 800, 90, (struct frame_id[]){idle, lock, futex}, 3);
    waits_stop(s.waits, 1000);
    autofree char *text = report_of(&s, 100);
    const char *both = strstr(text, "\n  110 ns       55.0%      5  22 ns  25 ns  lock");
    const char *alone = strstr(text, "\n   90 ns       45.0%      1  90 ns  90 ns  lock");
    if (!both || !alone || both > alone)
        fail_msg("%s", text);
    stage_close(&s);
}

/* A thread that does nothing but sleep is not called after what the library starts threads with. */
static void who_only_waits_in_the_library_is_at_the_call(void **state)
{
    (void)state;
    struct stage s = stage_open();
    struct frame_id frames[] = {
        frame_in(&s, LIBC, "clone3"), frame_in(&s, LIBC, "start_thread"),
        frame_in(&s, LIBC, "sleep"), frame_in(&s, LIBC, "clock_nanosleep"),
        profile_add_named_frame(s.profile, text_of("do_nanosleep"), FRAME_KERNEL)};
    begins(&s, 7, 0, THREAD_RUNNING);
    waits_for_ns(&s, 100, 20, frames, 5);
    waits_stop(s.waits, 1000);
    autofree char *brief = report_of(&s, 160);
    assert_non_null(strstr(brief, "1  20 ns  20 ns  sleep   sleep\n"));
    stage_close(&s);
}

/* At one place of the program: a row each for two reasons, and for having no CPU. */
static void rows_of_one_place_differ_by_reason(void **state)
{
    (void)state;
    struct stage s = stage_open();
    begins(&s, 7, 0, THREAD_RUNNING);
    leaves(&s, 7, 100, "anon_pipe_read");
    runs(&s, 7, 120);
    leaves(&s, 7, 200, "ep_poll");
    runs(&s, 7, 230);
    struct waits_at a = at(&s, 7, 300);
    waits_leave(s.waits, &a, stack_of(&s, "work", "anon_pipe_read"), UNWIND_WHOLE);
    waits_out(s.waits, &a, true);
    runs(&s, 7, 340);
    waits_for_ns(&s, 400, 10, (struct frame_id[]){frame_in(&s, "", "work")}, 1);
    waits_stop(s.waits, 1000);
    autofree char *text = report_of(&s, 160);
    const char *const rows[] = {"40 ns       40.0%      1  40 ns  40 ns  runnable  work",
                                "30 ns       30.0%      1  30 ns  30 ns  poll      work",
                                "20 ns       20.0%      1  20 ns  20 ns  pipe      work",
                                "10 ns       10.0%      1  10 ns  10 ns  unknown   work"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strstr(text, rows[i]))
            fail_msg("no '%s' in\n%s", rows[i], text);
    stage_close(&s);
}

/* Thread 7 waits at read_request() for so long, until WAKER ends it from SENDS; NULL: nobody does.
 */
static void is_woken(struct stage *s, uint64_t time_ns, uint64_t lasts_ns, const char *waker,
                     const char *sends)
{
    struct stacks *stacks = &s->profile->stacks;
    leaves(s, 7, time_ns, "anon_pipe_read");
    struct waits_wake wake = {7, time_ns + lasts_ns, WAKER_WALKED, {0}};
    if (waker) {
        assert_true(waits_wants_wake(s->waits, &wake));
        wake.stack = stacks_push(stacks, wake.stack, waitstream_waker(s->profile, text_of(waker)));
        for (int i = 0; sends && i < 2; i++)
            wake.stack = stacks_push(
                stacks, wake.stack,
                profile_add_named_frame(s->profile, text_of(i ? sends : "main"), FRAME_WAKER));
        waits_wake(s->waits, &wake);
    }
    runs(s, 7, time_ns + lasts_ns);
}

static void who_ended_waits_has_a_row_for_each_pair_of_places(void **state)
{
    (void)state;
    struct stage s = stage_with_wakes();
    begins(&s, 7, 0, THREAD_RUNNING);
    is_woken(&s, 1000, 10, "client", "send_it");
    is_woken(&s, 2000, 30, "client", "send_it");
    is_woken(&s, 3000, 25, "editor", "send_it");
    is_woken(&s, 4000, 20, "client", "close_it");
    is_woken(&s, 5000, 15, "kworker", NULL);
    is_woken(&s, 6000, 900, NULL, NULL);
    waits_stop(s.waits, 10000);
    autofree char *text = report_of(&s, 160);
    const char *const rows[] = {
        "\n  blocked  of all woken  wakeups  reason  woken by  from",
        "\n    40 ns         40.0%        2  pipe    client    send_it < main   work\n",
        "\n    25 ns         25.0%        1  pipe    editor    send_it < main   work\n",
        "\n    20 ns         20.0%        1  pipe    client    close_it < main  work\n",
        "\n    15 ns         15.0%        1  pipe    kworker                    work\n"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strstr(text, rows[i]))
            fail_msg("no '%s' in\n%s", rows[i], text);
    assert_null(strstr(text, "more not shown"));
    assert_null(strstr(text, "Wakers are known for")); /* each wait has a stack of its own */
    assert_null(strstr(text, "A wakeup counts with the whole wait"));
    autofree char *part = report_until(&s, 160, 9000);
    assert_non_null(strstr(part, "A wakeup counts with the whole wait that it ended"));
    stage_close(&s);
}

static void rates_are_of_wall_time_and_who_never_woke_comes_last(void **state)
{
    (void)state;
    struct stage s = stage_open();
    struct waitsum w;
    struct waitinsight list[WAITINSIGHTS_MAX];
    struct err err;
    uint64_t t = 0;
    struct waits_at sleeper = at(&s, 6, 50000000);
    waits_found(s.waits, &sleeper, &(struct waits_look){THREAD_BLOCKED, 50000000, {0}});
    begins(&s, 7, 0, THREAD_RUNNING);
    for (int i = 0; i < 1000; i++) { /* of 0.4 s half without a CPU */
        leaves(&s, 7, t += 100000, "anon_pipe_read");
        runs(&s, 7, t += 100000);
        is_preempted(&s, 7, t);
        runs(&s, 7, t += 200000);
    }
    waits_stop(s.waits, t);
    struct selection waits = selection_all(s.profile, (struct value_ref){s.streams.waits, 0});
    struct selection states = selection_all(s.profile, (struct value_ref){s.streams.states, 0});
    assert_int_equal(waitsum_build(&w, &waits, &states, &err), 0);
    assert_int_equal(w.threads.at[0].tid, 7);
    assert_int_equal(waitinsight_find(&w, list), 2);
    assert_string_equal(list[0].id, "no-cpu");
    assert_string_equal(list[1].id, "wakes-often");
    assert_non_null(strstr(list[1].evidence, "(2,500 per second)"));
    waitsum_done(&w);
    stage_close(&s);
}

/* A second of a thread: it waits for a pipe and then for the clock, and the range cuts both. */
static void of_a_range_of_time_only_what_is_inside_counts(void **state)
{
    enum { MS = 1000000 };
    (void)state;
    struct stage s = stage_open();
    struct selection waits, states;
    struct waitsum w;
    struct parallel q;
    struct err err;
    begins(&s, 7, 0, THREAD_RUNNING);
    leaves(&s, 7, 100 * MS, "pipe_read");
    runs(&s, 7, 500 * MS);
    leaves(&s, 7, 600 * MS, "do_nanosleep");
    runs(&s, 7, 900 * MS);
    begins(&s, 8, 750 * MS, THREAD_RUNNING); /* not yet there */
    waits_stop(s.waits, 1000 * MS);
    struct selection_opts range = {.time = "200ms..700ms"};
    struct value_ref of_waits = {s.streams.waits, 0}, of_states = {s.streams.states, 0};
    assert_int_equal(selection_build(&waits, s.profile, of_waits, &range, &err), 0);
    assert_int_equal(selection_build(&states, s.profile, of_states, &range, &err), 0);
    assert_int_equal(waitsum_build(&w, &waits, &states, &err), 0);
    assert_int_equal(w.threads.n, 1);
    assert_int_equal(w.wall_ns, 500 * MS);
    assert_int_equal(w.state_ns[THREAD_BLOCKED], 400 * MS);
    assert_int_equal(w.state_ns[THREAD_RUNNING], 100 * MS);
    assert_int_equal(w.by_reason[WAIT_PIPE].ns, 300 * MS);
    assert_int_equal(w.by_reason[WAIT_PIPE].max_ns, 300 * MS);
    assert_int_equal(w.by_reason[WAIT_SLEEP].ns, 100 * MS);
    assert_int_equal(w.n_cut, 2);
    parallel_build(&q, &states, NULL);
    assert_int_equal(q.wall_ns, 500 * MS);
    assert_int_equal(q.serial_ns, 100 * MS);
    waitsum_done(&w);
    assert_int_equal(waitsum_build(&w, &waits, NULL, &err), 0); /* stacks were asked for */
    assert_false(w.has_states);
    assert_int_equal(w.wall_ns, 0);
    assert_int_equal(w.by_reason[WAIT_PIPE].ns, 300 * MS);
    waitsum_done(&w);
    selection_done(&waits);
    selection_done(&states);
    stage_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_range_of_time_only_what_is_inside_counts),
        cmocka_unit_test(waits_that_reach_out_of_the_recording_are_counted),
        cmocka_unit_test(sums_are_by_reason_by_thread_and_by_function),
        cmocka_unit_test(cpu_time_above_running_time_is_that_of_the_switches),
        cmocka_unit_test(the_agent_is_no_place_where_a_program_waits),
        cmocka_unit_test(rows_do_not_differ_only_inside_the_c_library),
        cmocka_unit_test(rows_that_would_look_alike_are_one),
        cmocka_unit_test(rows_that_are_one_are_summed_and_sorted_anew),
        cmocka_unit_test(who_only_waits_in_the_library_is_at_the_call),
        cmocka_unit_test(rows_of_one_place_differ_by_reason),
        cmocka_unit_test(who_ended_waits_has_a_row_for_each_pair_of_places),
        cmocka_unit_test(names_of_runtimes_are_known),
        cmocka_unit_test(waits_of_goroutines_are_said_to_be_missing),
        cmocka_unit_test(rates_are_of_wall_time_and_who_never_woke_comes_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
