/* From records of context switches to waits, states of threads, and sums of them. */
#include "analysis/waitinsight.h"
#include "record/waits.h"

#include "base/mem.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

struct stage {
    struct profile *profile;
    struct waits *waits;
    struct waitstream streams;
};

static struct stage stage_open(void)
{
    struct stage s = {.profile = profile_new()};
    struct err err;
    s.waits = waits_new(s.profile);
    assert_int_equal(waits_start(s.waits, &err), 0);
    assert_true(waitstream_find(s.profile, &s.streams));
    return s;
}

static void stage_close(struct stage *s)
{
    waits_free(s->waits);
    profile_free(s->profile);
}

static struct waits_at at(struct stage *s, int tid, uint64_t time_ns)
{
    struct thread_key key = {profile_add_str(s->profile, text_of("worker")), 1, tid};
    return (struct waits_at){1, tid, time_ns, profile_add_thread(s->profile, &key)};
}

/* A stack of two functions, the second the kernel's. */
static struct stack_id stack_of(struct stage *s, const char *user, const char *kernel)
{
    struct frame_id frames[] = {profile_add_named_frame(s->profile, text_of(user), FRAME_USER),
                                profile_add_named_frame(s->profile, text_of(kernel), FRAME_KERNEL)};
    return stacks_intern(&s->profile->stacks, frames, 2);
}

static void begins(struct stage *s, int tid, uint64_t ns, enum thread_state state)
{
    struct waits_at a = at(s, tid, ns);
    waits_begin(s->waits, &a, state);
}

static void leaves(struct stage *s, int tid, uint64_t ns, const char *kernel)
{
    struct waits_at a = at(s, tid, ns);
    waits_leave(s->waits, &a, stack_of(s, "work", kernel), UNWIND_WHOLE);
    waits_out(s->waits, &a, false);
}

static void is_preempted(struct stage *s, int tid, uint64_t ns)
{
    struct waits_at a = at(s, tid, ns);
    waits_out(s->waits, &a, true);
}

static void runs(struct stage *s, int tid, uint64_t ns)
{
    struct waits_at a = at(s, tid, ns);
    waits_in(s->waits, &a);
}

static void ends(struct stage *s, int tid, uint64_t ns)
{
    struct waits_at a = at(s, tid, ns);
    waits_end(s->waits, &a);
}

static int64_t wait_value(struct stage *s, enum wait_column column, size_t row)
{
    return profile_stream(s->profile, s->streams.waits)
        ->rows.value[s->streams.wait_column[column]][row];
}

static int64_t state_total(struct stage *s, enum thread_state state)
{
    return profile_stream(s->profile, s->streams.states)
        ->types[s->streams.state_column[state]]
        .total;
}

static size_t count_waits(struct stage *s)
{
    return profile_stream(s->profile, s->streams.waits)->rows.n;
}

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
    waits_found(s.waits, &a, THREAD_UNKNOWN, 5);
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
    assert_int_equal(waits_unknown_ends(s.waits), 1);
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
    assert_int_equal(waits_unknown_ends(s.waits), 0);
    assert_int_equal(waits_facts(s.waits)->waits, 2);
    stage_close(&s);
}

