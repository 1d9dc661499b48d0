/*
 * From where on something of a heap is worth a word, and what blocks are for.
 */
#include "analysis/heapstory.h"

#include "model/meta.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support_heap.h"

static const char *text_titled(const struct heapstory *s, const char *title)
{
    for (size_t i = 0; i < s->insights.at.n; i++)
        if (strcmp(s->insights.at.at[i].title, title) == 0)
            return s->insights.at.at[i].text;
    return NULL;
}

/* Build the story of P, and free both. WORDS NULL: the insight must not be there. */
static void story_says(struct profile *p, const char *title, const char *words)
{
    struct heapstory s;
    struct err err;
    assert_int_equal(heapstory_build(&s, p, NULL, &err), 0);
    const char *text = text_titled(&s, title);
    if (!words != !text || (words && !strstr(text, words)))
        fail_msg("%s: '%s' where '%s' is expected", title, text ? text : "", words ? words : "");
    heapstory_done(&s);
    profile_free(p);
}

/* --- from where on it is worth a word --- */

static struct profile *leaks(size_t n_places, int64_t bytes_each)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    struct profile *p = new_heap();
    for (size_t i = 0; i < n_places; i++)
        heap_took(p,
                  &(struct heap_row){names[i], i, 2, bytes_each, .frees = 1, .leaked = bytes_each});
    return p;
}

static void leaks_are_told_from_64_kib_and_a_fifth_on(void **state)
{
    (void)state;
    story_says(leaks(1, 64 * KIB), "leak", "a never freed 64 KiB in 1 block");
    story_says(leaks(1, 64 * KIB - 1), "leak", NULL);
    story_says(leaks(5, MIB), "leak", "20% of all that was never freed");
    story_says(leaks(6, MIB), "leak", NULL);
}

static void what_the_cxx_library_reserves_is_no_leak(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct profile *p = new_heap();
        heap_took(p, &(struct heap_row){i ? "[app+0xa5780]" : "[libstdc++.so.6.0.30+0xa5780]", 0, 1,
                                        71 * KIB, .leaked = 71 * KIB});
        story_says(p, "leak", i ? "never freed 71 KiB in 1 block" : NULL);
    }
    struct profile *p = new_heap(); /* 39 processes */
    heap_took(p, &(struct heap_row){"[libstdc++.so.6.0.30+0xa5780]", 0, 39, 39 * 71 * KIB,
                                    .leaked = 39 * 71 * KIB});
    story_says(p, "leak", NULL);
    p = new_heap(); /* too many and too small to be that */
    heap_took(p, &(struct heap_row){"[libstdc++.so.6.0.30+0xa5780]", 0, 710, 71 * KIB,
                                    .leaked = 71 * KIB});
    story_says(p, "leak", "never freed 71 KiB in 710 blocks");
}

/* N blocks that come at AT_MS and stay until ten seconds are over. */
static struct profile *kept(uint64_t at_ms, int64_t n)
{
    struct profile *p = new_heap();
    heap_took(p, &(struct heap_row){"other", 0, 1, 1, .frees = 1, .freed = 1});
    heap_took(p, &(struct heap_row){"tables", at_ms, n, MIB});
    heap_took(p, &(struct heap_row){"tables", 10000, .leaked = MIB});
    return p;
}

static void a_few_blocks_kept_since_the_start_are_no_leak(void **state)
{
    (void)state;
    story_says(kept(1000, 16), "leak", NULL);
    story_says(kept(1000, 17), "leak", "tables never freed 1 MiB in 17 blocks");
    story_says(kept(500, 1700), "leak", NULL); /* in the first tenth as many as it likes */
    story_says(kept(9000, 16), "leak", "tables never freed 1 MiB in 16 blocks");
    struct profile *p = new_heap(); /* half of them come later: so may more */
    heap_took(p, &(struct heap_row){"tables", 1000, 8, MIB});
    heap_took(p, &(struct heap_row){"tables", 9000, 8, MIB});
    heap_took(p, &(struct heap_row){"tables", 10000, .leaked = 2 * MIB});
    story_says(p, "leak", "tables never freed 2 MiB in 16 blocks");
    p = kept(1000, 160); /* as many in each of ten processes */
    meta_set_u64(&p->meta, META_HEAP_PROCESSES, 10);
    story_says(p, "leak", NULL);
}

