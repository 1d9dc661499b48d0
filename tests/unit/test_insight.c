/*
 * Insights: each rule speaks on a profile made for it, and none on one that is unremarkable. Those
 * about the recording itself are in test_insight_data.c.
 */
#include "support_insight.h"

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
    static const char by_sync[] = PLAIN "main;fsync;do_syscall_64_[k];do_fsync_[k];flush_[k] 500\n";
    static const char by_disk[] =
        PLAIN "main;read;do_syscall_64_[k];page_cache_sync_ra_[k];iowrite16_[k] 500\n";
    static const char neither[] = PLAIN "main;x;something_[k] 500\n";
    static const char both[] = PLAIN "main;read;do_syscall_64_[k];vfs_read_[k] "
                                     "300\nmain;asm_exc_page_fault_[k];clear_page_[k] 300\n";
    static const char switching[] =
        PLAIN "main;read;do_syscall_64_[k];finish_task_switch_[k] 500\n";
    assert_advises(by_call, true, "kernel", calls, faults);
    assert_advises(by_call, true, "kernel", calls, off);
    assert_advises(by_fault, true, "kernel", faults, calls);
    /* pages of files that are mapped are not helped by it; page-faults says what helps which */
    assert_advises(by_fault, true, "kernel", "the insight page-faults", "reuse memory");
    assert_advises(by_fault, true, "page-faults", "reuse it", "see the insight");
    assert_advises(by_sync, true, "kernel", "Sync to the disk less often", calls);
    assert_advises(by_disk, true, "kernel", "not in memory yet", calls);
    assert_advises(neither, true, "kernel", calls, faults);
    assert_advises(both, true, "kernel", calls, off);
    assert_advises(both, true, "kernel", faults, off);
    assert_advises(switching, true, "kernel", off, faults);
    assert_advises(switching, false, "kernel", calls, off);
}

static void buffers_are_for_who_reads_or_writes(void **state)
{
    (void)state;
    assert_advises(PLAIN "main;read;do_syscall_64_[k];vfs_read_[k] 500\n", true, "kernel",
                   "bigger buffers", "reuse memory");
    assert_advises(PLAIN "main;sigaction;do_syscall_64_[k];do_sigaction_[k] 500\n", true, "kernel",
                   "Make fewer system calls.", "bigger buffers");
}

static void who_starts_processes_is_not_told_to_use_bigger_buffers(void **state)
{
    static const char stacks[] = PLAIN "sh;do_syscall_64_[k];do_execve_[k];load_[k] 250\n"
                                       "sh;do_syscall_64_[k];do_exit_[k];unmap_[k] 250\n";
    (void)state;
    for (int32_t n = 1; n <= 20; n += 19) {
        autobuf struct buf ids = {0}, evidence = {0}, advice = {0};
        struct profile *p = support_folded(stacks);
        for (int32_t i = 1; i <= n; i++)
            profile_add_thread(p, &(struct thread_key){.pid = i, .tid = i});
        ask_both(p, &ids, &evidence, &advice);
        assert_string_equal(buf_cstr(&ids), "kernel");
        assert_int_equal(strstr(buf_cstr(&advice), "Start fewer processes") != NULL, n > 1);
        assert_int_equal(strstr(buf_cstr(&advice), "fewer system calls") != NULL, n == 1);
        assert_null(strstr(buf_cstr(&advice), "bigger buffers"));
    }
}

static void who_clears_is_not_told_to_pass_references(void **state)
{
    (void)state;
    assert_advises(PLAIN "main;__memset_avx2_unaligned_erms 500\n", true, "copies",
                   "Clear only what is read", "Pass references");
    assert_advises(PLAIN "main;memset 300\nmain;memcpy 300\n", true, "copies", "Pass references",
                   "reuse what is clear");
}

/* A library that recording loads into programs: who reads of it looks in vain. */
static void kelvins_own_functions_are_not_called_the_programs(void **state)
{
    (void)state;
    struct profile *p =
        support_folded(PLAIN "main;load;read;vfs_read_[k] 250\nmain;walk_add;vfs_read_[k] 150\n");
    struct mapping agent = {.path = profile_add_str(p, text_of("/x/libkelvin-heap.so"))};
    struct mapping_id id = profile_add_mapping(p, &agent);
    for (size_t i = 0; i < p->frames.n; i++) {
        struct frame *f = &p->frames.at[i];
        if (f->n_lines &&
            text_is(profile_function_name(p, profile_lines(p, f)->function), "walk_add"))
            f->mapping = id;
    }
    autobuf struct buf ids = {0}, evidence = {0};
    ask(p, &ids, &evidence);
    assert_non_null(strstr(buf_cstr(&evidence), "62% of that comes from read; 38% of that comes "
                                                "from kelvin's own recording"));
    assert_null(strstr(buf_cstr(&evidence), "walk_add"));
}

