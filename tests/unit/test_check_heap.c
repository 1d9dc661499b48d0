/* test_check_heap.c - rules about the heap, of one profile and against another. */
#include "analysis/check.h"
#include "model/meta.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support.h"

enum { CPU, HEAP };

/* --- heaps --- */

/* A profile of CPU time of main, render and idle, with a stream of the heap behind it. */
static struct profile *heap_new(enum obtained obtained)
{
    static const char *const columns[][2] = {{"samples", "count"},   {"allocations", "count"},
                                             {"allocated", "bytes"}, {"temporary", "count"},
                                             {"leaked", "bytes"},    {"peak", "bytes"}};
    struct profile *p = support_folded("main;render 50\nmain;idle 50\n");
    assert_int_equal(profile_add_stream(p, "heap", obtained), HEAP);
    for (size_t i = obtained == BY_EXACT_COUNT; i < sizeof columns / sizeof *columns; i++)
        profile_add_value(p, HEAP, columns[i][0], columns[i][1]);
    return p;
}

struct blocks {
    const char *function;
    int64_t samples, allocations, allocated, temporary, leaked, peak;
    struct attrs_id in;
};

static void add_blocks(struct profile *p, const struct blocks *b)
{
    struct err err;
    int64_t values[] = {b->samples, b->allocations, b->allocated, b->temporary, b->leaked, b->peak};
    bool exact = profile_stream(p, HEAP)->obtained == BY_EXACT_COUNT;
    struct stack_id stack = {0};
    stack = stacks_push(&p->stacks, stack, profile_add_named_frame(p, text_of("main"), FRAME_USER));
    stack = stacks_push(&p->stacks, stack,
                        profile_add_named_frame(p, text_of(b->function), FRAME_USER));
    struct row row = {.stack = stack, .attrs = b->in, .values = values + exact};
    assert_int_equal(profile_add_row(p, HEAP, &row, &err), 0);
}

/* --- rules --- */

static void comes_out(struct profile *before, struct profile *now, const char *rule,
                      enum check_verdict verdict, const char *words)
{
    struct rules rules;
    struct check c;
    struct selection old =
        before ? selection_all(before, (struct value_ref){CPU, 0}) : (struct selection){0};
    struct check_input in = {
        .selection = SUPPORT_ALL(now, 0), .before = before ? &old : NULL, .no_code = ""};
    if (rules_parse(&rules, text_of(rule)) != 0)
        fail_msg("'%s': %s", rule, rules.errors.at[0].text);
    if (check_build(&c, &rules, &in) != 0)
        fail_msg("'%s': %s", rule, rules.errors.at[0].text);
    const struct check_result *r = &c.results.at[0];
    autofree char *all = mem_printf("%s | %s | %s", r->expected, r->observed, r->why);
    if (r->verdict != verdict || !strstr(all, words))
        fail_msg("'%s' %s: %s", rule, check_verdict_names[r->verdict], all);
    check_done(&c);
    rules_done(&rules);
}

static void is_refused(struct profile *before, struct profile *now, const char *rule,
                       const char *words)
{
    struct rules rules;
    struct check c = {0};
    struct selection old =
        before ? selection_all(before, (struct value_ref){CPU, 0}) : (struct selection){0};
    struct check_input in = {
        .selection = SUPPORT_ALL(now, 0), .before = before ? &old : NULL, .no_code = ""};
    if (rules_parse(&rules, text_of(rule)) == 0)
        assert_int_equal(check_build(&c, &rules, &in), -1);
    if (!strstr(rules.errors.at[0].text, words))
        fail_msg("'%s': %s", rule, rules.errors.at[0].text);
    check_done(&c);
    rules_done(&rules);
}

