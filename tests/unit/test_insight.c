/*
 * Insights: each rule speaks on a profile made for it, and none on one that is unremarkable.
 */
#include "analysis/insight_inner.h"
#include "analysis/insight_names.h"
#include "source/import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

/* Twelve functions of about equal share, a thousand samples: nothing to say. */
#define PLAIN                                                                       \
    "main;a 80\nmain;b 80\nmain;c 80\nmain;d 80\nmain;e 80\nmain;f 80\nmain;g 80\n" \
    "main;h 80\nmain;i 90\nmain;j 90\nmain;k 90\nmain;l 90\n"

/* The ids of the rules that speak, and the evidence of the last, in OUT. Frees P. */
static void ask(struct profile *p, struct buf *ids, struct buf *evidence)
{
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    struct quality q = quality_of(SUPPORT_ALL(p, 0));
    q.has_samples = true; /* folded stacks do not say that they count samples */
    q.samples = profile_stream(p, 0)->types[0].total;
    struct insights s = insights_build(&(struct insight_input){f, &q});
    for (size_t i = 0; i < s.at.n; i++) {
        buf_printf(ids, "%s%s", i ? " " : "", s.at.at[i].rule->id);
        evidence->n = 0;
        buf_str(evidence, s.at.at[i].evidence);
    }
    insights_done(&s);
    flat_free(f);
    profile_free(p);
}

static void assert_says(const char *stacks, const char *ids, const char *evidence)
{
    autobuf struct buf b = {0}, e = {0};
    ask(support_folded(stacks), &b, &e);
    assert_string_equal(buf_cstr(&b), ids);
    if (!strstr(buf_cstr(&e), evidence))
        fail_msg("'%s' is not in '%s'", evidence, buf_cstr(&e));
}

static void nothing_is_said_of_a_plain_profile(void **state)
{
    (void)state;
    assert_says(PLAIN, "", "");
}

static void functions_known_by_name(void **state)
{
    (void)state;
    assert_says(
        PLAIN "main;parse;malloc;_int_malloc 250\n", "allocation",
        "20.0% goes to memory allocation and release, all in _int_malloc; 100% of that comes from "
        "parse");
    assert_says(PLAIN "main;find;hash_name 250\n", "hashing", "20.0% goes to hashing");
    assert_says(PLAIN "main;pop;pthread_mutex_lock 100\n", "locks",
                "9.1% goes to acquiring and releasing locks");
    assert_says(PLAIN "main;__memmove_avx_unaligned_erms 250\n", "copies", "20.0% goes to copying");
    assert_says(PLAIN "main;asm_exc_page_fault_[k];clear_page_[k] 400\n", "page-faults kernel", "");
    assert_says(PLAIN "main;f;__cxa_throw;_Unwind_RaiseException 50\n", "exceptions",
                "% of that comes from f");
    assert_says(PLAIN "main;snprintf;__vsnprintf_internal 250\n", "formatting",
                "20.0% goes to formatting");
    assert_says(PLAIN "main;read;vfs_read_[k] 400\n", "kernel", "100% of that comes from read");
    assert_says(
        PLAIN "main;load;vfs_read_[k];copyout_[k] 250\n", "kernel-copies",
        "20.0% goes to the kernel copying data to or from the program, all in copyout; 100% of "
        "that comes from load");
}

/* The advice of insight ID on STACKS has these words, and not those. */
static void assert_advises(const char *stacks, bool clock, const char *id, const char *words,
                           const char *not_those)
{
    struct profile *p = support_folded(stacks);
    profile_stream(p, 0)->obtained = clock ? BY_SOFTWARE_CLOCK : BY_HARDWARE;
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    struct quality q = quality_of(SUPPORT_ALL(p, 0));
    struct insights s = insights_build(&(struct insight_input){f, &q});
    const char *advice = "";
    for (size_t i = 0; i < s.at.n; i++)
        if (strcmp(s.at.at[i].rule->id, id) == 0)
            advice = s.at.at[i].advice;
    if (!strstr(advice, words) || strstr(advice, not_those))
        fail_msg("%s: '%s'", id, advice);
    insights_done(&s);
    flat_free(f);
    profile_free(p);
}