static void nobody_is_told_to_make_kelvins_own_code_faster(void **state)
{
    (void)state;
    autobuf struct buf ids = {0}, evidence = {0};
    ask(with_module("/x/libkelvin-heap.so", "stackwalk_trie_add"), &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "heap-recorded");
    struct profile *probed = with_module("[uprobes]", "[uprobes]");
    meta_set_str(&probed->meta, META_HEAP_SINCE, "attach");
    ids.n = 0;
    ask(probed, &ids, &evidence);
    assert_non_null(strstr(buf_cstr(&ids), "heap-recorded"));
}

/* All memory comes from there: who asks for it matters. */
static void an_allocator_does_not_dominate_the_memory(void **state)
{
    (void)state;
    static const char *const names[] = {"operator new", "malloc", "parse"};
    for (size_t i = 0; i < 3; i++) {
        autobuf struct buf ids = {0}, evidence = {0};
        struct profile *p = profile_new();
        struct err err;
        support_value(p, "heap", "peak", "bytes");
        struct frame_id frame = profile_add_named_frame(p, text_of(names[i]), FRAME_USER);
        struct row r = {.stack = stacks_intern(&p->stacks, &frame, 1), .values = (int64_t[]){5000}};
        assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
        ask(p, &ids, &evidence);
        assert_string_equal(buf_cstr(&ids), i < 2 ? "" : "dominating");
    }
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

/* Who allocates can change that, not who makes the collector's loops faster. */
static void collecting_garbage_is_not_a_hot_function(void **state)
{
    (void)state;
    assert_says(PLAIN "main;build;caml_call_gc;mark_slice_darken 400\n", "garbage-collection",
                "28.6% goes to collecting garbage, all in mark_slice_darken; 100% of that comes "
                "from build");
    assert_says(PLAIN "main;mark_slice_of_bread 400\n", "hot", "");
}

static void an_interpreters_loop_is_not_to_blame(void **state)
{
    (void)state;
    assert_says(PLAIN "main;_PyEval_EvalFrameDefault 3000\n", "interpreter",
                "75.0% goes to the main loop of an interpreter and what it calls, all in "
                "_PyEval_EvalFrameDefault");
    assert_says(PLAIN "main;Perl_runops_standard;Perl_pp_helem;Perl_hv_common 700\n",
                "interpreter hot", "");
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
    buf_str(&deep, "[unfinished];walk;walk 30\n");
    assert_says(buf_cstr(&deep), "deep-recursion", "on one stack, and perhaps more often");
}

static void shares_below_the_noise_give_no_advice(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    support_value(p, "cpu-clock", "samples", "count");
    struct frame_id frames[] = {profile_add_named_frame(p, text_of("a"), FRAME_USER),
                                profile_add_named_frame(p, text_of("malloc"), FRAME_USER)};
    struct err err;
    for (int i = 0; i < 2; i++) { /* 8 of 100: more than 5%, but surely only more than 4% */
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

static void threads_of_openmp_that_spin_are_not_called_hot(void **state)
{
    (void)state;
    autobuf struct buf ids = {0}, evidence = {0};
    ask(with_module("/usr/lib/libgomp.so.1.0.0", "gomp_team_barrier_wait_end"), &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "spinning");
    assert_non_null(
        strstr(buf_cstr(&evidence), "goes to the OpenMP runtime itself (libgomp.so.1.0.0)"));
    assert_null(strstr(buf_cstr(&evidence), "sleep"));
    struct profile *timed = with_module("/usr/lib/libgomp.so.1.0.0", "gomp_barrier_wait");
    timed->streams.at[0]->obtained = BY_TIMER; /* what the kernel does is self time of the caller */
    evidence.n = 0;
    ask(timed, &ids, &evidence);
    assert_non_null(strstr(buf_cstr(&evidence), "or go to sleep and wake"));
    ids.n = 0;
    ask(with_module("/usr/lib/libother.so.1", "gomp_team_barrier_wait_end"), &ids, &evidence);
    assert_string_equal(buf_cstr(&ids), "dominating");
}

/* A barrier sleeps by futex(), as a lock does: which it is depends on who calls it. */
static void threads_of_openmp_that_sleep_wait_for_no_lock(void **state)
{
    static const char *const modules[] = {"/usr/lib/libgomp.so.1.0.0", "/bin/app"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct profile *p = with_module(modules[i], "wait_end");
        struct err err;
        int64_t n = 3000;
        struct frame_id futex =
            profile_add_named_frame(p, text_of("__x64_sys_futex"), FRAME_KERNEL);
        const struct stream *rows = profile_stream(p, 0);
        struct stack_id stack = stacks_push(&p->stacks, rows->rows.stack[rows->rows.n - 1], futex);
        assert_int_equal(profile_add_row(p, 0, &(struct row){.stack = stack, .values = &n}, &err),
                         0);
        struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
        struct quality q = quality_of(SUPPORT_ALL(p, 0));
        struct insights found = insights_build(&(struct insight_input){f, &q});
        const char *evidence = "";
        for (size_t k = 0; k < found.at.n; k++)
            if (strcmp(found.at.at[k].rule->id, "locks") == 0)
                evidence = found.at.at[k].evidence;
        assert_int_equal(strstr(evidence, "acquiring and releasing locks") != NULL, i);
        assert_int_equal(strstr(evidence, "OpenMP threads that go to sleep") != NULL, !i);
        insights_done(&found);
        flat_free(f);
        profile_free(p);
    }
}

static void the_name_of_a_file_says_nothing_of_what_a_function_does(void **state)
{
    (void)state;
    autobuf struct buf ids = {0}, evidence = {0};
    ask(with_module("/usr/lib/librhash.so.0", "[librhash.so.0+0x19e00]"), &ids, &evidence);
    assert_null(strstr(buf_cstr(&ids), "hashing"));
}

/* --- what is told depends on the rest --- */

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

/* All system calls of a Go program go through one function. */
static void who_asked_for_a_system_call_is_named(void **state)
{
    (void)state;
    assert_says(PLAIN "main;os.Open;syscall.openat;syscall.Syscall6;"
                      "runtime/internal/syscall.Syscall6;do_syscall_64_[k];open_[k] 1000\n",
                "kernel", "100% of that comes from syscall.openat");
    assert_says(PLAIN "main;parse;syscall;do_syscall_64_[k];open_[k] 1000\n", "kernel",
                "100% of that comes from parse");
}

static void collectors_of_garbage_are_known_by_name(void **state)
{
    (void)state;
    assert_says(PLAIN "main;schedule;erts_garbage_collect_nobump;sweep 1000\n",
                "hot garbage-collection", "goes to collecting garbage");
    assert_says(PLAIN "main;scheduleDoGC;GarbageCollect;scavenge_loop 1000\n", "garbage-collection",
                "goes to collecting garbage");
}

/* Nobody who reads this changes the lines of the C library. */
static void functions_of_the_c_library_are_to_be_called_less(void **state)
{
    static const char *const modules[] = {"/usr/lib/libc.so.6", "/bin/app"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        autobuf struct buf ids = {0}, evidence = {0}, advice = {0};
        ask_both(with_module(modules[i], "transform"), &ids, &evidence, &advice);
        assert_string_equal(buf_cstr(&ids), "dominating");
        assert_int_equal(strstr(buf_cstr(&advice), "where to call it less") != NULL, !i);
        assert_int_equal(strstr(buf_cstr(&advice), "annotate") != NULL, i);
    }
}

/* With the kernel hidden, what has most of the samples may be next to nothing. */
static void nobody_starts_where_the_kernel_had_most_of_the_time(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        autobuf struct buf ids = {0}, evidence = {0}, advice = {0};
        struct profile *p = with_module("/bin/app", "transform");
        meta_set_str(&p->meta, META_KERNEL_HIDDEN, i ? "yes" : "no");
        meta_set_u64(&p->meta, META_CPU_TIME_NS, 10000000000);
        meta_set_u64(&p->meta, META_SAMPLED_OF_NS, i == 2 ? 6000000000 : 2000000000);
        ask_both(p, &ids, &evidence, &advice);
        assert_int_equal(strstr(buf_cstr(&advice), "Most of the CPU time") != NULL, i == 1);
        assert_int_equal(strstr(buf_cstr(&advice), "Start here") != NULL, i != 1);
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
    assert_says(PLAIN "main;parse 120\n", "", ""); /* 10.7%, but not surely a tenth */
}

/* PLAIN, and code made at run time with SAMPLES samples beside a function with others. */
static char *advice_beside_jit(int64_t samples, int64_t others)
{
    struct profile *p = support_folded(PLAIN);
    struct err err;
    for (int i = 0; i < 2; i++) {
        struct frame_id frame = profile_add_named_frame(p, text_of(i ? "parse" : "LazyCompile:*f"),
                                                        i ? FRAME_USER : FRAME_JIT);
        struct row r = {.stack = stacks_intern(&p->stacks, &frame, 1),
                        .values = i ? &others : &samples};
        if (*r.values)
            assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    }
    autobuf struct buf ids = {0}, evidence = {0}, advice = {0};
    ask_both(p, &ids, &evidence, &advice);
    return mem_strdup(buf_cstr(&advice));
}

/* No file has its lines: nothing can be annotated. */
static void of_code_made_at_run_time_the_callers_are_the_advice(void **state)
{
    (void)state;
    autofree char *hot = advice_beside_jit(200, 0), *both = advice_beside_jit(250, 250);
    autofree char *most = advice_beside_jit(9000, 0), *plain = advice_beside_jit(0, 9000);
    assert_string_equal(hot, "Its callers show where to make fewer calls.");
    assert_non_null(strstr(both, "'kelvin annotate' shows a function's hottest lines."));
    assert_non_null(strstr(most, "the hot paths show its callers"));
    assert_null(strstr(plain, "the hot paths show its callers"));
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

static void gains_are_of_what_was_seen(void **state)
{
    (void)state;
    struct profile *p = support_folded(PLAIN "main;parse 200\n");
    autobuf struct buf ids = {0}, evidence = {0};
    meta_set_str(&p->meta, META_KERNEL_HIDDEN, "yes");
    ask(p, &ids, &evidence);
    assert_non_null(strstr(buf_cstr(&evidence), "gains 8.3% of the time outside the kernel"));
}

/* The library that counts blocks needs no right to see the kernel. */
static void what_memory_saves_is_memory(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct err err;
    autobuf struct buf ids = {0}, evidence = {0};
    support_value(p, "", "inuse_space", "bytes");
    meta_set_str(&p->meta, META_KERNEL_HIDDEN, "yes");
    struct frame_id frame = profile_add_named_frame(p, text_of("f"), FRAME_USER);
    struct row r = {.stack = stacks_intern(&p->stacks, &frame, 1), .values = (int64_t[]){5000}};
    assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    ask(p, &ids, &evidence);
    assert_non_null(strstr(buf_cstr(&evidence), "half as much here saves 50.0% of the whole"));
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
        {"heap", "temporary", "count"},
        {"heap", "frees", "count"},
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
    assert_non_null(strstr(advice_on("cpu-clock", "samples", "count"), "hottest lines"));
    assert_non_null(strstr(advice_on("", "inuse_space", "bytes"), "allocations"));
    assert_null(strstr(advice_on("", "inuse_space", "bytes"), "hottest lines"));
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
        cmocka_unit_test(buffers_are_for_who_reads_or_writes),
        cmocka_unit_test(who_starts_processes_is_not_told_to_use_bigger_buffers),
        cmocka_unit_test(who_clears_is_not_told_to_pass_references),
        cmocka_unit_test(kelvins_own_functions_are_not_called_the_programs),
        cmocka_unit_test(nobody_is_told_to_make_kelvins_own_code_faster),
        cmocka_unit_test(an_allocator_does_not_dominate_the_memory),
        cmocka_unit_test(a_little_of_it_is_not_worth_a_word),
        cmocka_unit_test(shapes),
        cmocka_unit_test(mostly_is_more_than_half),
        cmocka_unit_test(collecting_garbage_is_not_a_hot_function),
        cmocka_unit_test(an_interpreters_loop_is_not_to_blame),
        cmocka_unit_test(shares_below_the_noise_give_no_advice),
        cmocka_unit_test(counts_too_small_to_be_sure_give_no_advice),
        cmocka_unit_test(threads_of_openmp_that_spin_are_not_called_hot),
        cmocka_unit_test(threads_of_openmp_that_sleep_wait_for_no_lock),
        cmocka_unit_test(the_name_of_a_file_says_nothing_of_what_a_function_does),
        cmocka_unit_test(start_here_is_for_programs_that_compute),
        cmocka_unit_test(who_asked_for_a_system_call_is_named),
        cmocka_unit_test(collectors_of_garbage_are_known_by_name),
        cmocka_unit_test(functions_of_the_c_library_are_to_be_called_less),
        cmocka_unit_test(nobody_starts_where_the_kernel_had_most_of_the_time),
        cmocka_unit_test(names_too_long_for_a_sentence_are_cut),
        cmocka_unit_test(functions_are_hot_from_a_tenth_on),
        cmocka_unit_test(of_code_made_at_run_time_the_callers_are_the_advice),
        cmocka_unit_test(samples_that_two_insights_count_are_told),
        cmocka_unit_test(the_caller_behind_the_allocator_is_named),
        cmocka_unit_test(gains_are_of_what_was_seen),
        cmocka_unit_test(what_memory_saves_is_memory),
        cmocka_unit_test(copies_of_system_calls_are_not_the_programs),
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
