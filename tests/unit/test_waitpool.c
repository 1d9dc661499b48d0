/* What waits say of pools of threads: too small, too large, idle. */
#include "support_waitsum.h"

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
    assert_non_null(strstr(busy, "other processes may have taken them"));
    assert_null(strstr(busy, "fewer threads"));
    assert_non_null(strstr(quiet, "fewer threads"));
}

/* THREADS workers of 1 s: of each 10 ms they run, queue and wait so many. */
static void workers(struct stage *s, int threads, int run_ms, int queue_ms, const char *kernel)
{
    int first = s->pid * 100 + 10;
    for (int i = first; i < first + threads; i++) {
        begins(s, i, 0, THREAD_RUNNING);
        for (uint64_t t = 0; t < 1000; t += 10) {
            uint64_t ns = (t + (uint64_t)run_ms) * 1000000;
            if (queue_ms) {
                is_preempted(s, i, ns);
                ns += (uint64_t)queue_ms * 1000000;
                runs(s, i, ns);
            }
            if (run_ms + queue_ms < 10) {
                leaves(s, i, ns, kernel);
                runs(s, i, (t + 10) * 1000000);
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

/* A thread 'boss' waits from FROM_NS to the end of the second, when WAKER wakes it. */
static void boss_waits_from(struct stage *s, const char *waker, uint64_t from_ns)
{
    struct profile *p = s->profile;
    int pid = s->pid ? s->pid : 1, tid = s->pid * 100 + 5;
    struct thread_key key = {profile_add_str(p, text_of("boss")), pid, tid};
    struct waits_at a = {pid, tid, 0, profile_add_thread(p, &key)};
    waits_begin(s->waits, &a, THREAD_RUNNING);
    a.time_ns = from_ns;
    struct frame_id frames[] = {
        profile_add_named_frame(p, text_of("pthread_cond_wait"), FRAME_USER),
        profile_add_named_frame(p, text_of("futex_do_wait"), FRAME_KERNEL)};
    waits_leave(s->waits, &a, stacks_intern(&p->stacks, frames, 2), UNWIND_WHOLE);
    waits_out(s->waits, &a, false);
    struct waits_wake wake = {tid, 999000000, WAKER_WALKED, {0}};
    assert_true(waits_wants_wake(s->waits, &wake));
    wake.stack = stacks_push(&p->stacks, wake.stack, waitstream_waker(p, text_of(waker)));
    waits_wake(s->waits, &wake);
    a.time_ns = 999000000;
    waits_in(s->waits, &a);
}

static void boss_waits(struct stage *s, const char *waker)
{
    boss_waits_from(s, waker, 1000);
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
        {1, 1, "do_nanosleep", "worker", "pool-too-small"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stage s = stage_with_wakes();
        boss_waits(&s, cases[i].waker);
        workers(&s, cases[i].threads, cases[i].run_ms, 0, cases[i].kernel);
        pool_on(&s, "0.10 0 0");
        autofree char *is = insights_of(&s);
        assert_string_equal(is, cases[i].insights);
        stage_close(&s);
    }
}

/* A process with a pool called NAME of which it waits for so long. */
static void too_small_pool(struct stage *s, int pid, const char *name, uint64_t wait_ms)
{
    s->pid = pid;
    s->name = name;
    boss_waits_from(s, name, (999 - wait_ms) * 1000000);
    workers(s, 1, 1, 0, "do_nanosleep");
}

/* Two fifths of its life a thread must wait for others, however long that is. */
static void a_pool_is_too_small_only_where_somebody_waits_for_it_for_long(void **state)
{
    (void)state;
    for (uint64_t wait_ms = 300; wait_ms <= 500; wait_ms += 200) {
        struct stage s = stage_with_wakes();
        too_small_pool(&s, 1, "disk", wait_ms);
        pool_on(&s, "0.10 0 0");
        autofree char *is = insights_of(&s);
        assert_string_equal(is, wait_ms > 400 ? "pool-too-small" : "");
        stage_close(&s);
    }
}

static void of_pools_that_are_too_small_the_one_most_waited_for_is_named(void **state)
{
    (void)state;
    static const char *const names[] = {"encode", "upload", "verify"};
    for (int worst = 0; worst < 3; worst++) {
        struct stage s = stage_with_wakes();
        for (int i = 0; i < 3; i++)
            too_small_pool(&s, i + 1, names[i], i == worst ? 900 : 700);
        pool_on(&s, "0.10 0 0");
        autofree char *text = evidence_of(&s, "pool-too-small");
        assert_non_null(strstr(text, names[worst]));
        assert_non_null(strstr(text, "900"));
        stage_close(&s);
    }
}

/* Of each 10 ms 32 workers wait 9 for work; as many as are always at work need no word. */
static void threads_that_mostly_wait_for_work_are_an_idle_pool(void **state)
{
    (void)state;
    for (int busy = 0; busy < 2; busy++) {
        struct stage s = stage_open();
        workers(&s, 32, busy ? 9 : 1, 0, "futex_do_wait");
        pool_on(&s, "0.10 0 0");
        autofree char *is = insights_of(&s), *said = evidence_of(&s, "pool-idle");
        assert_string_equal(is, busy ? "" : "pool-idle");
        assert_string_equal(said, busy ? ""
                                       : "of the 32 threads 'worker' 3.2 were at work on average; "
                                         "they waited for work for 28.8 s in total");
        stage_close(&s);
    }
}

/* Nobody waits for threads that are idle: whatever threads do wait for is more. */
static void an_idle_pool_is_the_last_to_be_told(void **state)
{
    (void)state;
    struct stage s = stage_open();
    workers(&s, 32, 1, 0, "futex_do_wait");
    begins(&s, 99, 0, THREAD_RUNNING);
    struct waits_at a = at(&s, 99, 100000000);
    waits_leave(s.waits, &a, stack_of(&s, "flush", "do_fsync"), UNWIND_WHOLE);
    waits_out(s.waits, &a, false);
    runs(&s, 99, 900000000);
    pool_on(&s, "0.10 0 0");
    autofree char *is = insights_of(&s);
    assert_string_equal(is, "io-in-path pool-idle");
    stage_close(&s);
}

/*
 * Threads that nobody named have their program's name, as its first thread: at one place they wait
 * for the same work, at many each does something else.
 */
static void threads_without_names_are_a_pool_where_they_wait_at_one_place(void **state)
{
    static const char *const places[] = {"take_job", "reap", "flush", "listen"};
    (void)state;
    for (uint64_t many = 1; many <= 4; many += 3) {
        struct stage s = stage_open();
        for (int tid = s.pid; tid < s.pid + 8; tid++) {
            begins(&s, tid, 0, THREAD_RUNNING);
            for (uint64_t ms = 0; ms < 1000; ms += 10) {
                struct waits_at a = at(&s, tid, (ms + 1) * 1000000);
                const char *place = places[(uint64_t)tid % many];
                waits_leave(s.waits, &a, stack_of(&s, place, "futex_do_wait"), UNWIND_WHOLE);
                waits_out(s.waits, &a, false);
                runs(&s, tid, (ms + 10) * 1000000);
            }
        }
        pool_on(&s, "0.10 0 0");
        autofree char *is = insights_of(&s);
        assert_string_equal(is, many > 1 ? "" : "pool-idle");
        stage_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_mostly_wait_for_work_are_an_idle_pool),
        cmocka_unit_test(an_idle_pool_is_the_last_to_be_told),
        cmocka_unit_test(threads_without_names_are_a_pool_where_they_wait_at_one_place),
        cmocka_unit_test(a_busy_machine_is_no_reason_for_fewer_threads),
        cmocka_unit_test(more_threads_than_cpus_are_a_pool_too_large),
        cmocka_unit_test(workers_that_are_never_idle_while_cpus_are_make_a_pool_too_small),
        cmocka_unit_test(a_pool_is_too_small_only_where_somebody_waits_for_it_for_long),
        cmocka_unit_test(of_pools_that_are_too_small_the_one_most_waited_for_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