static void threads_that_were_there_before_are_what_their_first_record_says(void **state)
{
    (void)state;
    struct stage s = stage_open();
    for (int tid = 7; tid <= 10; tid++) {
        struct waits_at a = at(&s, tid, 0);
        waits_found(s.waits, &a, tid == 8 ? THREAD_UNKNOWN : THREAD_BLOCKED, 20);
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

/* The ids of what stands out, "a b". */
static char *insights_of(struct stage *s)
{
    struct waitsum w;
    struct waitinsight list[WAITINSIGHTS_MAX];
    struct err err;
    char *all = mem_strdup("");
    struct selection waits = selection_all(s->profile, (struct value_ref){s->streams.waits, 0});
    struct selection states = selection_all(s->profile, (struct value_ref){s->streams.states, 0});
    assert_int_equal(waitsum_build(&w, &waits, &states, &err), 0);
    for (size_t i = 0, n = waitinsight_find(&w, list); i < n; i++) {
        autofree char *before = all;
        all = mem_printf("%s%s%s", before, *before ? " " : "", list[i].id);
    }
    waitsum_done(&w);
    return all;
}

/* A thread that waits N times for WAIT_US and runs RUN_US in between; KERNEL NULL: preempted. */
static char *insights_of_loop(int n, uint64_t run_us, uint64_t wait_us, const char *kernel)
{
    struct stage s = stage_open();
    uint64_t ns = 0;
    begins(&s, 7, 0, THREAD_RUNNING);
    for (int i = 0; i < n; i++) {
        ns += run_us * 1000;
        if (kernel)
            leaves(&s, 7, ns, kernel);
        else
            is_preempted(&s, 7, ns);
        ns += wait_us * 1000;
        runs(&s, 7, ns);
    }
    waits_stop(s.waits, ns);
    char *all = insights_of(&s);
    stage_close(&s);
    return all;
}

static void only_waits_that_matter_make_insights(void **state)
{
    static const struct {
        int n;
        uint64_t run_us, wait_us;
        const char *kernel, *insights;
    } cases[] = {
        {100, 900, 100, "do_nanosleep", ""}, /* who sleeps wants to */
        {100, 100, 5000, "ep_poll", ""},     /* who waits for work has none */
        {100, 1000, 1000, NULL, "no-cpu"},   /* half of the time it wants */
        {100, 1000, 100, NULL, ""},          /* a tenth */
        {100, 1000, 1000, "futex_lock_pi", "lock-waits"},
        {100, 10000, 100, "futex_lock_pi", ""},
        {1000, 100, 700, "do_nanosleep", "timer-storm"},
        {100, 100, 9000, "do_nanosleep", ""}, /* now and then */
        {100, 1000, 1000, "exc_page_fault", "page-faults"},
        {100, 1000, 1000, "do_fsync", "io-in-path"},
        {2, 1000, 1000, "do_fsync", ""}, /* 2 ms in all */
        {1000, 100, 100, "anon_pipe_read", "wakes-often"},
        {1000, 1000, 1000, "anon_pipe_read", ""},
        {1000, 100, 100, "futex_lock_pi", "lock-waits wakes-often"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        autofree char *is =
            insights_of_loop(cases[i].n, cases[i].run_us, cases[i].wait_us, cases[i].kernel);
        assert_string_equal(is, cases[i].insights);
    }
}

/* What is advised to a thread that has a CPU for half of the time it wants one. */
static char *advice_at_load(const char *load)
{
    struct stage s = stage_open();
    struct waitsum w;
    struct waitinsight list[WAITINSIGHTS_MAX];
    struct err err;
    begins(&s, 7, 0, THREAD_RUNNING);
    is_preempted(&s, 7, 100000000);
    runs(&s, 7, 200000000);
    waits_stop(s.waits, 200000000);
    meta_set_str(&s.profile->meta, META_CPUS, "2 online, 2 usable");
    meta_set_str(&s.profile->meta, META_LOAD, load);
    struct selection waits = selection_all(s.profile, (struct value_ref){s.streams.waits, 0});
    struct selection states = selection_all(s.profile, (struct value_ref){s.streams.states, 0});
    assert_int_equal(waitsum_build(&w, &waits, &states, &err), 0);
    assert_int_equal(waitinsight_find(&w, list), 1);
    char *advice = mem_strdup(list[0].advice);
    waitsum_done(&w);
    stage_close(&s);
    return advice;
}

static void a_busy_machine_is_no_reason_for_fewer_threads(void **state)
{
    (void)state;
    autofree char *busy = advice_at_load("24.10 20.00 10.00");
    autofree char *quiet = advice_at_load("0.30 20.00 10.00");
    assert_non_null(strstr(busy, "Other processes wanted the CPUs too"));
    assert_null(strstr(busy, "fewer threads"));
    assert_non_null(strstr(quiet, "fewer threads"));
}

/* THREADS workers of 1 s: of each 10 ms they run, queue and wait so many. */
static void workers(struct stage *s, int threads, int run_ms, int queue_ms, const char *kernel)
{
    for (int i = 0; i < threads; i++) {
        begins(s, 10 + i, 0, THREAD_RUNNING);
        for (uint64_t t = 0; t < 1000; t += 10) {
            uint64_t ns = (t + (uint64_t)run_ms) * 1000000;
            if (queue_ms) {
                is_preempted(s, 10 + i, ns);
                ns += (uint64_t)queue_ms * 1000000;
                runs(s, 10 + i, ns);
            }
            if (run_ms + queue_ms < 10) {
                leaves(s, 10 + i, ns, kernel);
                runs(s, 10 + i, (t + 10) * 1000000);
            }
        }
    }
}

static void pool_on(struct stage *s, const char *load)
{
    meta_set_str(&s->profile->meta, META_CPUS, "8 online, 2 usable");
    meta_set_str(&s->profile->meta, META_LOAD, load);
    waits_stop(s->waits, 1000000000);
}

static void more_threads_than_cpus_are_a_pool_too_large(void **state)
{
    (void)state;
    static const struct {
        int threads, run_ms, queue_ms;
        const char *load, *insights;
    } cases[] = {
        {8, 2, 6, "0.10 0 0", "pool-too-large"},
        {8, 2, 6, "9.10 0 0", "no-cpu"}, /* others wanted the CPUs */
        {2, 5, 5, "0.10 0 0", "no-cpu"}, /* as many as there are CPUs */
        {8, 2, 0, "0.10 0 0", ""},       /* nobody queues */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stage s = stage_open();
        workers(&s, cases[i].threads, cases[i].run_ms, cases[i].queue_ms, "ep_poll");
        pool_on(&s, cases[i].load);
        autofree char *is = insights_of(&s);
        assert_string_equal(is, cases[i].insights);
        stage_close(&s);
    }
}

/* A thread 'boss' waits for all of the second and is woken by NAME at its end. */
static void boss_waits(struct stage *s, const char *waker)
{
    struct profile *p = s->profile;
    struct thread_key key = {profile_add_str(p, text_of("boss")), 1, 5};
    struct waits_at a = {1, 5, 0, profile_add_thread(p, &key)};
    waits_begin(s->waits, &a, THREAD_RUNNING);
    a.time_ns = 1000;
    struct frame_id frames[] = {
        profile_add_named_frame(p, text_of("pthread_cond_wait"), FRAME_USER),
        profile_add_named_frame(p, text_of("futex_do_wait"), FRAME_KERNEL)};
    waits_leave(s->waits, &a, stacks_intern(&p->stacks, frames, 2), UNWIND_WHOLE);
    waits_out(s->waits, &a, false);
    struct waits_wake wake = {5, 999000000, true, {0}};
    assert_true(waits_wants_wake(s->waits, &wake));
    wake.stack = stacks_push(&p->stacks, wake.stack, waitstream_waker(p, text_of(waker)));
    waits_wake(s->waits, &wake);
    a.time_ns = 999000000;
    waits_in(s->waits, &a);
}

static void workers_that_are_never_idle_while_cpus_are_make_a_pool_too_small(void **state)
{
    (void)state;
    static const struct {
        int threads, run_ms;
        const char *kernel, *waker, *insights;
    } cases[] = {
        {2, 1, "sk_wait_data", "worker", ""}, /* they wait for others, perhaps for work */
        {2, 1, "do_nanosleep", "worker", "pool-too-small"},
        {2, 1, "do_nanosleep", "somebody", ""},          /* the boss waits for somebody else */
        {2, 1, "futex_do_wait", "worker", ""},           /* perhaps for work */
        {2, 1, "futex_lock_pi", "worker", "lock-waits"}, /* more threads would queue for the lock */
        {2, 10, "do_nanosleep", "worker", ""},           /* there is no CPU for more */
        {1, 1, "do_nanosleep", "worker", ""},            /* no pool */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stage s = {.profile = profile_new()};
        struct err err;
        s.waits = waits_new(s.profile);
        waits_expect_wakes(s.waits);
        assert_int_equal(waits_start(s.waits, &err), 0);
        assert_true(waitstream_find(s.profile, &s.streams));
        boss_waits(&s, cases[i].waker);
        workers(&s, cases[i].threads, cases[i].run_ms, 0, cases[i].kernel);
        pool_on(&s, "0.10 0 0");
        autofree char *is = insights_of(&s);
        assert_string_equal(is, cases[i].insights);
        stage_close(&s);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_lasts_from_leaving_to_running_again),
        cmocka_unit_test(states_add_up_to_the_life_of_a_thread),
        cmocka_unit_test(a_lost_end_is_counted_and_not_made_up),
        cmocka_unit_test(records_that_contradict_each_other_make_the_time_between_unknown),
        cmocka_unit_test(a_record_that_comes_late_makes_no_wait),
        cmocka_unit_test(a_wait_that_lasts_counts_up_to_the_end_of_the_recording),
        cmocka_unit_test(a_thread_that_never_runs_is_runnable_all_its_life),
        cmocka_unit_test(a_wait_over_two_files_belongs_to_the_one_in_which_it_ends),
        cmocka_unit_test(threads_that_were_there_before_are_what_their_first_record_says),
        cmocka_unit_test(a_number_that_is_used_again_is_another_thread),
        cmocka_unit_test(sums_are_by_reason_by_thread_and_by_function),
        cmocka_unit_test(only_waits_that_matter_make_insights),
        cmocka_unit_test(a_busy_machine_is_no_reason_for_fewer_threads),
        cmocka_unit_test(more_threads_than_cpus_are_a_pool_too_large),
        cmocka_unit_test(workers_that_are_never_idle_while_cpus_are_make_a_pool_too_small),
        cmocka_unit_test(a_profile_without_waits_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