static void what_helps_depends_on_how_the_kernel_was_entered(void **state)
{
    (void)state;
    static const char calls[] = "fewer system calls", faults[] = "For page faults",
                      off[] = "has interrupts off";
    static const char by_call[] = PLAIN "main;read;do_syscall_64_[k];vfs_read_[k] 500\n";
    static const char by_fault[] = PLAIN "main;asm_exc_page_fault_[k];clear_page_[k] 500\n";
    static const char neither[] = PLAIN "main;x;something_[k] 500\n";
    static const char both[] = PLAIN "main;read;do_syscall_64_[k];vfs_read_[k] "
                                     "300\nmain;asm_exc_page_fault_[k];clear_page_[k] 300\n";
    static const char switching[] =
        PLAIN "main;read;do_syscall_64_[k];finish_task_switch_[k] 500\n";
    assert_advises(by_call, true, "kernel", calls, faults);
    assert_advises(by_call, true, "kernel", calls, off);
    assert_advises(by_fault, true, "kernel", faults, calls);
    assert_advises(neither, true, "kernel", calls, faults);
    assert_advises(both, true, "kernel", calls, off);
    assert_advises(both, true, "kernel", faults, off);
    assert_advises(switching, true, "kernel", off, faults);
    assert_advises(switching, false, "kernel", calls, off);
}

static void a_little_of_it_is_not_worth_a_word(void **state)
{
    (void)state;
    assert_says(PLAIN "main;malloc 20\nmain;memcpy 20\nmain;pthread_mutex_lock 5\n", "", "");
}

static void mostly_is_more_than_half(void **state)
{
    (void)state;
    assert_says(PLAIN "main;read;a_[k] 300\nmain;read;b_[k] 100\n", "kernel",
                "goes to the kernel, mostly a; 100% of that comes from read");
    assert_says(PLAIN "main;read;a_[k] 150\nmain;read;b_[k] 130\nmain;read;c_[k] 120\n", "kernel",
                "goes to the kernel (a has the most: 10.7% of the total); 100% of that comes from "
                "read");
    /* Most of this is in what malloc calls. */
    assert_says(PLAIN "main;f;malloc 20\nmain;f;malloc;grow 230\n", "hot allocation",
                "20.0% goes to memory allocation and release; 100% of that comes from f");
}

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

static void an_interpreters_loop_is_not_to_blame(void **state)
{
    (void)state;
    assert_says(PLAIN "main;_PyEval_EvalFrameDefault 3000\n", "interpreter",
                "75.0% goes to the main loop of an interpreter, all in _PyEval_EvalFrameDefault");
}

/* What has no name is no function: it cannot be annotated, nor made faster by itself. */
static void unnamed_code_does_not_dominate(void **state)
{
    (void)state;
    assert_says(PLAIN "main;[unknown] 3000\n", "unnamed", "75.0% goes to functions without a name");
    assert_says(PLAIN "main;[app] 3000\n", "unnamed", "75.0% goes to functions without a name");
}