/* What is held in each twentieth of ten seconds; the last row ends the recording. */
static struct profile *holds(int64_t first, int64_t step, int64_t peak)
{
    struct profile *p = new_heap();
    for (uint64_t i = 0; i < STORY_TIMES; i++) /* in the middle of each twentieth */
        heap_took(p, &(struct heap_row){"cache", i * 500 + 250 * (i > 0), 1, i ? step : first,
                                        .peak = i ? 0 : peak});
    heap_took(p, &(struct heap_row){"cache", 10000, .frees = 1, .freed = 1});
    return p;
}

/* As much was held before half time: a pool that is filled again. */
static void what_was_held_before_does_not_grow(void **state)
{
    (void)state;
    struct profile *p = new_heap();
    heap_took(p, &(struct heap_row){"pool", 0, 1, 3 * MIB, .peak = 3 * MIB});
    heap_took(p, &(struct heap_row){"pool", 3000, .frees = 1, .freed = 2 * MIB});
    for (uint64_t ms = 5250; ms < 10000; ms += 500)
        heap_took(p, &(struct heap_row){"pool", ms, 1, MIB / 8});
    heap_took(p, &(struct heap_row){"pool", 10000, .frees = 1, .freed = 1});
    story_says(p, "growth", NULL);
}

static void growth_is_told_from_64_kib_and_a_twentieth_of_the_peak_on(void **state)
{
    (void)state;
    /* nine steps from the tenth twentieth to the nineteenth */
    story_says(holds(MIB, 8 * KIB, MIB), "growth", "held by cache grew from 1.07 MiB to 1.14 MiB");
    story_says(holds(MIB, 7 * KIB, MIB), "growth", NULL);
    story_says(holds(MIB, 8 * KIB, 20 * 72 * KIB), "growth", "grew");
    story_says(holds(MIB, 8 * KIB, 20 * 72 * KIB + 1), "growth", NULL);
    story_says(holds(MIB, 0, MIB), "growth", NULL);
}

static struct profile *temporary(int64_t allocations, int64_t temporaries)
{
    struct profile *p = new_heap();
    heap_took(p, &(struct heap_row){"format", 0, .allocations = allocations,
                                    .temporary = temporaries / 4 * 3});
    heap_took(p, &(struct heap_row){"join", 99000, .temporary = temporaries / 4});
    return p;
}

static void temporary_blocks_are_told_from_a_quarter_of_10000_on(void **state)
{
    (void)state;
    story_says(temporary(10000, 2500), "temporary",
               "25% of the allocations are freed before their thread's next one; 75% of those "
               "come from format");
    story_says(temporary(9999, 5000), "temporary", NULL);
    story_says(temporary(10000, 2400), "temporary", NULL);
}

static struct profile *churn(int64_t per_second, int64_t others)
{
    struct profile *p = new_heap();
    heap_took(p, &(struct heap_row){"parse", 0, .allocations = 2 * per_second});
    for (int64_t i = 0; i < 3; i++)
        heap_took(p, &(struct heap_row){(const char *[]){"x", "y", "z"}[i], 2000,
                                        .allocations = others / 3});
    return p;
}

static void churn_is_told_from_10000_per_second_and_three_tenths_on(void **state)
{
    (void)state;
    story_says(churn(10000, 0), "churn", "parse makes 100% of the allocations, 10,000 per second");
    story_says(churn(9999, 0), "churn", NULL);
    story_says(churn(15000, 70000 / 3 * 3), "churn", "30%");
    story_says(churn(15000, 81000), "churn", NULL);
}

/* N blocks of up to LARGEST bytes, and OTHERS of another size, all of one place. */
static struct profile *sizes(int64_t largest, int64_t n, int64_t others)
{
    struct err err;
    struct profile *p = new_heap();
    heap_took(p, &(struct heap_row){"node", 0, .allocations = n + others});
    int stream = profile_add_stream(p, "heap-sizes", event_obtained(text_of("heap-sizes")));
    profile_add_value(p, stream, "blocks", "count");
    for (int i = 0; i < 2; i++) {
        struct attr a = {.key = profile_add_str(p, text_of("size")),
                         .is_number = true,
                         .number = i ? 2 * largest + 1 : largest};
        struct row row = {.stack = stack_of(p, "node"),
                          .attrs = attrs_add(&p->attrs, (struct attrs_id){0}, &a),
                          .values = i ? &others : &n};
        assert_int_equal(profile_add_row(p, stream, &row, &err), 0);
    }
    return p;
}