static void each_word_has_its_column(void **state)
{
    (void)state;
    struct profile *p = heap_new(BY_EXACT_COUNT);
    add_blocks(p, &(struct blocks){"render", 0, 10, 1000, 3, 70, 500});
    add_blocks(p, &(struct blocks){"parse", 0, 5, 200, 1, 30, 100});
    comes_out(NULL, p, "peak == 600", CHECK_HOLDS, "600 B");
    comes_out(NULL, p, "peak <= 599", CHECK_FAILS, "600 B");
    comes_out(NULL, p, "leaked == 100", CHECK_HOLDS, "");
    comes_out(NULL, p, "allocated == 1200", CHECK_HOLDS, "");
    comes_out(NULL, p, "temporary == 4", CHECK_HOLDS, "");
    comes_out(NULL, p, "allocations == 15", CHECK_HOLDS, "");
    comes_out(NULL, p, "allocs render == 10", CHECK_HOLDS, "10");
    comes_out(NULL, p, "allocs(parse) == 5", CHECK_HOLDS, "5");
    comes_out(NULL, p, "allocs main <= 14", CHECK_FAILS, "15");
    comes_out(NULL, p, "leaked render == 70", CHECK_HOLDS, "");
    comes_out(NULL, p, "peak <= 1 KiB", CHECK_HOLDS, "1 KiB");
    comes_out(NULL, p, "peak >= 0.7 kB", CHECK_FAILS, "");
    profile_free(p);
}

/* Buffers of streams, and what kelvin.h loads: no program can free them. */
static void what_runtimes_keep_is_no_leak(void **state)
{
    (void)state;
    struct profile *p = heap_new(BY_EXACT_COUNT);
    add_blocks(p, &(struct blocks){"_IO_file_doallocate", 0, 1, 4096, 0, 4096, 0});
    add_blocks(p, &(struct blocks){"kelvin_load_", 0, 1, 1000, 0, 1000, 0});
    add_blocks(p, &(struct blocks){"render", 0, 1, 9, 0, 0, 0});
    comes_out(NULL, p, "leaked == 0", CHECK_HOLDS,
              "0 B, without 4.98 KiB that runtimes keep on purpose");
    comes_out(NULL, p, "leaked render == 0", CHECK_HOLDS, "");
    add_blocks(p, &(struct blocks){"render", 0, 1, 70, 0, 70, 0});
    comes_out(NULL, p, "leaked == 0", CHECK_FAILS, "; most by render");
    comes_out(NULL, p, "leaked == 70", CHECK_HOLDS, "70 B");
    comes_out(NULL, p, "leaked main == 70", CHECK_HOLDS, "70 B");
    add_blocks(p, &(struct blocks){"xmalloc", 0, 1, 500, 0, 500, 0}); /* for whoever calls it */
    comes_out(NULL, p, "leaked == 0", CHECK_FAILS, "; most by main");
    profile_free(p);
}

/* idle has samples, so it is no misspelled name; it allocates nothing. */
static void what_allocates_nothing_has_nothing(void **state)
{
    (void)state;
    struct profile *p = heap_new(BY_EXACT_COUNT);
    add_blocks(p, &(struct blocks){"render", 0, 10, 1000, 3, 70, 500});
    comes_out(NULL, p, "allocations idle == 0", CHECK_HOLDS, "idle was never seen allocating");
    comes_out(NULL, p, "allocations idle >= 1", CHECK_FAILS, "idle was never seen allocating");
    is_refused(NULL, p, "allocations rendr == 0", "rendr");
    profile_free(p);
}

static bool has_render_frame(const struct profile *p, const char *name)
{
    (void)p;
    return strcmp(name, "render_frame") == 0;
}

/* A short healthy run has no sample of the function and no block: the program's symbols know it. */
static void a_function_of_the_program_that_was_never_seen_allocates_nothing(void **state)
{
    (void)state;
    struct rules rules;
    struct check c;
    struct profile *p = heap_new(BY_EXACT_COUNT);
    add_blocks(p, &(struct blocks){"render", 0, 10, 1000, 3, 70, 500});
    struct check_input in = {
        .selection = SUPPORT_ALL(p, 0), .no_code = "", .has_function = has_render_frame};
    assert_int_equal(rules_parse(&rules, text_of("allocs(render_frame) == 0")), 0);
    assert_int_equal(check_build(&c, &rules, &in), 0);
    assert_int_equal(c.results.at[0].verdict, CHECK_HOLDS);
    assert_non_null(strstr(c.results.at[0].why, "render_frame was never seen allocating"));
    check_done(&c);
    rules_done(&rules);
    is_refused(NULL, p, "allocs(render_frame) == 0", "render_frame");
    profile_free(p);
}

