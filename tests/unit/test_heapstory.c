/*
 * The story of a heap: what is known, sums by place and how far they can be off, what grows between
 * two times.
 */
#include "analysis/heapstory.h"

#include "model/meta.h"

#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support_heap.h"

/* --- what is known --- */

static void lost_records_are_known_to_the_story(void **state)
{
    struct heapstory s;
    struct err err;
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        struct profile *p = new_heap();
        heap_took(p, &(struct heap_row){"load", 0, .allocations = 3, .allocated = 300});
        p->streams.at[0]->lost = (uint64_t)lost;
        assert_int_equal(heapstory_build(&s, p, NULL, &err), 0);
        assert_int_equal(s.lossy, lost);
        heapstory_done(&s);
        profile_free(p);
    }
}

/* Peaks are written when the recorder ends: without one it was killed. */
static void a_heap_without_its_end_has_no_peak_of_0(void **state)
{
    struct heapstory s;
    struct err err;
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        struct profile *p = new_heap();
        heap_took(p, &(struct heap_row){"load", 0, .allocations = 3, .allocated = 300});
        heap_took(p,
                  &(struct heap_row){"load", 500, .frees = 1, .freed = 100, .peak = 300 * whole});
        assert_int_equal(heapstory_build(&s, p, NULL, &err), 0);
        assert_int_equal(s.cut, !whole);
        assert_int_equal(s.has[STORY_PEAK], whole);
        assert_int_equal(s.has[STORY_LEAKED], whole);
        heapstory_done(&s);
        profile_free(p);
    }
}

/* --- ranges --- */

static void growth_is_between_two_times(void **state)
{
    struct heapstory s;
    struct err err;
    uint32_t top[3];
    struct profile *p = new_heap();
    (void)state;
    heap_took(p, &(struct heap_row){"load", 0, .allocations = 1, .allocated = 500, .peak = 800});
    heap_took(p, &(struct heap_row){"cache", 1000, .allocations = 1, .allocated = 200});
    heap_took(p, &(struct heap_row){"load", 1500, .frees = 1, .freed = 100});
    heap_took(p, &(struct heap_row){"cache", 2000, .allocations = 1, .allocated = 4000});
    assert_int_equal(heapstory_build(&s, p, NULL, &err), 0);
    assert_int_equal(heapstory_between(&s, "0.5..1.8", &err), 0);
    assert_int_equal(s.held_from, 500);
    assert_int_equal(s.held_to, 600);
    assert_int_equal(heapstory_grown(&s, top, 3), 1);
    assert_true(text_is(heapstory_name(&s, &s.places.at[top[0]]), "cache"));
    assert_int_equal(s.places.at[top[0]].held_from, 0);
    assert_int_equal(s.places.at[top[0]].held_to, 200);
    assert_int_equal(heapstory_between(&s, "7..8", &err), -1);
    heapstory_done(&s);
    profile_free(p);
}

/* A process that ended holds nothing: what it never freed is not beside what the next one has. */
static void a_process_lets_go_at_its_end(void **state)
{
    struct heapstory s;
    struct err err;
    uint32_t top;
    struct profile *p = new_heap();
    (void)state;
    for (uint64_t i = 0; i < 20; i++)
        heap_took(p, &(struct heap_row){"list", i * 500, 1, MIB, .peak = i ? 0 : 10 * MIB});
    heap_took(p, &(struct heap_row){"list", 4999, .leaked = 10 * MIB});
    heap_took(p, &(struct heap_row){"list", 10000, .leaked = 10 * MIB});
    assert_int_equal(heapstory_build(&s, p, NULL, &err), 0);
    assert_int_equal(s.places.at[0].live[STORY_TIMES / 2 - 1], 0);
    assert_int_equal(s.places.at[0].live[STORY_TIMES - 2], 9 * MIB);
    assert_int_equal(s.places.at[0].live[STORY_TIMES - 1], 10 * MIB);
    assert_int_equal(s.value[STORY_LEAKED], 20 * MIB);
    assert_int_equal(heapstory_growing(&s, &top, 1), 0);
    assert_int_equal(heapstory_between(&s, "4.5..6.1", &err), 0);
    assert_int_equal(s.held_from, 9 * MIB);
    assert_int_equal(s.held_to, 3 * MIB);
    heapstory_done(&s);
    profile_free(p);
}