static void one_size_is_told_of_50000_small_blocks_on(void **state)
{
    (void)state;
    story_says(sizes(63, 50000, 0), "one size", "100% of the blocks of node have 32 to 63 bytes");
    story_says(sizes(63, 49999, 0), "one size", NULL);
    story_says(sizes(0, 50000, 0), "one size", "0 to 0 bytes");
    story_says(sizes(1023, 95000, 5000), "one size", "95% of the blocks of node have 512 to 1023");
    story_says(sizes(1023, 94000, 6000), "one size", NULL);
    story_says(sizes(2047, 50000, 0), "one size", NULL); /* large ones gain nothing from a pool */
}

/* --- what blocks are for --- */

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

/* Blocks that WRAPPER asks for on behalf of a function. */
struct wrapped_blocks {
    const char *wrapper;
    int64_t blocks, grown, added, brief, long_lived;
};

static int add_classes_stream(struct profile *p, const char *name)
{
    int stream = profile_add_stream(p, name, event_obtained(text_of(name)));
    profile_add_value(p, stream, "blocks", "count");
    return stream;
}

static void add_class_row(struct profile *p, int stream, struct row *row, const char *key,
                          int64_t largest)
{
    struct err err;
    struct attr a = {.key = profile_add_str(p, text_of(key)), .is_number = true, .number = largest};
    row->attrs = attrs_add(&p->attrs, (struct attrs_id){0}, &a);
    assert_int_equal(profile_add_row(p, stream, row, &err), 0);
}

/* These, and others that nothing is known of. */
static struct profile *wrapped(const struct wrapped_blocks *w, int64_t others)
{
    struct profile *p = new_heap();
    struct stack_id stack = {0};
    const char *names[] = {"main", "parse", w->wrapper, "operator new(unsigned long)"};
    for (size_t i = 0; i < 4; i++)
        stack = stacks_push(&p->stacks, stack,
                            profile_add_named_frame(p, text_of(names[i]), FRAME_USER));
    heap_took(p, &(struct heap_row){"other", 0, .allocations = w->blocks + others,
                                    .allocated = 100 * (w->blocks + others)});
    int sizes = add_classes_stream(p, "heap-sizes"),
        lives = add_classes_stream(p, "heap-lifetimes");
    profile_add_value(p, sizes, "added", "bytes");
    profile_add_value(p, sizes, "grown", "count");
    struct row row = {.stack = stack};
    row.values = (int64_t[]){w->blocks, w->added, w->grown};
    add_class_row(p, sizes, &row, "size", 63);
    row.values = &w->brief;
    add_class_row(p, lives, &row, "lifetime", (1 << 24) - 1);
    row.values = &w->long_lived;
    add_class_row(p, lives, &row, "lifetime", (1 << 25) - 1);
    row.stack = stack_of(p, "other");
    row.values = (int64_t[]){others, 0, 0};
    add_class_row(p, sizes, &row, "size", 63);
    return p;
}

static void growth_by_steps_is_told_of_10000_blocks_and_a_tenth_on(void **state)
{
    static const char *const growing[] = {
        "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>(int const&)",
        "std::vector<int, std::allocator<int> >::_M_realloc_append<int>(int&&)",
        "alloc::raw_vec::RawVec<T,A>::grow_one", "alloc::raw_vec::RawVec<T,A>::reserve_for_push"};
    (void)state;
    for (size_t i = 0; i < 4; i++)
        story_says(wrapped(&(struct wrapped_blocks){growing[i], 10000}, 90000), "growth by steps",
                   "parse moved to a larger block 10,000 times, as a vector that was full or by "
                   "realloc: 10% of all allocations");
    story_says(wrapped(&(struct wrapped_blocks){growing[0], 9999}, 0), "growth by steps", NULL);
    story_says(wrapped(&(struct wrapped_blocks){growing[0], 10000}, 90001), "growth by steps",
               NULL);
    story_says(wrapped(&(struct wrapped_blocks){"realloc", 20000, .grown = 15000}, 0),
               "growth by steps", "15,000 times");
    story_says(wrapped(&(struct wrapped_blocks){"realloc", 20000, .grown = 9999}, 0),
               "growth by steps", NULL);
    story_says(
        wrapped(&(struct wrapped_blocks){"std::vector<int>::reserve(unsigned long)", 50000}, 0),
        "growth by steps", NULL);
    story_says(wrapped(&(struct wrapped_blocks){"part", 50000}, 0), "growth by steps", NULL);
}

