/* What stands out in waits, and what is advised. */
#include "support_waitsum.h"

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

/* One compiler of a build that reads for 60 of its 100 ms is not why the build takes long. */
static void a_short_life_full_of_files_is_no_reason_in_a_long_run(void **state)
{
    enum { MS = 1000000 };
    (void)state;
    for (int seconds = 2; seconds <= 6; seconds += 4) {
        struct stage s = stage_open();
        struct waits_at a = at(&s, 7, 20 * MS);
        begins(&s, 7, 0, THREAD_RUNNING);
        waits_leave(s.waits, &a, stack_of(&s, "scan", "filemap_fault"), UNWIND_WHOLE);
        waits_out(s.waits, &a, false);
        runs(&s, 7, 80 * MS);
        ends(&s, 7, 100 * MS);
        begins(&s, 8, 0, THREAD_RUNNING);
        ends(&s, 8, (uint64_t)seconds * 1000 * MS);
        waits_stop(s.waits, (uint64_t)seconds * 1000 * MS);
        autofree char *ids = insights_of(&s);
        assert_string_equal(ids, seconds == 2 ? "io-in-path" : "");
        stage_close(&s);
    }
}

/* A lock of Rust's library is named by who takes it, and comes before what took less time. */
static void insights_name_the_program_and_the_longest_is_first(void **state)
{
    (void)state;
    struct stage s = stage_open();
    struct frame_id frames[] = {
        frame_in(&s, "/bin/app", "app::critical"),
        frame_in(&s, "/bin/app", "<std::sync::Mutex<T> as app::Lock>::lock"),
        frame_in(&s, "/bin/app", "std::sys::sync::mutex::futex::Mutex::lock_contended"),
        frame_in(&s, LIBC, "syscall"),
        profile_add_named_frame(s.profile, text_of("futex_wait"), FRAME_KERNEL)};
    begins(&s, 7, 0, THREAD_RUNNING);
    struct waits_at a = at(&s, 7, 10000000);
    waits_leave(s.waits, &a, stacks_intern(&s.profile->stacks, frames, 5), UNWIND_WHOLE);
    waits_out(s.waits, &a, false);
    runs(&s, 7, 900000000);
    is_preempted(&s, 7, 910000000);
    runs(&s, 7, 960000000);
    waits_stop(s.waits, 970000000);
    autofree char *ids = insights_of(&s), *said = evidence_of(&s, "lock-waits");
    assert_string_equal(ids, "lock-waits no-cpu");
    if (!strstr(said, "longest in app::critical"))
        fail_msg("%s", said);
    stage_close(&s);
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
        {1000, 100, 100, "do_fsync", "io-in-path"}, /* nobody is at the other side */
        {1000, 100, 100, "futex_lock_pi", "lock-waits wakes-often"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        autofree char *is =
            insights_of_loop(cases[i].n, cases[i].run_us, cases[i].wait_us, cases[i].kernel);
        assert_string_equal(is, cases[i].insights);
    }
}

/* The stack of a CPU sample is about where the thread was, not where it waits, and for what. */
static void where_a_thread_only_ran_is_not_called_where_it_waits(void **state)
{
    (void)state;
    struct stage s = stage_open();
    uint64_t ns = 0;
    begins(&s, 7, 0, THREAD_RUNNING);
    for (int i = 0; i < 1000; i++) {
        waits_near(s.waits, 7, stack_of(&s, "near", "sample"));
        struct waits_at a = at(&s, 7, ns += 100000);
        waits_out(s.waits, &a, false);
        runs(&s, 7, ns += 100000);
    }
    waits_stop(s.waits, ns);
    autofree char *all = insights_of(&s);
    assert_string_equal(all, "");
    stage_close(&s);
}

/* Go's runtime wakes for its own ends: it is no timer of the program. */
static void the_clock_of_gos_runtime_is_no_timer_storm(void **state)
{
    static const char *const loops[] = {"runtime.sysmon", "main.poll"};
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct stage s = stage_open();
        uint64_t ns = 0;
        begins(&s, 7, 0, THREAD_RUNNING);
        for (int i = 0; i < 1000; i++) {
            struct waits_at a = at(&s, 7, ns += 100000);
            waits_leave(s.waits, &a, stack_of(&s, loops[k], "do_nanosleep"), UNWIND_WHOLE);
            waits_out(s.waits, &a, false);
            runs(&s, 7, ns += 700000);
        }
        waits_stop(s.waits, ns);
        autofree char *all = insights_of(&s);
        assert_string_equal(all, k ? "timer-storm" : "");
        stage_close(&s);
    }
}