/* What is seen is kept, and there may be more of it. */
static void what_was_not_recorded_may_break_a_limit(void **state)
{
    (void)state;
    struct profile *p = heap_new(BY_EXACT_COUNT);
    add_blocks(p, &(struct blocks){"render", 0, 10, 1000, 3, 70, 500});
    meta_set_str(&p->meta, META_HEAP_UNSEEN, "busybox");
    comes_out(NULL, p, "peak <= 500", CHECK_INCONCLUSIVE,
              "allocations of busybox were not recorded, so there may be more");
    comes_out(NULL, p, "peak <= 499", CHECK_FAILS, "");
    comes_out(NULL, p, "peak >= 500", CHECK_HOLDS, "");
    comes_out(NULL, p, "allocs(render) == 10", CHECK_HOLDS, "");
    profile_free(p);
    p = heap_new(BY_EXACT_COUNT);
    add_blocks(p, &(struct blocks){"render", 0, 10, 1000, 3, 70, 500});
    meta_set_str(&p->meta, META_HEAP_OWN_MALLOC, "own");
    comes_out(NULL, p, "peak <= 500", CHECK_INCONCLUSIVE, "allocations of own");
    profile_free(p);
}

static void without_a_heap_there_is_nothing_to_check(void **state)
{
    (void)state;
    struct profile *p = support_folded("main;render 50\n");
    is_refused(NULL, p, "peak <= 1", "there is no heap in the profile");
    profile_free(p);
    p = profile_new();
    support_value(p, "other", "peak", "bytes"); /* a column of that name is not enough */
    is_refused(NULL, p, "peak <= 1", "there is no heap in the profile");
    profile_free(p);
}

/* 21 samples of large blocks, of a program that made 18,252: small ones are seldom sampled. */
static void few_samples_do_not_count_blocks(void **state)
{
    (void)state;
    struct profile *p = heap_new(BY_BYTES);
    meta_set_u64(&p->meta, META_HEAP_SAMPLE_BYTES, 512 << 10);
    add_blocks(p, &(struct blocks){"render", 21, 591, 11 << 20, 0, 0, 0});
    comes_out(NULL, p, "allocations <= 18252", CHECK_INCONCLUSIVE, "591 blocks");
    comes_out(NULL, p, "allocations >= 18252", CHECK_INCONCLUSIVE, "");
    comes_out(NULL, p, "allocations <= 200000", CHECK_HOLDS, "");
    comes_out(NULL, p, "allocations <= 100", CHECK_FAILS, "");
    profile_free(p);

    p = heap_new(
        BY_BYTES); /* 122 samples of small blocks stand for 8192 each: 830,000 to 1,190,000 or so */
    meta_set_u64(&p->meta, META_HEAP_SAMPLE_BYTES, 512 << 10);
    add_blocks(p, &(struct blocks){"render", 122, 999424, 61 << 20, 0, 0, 0});
    comes_out(NULL, p, "allocations >= 900000", CHECK_INCONCLUSIVE, "");
    comes_out(NULL, p, "allocations >= 800000", CHECK_HOLDS, "");
    comes_out(NULL, p, "allocations <= 1100000", CHECK_INCONCLUSIVE, "");
    comes_out(NULL, p, "allocations <= 1300000", CHECK_HOLDS, "");
    profile_free(p);
}