static void shapes(void **state)
{
    (void)state;
    assert_says(PLAIN "main;matmul 3000\n", "dominating",
                "matmul alone takes 75.0%: twice as fast here gains 37.5% of the whole");
    autobuf struct buf many = {0};
    for (int i = 0; i < 100; i++)
        buf_printf(&many, "main;f%d 10\n", i);
    assert_says(buf_cstr(&many), "flat-profile", "top 20 functions account for only 20%");
    autobuf struct buf deep = {0};
    buf_str(&deep, PLAIN "main");
    for (int i = 0; i < 60; i++)
        buf_str(&deep, ";walk");
    buf_str(&deep, " 100\n");
    assert_says(buf_cstr(&deep), "deep-recursion", "walk is up to 60 times on one stack");
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

static void shares_below_the_noise_give_no_advice(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    support_value(p, "cpu-clock", "samples", "count");
    struct frame_id frames[] = {profile_add_named_frame(p, text_of("a"), FRAME_USER),
                                profile_add_named_frame(p, text_of("malloc"), FRAME_USER)};
    struct err err;
    for (int i = 0; i < 2; i++) { /* 8 of 100: more than 5 %, but surely only more than 4 % */
        int64_t n = i ? 8 : 92;
        struct row s = {.stack = stacks_intern(&p->stacks, &frames[i], 1), .values = &n};
        assert_int_equal(profile_add_row(p, 0, &s, &err), 0);
    }
    autobuf struct buf ids = {0}, evidence = {0};
    ask(p, &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "few-samples dominating");
}

/* The same without the number of samples, as folded stacks have it. */
static void assert_says_of_counts(const char *stacks, const char *ids)
{
    struct profile *p = support_folded(stacks);
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    struct quality q = quality_of(SUPPORT_ALL(p, 0));
    struct insights s = insights_build(&(struct insight_input){f, &q});
    autobuf struct buf b = {0};
    for (size_t i = 0; i < s.at.n; i++)
        buf_printf(&b, "%s%s", i ? " " : "", s.at.at[i].rule->id);
    assert_string_equal(buf_cstr(&b), ids);
    insights_done(&s);
    flat_free(f);
    profile_free(p);
}

static void counts_too_small_to_be_sure_give_no_advice(void **state)
{
    (void)state;
    assert_says_of_counts("main;a 3\nmain;b 3\nmain;malloc 1\n", "");
    assert_says_of_counts("main;malloc 300\nmain;b 200\n", "dominating hot allocation");
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
        meta_set_u64(&p->meta, META_CPU_TIME_NS, 6100000000); /* less than 40 % is left */
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
    autobuf struct buf ids = {0}, evidence = {0};
    ask(profile_of_two_threads(2000000000, 1000000000), &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "waiting busy-host");
    ids.n = 0;
    ask(profile_of_two_threads(2000000000, 100000000), &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "waiting");
    assert_string_equal(buf_cstr(&evidence), "10 s wall, 2 s CPU: off-CPU for at least 79% of the "
                                             "run, not counting the wait for a CPU");
    ids.n = 0;
    ask(profile_of_two_threads(19000000000, 30000000000), &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "busy-host");
    assert_string_equal(buf_cstr(&evidence),
                        "the program's threads waited 30 s for a CPU, summed, in a run of 10 s");
    ids.n = 0;
    struct profile *pooled = profile_of_two_threads(2000000000, 8000000000);
    meta_set_u64(&pooled->meta, META_POOLED_RUNS, 2); /* one thread in each */
    ask(pooled, &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "busy-host");
    assert_string_equal(buf_cstr(&evidence), "the program had to wait 8 s of its 10 s for a CPU");
}

/* --- what is told depends on the rest --- */

/* The insight ID of the folded STACKS with META's times set; its advice and evidence in the bufs.
 */
static void find_insight(const char *stacks, const char *id, uint64_t cpu_ns, struct buf *evidence,
                         struct buf *advice)
{
    struct profile *p = support_folded(stacks);
    if (cpu_ns) {
        meta_set_u64(&p->meta, META_DURATION_NS, 10000000000);
        meta_set_u64(&p->meta, META_CPU_TIME_NS, cpu_ns);
    }
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    struct quality q = quality_of(SUPPORT_ALL(p, 0));
    struct insights s = insights_build(&(struct insight_input){f, &q});
    for (size_t i = 0; i < s.at.n; i++)
        if (strcmp(s.at.at[i].rule->id, id) == 0) {
            buf_str(evidence, s.at.at[i].evidence);
            buf_str(advice, s.at.at[i].advice);
        }
    if (cpu_ns && cpu_ns < 6000000000)
        assert_string_equal(s.at.at[0].rule->id, "waiting"); /* the headline */
    insights_done(&s);
    flat_free(f);
    profile_free(p);
}

static void start_here_is_for_programs_that_compute(void **state)
{
    (void)state;
    static const uint64_t cpu_ns[] = {0, 9000000000, 2000000000};
    for (int i = 0; i < 3; i++) {
        autobuf struct buf evidence = {0}, advice = {0};
        find_insight(PLAIN "main;matmul 3000\n", "dominating", cpu_ns[i], &evidence, &advice);
        assert_int_equal(strstr(buf_cstr(&advice), "Start here.") != NULL, i < 2);
        assert_int_equal(strstr(buf_cstr(&evidence), "37.5% of the CPU time") != NULL, i == 2);
        assert_int_equal(strstr(buf_cstr(&evidence), "37.5% of the whole") != NULL, i < 2);
    }
}

static void names_too_long_for_a_sentence_are_cut(void **state)
{
    (void)state;
#define TEN "abcdefghij"
#define FIFTY TEN TEN TEN TEN TEN
    assert_says(PLAIN "main;" FIFTY TEN " 200\n", "hot", FIFTY TEN " takes");
    assert_says(PLAIN "main;" FIFTY TEN "k 200\n", "hot", FIFTY "abcdefgh.. takes");
#undef FIFTY
#undef TEN
}

static void functions_are_hot_from_a_tenth_on(void **state)
{
    (void)state;
    assert_says(PLAIN "main;parse 200\n", "hot",
                "parse takes 16.7%: twice as fast here gains 8.3% of the whole");
    assert_says(PLAIN "main;parse 200\nmain;print 250\n", "hot", "print takes 17.2%");
    assert_says(PLAIN "main;parse 120\n", "", ""); /* 10.7 %, but not surely a tenth */
}

static void samples_that_two_insights_count_are_told(void **state)
{
    (void)state;
    assert_says(PLAIN "main;malloc 150\nmain;malloc;asm_exc_page_fault_[k] 100\n",
                "allocation page-faults", "; all of that is also counted under allocation");
    assert_says(PLAIN "main;f;malloc 100\nmain;asm_exc_page_fault_[k] 200\n"
                      "main;f;malloc;asm_exc_page_fault_[k] 50\n",
                "allocation page-faults", "; 3.7% of the total is also counted under allocation");
}

/* Neither malloc's own parts nor a wrapper around it can be changed to fault less. */
static void the_caller_behind_the_allocator_is_named(void **state)
{
    (void)state;
    assert_says(PLAIN "main;grow;malloc;_int_malloc;asm_exc_page_fault_[k] 200\n",
                "allocation page-faults", "; 100% of that comes from grow");
    assert_says(PLAIN "main;fill;__memset_avx2_unaligned_erms;asm_exc_page_fault_[k] 200\n",
                "page-faults", "; 100% of that comes from fill");
    assert_says(PLAIN "main;parse;jv_mem_alloc;malloc;_int_malloc 250\n", "allocation",
                "; 100% of that comes from parse");
    /* a lock of the allocator's is taken by the allocator */
    assert_says(PLAIN "main;grow;arena_get;pthread_mutex_lock;helper 100\n", "locks",
                "; 100% of that comes from arena_get");
}

static void copies_of_system_calls_are_not_the_programs(void **state)
{
    (void)state;
    assert_says(PLAIN "main;read;vfs_read_[k];_copy_to_iter_[k] 200\n", "kernel-copies",
                "16.7% goes to the kernel copying data to or from the program");
    /* arguments of a system call that moves no data, as gnuplot has 100,000 */
    assert_says(PLAIN "main;sigaction;do_syscall_64_[k];_copy_to_user_[k] 200\n", "", "");
}

static void unnamed_code_counts_with_what_it_calls(void **state)
{
    (void)state;
    assert_says(PLAIN "main;[libx.so+0x5e30];p 100\nmain;[libx.so+0x5e30];q 100\n"
                      "main;[libx.so+0x5e30];r 100\nmain;[libx.so+0x5e30];s 100\n"
                      "main;[libx.so+0x5e30] 14\n",
                "unnamed",
                "1.0% goes to functions without a name, 29.3% to them and what they call");
}

/* A stripped main() has all of it as its total: a reader who adds up must know why it is not in. */
static void unnamed_callers_that_are_left_out_are_told(void **state)
{
    (void)state;
    assert_says("[app+0x10];[libx.so+0x20] 300\n[app+0x10];a 80\n[app+0x10];b 80\n"
                "[app+0x10];c 80\n[app+0x10];d 80\n[app+0x10];e 80\n[app+0x10];f 80\n"
                "[app+0x10];g 80\n[app+0x10];h 80\n[app+0x10];i 80\n[app+0x10];j 80\n",
                "unnamed hot", "");
    autobuf struct buf evidence = {0}, advice = {0};
    find_insight("[app+0x10];[libx.so+0x20] 300\n[app+0x10];a 400\n[app+0x10];b 400\n", "unnamed",
                 0, &evidence, &advice);
    assert_non_null(strstr(buf_cstr(&evidence),
                           " to them and what they call (pass-through functions excluded)"));
}

static void gains_are_of_what_was_seen(void **state)
{
    (void)state;
    struct profile *p = support_folded(PLAIN "main;parse 200\n");
    autobuf struct buf ids = {0}, evidence = {0};
    meta_set_str(&p->meta, META_KERNEL_HIDDEN, "yes");
    ask(p, &ids, &evidence);
    assert_non_null(strstr(buf_cstr(&evidence), "gains 8.3% of the time outside the kernel"));
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

/* A thousand samples: 300 at 0x100 in the file, the rest at 0x900. */
static struct profile *with_addresses(void)
{
    struct profile *p = profile_new();
    struct err err;
    support_value(p, "cpu-clock", "samples", "count");
    struct mapping m = {.path = profile_add_str(p, text_of("/bin/app"))};
    struct mapping_id app = profile_add_mapping(p, &m);
    for (int i = 0; i < 8; i++) { /* seven more functions, so that none dominates */
        struct frame_key key = {.pc = i ? 0x900 + (uint64_t)i * 16 : 0x100, .mapping = app};
        struct line line = {profile_add_function(
            p, &(struct function){.name = profile_add_str(p, (struct text){&"abcdefgh"[i], 1})})};
        key.lines = &line;
        key.n_lines = 1;
        struct frame_id frame = profile_add_frame(p, &key);
        int64_t n = i ? 100 : 300;
        struct row s = {.stack = stacks_intern(&p->stacks, &frame, 1), .values = &n};
        assert_int_equal(profile_add_row(p, 0, &s, &err), 0);
    }
    return p;
}

/* Fifty threads with SAMPLES each beside the rest, by CLOCKS. */
static void assert_bursts(const char *clocks, int64_t samples, const char *ids)
{
    autobuf struct buf b = {0}, e = {0};
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
    ask(p, &b, &e);
    assert_string_equal(buf_cstr(&b), ids);
}

static void threads_that_run_little_are_told_of_where_each_has_a_clock(void **state)
{
    (void)state;
    assert_bursts("of threads", 20, "bursts hot");
    assert_bursts("of CPUs", 20, "hot");
    assert_bursts("of threads", 40, "hot");
}

static void a_scalar_loop_in_a_hot_function(void **state)
{
    (void)state;
    struct profile *p = with_addresses();
    struct simd_mix scalar = {.n = 10, .scalar_math = 4, .loops = true, .isa[X86_SSE] = 4};
    struct simd_row row = {.name = "horner", .start = 0xf0, .size_bytes = 0x80, .mapping = {1}};
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    struct quality q = quality_of(SUPPORT_ALL(p, 0));
    struct insight_input in = {f, &q, &row, 1};
    row.hot = scalar;
    struct insights s = insights_build(&in);
    assert_int_equal(s.at.n, 2);
    assert_string_equal(s.at.at[0].rule->id, "hot");
    assert_string_equal(s.at.at[1].rule->id, "scalar-loop");
    /* named as in the tables, not by the symbol's alias */
    assert_string_equal(
        s.at.at[1].evidence,
        "loops of a (30.0% \xc2\xb1"
        "2.8, scalar SSE) compute one number at a time; all of that is also counted "
        "under hot");
    insights_done(&s);
    row.unoptimised = true; /* told first; no advice on loops that -O2 makes others of */
    s = insights_build(&in);
    assert_int_equal(s.at.n, 2);
    assert_string_equal(s.at.at[0].rule->id, "unoptimized");
    assert_string_equal(s.at.at[0].evidence,
                        "30.0% \xc2\xb1"
                        "2.8 goes to code compiled without optimization, mostly a");
    assert_string_equal(s.at.at[1].rule->id, "hot");
    insights_done(&s);
    row.unoptimised = false;
    profile_stream(p, 0)->obtained = BY_SOFTWARE_EVENT; /* nobody vectorises page faults */
    s = insights_build(&in);
    assert_int_equal(s.at.n, 0);
    insights_done(&s);
    profile_stream(p, 0)->obtained = BY_SOFTWARE_CLOCK;
    row.hot.loops = false; /* no loop, no advice */
    s = insights_build(&in);
    assert_int_equal(s.at.n, 1); /* hot */
    insights_done(&s);
    row.hot = scalar;
    row.size_bytes = 8; /* nothing was spent there */
    s = insights_build(&in);
    assert_int_equal(s.at.n, 1); /* hot */
    insights_done(&s);
    flat_free(f);
    profile_free(p);
}

/* --- advice fits the value --- */

/* Half in malloc, half the program's own, much of it in the kernel: all that CPU time is told. */
#define BUSY                                                                           \
    "main;parse;malloc;_int_malloc 300\nmain;memcpy 300\nmain;read;vfs_read_[k] 400\n" \
    "main;pthread_mutex_lock 200\n"

/* What is said of BUSY when its counts are of this column and event. */
static void busy_as(const char *event, const char *name, const char *unit, struct buf *ids)
{
    struct profile *p = support_folded(BUSY);
    struct stream *s = profile_stream(p, 0);
    autobuf struct buf evidence = {0};
    s->event = profile_add_str(p, text_of(event));
    s->obtained = event_obtained(text_of(event));
    s->types[0].name = profile_add_str(p, text_of(name));
    s->types[0].unit = profile_add_str(p, text_of(unit));
    s->types[0].dimension = dimension_of_unit(text_of(unit));
    s->types[0].role = value_role_of(text_of(name), s->types[0].dimension);
    meta_set_u64(&p->meta, META_DURATION_NS, 10000000000); /* it waited, too */
    meta_set_u64(&p->meta, META_CPU_TIME_NS, 2000000000);
    ids->n = 0;
    ask(p, ids, &evidence);
    buf_cstr(ids);
}

static void cpu_time_gets_advice_for_cpus(void **state)
{
    (void)state;
    autobuf struct buf ids = {0};
    static const char *const events[] = {"cpu-clock", "cycles:u"};
    for (int i = 0; i < 2; i++) {
        busy_as(events[i], "samples", "count", &ids);
        assert_string_equal(ids.at, "waiting allocation locks copies kernel");
    }
    busy_as("", "cpu", "nanoseconds", &ids);
    assert_string_equal(ids.at, "waiting allocation locks copies kernel");
    busy_as("", "counts", "", &ids); /* nothing is known: most often it is CPU time */
    assert_string_equal(ids.at, "waiting allocation locks copies kernel");
}

static void work_is_not_said_to_wait(void **state)
{
    (void)state;
    autobuf struct buf ids = {0};
    busy_as("instructions:u", "instructions", "count", &ids);
    assert_string_equal(ids.at, "allocation locks copies kernel");
}

/* All events of a tracepoint are in the function that has it; half of them there would be news. */
static void the_place_of_a_tracepoint_does_not_dominate(void **state)
{
    (void)state;
    autobuf struct buf ids = {0}, evidence = {0};
    static const char *const stacks[] = {"main;a;schedule_[k] 600\nmain;b;schedule_[k] 300\n",
                                         "main;a;schedule_[k] 800\nmain;b;other_[k] 100\n"};
    for (int i = 0; i < 2; i++) {
        struct profile *p = support_folded(stacks[i]);
        struct stream *s = profile_stream(p, 0);
        s->event = profile_add_str(p, text_of("sched:sched_switch"));
        s->obtained = BY_TRACE;
        ids.n = evidence.n = 0;
        ask(p, &ids, &evidence);
        assert_int_equal(strstr(buf_cstr(&ids), "dominating") != NULL, i == 1);
    }
}

static void events_and_memory_get_no_advice_for_cpus(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"page-faults", "page-faults", "count"},
        {"context-switches", "samples", "count"},
        {"cache-misses", "cache-misses", "count"},
        {"branch-misses:u", "samples", "count"},
        {"", "alloc_objects", "count"},
        {"", "inuse_objects", "count"},
        {"", "alloc_space", "bytes"},
        {"", "inuse_space", "bytes"},
        {"", "contentions", "count"},
        {"", "delay", "nanoseconds"},
    };
    autobuf struct buf ids = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        busy_as(rows[i][0], rows[i][1], rows[i][2], &ids);
        if (ids.n)
            fail_msg("%s %s is told: %s", rows[i][0], rows[i][1], ids.at);
    }
}

