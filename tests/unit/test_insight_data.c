/*
 * Insights about the recording: what it cannot say, and why.
 */
#include "support_insight.h"

/* A stripped main() and what is around it: all that costs anything has a name. */
static void unnamed_code_that_all_passes_through_is_not_told(void **state)
{
    (void)state;
    assert_says("[prog+0x10];[prog+0x20];solve;a 800\n[prog+0x10];[prog+0x20];solve;b 800\n"
                "[prog+0x10];[prog+0x20];solve;c 800\n[prog+0x10];[prog+0x20];solve;d 800\n",
                "hot",
                "a takes 25.0%: twice as fast here gains 12.5% of the whole. b takes 25.0%: "
                "12.5% to gain. c takes");
}

/* What has no name is no function: it cannot be annotated, nor made faster by itself. */
static void unnamed_code_does_not_dominate(void **state)
{
    (void)state;
    assert_says(PLAIN "main;[unknown] 3000\n", "unnamed", "75.0% goes to functions without a name");
    assert_says(PLAIN "main;[app] 3000\n", "unnamed", "75.0% goes to functions without a name");
}

static void recordings_of_little_worth(void **state)
{
    (void)state;
    assert_says("main;a 20\nmain;b 20\nmain;c 20\n", "few-samples", "only 60 samples");
    assert_says("main;malloc 20\n", "few-samples", "only 20 samples"); /* and no advice */
    assert_says(PLAIN "main;[libx.so+0x5e30] 400\n", "unnamed hot",
                "[libx.so+0x5e30] takes 28.6%: twice as fast here gains 14.3% of the whole");
    assert_says(PLAIN "main;[unknown] 400\n", "unnamed", "28.6% goes to functions without a name");
    struct profile *p = support_folded(PLAIN);
    autobuf struct buf ids = {0}, evidence = {0};
    struct stream *stream = profile_stream(p, 0);
    stream->types[0].role = ROLE_SAMPLES;
    stream->lost_known = true;
    stream->lost = 250;
    profile_set_unfinished(p, 0, "no rules", 100);
    ask(p, &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "lost-samples unfinished-stacks");
    assert_non_null(strstr(buf_cstr(&evidence),
                           "10.0% of the stacks do not reach the program's start, "
                           "all for one reason: no rules"));
}

/* Nobody gets advice on another reason than his. */
static void stacks_that_end_early_are_advised_on_by_their_reason(void **state)
{
    static const struct {
        const char *why, *advice;
    } cases[] = {
        {"stack copy too small", "At most 65528 bytes of a stack can be copied"},
        {"a page of the stack was not in memory", "swapped out or never used"},
        {"no unwind rule and no frame pointer", "-fasynchronous-unwind-tables"},
        {"too deep", "Totals of the outer functions are too small by that much."},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile *p = support_folded(PLAIN);
        profile_stream(p, 0)->types[0].role = ROLE_SAMPLES;
        profile_set_unfinished(p, 0, cases[i].why, 100);
        autobuf struct buf ids = {0}, evidence = {0}, advice = {0};
        ask_both(p, &ids, &evidence, &advice);
        assert_string_equal(buf_cstr(&ids), "unfinished-stacks");
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(strstr(buf_cstr(&advice), cases[k].advice) != NULL, k == i);
        assert_non_null(strstr(buf_cstr(&advice), cases[i].advice));
    }
}