/* 100 blocks were sampled: 81.4 to 121.6 by exact limits. */
static void sampled_heaps_have_intervals(void **state)
{
    (void)state;
    struct profile *p = heap_new(BY_BYTES);
    add_blocks(p, &(struct blocks){"render", 100, 100, 100000, 0, 0, 100000});
    comes_out(NULL, p, "allocated <= 122 kB", CHECK_HOLDS, "");
    comes_out(NULL, p, "allocated <= 121 kB", CHECK_INCONCLUSIVE, "");
    comes_out(NULL, p, "allocated <= 82 kB", CHECK_INCONCLUSIVE, "");
    comes_out(NULL, p, "allocated <= 81 kB", CHECK_FAILS, "");
    comes_out(NULL, p, "allocated idle == 0", CHECK_INCONCLUSIVE,
              "no sampled block was allocated below it, which does not show that none was");
    profile_free(p);

    p = heap_new(BY_BYTES); /* half of the blocks: 37.1 to 65.9 of 50 */
    add_blocks(p, &(struct blocks){"render", 50, 50, 50000, 0, 0, 50000});
    add_blocks(p, &(struct blocks){"parse", 50, 50, 50000, 0, 0, 50000});
    comes_out(NULL, p, "allocated render <= 66 kB", CHECK_HOLDS, "");
    comes_out(NULL, p, "allocated render <= 65 kB", CHECK_INCONCLUSIVE, "");
    comes_out(NULL, p, "allocated render >= 37 kB", CHECK_HOLDS, "");
    comes_out(NULL, p, "allocated render >= 38 kB", CHECK_INCONCLUSIVE, "");
    profile_free(p);

    p = heap_new(BY_BYTES); /* one block stands for 0.0253 to 5.572 */
    add_blocks(p, &(struct blocks){"render", 1, 1, 1000, 0, 0, 1000});
    comes_out(NULL, p, "allocated >= 25 B", CHECK_HOLDS, "");
    comes_out(NULL, p, "allocated >= 26 B", CHECK_INCONCLUSIVE, "");
    comes_out(NULL, p, "allocated <= 5573 B", CHECK_HOLDS, "");
    comes_out(NULL, p, "allocated <= 5571 B", CHECK_INCONCLUSIVE, "");
    profile_free(p);
}

static void changes_are_parts_of_what_was(void **state)
{
    (void)state;
    struct profile *old = heap_new(BY_EXACT_COUNT), *now = heap_new(BY_EXACT_COUNT);
    add_blocks(old, &(struct blocks){"render", 0, 10, 1000, 0, 0, 1000});
    add_blocks(now, &(struct blocks){"render", 0, 12, 900, 0, 50, 900});
    add_blocks(now, &(struct blocks){"fresh", 0, 1, 200, 1, 0, 150});
    comes_out(old, now, "diff peak <= +5%", CHECK_HOLDS, "from 1000 B to 1.03 KiB: ");
    comes_out(old, now, "diff peak <= +4%", CHECK_FAILS, "; most of the growth is by fresh");
    comes_out(old, now, "diff allocations <= +30%", CHECK_HOLDS, "from 10");
    comes_out(old, now, "diff allocs(render) <= +20%", CHECK_HOLDS, "from 10");
    comes_out(old, now, "diff allocs render <= +19%", CHECK_FAILS, "");
    comes_out(old, now, "diff allocated render <= -10%", CHECK_HOLDS, "");
    comes_out(old, now, "diff allocated render <= -11%", CHECK_FAILS, "");
    comes_out(old, now, "diff leaked <= +1000%", CHECK_FAILS, "there was none before");
    comes_out(old, now, "diff temporary fresh <= +1000%", CHECK_FAILS, "there was none before");
    comes_out(now, old, "diff allocated fresh <= -100%", CHECK_HOLDS, "to 0");
    comes_out(old, now, "diff allocs idle <= 0%", CHECK_HOLDS, "from 0");
    is_refused(old, now, "diff allocs nobody <= 0%", "nobody");
    is_refused(NULL, now, "diff peak <= +5%", "compares with another profile");
    is_refused(old, now, "diff peak <= 5 MiB", "");
    is_refused(old, now, "diff peak render", "");
    is_refused(old, now, "diff peak", "");
    profile_free(old);
    old = support_folded("main;render 50\n");
    is_refused(old, now, "diff peak <= +5%", "there is no heap in the profile");
    profile_free(old);
    profile_free(now);
}