/* The advice on what dominates, where all is in one function. */
static const char *advice_on(const char *event, const char *name, const char *unit)
{
    struct profile *p = profile_new();
    struct err err;
    const char *advice = "";
    support_value(p, event, name, unit);
    struct frame_id frame = profile_add_named_frame(p, text_of("f"), FRAME_USER);
    struct row r = {.stack = stacks_intern(&p->stacks, &frame, 1), .values = (int64_t[]){5000}};
    assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    struct quality q = quality_of(SUPPORT_ALL(p, 0));
    struct insights s = insights_build(&(struct insight_input){f, &q});
    for (size_t i = 0; i < s.at.n; i++)
        if (strcmp(s.at.at[i].rule->id, "dominating") == 0)
            advice = s.at.at[i].rule->advice;
    assert_int_equal(s.at.n, 1);
    insights_done(&s);
    flat_free(f);
    profile_free(p);
    return advice;
}

static void what_dominates_is_advised_by_what_it_is(void **state)
{
    (void)state;
    assert_non_null(strstr(advice_on("cpu-clock", "samples", "count"), "hottest code"));
    assert_non_null(strstr(advice_on("", "inuse_space", "bytes"), "allocations"));
    assert_null(strstr(advice_on("", "inuse_space", "bytes"), "hottest code"));
    assert_non_null(strstr(advice_on("page-faults", "page-faults", "count"), "events"));
    assert_non_null(strstr(advice_on("", "delay", "nanoseconds"), "A function that waits"));
}