static void string_copies_are_told_where_most_are_brief(void **state)
{
    static const char *const copying[] = {STRING "::basic_string(" STRING " const&)",
                                          "void " STRING
                                          "::_M_construct<char const*>(char const*, char const*)",
                                          STRING "::_M_assign(" STRING " const&)",
                                          "strdup",
                                          "xstrdup",
                                          "g_strdup",
                                          "<alloc::string::String as core::clone::Clone>::clone"};
    (void)state;
    for (size_t i = 0; i < 7; i++)
        story_says(wrapped(&(struct wrapped_blocks){copying[i], 10000, .brief = 9000}, 90000),
                   "string copies",
                   "parse made 10,000 strings or copies of strings, 10% of all allocations; 90% of "
                   "these were "
                   "freed within 17 ms");
    story_says(
        wrapped(&(struct wrapped_blocks){copying[0], 10000, .brief = 8900, .long_lived = 1100}, 0),
        "string copies", NULL);
    story_says(wrapped(&(struct wrapped_blocks){copying[0], 9999, .brief = 9999}, 0),
               "string copies", NULL);
    story_says(wrapped(&(struct wrapped_blocks){copying[0], 10000, .brief = 10000}, 90001),
               "string copies", NULL);
    story_says(
        wrapped(&(struct wrapped_blocks){"std::make_unique<int>()", 10000, .brief = 10000}, 0),
        "string copies", NULL);
}

/* BRIEF of 40,000 blocks of one place live for 17 ms at most, the rest for longer. */
static struct profile *lasting(int64_t brief)
{
    struct profile *p = churn(20000, 0);
    int sizes = add_classes_stream(p, "heap-sizes"),
        lives = add_classes_stream(p, "heap-lifetimes");
    struct row row = {.stack = stack_of(p, "parse")};
    row.values = (int64_t[]){40000};
    add_class_row(p, sizes, &row, "size", 63);
    row.values = &brief;
    add_class_row(p, lives, &row, "lifetime", (1 << 24) - 1);
    row.values = (int64_t[]){40000 - brief};
    add_class_row(p, lives, &row, "lifetime", (1 << 25) - 1);
    return p;
}

static void what_comes_to_stay_is_no_churn(void **state)
{
    (void)state;
    story_says(lasting(20000), "churn", "20,000 per second");
    story_says(lasting(20000), "many blocks", NULL);
    story_says(lasting(19999), "churn", NULL);
    story_says(lasting(19999), "many blocks",
               "parse makes 100% of the allocations, 20,000 per second; most of its blocks live "
               "longer than 17 ms");
}

/* No program can free them: they stay in the sums, and are told. */
static void what_runtimes_keep_is_told(void **state)
{
    (void)state;
    struct heapstory s;
    struct err err;
    struct profile *p = new_heap();
    heap_took(p, &(struct heap_row){"load", 0, .allocations = 3, .allocated = 300, .leaked = 100});
    struct stack_id stack = {0};
    const char *names[] = {"main", "puts", "_IO_file_doallocate"};
    for (size_t i = 0; i < 3; i++)
        stack = stacks_push(&p->stacks, stack,
                            profile_add_named_frame(p, text_of(names[i]), FRAME_USER));
    heap_took(p,
              &(struct heap_row){"save", 1, .allocations = 1, .allocated = 4096, .leaked = 4096});
    struct stream *heap = profile_stream(p, 0);
    heap->rows.stack[heap->rows.n - 1] = stack;
    assert_int_equal(heapstory_build(&s, p, NULL, &err), 0);
    assert_int_equal(s.kept_bytes, 4096);
    assert_int_equal(s.value[STORY_LEAKED], 4196);
    heapstory_done(&s);
    profile_free(p);
}