/* 400 blocks on either side: 9.8% each, so 0.902 / 1.098 and 1.098 / 0.902. */
static void changes_of_sampled_heaps_have_intervals(void **state)
{
    (void)state;
    struct profile *old = heap_new(BY_BYTES), *now = heap_new(BY_BYTES);
    add_blocks(old, &(struct blocks){"render", 400, 400, 40000, 0, 0, 0});
    add_blocks(now, &(struct blocks){"render", 400, 400, 40000, 0, 0, 0});
    comes_out(old, now, "diff allocated <= +22%", CHECK_HOLDS, "");
    comes_out(old, now, "diff allocated <= +21%", CHECK_INCONCLUSIVE, "");
    comes_out(old, now, "diff allocated >= -19%", CHECK_HOLDS, "");
    comes_out(old, now, "diff allocated >= -18%", CHECK_INCONCLUSIVE, "");
    comes_out(old, now, "diff allocated <= -20%", CHECK_FAILS, "");
    comes_out(old, now, "diff allocated idle <= 0%", CHECK_INCONCLUSIVE, "no sampled block");
    profile_free(old);

    old = heap_new(BY_EXACT_COUNT); /* one side that is known does not make the other so */
    add_blocks(old, &(struct blocks){"render", 0, 400, 40000, 0, 0, 0});
    comes_out(old, now, "diff allocated <= +5%", CHECK_INCONCLUSIVE, "");
    comes_out(now, old, "diff allocated <= +5%", CHECK_INCONCLUSIVE, "");
    profile_free(old);
    profile_free(now);
}

/* The heap may be in a profile of its own, on either side. */
static void the_heap_may_come_from_another_profile(void **state)
{
    (void)state;
    struct profile *cpu = support_folded("main;render 50\n");
    struct profile *old = heap_new(BY_EXACT_COUNT), *now = heap_new(BY_EXACT_COUNT);
    struct rules rules;
    struct check c;
    add_blocks(old, &(struct blocks){"render", 0, 10, 1000, 0, 0, 0});
    add_blocks(now, &(struct blocks){"render", 0, 30, 3000, 0, 0, 0});
    struct check_input in = {.selection = SUPPORT_ALL(cpu, 0),
                             .before = SUPPORT_ALL(cpu, 0),
                             .heap = now,
                             .heap_before = old,
                             .no_code = ""};
    assert_int_equal(
        rules_parse(&rules, text_of("allocations == 30\ndiff allocated +200..+200%\n")), 0);
    assert_int_equal(check_build(&c, &rules, &in), 0);
    assert_int_equal(c.n[CHECK_HOLDS], 2);
    check_done(&c);
    rules_done(&rules);
    profile_free(cpu);
    profile_free(old);
    profile_free(now);
}

/* As a benchmark told the recorder. */
static void benchmarks_have_rules_per_iteration(void **state)
{
    (void)state;
    struct profile *old = heap_new(BY_EXACT_COUNT), *now = heap_new(BY_EXACT_COUNT);
    is_refused(NULL, now, "allocs_per_op parse == 0", "no benchmark of kelvin_bench.h reported");
    meta_set_str(&old->meta, "allocs_per_op parse/n=8", "2");
    meta_set_str(&now->meta, "allocs_per_op parse/n=8", "2.5");
    meta_set_str(&now->meta, "bytes_per_op parse/n=8", "300");
    meta_set_str(&now->meta, "allocs_per_op scan", "0");
    meta_set_str(&now->meta, "allocs_per_op copy", "1");
    comes_out(NULL, now, "allocs_per_op parse/n=8 <= 2.5", CHECK_HOLDS, "2.5 blocks per iteration");
    comes_out(NULL, now, "allocs_per_op(parse/n=8) == 2", CHECK_FAILS,
              "exactly 2 blocks per iteration | 2.5 blocks per iteration");
    comes_out(NULL, now, "allocs_per_op scan == 0", CHECK_HOLDS, "");
    comes_out(NULL, now, "allocs_per_op copy >= 2", CHECK_FAILS,
              "at least 2 blocks per iteration | 1 block per iteration");
    comes_out(NULL, now, "allocs_per_op(parse/n=8) <= 1", CHECK_FAILS,
              "at most 1 block per iteration | 2.5 blocks per iteration");
    comes_out(NULL, now, "bytes_per_op parse/n=8 <= 299 B", CHECK_FAILS, "300 B");
    comes_out(old, now, "diff allocs_per_op parse/n=8 <= +25%", CHECK_HOLDS, "+25");
    comes_out(old, now, "diff allocs_per_op(parse/n=8) <= 0%", CHECK_FAILS,
              "from 2 blocks per iteration to 2.5");
    is_refused(NULL, now, "allocs_per_op pars == 0", "there are: parse/n=8, scan");
    is_refused(NULL, now, "allocs_per_op == 0", "benchmark");
    is_refused(old, now, "diff bytes_per_op parse/n=8 <= 0%", "no benchmark 'parse/n=8' reported");
    profile_free(old);
    profile_free(now);
}