/* Other tools write who holds memory, and not when it was taken and given back. */
static void growth_needs_times_and_frees(void **state)
{
    (void)state;
    static const struct {
        bool timed;
        const char *second;
    } cases[] = {{false, "freed"}, {true, "peak"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct heapstory s;
        struct err err;
        struct profile *p = profile_new();
        int stream = profile_add_stream(p, "heap", event_obtained(text_of("heap")));
        profile_add_value(p, stream, "allocated", "bytes");
        profile_add_value(p, stream, cases[i].second, "bytes");
        for (uint64_t k = 1; k < 4; k++) {
            struct row row = {.stack = stack_of(p, "load"),
                              .has_time = cases[i].timed,
                              .time_ns = cases[i].timed ? k * 1000000000 : 0,
                              .values = (int64_t[]){100, 50}};
            assert_int_equal(profile_add_row(p, stream, &row, &err), 0);
        }
        assert_int_equal(heapstory_build(&s, p, NULL, &err), 0);
        assert_int_equal(heapstory_between(&s, "0..1", &err), -1);
        assert_int_equal(err.code, EXIT_INPUT);
        assert_non_null(strstr(err.text, "does not say when blocks were freed"));
        heapstory_done(&s);
        profile_free(p);
    }
}

/* --- how far estimates can be off --- */

/* 10 samples of 64 bytes stand for 10,000 blocks or so: a place is as uncertain as the whole that
 * it is. */
static void a_place_is_no_surer_than_its_samples(void **state)
{
    (void)state;
    struct heapstory s;
    struct err err;
    struct profile *p = profile_new();
    int stream = profile_add_stream(p, "heap", event_obtained(text_of("heap")));
    profile_add_value(p, stream, "allocations", "count");
    profile_add_value(p, stream, "allocated", "bytes");
    profile_add_value(p, stream, "samples", "count");
    struct row row = {.stack = stack_of(p, "load"),
                      .has_time = true,
                      .time_ns = 1000000000,
                      .values = (int64_t[]){10000, 640000, 10}};
    assert_int_equal(profile_add_row(p, stream, &row, &err), 0);
    meta_set_u64(&p->meta, META_HEAP_SAMPLE_BYTES, 64000);
    assert_int_equal(heapstory_build(&s, p, NULL, &err), 0);
    assert_int_equal(s.places.n, 1);
    struct interval all = heapstory_count_interval(&s, NULL, STORY_COUNT_ALLOCATIONS);
    struct interval place = heapstory_count_interval(&s, &s.places.at[0], STORY_COUNT_ALLOCATIONS);
    assert_true(place.low > 0 && place.low < 6000 && place.high > 15000);
    assert_true(fabs(place.low - all.low) < 1);
    heapstory_done(&s);
    profile_free(p);
}

static void no_sample_is_not_nothing(void **state)
{
    (void)state;
    struct heapstory s = {.sampled = true, .sample_bytes = MIB};
    struct interval i = heapstory_interval(&s, 0, 0);
    assert_true(i.low == 0 && fabs(i.high / MIB - 3) < 0.01);
    i = heapstory_interval(&s, 6 * MIB, 6); /* of 6, Poisson's 2.2 to 13.06 */
    assert_true(fabs(i.low / MIB - 2.2) < 0.01 && fabs(i.high / MIB - 13.06) < 0.01);
    i = heapstory_interval(&s, 100 * MIB, 1); /* a block as large as that is hardly missed */
    assert_true(i.low >= 99 * MIB && i.high < 105 * MIB);
    s.sample_bytes = 0; /* not known */
    assert_true(heapstory_interval(&s, MIB, 5).high == 0);
}

/* Seen of povray, which made 18,252 blocks: 21 samples of large ones, or one of 3 bytes among 27.
 */
static void few_samples_of_small_blocks_do_not_count_blocks(void **state)
{
    (void)state;
    struct heapstory s = {.sampled = true, .sample_bytes = MIB / 2};
    int64_t large[STORY_VALUES] = {[STORY_ALLOCATIONS] = 591000, [STORY_SAMPLES] = 21};
    int64_t tiny[STORY_VALUES] = {[STORY_ALLOCATIONS] = 158646000, [STORY_SAMPLES] = 1};
    s.value[STORY_ALLOCATIONS] = 591;
    s.value[STORY_SAMPLES] = 21;
    heapstory_add_variance(s.variance, large, 1000);
    struct interval i = heapstory_count_interval(&s, NULL, STORY_COUNT_ALLOCATIONS);
    assert_true(i.low > 21 && i.low < 591 && i.high > 18252);
    assert_false(heapstory_counts_well(&s, NULL, STORY_COUNT_ALLOCATIONS));
    s.value[STORY_ALLOCATIONS] += 158646;
    s.value[STORY_SAMPLES]++;
    heapstory_add_variance(s.variance, tiny, 1000);
    i = heapstory_count_interval(&s, NULL, STORY_COUNT_ALLOCATIONS);
    assert_true(i.low < 18252 && i.high > 159237);
    assert_false(heapstory_counts_well(&s, NULL, STORY_COUNT_ALLOCATIONS));
}

static void many_samples_of_like_blocks_count_them(void **state)
{
    (void)state;
    /* A million blocks of 64 bytes: 122 samples, each for 8192. */
    struct heapstory s = {.sampled = true, .sample_bytes = MIB / 2};
    int64_t row[STORY_VALUES] = {[STORY_ALLOCATIONS] = 999424000, [STORY_SAMPLES] = 122};
    s.value[STORY_ALLOCATIONS] = 999424;
    s.value[STORY_SAMPLES] = 122;
    heapstory_add_variance(s.variance, row, 1000);
    struct interval i = heapstory_count_interval(&s, NULL, STORY_COUNT_ALLOCATIONS);
    assert_true(i.low > 820000 && i.low < 840000 && i.high > 1190000 && i.high < 1300000);
    assert_true(heapstory_counts_well(&s, NULL, STORY_COUNT_ALLOCATIONS));
    s.sampled = false; /* every block is seen */
    i = heapstory_count_interval(&s, NULL, STORY_COUNT_ALLOCATIONS);
    assert_true(i.low == 999424 && i.high == 999424);
}

static void a_program_that_was_not_seen_makes_the_story_blind(void **state)
{
    static const struct {
        const char *programs, *own, *unseen;
        int64_t allocations;
        bool blind;
        const char *says;
    } cases[] = {
        {"1", NULL, NULL, 0, false, NULL},          {"0", NULL, NULL, 0, true, NULL},
        {"1", "app", NULL, 0, true, NULL},          {"2", "app", NULL, 5, false, NULL},
        {"1", NULL, "busybox", 0, true, "busybox"}, {"2", NULL, "busybox", 5, false, "busybox"},
        {"0", NULL, "busybox", 0, true, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct heapstory s;
        struct err err;
        struct profile *p = new_heap();
        heap_took(p, &(struct heap_row){"load", 0, cases[i].allocations, 10});
        meta_set_str(&p->meta, META_HEAP_PROGRAMS, cases[i].programs);
        if (cases[i].own)
            meta_set_str(&p->meta, META_HEAP_OWN_MALLOC, cases[i].own);
        if (cases[i].unseen)
            meta_set_str(&p->meta, META_HEAP_UNSEEN, cases[i].unseen);
        meta_set_str(&p->meta, META_HEAP_RUNNING, "3");
        assert_int_equal(heapstory_build(&s, p, NULL, &err), 0);
        assert_int_equal(s.blind, cases[i].blind);
        assert_int_equal(s.running, 3);
        assert_int_equal(!s.unseen, !cases[i].says);
        if (cases[i].says)
            assert_string_equal(s.unseen, cases[i].says);
        heapstory_done(&s);
        profile_free(p);
    }
}

/* --- sums --- */

static void a_place_is_who_asked_behind_operator_new(void **state)
{
    struct heapstory s;
    struct err err;
    struct profile *p = new_heap();
    (void)state;
    heap_took(p, &(struct heap_row){"load", 0, .allocations = 3, .allocated = 300});
    heap_took(p, &(struct heap_row){"save", 500, .allocations = 1, .allocated = 50, .peak = 40});
    heap_took(p, &(struct heap_row){"load", 2000, .frees = 2, .freed = 200, .leaked = 100});
    assert_int_equal(heapstory_build(&s, p, NULL, &err), 0);
    assert_int_equal(s.places.n, 2);
    assert_true(text_is(heapstory_name(&s, &s.places.at[0]), "load"));
    assert_true(text_is(heapstory_name(&s, &s.places.at[1]), "save"));
    assert_int_equal(s.places.at[0].value[STORY_ALLOCATED], 300);
    assert_int_equal(heapstory_left(s.places.at[0].value), 1);
    assert_int_equal(s.places.at[0].live[0], 300);
    assert_int_equal(s.places.at[0].live[STORY_TIMES - 2], 300);
    assert_int_equal(s.places.at[0].live[STORY_TIMES - 1], 100);
    assert_int_equal(s.value[STORY_ALLOCATIONS], 4);
    assert_int_equal(s.value[STORY_LEAKED], 100);
    assert_int_equal(s.peak_ns, 1500000000);
    assert_true(heapstory_seconds(&s, s.end_ns) == 2);
    heapstory_done(&s);
    profile_free(p);
}

/* Sampled heaps stand for fractions of blocks: sums are rounded once, not row by row. */
static void fractions_are_rounded_in_the_end(void **state)
{
    struct heapstory s;
    struct err err;
    struct profile *p = new_heap();
    (void)state;
    heap_took(p, &(struct heap_row){"load", 0, .allocations = 1, .allocated = 10});
    int64_t count, bytes;
    for (int i = 0; i < 3; i++) { /* 0.4 of a block each */
        assert_int_equal(profile_scale_value(p, (struct value_ref){0, 0}, 4, 1, &count, &err), 0);
        assert_int_equal(profile_scale_value(p, (struct value_ref){0, 1}, 25, 1, &bytes, &err), 0);
        struct row row = {.stack = stack_of(p, i ? "load" : "save"),
                          .has_time = true,
                          .time_ns = 2000000000u + (unsigned)i,
                          .values = (int64_t[]){count, bytes, 0, 0, 0, 0, 0}};
        assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
    }
    assert_int_equal(heapstory_build(&s, p, NULL, &err), 0);
    assert_int_equal(s.value[STORY_ALLOCATIONS], 2);              /* 2.2 */
    assert_int_equal(s.value[STORY_ALLOCATED], 18);               /* 17.5 */
    assert_int_equal(s.places.at[0].value[STORY_ALLOCATIONS], 2); /* 1.8 */
    assert_int_equal(s.places.at[1].value[STORY_ALLOCATIONS], 0); /* 0.4 */
    assert_int_equal(s.value[STORY_LEAKED_BLOCKS], 2);
    heapstory_done(&s);
    profile_free(p);
}

/* Leaks that a file lists are counted apart, and are in no other number of leaks. */
static void known_leaks_are_counted_apart(void **state)
{
    (void)state;
    struct suppressions known = {0};
    struct heapstory s;
    struct err err;
    struct profile *p = new_heap();
    heap_took(p, &(struct heap_row){"load", 0, .allocations = 3, .allocated = 300, .leaked = 100});
    heap_took(p, &(struct heap_row){"save", 1, .allocations = 1, .allocated = 50, .leaked = 40});
    heap_took(p, &(struct heap_row){"load", 2, .leaked = 7});
    assert_int_equal(suppressions_parse(&known, text_of("leak:load\n"), &err), 0);
    assert_int_equal(heapstory_build(&s, p, &(struct heapstory_opts){.known_leaks = &known}, &err),
                     0);
    assert_int_equal(s.known_bytes, 107);
    int64_t left = 0;
    for (size_t i = 0; i < s.places.n; i++)
        left += s.places.at[i].value[STORY_LEAKED];
    assert_int_equal(left, 40);
    heapstory_done(&s);
    suppressions_done(&known);
    profile_free(p);
}

/* Probes that cost too much are taken away: what came until then is of that time. */
static void a_rate_is_of_the_time_that_the_heap_was_followed(void **state)
{
    (void)state;
    struct profile *p = new_heap();
    struct heapstory s;
    struct err err;
    heap_took(p, &(struct heap_row){"a", 0, 10, 100, .frees = 1, .freed = 1});
    heap_took(p, &(struct heap_row){"a", 10000, .frees = 1, .freed = 1});
    for (int i = 0; i < 2; i++) {
        assert_int_equal(heapstory_build(&s, p, NULL, &err), 0);
        assert_float_equal(heapstory_active_seconds(&s), i ? 2 : 10, 1e-6);
        heapstory_done(&s);
        meta_set_str(&p->meta, META_HEAP_END_S, "2.0");
    }
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_is_of_the_time_that_the_heap_was_followed),
        cmocka_unit_test(lost_records_are_known_to_the_story),
        cmocka_unit_test(a_heap_without_its_end_has_no_peak_of_0),
        cmocka_unit_test(growth_is_between_two_times),
        cmocka_unit_test(a_process_lets_go_at_its_end),
        cmocka_unit_test(growth_needs_times_and_frees),
        cmocka_unit_test(no_sample_is_not_nothing),
        cmocka_unit_test(a_place_is_no_surer_than_its_samples),
        cmocka_unit_test(few_samples_of_small_blocks_do_not_count_blocks),
        cmocka_unit_test(many_samples_of_like_blocks_count_them),
        cmocka_unit_test(a_program_that_was_not_seen_makes_the_story_blind),
        cmocka_unit_test(a_place_is_who_asked_behind_operator_new),
        cmocka_unit_test(fractions_are_rounded_in_the_end),
        cmocka_unit_test(known_leaks_are_counted_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