/* What waits for a CPU after a wake passes for blocked where nobody saw the wake. */
static void without_wakeups_the_wait_for_a_cpu_is_a_least(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct stage s = stage_open();
        begins(&s, 7, 0, THREAD_RUNNING);
        is_preempted(&s, 7, 1000000000);
        runs(&s, 7, 2000000000);
        waits_stop(s.waits, 2000000000);
        meta_set_str(&s.profile->meta, META_WAITS_WAKERS, i ? "yes" : "the kernel is hidden");
        autofree char *text = evidence_of(&s, "no-cpu");
        assert_int_equal(strstr(text, "had none for at least 1 s") != NULL, !i);
        assert_int_equal(strstr(text, "had none for 1 s") != NULL, i);
        stage_close(&s);
    }
}

/* What is said of a thread that has a CPU for half of the time it wants one. */
static char *cause_of(uint64_t own_ns, uint64_t throttled_ns, uint64_t stolen_ns)
{
    struct stage s = stage_open();
    struct waitsum w;
    struct waitinsight list[WAITINSIGHTS_MAX];
    struct err err;
    struct meta *m = &s.profile->meta;
    begins(&s, 7, 0, THREAD_RUNNING);
    is_preempted(&s, 7, 1000000000);
    runs(&s, 7, 2000000000);
    ends(&s, 7, 2000000000);
    waits_stop(s.waits, 2000000000);
    meta_set_str(m, META_CPUS, "2 online, 2 usable");
    meta_set_u64(m, META_DURATION_NS, 2000000000);
    meta_set_u64(m, META_WAITS_QUEUED_NS, 1000000000);
    meta_set_u64(m, META_WAITS_QUEUED_OWN_NS, own_ns);
    meta_set_u64(m, META_THROTTLED_NS, throttled_ns);
    meta_set_u64(m, META_STOLEN_NS, stolen_ns);
    struct selection waits = selection_all(s.profile, (struct value_ref){s.streams.waits, 0});
    struct selection states = selection_all(s.profile, (struct value_ref){s.streams.states, 0});
    assert_int_equal(waitsum_build(&w, &waits, &states, &err), 0);
    assert_int_equal(waitinsight_find(&w, list), 1);
    assert_string_equal(list[0].id, "no-cpu");
    char *said = mem_printf("%s / %s", list[0].evidence, list[0].advice);
    waitsum_done(&w);
    stage_close(&s);
    return said;
}