/* --- scopes --- */

enum { SCOPES = 2 };

/* The scopes "decode" and "quiet"; all of "render" is allocated in "frame" > "decode". */
static struct profile *heap_with_scopes(enum obtained obtained, bool labelled)
{
    static const char *const names[] = {"frame", "decode", "quiet"};
    struct profile *p = heap_new(obtained);
    struct err err;
    struct attrs_id in = {0};
    profile_add_stream(p, "scopes", BY_TRACE);
    profile_add_value(p, SCOPES, "spans", "count");
    for (size_t i = 0; i < 3; i++) {
        struct frame_id f = profile_add_named_frame(p, text_of(names[i]), FRAME_USER);
        int64_t one = 1;
        struct row row = {.stack = stacks_intern(&p->stacks, &f, 1),
                          .has_time = true,
                          .duration_ns = 1,
                          .values = &one};
        assert_int_equal(profile_add_row(p, SCOPES, &row, &err), 0);
        struct attr a = {.key = profile_add_str(p, text_of(SCOPE_KEY)),
                         .text = profile_add_str(p, text_of(names[i]))};
        if (i < 2)
            in = attrs_add(&p->attrs, in, &a);
    }
    add_blocks(p, &(struct blocks){"idle", 5, 5, 50, 0, 0, 50});
    in = labelled ? in : (struct attrs_id){0};
    add_blocks(p, &(struct blocks){"render", 10, 10, 1000, 4, 0, 100, in});
    if (labelled)
        meta_set_str(&p->meta, META_HEAP_SCOPED, "1");
    return p;
}

static void a_scope_is_judged_by_what_was_allocated_in_it(void **state)
{
    (void)state;
    struct profile *p = heap_with_scopes(BY_EXACT_COUNT, true);
    comes_out(NULL, p, "allocs decode == 10", CHECK_HOLDS, "10 blocks");
    comes_out(NULL, p, "allocs frame == 10", CHECK_HOLDS, "10 blocks");
    comes_out(NULL, p, "allocated decode <= 999 B", CHECK_FAILS, "");
    comes_out(NULL, p, "allocs quiet == 0", CHECK_HOLDS, "nothing was allocated in scope quiet");
    comes_out(NULL, p, "allocs idle == 5", CHECK_HOLDS, "");
    profile_free(p);
    p = heap_with_scopes(BY_BYTES, true);
    comes_out(NULL, p, "allocs quiet == 0", CHECK_INCONCLUSIVE, "does not show that none was");
    profile_free(p);
}

/* A recorder that does not label blocks: 0 would be a lie. */
static void without_labels_a_scope_is_no_name_for_the_heap(void **state)
{
    (void)state;
    struct profile *p = heap_with_scopes(BY_EXACT_COUNT, false);
    is_refused(NULL, p, "allocs quiet == 0", "quiet");
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(benchmarks_have_rules_per_iteration),
        cmocka_unit_test(each_word_has_its_column),
        cmocka_unit_test(what_runtimes_keep_is_no_leak),
        cmocka_unit_test(what_allocates_nothing_has_nothing),
        cmocka_unit_test(a_function_of_the_program_that_was_never_seen_allocates_nothing),
        cmocka_unit_test(what_was_not_recorded_may_break_a_limit),
        cmocka_unit_test(without_a_heap_there_is_nothing_to_check),
        cmocka_unit_test(few_samples_do_not_count_blocks),
        cmocka_unit_test(sampled_heaps_have_intervals),
        cmocka_unit_test(changes_are_parts_of_what_was),
        cmocka_unit_test(changes_of_sampled_heaps_have_intervals),
        cmocka_unit_test(the_heap_may_come_from_another_profile),
        cmocka_unit_test(a_scope_is_judged_by_what_was_allocated_in_it),
        cmocka_unit_test(without_labels_a_scope_is_no_name_for_the_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