/* Flags of a compiler help no code that a runtime makes. */
static void stacks_that_end_in_code_made_at_run_time_are_the_runtimes(void **state)
{
    (void)state;
    for (int native = 0; native < 2; native++) { /* half of them are no majority */
        struct profile *p = support_folded(PLAIN);
        struct frame_id end = profile_add_named_frame(p, text_of("[unfinished]"), FRAME_USER);
        for (int i = 0; i <= native; i++) {
            struct frame_id frames[] = {profile_add_named_frame(p, text_of(i ? "built" : "jitted"),
                                                                i ? FRAME_USER : FRAME_JIT),
                                        end};
            struct row row = {.stack = stacks_intern_leaf_first(&p->stacks, frames, 2),
                              .values = (int64_t[]){80}};
            struct err err;
            assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
        }
        profile_stream(p, 0)->types[0].role = ROLE_SAMPLES;
        profile_set_unfinished(p, 0, "no unwind rule and no frame pointer", 80);
        autobuf struct buf ids = {0}, evidence = {0}, advice = {0};
        ask_both(p, &ids, &evidence, &advice);
        assert_string_equal(buf_cstr(&ids), "unfinished-stacks");
        assert_int_equal(!strstr(buf_cstr(&advice), "java -XX:+PreserveFramePointer"), native);
        assert_int_equal(!strstr(buf_cstr(&advice), "-fasynchronous-unwind-tables"), !native);
    }
}

static void samples_without_a_stack(void **state)
{
    (void)state;
    struct profile *p = support_folded(PLAIN);
    struct err err;
    int64_t n = 250;
    struct row s = {.values = &n};
    assert_int_equal(profile_add_row(p, 0, &s, &err), 0);
    autobuf struct buf ids = {0}, evidence = {0};
    ask(p, &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "no-stacks");
    assert_string_equal(buf_cstr(&evidence), "20.0% was sampled without any stack");
}

static void images_have_no_debug_symbols_to_install(void **state)
{
    static const struct {
        const char *module, *function, *libc_id, *advice;
    } cases[] = {
        {"/usr/lib/sbcl/sbcl.core", "[sbcl.core]", "1f", "name its code in /tmp/perf-PID.map"},
        {"/usr/lib/libz.so.1", "[libz.so.1+0x4970]", "1f", "install the debug symbols of"},
        {"/usr/bin/app", "[app]", "", "install the debug symbols of"}, /* nobody looked for IDs */
    };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct profile *p = with_module(cases[i].module, cases[i].function);
        struct mapping libc = {.path = profile_add_str(p, text_of("/lib/libc.so.6")),
                               .build_id = profile_add_str(p, text_of(cases[i].libc_id))};
        profile_add_mapping(p, &libc);
        autobuf struct buf all = {0};
        struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
        struct quality q = quality_of(SUPPORT_ALL(p, 0));
        struct insights s = insights_build(&(struct insight_input){f, &q});
        for (size_t k = 0; k < s.at.n; k++)
            if (strcmp(s.at.at[k].rule->id, "unnamed") == 0)
                buf_str(&all, s.at.at[k].advice);
        assert_non_null(strstr(buf_cstr(&all), cases[i].advice));
        insights_done(&s);
        flat_free(f);
        profile_free(p);
    }
}

/* Guile: its own code, and two stripped libraries of which none has most. */
static void unnamed_code_of_several_modules_names_them(void **state)
{
    struct profile *p = support_folded(PLAIN);
    autobuf struct buf ids = {0}, evidence = {0}, advice = {0};
    (void)state;
    add_in_module(p, "[anon]", "[anon]", 200);
    add_in_module(p, "/lib/libgc.so.1", "[libgc.so.1+0x10]", 90);
    add_in_module(p, "/lib/libguile.so.1", "[libguile.so.1+0x10]", 70);
    add_in_module(p, "/lib/libx.so.1", "[libx.so.1+0x10]", 60);
    ask_both(p, &ids, &evidence, &advice);
    assert_non_null(strstr(buf_cstr(&evidence), "29.6% goes to functions without a name, mostly "
                                                "code made at run time and in libgc.so.1"));
    assert_non_null(strstr(buf_cstr(&advice), "install the debug symbols of the file"));
    assert_non_null(strstr(buf_cstr(&advice), "name its code in /tmp/perf-PID.map"));
}

static void no_higher_rate_is_advised_than_the_machine_allows(void **state)
{
    (void)state;
    for (int most = 0; most < 2; most++) {
        struct profile *p = support_folded("main;a 20\nmain;b 20\nmain;c 20\n");
        if (most)
            meta_set_str(&p->meta, META_RATE_IS_MOST, "yes");
        autobuf struct buf ids = {0}, evidence = {0}, advice = {0};
        ask_both(p, &ids, &evidence, &advice);
        assert_string_equal(buf_cstr(&ids), "few-samples");
        assert_int_equal(!strstr(buf_cstr(&advice), "at a higher rate"), most);
        assert_non_null(strstr(buf_cstr(&advice), "Record longer"));
    }
}