static void patterns(void **state)
{
    (void)state;
    static const char *const list[] = {"one", "start*", "*mid*", "a*z", "k:kern*", NULL};
    assert_true(names_match(list, text_of("one"), false));
    assert_false(names_match(list, text_of("one2"), false));
    assert_true(names_match(list, text_of("starting"), false));
    assert_true(names_match(list, text_of("amidst"), false));
    assert_true(names_match(list, text_of("abcz"), false));
    assert_false(names_match(list, text_of("abc"), false));
    assert_true(names_match(list, text_of("kernel"), true));
    assert_false(names_match(list, text_of("kernel"), false));
    assert_false(names_match(list, text_of("one"), true));
    assert_false(names_match(list, text_of(""), false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_of_a_plain_profile),
        cmocka_unit_test(functions_known_by_name),
        cmocka_unit_test(what_helps_depends_on_how_the_kernel_was_entered),
        cmocka_unit_test(a_little_of_it_is_not_worth_a_word),
        cmocka_unit_test(unnamed_code_does_not_dominate),
        cmocka_unit_test(shapes),
        cmocka_unit_test(mostly_is_more_than_half),
        cmocka_unit_test(unnamed_code_that_all_passes_through_is_not_told),
        cmocka_unit_test(an_interpreters_loop_is_not_to_blame),
        cmocka_unit_test(waits_of_threads),
        cmocka_unit_test(recordings_of_little_worth),
        cmocka_unit_test(shares_below_the_noise_give_no_advice),
        cmocka_unit_test(counts_too_small_to_be_sure_give_no_advice),
        cmocka_unit_test(samples_without_a_stack),
        cmocka_unit_test(a_command_that_mostly_waited),
        cmocka_unit_test(what_counts_events_is_not_asked_where_the_rest_went),
        cmocka_unit_test(start_here_is_for_programs_that_compute),
        cmocka_unit_test(names_too_long_for_a_sentence_are_cut),
        cmocka_unit_test(functions_are_hot_from_a_tenth_on),
        cmocka_unit_test(samples_that_two_insights_count_are_told),
        cmocka_unit_test(the_caller_behind_the_allocator_is_named),
        cmocka_unit_test(unnamed_callers_that_are_left_out_are_told),
        cmocka_unit_test(gains_are_of_what_was_seen),
        cmocka_unit_test(copies_of_system_calls_are_not_the_programs),
        cmocka_unit_test(a_command_that_failed_is_named),
        cmocka_unit_test(unnamed_code_counts_with_what_it_calls),
        cmocka_unit_test(an_unnamed_function_that_only_passes_on_is_not_missed),
        cmocka_unit_test(callers_where_no_code_is_are_not_functions_without_a_name),
        cmocka_unit_test(threads_that_run_little_are_told_of_where_each_has_a_clock),
        cmocka_unit_test(a_scalar_loop_in_a_hot_function),
        cmocka_unit_test(cpu_time_gets_advice_for_cpus),
        cmocka_unit_test(work_is_not_said_to_wait),
        cmocka_unit_test(the_place_of_a_tracepoint_does_not_dominate),
        cmocka_unit_test(events_and_memory_get_no_advice_for_cpus),
        cmocka_unit_test(what_dominates_is_advised_by_what_it_is),
        cmocka_unit_test(patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