static void overhead_is_known_of_glibc_alone(void **state)
{
    (void)state;
    for (int glibc = 0; glibc < 2; glibc++) {
        struct heapstory s;
        struct err err;
        struct profile *p = wrapped(&(struct wrapped_blocks){"part", 100, .added = 1600}, 20);
        if (glibc)
            meta_set_str(&p->meta, META_HEAP_MALLOC, "glibc");
        assert_int_equal(heapstory_build(&s, p, NULL, &err), 0);
        assert_int_equal(s.has_added, glibc);
        assert_int_equal(s.added, 1600);
        assert_int_equal(heapstory_small_blocks(&s), 120);
        heapstory_done(&s);
        profile_free(p);
    }
}

static struct profile *resident(int64_t rss, int64_t peak)
{
    struct profile *p = new_heap();
    heap_took(p, &(struct heap_row){"load", 0, 1, peak, .peak = peak});
    int counter = profile_add_counter(p, "RSS", "bytes", (struct process_id){0});
    profile_add_point(p, counter, 1, rss / 2);
    profile_add_point(p, counter, 2, rss);
    profile_add_point(p, counter, 3, rss / 3);
    return p;
}

static void memory_beside_the_heap_is_told_from_64_mib_and_as_much_again_on(void **state)
{
    (void)state;
    story_says(resident(128 * MIB, 64 * MIB), "beside the heap",
               "128 MiB in memory (RSS), but the heap never more than 64 MiB");
    story_says(resident(128 * MIB - 1, 64 * MIB), "beside the heap", NULL);
    story_says(resident(100 * MIB, 36 * MIB), "beside the heap", "100 MiB");
    story_says(resident(100 * MIB, 36 * MIB + 1), "beside the heap", NULL);
    story_says(resident(200 * MIB, 101 * MIB), "beside the heap", NULL);
}

/* A heap sampled SAMPLES times within 10 ms; its size was last noted after a second. */
static struct profile *sampled_heap(int64_t samples)
{
    struct err err;
    struct profile *p = profile_new();
    int stream = profile_add_stream(p, "heap", event_obtained(text_of("heap")));
    profile_add_value(p, stream, "allocations", "count");
    profile_add_value(p, stream, "allocated", "bytes");
    profile_add_value(p, stream, "samples", "count");
    for (uint64_t i = 0; i < 2; i++) {
        int64_t values[] = {10000, 640000, i ? samples - samples / 2 : samples / 2};
        struct row row = {.stack = stack_of(p, "parse"),
                          .has_time = true,
                          .time_ns = (1000 + 10 * i) * 1000000,
                          .values = values};
        assert_int_equal(profile_add_row(p, stream, &row, &err), 0);
    }
    int live = profile_add_counter(p, "heap live", "bytes", (struct process_id){0});
    profile_add_point(p, live, 2000000000, 0);
    return p;
}

static void rates_are_of_the_time_until_the_heap_was_last_seen(void **state)
{
    (void)state;
    story_says(sampled_heap(10), "churn", "parse makes 100% of the allocations, 20,000 per second");
}

static void fewer_than_ten_samples_give_no_insights(void **state)
{
    (void)state;
    story_says(sampled_heap(9), "churn", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaks_are_told_from_64_kib_and_a_fifth_on),
        cmocka_unit_test(what_the_cxx_library_reserves_is_no_leak),
        cmocka_unit_test(what_was_held_before_does_not_grow),
        cmocka_unit_test(a_few_blocks_kept_since_the_start_are_no_leak),
        cmocka_unit_test(growth_is_told_from_64_kib_and_a_twentieth_of_the_peak_on),
        cmocka_unit_test(temporary_blocks_are_told_from_a_quarter_of_10000_on),
        cmocka_unit_test(churn_is_told_from_10000_per_second_and_three_tenths_on),
        cmocka_unit_test(one_size_is_told_of_50000_small_blocks_on),
        cmocka_unit_test(memory_beside_the_heap_is_told_from_64_mib_and_as_much_again_on),
        cmocka_unit_test(growth_by_steps_is_told_of_10000_blocks_and_a_tenth_on),
        cmocka_unit_test(string_copies_are_told_where_most_are_brief),
        cmocka_unit_test(what_comes_to_stay_is_no_churn),
        cmocka_unit_test(what_runtimes_keep_is_told),
        cmocka_unit_test(overhead_is_known_of_glibc_alone),
        cmocka_unit_test(rates_are_of_the_time_until_the_heap_was_last_seen),
        cmocka_unit_test(fewer_than_ten_samples_give_no_insights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