static void a_command_that_mostly_waited(void **state)
{
    (void)state;
    struct profile *p = support_folded(PLAIN);
    autobuf struct buf ids = {0}, evidence = {0};
    meta_set_u64(&p->meta, META_DURATION_NS, 10000000000);
    meta_set_u64(&p->meta, META_CPU_TIME_NS, 2000000000);
    ask(p, &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "waiting");
    assert_string_equal(buf_cstr(&evidence), "10 s wall, 2 s CPU: off-CPU for 80% of the run");
    p = support_folded(PLAIN); /* the CPU was busy: the program itself waited for nothing */
    ids.n = 0;
    meta_set_u64(&p->meta, META_DURATION_NS, 10000000000);
    meta_set_u64(&p->meta, META_CPU_TIME_NS, 2000000000);
    meta_set_u64(&p->meta, META_QUEUED_NS, 7000000000);
    ask(p, &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "busy-host");
    assert_string_equal(buf_cstr(&evidence), "the program had to wait 7 s of its 10 s for a CPU");
    p = support_folded(PLAIN); /* how long its threads queued is not known, but others ran */
    ids.n = 0;
    meta_set_u64(&p->meta, META_DURATION_NS, 10000000000);
    meta_set_u64(&p->meta, META_CPU_TIME_NS, 2000000000);
    meta_set_str(&p->meta, META_LOAD, "5.12 4.00 3.00");
    meta_set_str(&p->meta, META_CPUS, "2 online, 2 usable");
    ask(p, &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "off-cpu");
    assert_string_equal(buf_cstr(&evidence),
                        "10 s wall, 2 s CPU: the rest went to waiting or to queueing for a CPU, "
                        "and which of them was not recorded (load at start: 5.1)");
    p = support_folded(PLAIN);
    ids.n = 0;
    meta_set_u64(&p->meta, META_DURATION_NS, 10000000000);
    meta_set_u64(&p->meta, META_CPU_TIME_NS, 30000000000); /* four threads, say */
    ask(p, &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "");
}