static void the_cause_of_having_no_cpu_is_told_where_it_is_known(void **state)
{
    static const struct {
        uint64_t own_ns, throttled_ns, stolen_ns;
        const char *evidence, *advice;
    } cases[] = {
        {970000000, 0, 0, "own threads had the CPU for 97%", "competes with itself"},
        {20000000, 0, 0, "others for 98%", "quieter machine"},
        {500000000, 0, 0, "own threads had the CPU for 50%", "Both"},
        {970000000, 600000000, 0, "used up its CPU quota for 600 ms", "cpu.max"},
        {20000000, 0, 900000000, "(steal time)", "waits for its host"},
        {20000000, 0, 90000000, "others for 98%", "quieter machine"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        autofree char *said = cause_of(cases[i].own_ns, cases[i].throttled_ns, cases[i].stolen_ns);
        if (!strstr(said, cases[i].evidence) || !strstr(said, cases[i].advice))
            fail_msg("case %zu: %s", i, said);
    }
}

/* 8 waits longer for files in all, but it is 7 that does little else: its own place is named. */
static void a_thread_that_waits_for_files_is_named_with_its_own_place(void **state)
{
    enum { MS = 1000000 };
    (void)state;
    struct stage s = stage_open();
    struct waitsum w;
    struct waitinsight list[WAITINSIGHTS_MAX];
    struct err err;
    for (int tid = 7; tid < 9; tid++) {
        uint64_t end = tid == 7 ? 100 : 1000;
        struct waits_at a = at(&s, tid, 20 * MS);
        begins(&s, tid, 0, THREAD_RUNNING);
        waits_leave(s.waits, &a, stack_of(&s, tid == 7 ? "scan" : "commit", "filemap_fault"),
                    UNWIND_WHOLE);
        waits_out(s.waits, &a, false);
        runs(&s, tid, (tid == 7 ? 80 : 120) * (uint64_t)MS);
        ends(&s, tid, end * MS);
    }
    waits_stop(s.waits, 1000 * (uint64_t)MS);
    struct selection waits = selection_all(s.profile, (struct value_ref){s.streams.waits, 0});
    struct selection states = selection_all(s.profile, (struct value_ref){s.streams.states, 0});
    assert_int_equal(waitsum_build(&w, &waits, &states, &err), 0);
    assert_int_equal(waitinsight_find(&w, list), 1);
    assert_string_equal(list[0].id, "io-in-path");
    if (!strstr(list[0].evidence, "mostly in scan"))
        fail_msg("%s", list[0].evidence);
    waitsum_done(&w);
    stage_close(&s);
}

/* Thread 7 waits often and shortly for a pipe, 100 ms in all, and then 60 ms in KERNEL. */
static void waits_often_and_once(struct stage *s, const char *kernel)
{
    uint64_t t = 0;
    begins(s, 7, 0, THREAD_RUNNING);
    for (int i = 0; i < 1000; i++) {
        leaves(s, 7, t += 100000, "anon_pipe_read");
        runs(s, 7, t += 100000);
    }
    leaves(s, 7, t, kernel);
    runs(s, 7, t += 60000000);
    waits_stop(s->waits, t);
}

/* Who waits for fsync has nothing to read ahead. */
static void files_and_disks_have_advice_of_their_own(void **state)
{
    (void)state;
    for (int sync = 0; sync < 2; sync++) {
        struct stage s = stage_open();
        waits_often_and_once(&s, sync ? "do_fsync" : "filemap_read");
        autofree char *ids = insights_of(&s), *advice = told_of(&s, "io-in-path", true);
        assert_string_equal(ids, "wakes-often io-in-path"); /* the longer one first */
        assert_int_equal(!strstr(advice, "Read ahead"), sync);
        assert_int_equal(!strstr(advice, "sync several changes at once"), !sync);
        stage_close(&s);
    }
}

/* 60 ms for faults and 30 ms for files are not 90 ms for faults. */
static void a_wait_for_disks_names_what_its_time_was_for(void **state)
{
    enum { MS = 1000000 };
    static const struct {
        const char *kernel, *said;
    } cases[] = {{"filemap_fault", "waits 90 ms for files and page faults, 90% of its wall time"},
                 {"asm_exc_page_fault", "waits 90 ms for page faults, 90% of its wall time"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stage s = stage_open();
        struct waitsum w;
        struct waitinsight list[WAITINSIGHTS_MAX];
        struct err err;
        begins(&s, 7, 0, THREAD_RUNNING);
        leaves(&s, 7, 5 * MS, "asm_exc_page_fault");
        runs(&s, 7, 65 * MS);
        leaves(&s, 7, 66 * MS, cases[i].kernel);
        runs(&s, 7, 96 * MS);
        ends(&s, 7, 100 * MS);
        waits_stop(s.waits, 100 * MS);
        struct selection waits = selection_all(s.profile, (struct value_ref){s.streams.waits, 0});
        struct selection states = selection_all(s.profile, (struct value_ref){s.streams.states, 0});
        assert_int_equal(waitsum_build(&w, &waits, &states, &err), 0);
        assert_int_equal(waitinsight_find(&w, list), 1);
        assert_string_equal(list[0].id, "page-faults");
        if (!strstr(list[0].evidence, cases[i].said))
            fail_msg("%s", list[0].evidence);
        waitsum_done(&w);
        stage_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_and_disks_have_advice_of_their_own),
        cmocka_unit_test(a_wait_for_disks_names_what_its_time_was_for),
        cmocka_unit_test(the_cause_of_having_no_cpu_is_told_where_it_is_known),
        cmocka_unit_test(a_thread_that_waits_for_files_is_named_with_its_own_place),
        cmocka_unit_test(a_short_life_full_of_files_is_no_reason_in_a_long_run),
        cmocka_unit_test(insights_name_the_program_and_the_longest_is_first),
        cmocka_unit_test(only_waits_that_matter_make_insights),
        cmocka_unit_test(where_a_thread_only_ran_is_not_called_where_it_waits),
        cmocka_unit_test(the_clock_of_gos_runtime_is_no_timer_storm),
        cmocka_unit_test(without_wakeups_the_wait_for_a_cpu_is_a_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