/* Who else ran says nothing about events: only of CPU time the rest is a question. */
static void what_counts_events_is_not_asked_where_the_rest_went(void **state)
{
    static const struct {
        enum obtained obtained;
        bool may;
    } cases[] = {{OBTAINED_UNKNOWN, true},
                 {BY_SOFTWARE_CLOCK, true},
                 {BY_TIMER, true},
                 {BY_SOFTWARE_EVENT, false},
                 {BY_TRACE, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile *p = support_folded(PLAIN);
        profile_stream(p, 0)->obtained = cases[i].obtained;
        meta_set_u64(&p->meta, META_DURATION_NS, 10000000000);
        meta_set_u64(&p->meta, META_CPU_TIME_NS, 2000000000);
        meta_set_str(&p->meta, META_LOAD, "5.12 4.00 3.00");
        meta_set_str(&p->meta, META_CPUS, "2 online, 2 usable");
        struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
        assert_int_equal(insight_may_wait(&(struct insight_input){.functions = f}), cases[i].may);
        meta_set_u64(&p->meta, META_CPU_TIME_NS, 6100000000); /* less than 40% is left */
        assert_false(insight_may_wait(&(struct insight_input){.functions = f}));
        meta_set_u64(&p->meta, META_CPU_TIME_NS, 0);
        assert_false(insight_may_wait(&(struct insight_input){.functions = f}));
        flat_free(f);
        profile_free(p);
    }
}

static struct profile *profile_of_two_threads(uint64_t cpu_ns, uint64_t queued_ns)
{
    struct profile *p = support_folded(PLAIN);
    profile_add_thread_of(p, &(struct thread){.tid = 11});
    profile_add_thread_of(p, &(struct thread){.tid = 12});
    meta_set_u64(&p->meta, META_DURATION_NS, 10000000000);
    meta_set_u64(&p->meta, META_CPU_TIME_NS, cpu_ns);
    meta_set_u64(&p->meta, META_QUEUED_NS, queued_ns);
    meta_set_str(&p->meta, META_CPUS, "2 online, 2 usable");
    return p;
}

/* What two threads did may have been at the same time. */
static void waits_of_threads(void **state)
{
    (void)state;
    autobuf struct buf ids = {0}, evidence = {0}, advice = {0};
    ask_both(profile_of_two_threads(2000000000, 1000000000), &ids, &evidence, &advice);
    assert_string_equal(buf_cstr(&ids), "waiting busy-host");
    assert_non_null(strstr(buf_cstr(&advice), "Other processes, or its own threads, had the CPUs"));
    ids.n = 0;
    ask(profile_of_two_threads(2000000000, 100000000), &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "waiting");
    assert_string_equal(buf_cstr(&evidence), "10 s wall, 2 s CPU: off-CPU for at least 79% of the "
                                             "run, not counting the wait for a CPU");
    ids.n = 0;
    ask(profile_of_two_threads(19000000000, 30000000000), &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "busy-host");
    assert_string_equal(buf_cstr(&evidence),
                        "the program's threads waited 30 s in total for a CPU, in a run of 10 s");
    ids.n = 0;
    struct profile *rivals[3];
    for (uint64_t i = 0; i < 3; i++) { /* by who had the CPUs */
        rivals[i] = profile_of_two_threads(9000000000, 6000000000);
        meta_set_u64(&rivals[i]->meta, META_WAITS_QUEUED_NS, i < 2 ? 5000000000 : 1000000000);
        meta_set_u64(&rivals[i]->meta, META_WAITS_QUEUED_OWN_NS, i ? 3000000000 : 100000000);
        ids.n = evidence.n = advice.n = 0;
        ask_both(rivals[i], &ids, &evidence, &advice);
        static const char *const advices[] = {
            "Other processes use the CPUs.",
            "Its own threads had the CPUs for 60% of that time, other processes for the rest.",
            "Other processes, or its own threads, had the CPUs"};
        assert_non_null(strstr(buf_cstr(&advice), advices[i]));
    }
    ids.n = 0;
    struct profile *pooled = profile_of_two_threads(2000000000, 8000000000);
    meta_set_u64(&pooled->meta, META_POOLED_RUNS, 2); /* one thread in each */
    ask(pooled, &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "busy-host");
    assert_string_equal(buf_cstr(&evidence), "the program had to wait 8 s of its 10 s for a CPU");
    ids.n = 0;
    pooled = profile_of_two_threads(2000000000, 14000000000); /* an estimate, from half of it */
    meta_set_u64(&pooled->meta, META_POOLED_RUNS, 2);
    ask(pooled, &ids, &evidence);
    assert_string_equal(buf_cstr(&evidence), "the program had to wait 8 s of its 10 s for a CPU");
}

static void unnamed_code_counts_with_what_it_calls(void **state)
{
    (void)state;
    assert_says(PLAIN "main;[libx.so+0x5e30];p 100\nmain;[libx.so+0x5e30];q 100\n"
                      "main;[libx.so+0x5e30];r 100\nmain;[libx.so+0x5e30];s 100\n"
                      "main;[libx.so+0x5e30] 14\n",
                "unnamed", "29.3% goes to functions without a name and what they call");
}

/* A stripped main() has all of it as its total: a reader who adds up must know why it is not in. */
static void unnamed_callers_of_everything_do_not_count(void **state)
{
    (void)state;
    assert_says("[app+0x10];[libx.so+0x20] 300\n[app+0x10];a 80\n[app+0x10];b 80\n"
                "[app+0x10];c 80\n[app+0x10];d 80\n[app+0x10];e 80\n[app+0x10];f 80\n"
                "[app+0x10];g 80\n[app+0x10];h 80\n[app+0x10];i 80\n[app+0x10];j 80\n",
                "unnamed hot", "");
    autobuf struct buf evidence = {0}, advice = {0};
    find_insight("[app+0x10];[libx.so+0x20] 300\n[app+0x10];a 400\n[app+0x10];b 400\n", "unnamed",
                 0, &evidence, &advice);
    assert_string_equal(buf_cstr(&evidence), "27.3% goes to functions without a name");
}

/* As the C++ library starts threads. */
static void an_unnamed_function_that_only_passes_on_is_not_missed(void **state)
{
    (void)state;
    assert_says(PLAIN "main;[libx.so+0x5e30];p 100\nmain;[libx.so+0x5e30];q 100\n"
                      "main;[libx.so+0x5e30];r 100\nmain;[libx.so+0x5e30];s 100\n",
                "", "");
}

static void a_command_that_failed_is_named(void **state)
{
    static const struct {
        const char *status, *ids, *evidence;
    } cases[] = {
        {"0", "", ""},
        {"5", "failed-run", "the command ended with exit code 5"},
        {"signal 11", "failed-run", "the command was ended by signal 11"},
        {"signal 2", "", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        autobuf struct buf b = {0}, e = {0};
        struct profile *p = support_folded(PLAIN);
        meta_set_str(&p->meta, META_EXIT_STATUS, cases[i].status);
        ask(p, &b, &e);
        assert_string_equal(buf_cstr(&b), cases[i].ids);
        assert_string_equal(buf_cstr(&e), cases[i].evidence);
    }
    autobuf struct buf b = {0}, e = {0};
    struct profile *p = support_folded("main;a 10\n");
    meta_set_str(&p->meta, META_EXIT_STATUS, "5");
    ask(p, &b, &e);
    assert_true(buf_cstr(&b) == strstr(buf_cstr(&b), "failed-run few-samples")); /* first */
}

/* What perf writes for code without frame pointers: functions below callers that are none. */
static void callers_where_no_code_is_are_not_functions_without_a_name(void **state)
{
    (void)state;
    autobuf struct buf folded = {0};
    buf_str(&folded, PLAIN);
    for (const char *leaf = "pqrs"; *leaf; leaf++) {
        for (int i = 0; i < 60; i++)
            buf_str(&folded, "[unknown];");
        buf_printf(&folded, "%c 100\n", *leaf);
    }
    assert_says(buf_cstr(&folded), "untrue-stacks",
                "28.6% has callers at addresses where no code is");
}

/* Fifty threads with SAMPLES each beside the rest, by CLOCKS. */
static struct profile *fifty_threads(const char *clocks, int64_t samples)
{
    struct err err;
    struct profile *p = with_addresses();
    meta_set_str(&p->meta, META_CLOCKS, clocks);
    for (int32_t i = 1; i <= 50; i++) {
        struct thread_key key = {.pid = 1, .tid = i};
        struct row row = {.stack = {(uint32_t)i % 8 + 1},
                          .thread = profile_add_thread(p, &key),
                          .values = &samples};
        assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
    }
    return p;
}

static void assert_bursts(const char *clocks, int64_t samples, const char *ids)
{
    autobuf struct buf b = {0}, e = {0};
    ask(fifty_threads(clocks, samples), &b, &e);
    assert_string_equal(buf_cstr(&b), ids);
}

/* A row of 20 samples is selected, of a thread that has MORE besides. */
static bool finds_bursts(int64_t more)
{
    struct err err;
    struct profile *p = fifty_threads("of threads", more);
    struct row row = {.stack = {1}, .thread = {2}, .values = &(int64_t){20}};
    assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
    struct selection s = selection_all(p, (struct value_ref){0});
    uint32_t last = (uint32_t)s.n_rows - 1;
    s.rows = &last;
    s.n_rows = 1;
    s.total = 20;
    struct flat *f = flat_build(&s, FLAT_FUNCTION);
    struct quality q = quality_of(&s);
    q.has_samples = true;
    q.samples = 20;
    struct insights found = insights_build(&(struct insight_input){f, &q});
    bool bursts = false;
    for (size_t i = 0; i < found.at.n; i++)
        bursts |= strcmp(found.at.at[i].rule->id, "bursts") == 0;
    insights_done(&found);
    flat_free(f);
    profile_free(p);
    return bursts;
}

static void part_of_a_long_thread_is_no_burst(void **state)
{
    (void)state;
    assert_true(finds_bursts(5));
    assert_false(finds_bursts(200));
}

static void threads_that_run_little_are_told_of_where_each_has_a_clock(void **state)
{
    (void)state;
    assert_bursts("of threads", 20, "bursts hot");
    assert_bursts("of threads", 3, "bursts hot"); /* 13% of all */
    assert_bursts("of threads", 1, "hot");        /* 5% */
    assert_bursts("of CPUs", 20, "hot");
    assert_bursts("of threads", 40, "hot");
}

/* A thread of 1,000 samples of 1,000 ns each, and fifty of 20 samples of PERIOD_NS. */
static bool are_bursts_told(int64_t period_ns)
{
    struct profile *p = profile_new();
    struct err err;
    bool told = false;
    support_value(p, "cpu-clock", "samples", "count");
    profile_add_value(p, 0, "cpu", dimension_unit(DIM_TIME));
    profile_stream(p, 0)->obtained = BY_SOFTWARE_CLOCK;
    meta_set_str(&p->meta, META_CLOCKS, "of threads");
    for (int32_t i = 0; i <= 50; i++) {
        struct thread_key key = {.pid = 1, .tid = i + 1};
        int64_t n = i ? 20 : 1000, values[] = {n, n * (i ? period_ns : 1000)};
        struct frame_id frame = profile_add_named_frame(p, text_of("work"), FRAME_USER);
        struct row row = {.stack = stacks_intern(&p->stacks, &frame, 1),
                          .thread = profile_add_thread(p, &key),
                          .values = values};
        assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
    }
    struct flat *f = flat_build(SUPPORT_ALL(p, 1), FLAT_FUNCTION);
    struct quality q = quality_of(SUPPORT_ALL(p, 1));
    struct insights s = insights_build(&(struct insight_input){f, &q});
    for (size_t i = 0; i < s.at.n; i++)
        told |= strcmp(s.at.at[i].rule->id, "bursts") == 0;
    insights_done(&s);
    flat_free(f);
    profile_free(p);
    return told;
}

/* Threads that were born among many have clocks of all kinds of periods, which are in no step. */
static void threads_with_clocks_of_many_periods_are_not_told_of(void **state)
{
    (void)state;
    assert_true(are_bursts_told(1000));
    assert_false(are_bursts_told(1777));
    assert_false(are_bursts_told(310));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unnamed_code_does_not_dominate),
        cmocka_unit_test(unnamed_code_of_several_modules_names_them),
        cmocka_unit_test(unnamed_code_that_all_passes_through_is_not_told),
        cmocka_unit_test(waits_of_threads),
        cmocka_unit_test(recordings_of_little_worth),
        cmocka_unit_test(stacks_that_end_early_are_advised_on_by_their_reason),
        cmocka_unit_test(stacks_that_end_in_code_made_at_run_time_are_the_runtimes),
        cmocka_unit_test(samples_without_a_stack),
        cmocka_unit_test(images_have_no_debug_symbols_to_install),
        cmocka_unit_test(no_higher_rate_is_advised_than_the_machine_allows),
        cmocka_unit_test(a_command_that_mostly_waited),
        cmocka_unit_test(what_counts_events_is_not_asked_where_the_rest_went),
        cmocka_unit_test(unnamed_callers_of_everything_do_not_count),
        cmocka_unit_test(a_command_that_failed_is_named),
        cmocka_unit_test(unnamed_code_counts_with_what_it_calls),
        cmocka_unit_test(an_unnamed_function_that_only_passes_on_is_not_missed),
        cmocka_unit_test(callers_where_no_code_is_are_not_functions_without_a_name),
        cmocka_unit_test(threads_that_run_little_are_told_of_where_each_has_a_clock),
        cmocka_unit_test(part_of_a_long_thread_is_no_burst),
        cmocka_unit_test(threads_with_clocks_of_many_periods_are_not_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
