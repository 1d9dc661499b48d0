/* test_check.c - rules held against profiles: what passes, what fails, what is inconclusive. */
#include "analysis/check.h"
#include "analysis/scaling.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support.h"

/* --- profiles --- */

static struct profile *empty(void)
{
    struct profile *p = profile_new();
    assert_int_equal(support_value(p, "cpu-clock", "samples", "count"), 0);
    return p;
}

static void add_stack(struct profile *p, const struct frame_id *frames, size_t n, int64_t samples)
{
    struct err err;
    struct row s = {.stack = stacks_intern(&p->stacks, frames, n), .values = &samples};
    assert_int_equal(profile_add_row(p, 0, &s, &err), 0);
}

/* N samples of LEAF, called by main. */
static void add(struct profile *p, const char *leaf, int64_t n)
{
    struct frame_id frames[] = {profile_add_named_frame(p, text_of("main"), FRAME_USER),
                                profile_add_named_frame(p, text_of(leaf), FRAME_USER)};
    add_stack(p, frames, 2, n);
}

/* 60, 30 and 10% of N samples. */
static struct profile *split(int64_t n)
{
    struct profile *p = empty();
    add(p, "sixty", n * 6 / 10);
    add(p, "thirty", n * 3 / 10);
    add(p, "ten", n / 10);
    return p;
}

/* --- asking --- */

struct asked {
    struct rules rules;
    struct check check;
    int rc;
};

static struct asked ask(const struct check_input *in, const char *rules)
{
    struct asked a = {0};
    struct check_input with = *in;
    with.no_code = in->no_code ? in->no_code : "";
    assert_int_equal(rules_parse(&a.rules, text_of(rules)), 0);
    a.rc = check_build(&a.check, &a.rules, &with);
    return a;
}

static void asked_done(struct asked *a)
{
    check_done(&a->check);
    rules_done(&a->rules);
}

/* The one rule comes out as VERDICT, and its evidence has WORDS in it. */
static void comes_out(const struct check_input *in, const char *rule, enum check_verdict verdict,
                      const char *words)
{
    struct asked a = ask(in, rule);
    if (a.rc != 0)
        fail_msg("'%s': %s", rule, a.rules.errors.at[0].text);
    assert_int_equal(a.check.results.n, 1);
    const struct check_result *r = &a.check.results.at[0];
    if (r->verdict != verdict || !strstr(r->why, words))
        fail_msg("'%s' %s: %s", rule, check_verdict_names[r->verdict], r->why);
    assert_int_equal(a.check.verdict, verdict);
    assert_int_equal(a.check.n[verdict], 1);
    asked_done(&a);
}

static void is_refused(const struct check_input *in, const char *rule, uint32_t column,
                       const char *words)
{
    struct asked a = ask(in, rule);
    assert_int_equal(a.rc, -1);
    assert_int_equal(a.rules.errors.n, 1);
    const struct rule_error *e = &a.rules.errors.at[0];
    if (e->column != column || !strstr(e->text, words))
        fail_msg("'%s': column %u: %s", rule, e->column, e->text);
    asked_done(&a);
}

/* --- shares --- */

static void a_share_is_judged_by_its_interval(void **state)
{
    (void)state;
    struct profile *p = split(1000); /* 10% is 8.3 to 12.0% */
    struct check_input in = {.selection = SUPPORT_ALL(p, 0)};
    comes_out(&in, "self ten <= 15%", CHECK_HOLDS, "8.3 to 12.0%, is inside");
    comes_out(&in, "self ten <= 5%", CHECK_FAILS, "is outside the expected range, at most 5%");
    comes_out(&in, "self ten >= 15%", CHECK_FAILS, "at least 15%");
    comes_out(&in, "self ten <= 11%", CHECK_INCONCLUSIVE, "times as many samples would decide");
    comes_out(&in, "self ten 9.99..11%", CHECK_INCONCLUSIVE, "tolerance would help more");
    comes_out(&in, "total main >= 99%", CHECK_HOLDS, "");
    comes_out(&in, "self main <= 1%", CHECK_HOLDS, "");
    profile_free(p);
}

/* 0 of 100 may be 3.7 %, 0 of 400 may be 0.95 %. */
static void of_what_was_never_seen_fewer_samples_decide(void **state)
{
    (void)state;
    struct profile *few = split(100), *more = split(400);
    struct check_input in = {.selection = SUPPORT_ALL(few, 0)};
    comes_out(&in, "self main <= 1%", CHECK_INCONCLUSIVE, "there, 4 times as many samples");
    comes_out(&in, "self main >= 1%", CHECK_INCONCLUSIVE, "there, 4 times as many samples");
    in.selection = SUPPORT_ALL(more, 0);
    comes_out(&in, "self main <= 1%", CHECK_HOLDS, "");
    comes_out(&in, "self main >= 1%", CHECK_FAILS, "");
    profile_free(few);
    profile_free(more);
}

static void more_samples_decide_as_foretold(void **state)
{
    (void)state;
    /* 10% of 1000 reaches 12.0%: 2 points. To get below 11% takes about 4 times as many. */
    struct profile *few = split(1000), *more = split(4100);
    struct check_input in = {.selection = SUPPORT_ALL(few, 0)};
    comes_out(&in, "self ten <= 11%", CHECK_INCONCLUSIVE, "5 times as many");
    in.selection = SUPPORT_ALL(more, 0);
    comes_out(&in, "self ten <= 11%", CHECK_HOLDS, "");
    profile_free(few);
    profile_free(more);
}

static void tolerance_widens_by_points(void **state)
{
    (void)state;
    struct profile *p = split(10000);
    struct check_input in = {.selection = SUPPORT_ALL(p, 0)};
    comes_out(&in, "total sixty 50..55%", CHECK_FAILS, "50..55%");
    comes_out(&in, "total sixty 50..55% tolerance 10", CHECK_HOLDS, "40..65%");
    comes_out(&in, "total main 90..95% tolerance 10", CHECK_HOLDS, "80..100%");
    profile_free(p);
}

static void without_a_number_of_samples_shares_are_not_judged(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    support_value(p, "", "bytes", "bytes");
    add(p, "f", 900);
    add(p, "g", 100);
    struct check_input in = {.selection = SUPPORT_ALL(p, 0)};
    comes_out(&in, "self f >= 10%", CHECK_INCONCLUSIVE, "does not say how many samples");
    comes_out(&in, "samples >= 10", CHECK_INCONCLUSIVE, "does not say how many samples");
    profile_stream(p, 0)->obtained = BY_EXACT_COUNT; /* nothing is estimated */
    comes_out(&in, "self f >= 90%", CHECK_HOLDS, "90.0% is inside");
    comes_out(&in, "self f >= 91%", CHECK_FAILS, "90.0% is outside");
    profile_free(p);
}

static bool has_idle(const struct profile *p, const char *name)
{
    (void)p;
    return strcmp(name, "idle") == 0 || strcmp(name, "sixt") == 0;
}

static void a_function_that_was_never_sampled_takes_at_most_so_much(void **state)
{
    (void)state;
    struct profile *p = split(1000);
    struct check_input in = {.selection = SUPPORT_ALL(p, 0), .has_function = has_idle};
    comes_out(&in, "self idle <= 1%", CHECK_HOLDS, "0.38%, is inside");
    struct asked a = ask(&in, "self idle <= 1%");
    assert_string_equal(a.check.results.at[0].observed, "at most 0.38%");
    asked_done(&a);
    comes_out(&in, "total idle <= 0.1%", CHECK_INCONCLUSIVE, "no sample does");
    comes_out(&in, "total idle >= 1%", CHECK_FAILS, "no sample does");
    comes_out(&in, "self sixt <= 1%", CHECK_HOLDS, ""); /* is not the sampled 'sixty' */
    comes_out(&in, "present idle", CHECK_FAILS, "the program has a function of that name");
    comes_out(&in, "absent idel", CHECK_HOLDS,
              "no symbol of its files that are here has that name");
    a = ask(&in, "absent idel\nabsent idle\n"); /* who reads that it passed sees why, too */
    assert_string_equal(a.check.results.at[0].observed, "not seen; no such symbol here");
    assert_string_equal(a.check.results.at[1].observed, "not seen");
    asked_done(&a);
    is_refused(&in, "self idel <= 1%", 6, "no function 'idel'");
    profile_stream(p, 0)->obtained = BY_EXACT_COUNT;
    comes_out(&in, "self idle <= 0%", CHECK_HOLDS, "");
    profile_free(p);
}

static bool has_memcpy(const struct profile *p, const char *name)
{
    (void)p;
    return strcmp(name, "memcpy") == 0;
}

/* The symbol memcpy leads to what chooses a variant: that no sample has it is no reason to pass. */
static void rule_on_a_function_of_the_c_library_is_about_the_variant_that_ran(void **state)
{
    (void)state;
    struct profile *p = empty();
    add(p, "__memmove_avx512_unaligned_erms", 900);
    add(p, "work", 100);
    struct check_input in = {.selection = SUPPORT_ALL(p, 0), .has_function = has_memcpy};
    comes_out(&in, "self memcpy <= 10%", CHECK_FAILS, "");
    comes_out(&in, "self memcpy >= 80%", CHECK_HOLDS, "");
    comes_out(&in, "absent memcpy", CHECK_FAILS, "");
    comes_out(&in, "present memmove", CHECK_HOLDS, "");
    profile_free(p);
}

static void names_mean_what_they_mean_in_a_report(void **state)
{
    (void)state;
    struct profile *p = empty();
    add(p, "parse.isra.0", 100);
    add(p, "parse", 100);
    add(p, "parse_line", 800);
    struct check_input in = {.selection = SUPPORT_ALL(p, 0)};
    comes_out(&in, "self parse 15..25%", CHECK_HOLDS, ""); /* both parts of it */
    comes_out(&in, "self parse.isra.0 5..15%", CHECK_HOLDS, "");
    comes_out(&in, "self line >= 70%", CHECK_HOLDS, "");
    is_refused(&in, "self  prase >= 70%", 7, "did you mean: 'parse'");
    is_refused(&in, "self pars >= 70%", 6, "matches 3 functions");
    profile_free(p);
}

static void every_unknown_name_is_told(void **state)
{
    (void)state;
    struct profile *p = split(100);
    struct check_input in = {.selection = SUPPORT_ALL(p, 0)};
    struct asked a = ask(&in, "self nix <= 5%\nself ten <= 5%\n\nsimd nux width >= 256\n");
    assert_int_equal(a.rc, -1);
    assert_int_equal(a.rules.errors.n, 2);
    assert_int_equal(a.rules.errors.at[0].line, 1);
    assert_int_equal(a.rules.errors.at[1].line, 4);
    asked_done(&a);
    profile_free(p);
}

/* --- quality and presence --- */

static void quality_is_counted(void **state)
{
    (void)state;
    struct profile *p = split(1000);
    struct check_input in = {.selection = SUPPORT_ALL(p, 0)};
    comes_out(&in, "samples >= 1000", CHECK_HOLDS, "1,000 is inside");
    comes_out(&in, "samples >= 1001", CHECK_FAILS, "at least 1,001");
    comes_out(&in, "lost <= 1%", CHECK_INCONCLUSIVE, "how many samples were lost");
    comes_out(&in, "unfinished <= 1%", CHECK_INCONCLUSIVE, "are unfinished");
    profile_stream(p, 0)->lost_known = true;
    profile_stream(p, 0)->lost = 50;
    profile_set_unfinished(p, 0, "no rules", 50);
    comes_out(&in, "lost <= 4%", CHECK_FAILS, "4.8%"); /* 50 of 1050 */
    comes_out(&in, "lost <= 4.9%", CHECK_HOLDS, "");
    comes_out(&in, "unfinished 4.9..5.1%", CHECK_HOLDS, "5.0%");
    comes_out(&in, "unnamed <= 0%", CHECK_HOLDS, "");
    struct frame_id bare = profile_add_frame(p, &(struct frame_key){.pc = 0x1000});
    add_stack(p, &bare, 1, 500);
    in.selection = SUPPORT_ALL(p, 0);
    comes_out(&in, "unnamed <= 10%", CHECK_FAILS, "20.0%"); /* 500 of 2500 frames */
    profile_free(p);
}

static void presence_is_seen_or_not(void **state)
{
    (void)state;
    struct profile *p = split(1000);
    struct check_input in = {.selection = SUPPORT_ALL(p, 0)};
    comes_out(&in, "present ten", CHECK_HOLDS, "10.0%");
    comes_out(&in, "absent ten", CHECK_FAILS, "10.0%");
    comes_out(&in, "present te", CHECK_FAILS, "names that have it in them: ten");
    comes_out(&in, "absent eleven", CHECK_HOLDS, "could still be up to 0.38%");
    profile_free(p);
}

/* --- changes --- */

static void changes_are_relative_or_in_points(void **state)
{
    (void)state;
    struct profile *before = split(100000), *now = empty();
    add(now, "sixty", 60000);
    add(now, "thirty", 10000);
    add(now, "ten", 30000); /* 20 points, or twice as much, more */
    struct check_input in = {.selection = SUPPORT_ALL(now, 0), .before = SUPPORT_ALL(before, 0)};
    comes_out(&in, "diff self ten <= +10%", CHECK_FAILS, "10.0% before, 30.0% now");
    comes_out(&in, "diff self ten <= +300%", CHECK_HOLDS, "");
    comes_out(&in, "diff self ten <= +200%", CHECK_INCONCLUSIVE, "four recordings per side");
    comes_out(&in, "diff self ten <= +5 points", CHECK_FAILS, "+19.7 to +20.3 points");
    comes_out(&in, "diff self ten 1..30 points", CHECK_HOLDS, "");
    comes_out(&in, "diff total sixty -2..+2%", CHECK_HOLDS, "");
    is_refused(&in, "diff self none <= +1%", 11, "no function 'none'");
    profile_free(now);
    profile_free(before);
}

/* As in `kelvin diff`: a factor of 1.5 next to the rest of the program is no change of it. */
static void what_two_runs_can_differ_by_fails_no_rule(void **state)
{
    (void)state;
    struct profile *before = split(100000), *now = empty();
    add(now, "sixty", 60000);
    add(now, "thirty", 26000);
    add(now, "ten", 14000);
    struct check_input in = {.selection = SUPPORT_ALL(now, 0), .before = SUPPORT_ALL(before, 0)};
    comes_out(&in, "diff self ten <= +10%", CHECK_INCONCLUSIVE, "widened to +0.0 to +43.");
    comes_out(&in, "diff self ten <= +2 points", CHECK_INCONCLUSIVE, "widened to +0.0 to +4.");
    comes_out(&in, "diff self ten <= +60%", CHECK_HOLDS, "");
    /* What had to shrink by a fifth, and did by an eighth, may have. */
    comes_out(&in, "diff self thirty <= -20%", CHECK_INCONCLUSIVE, "widened to");
    profile_free(now);
    profile_free(before);
}

/* One run per side of the same program with the same arguments proves nothing, here as there. */
static void runs_of_the_same_program_fail_no_rule(void **state)
{
    (void)state;
    struct profile *before = split(100000), *now = empty();
    struct profile *sides[] = {before, now};
    add(now, "sixty", 20000);
    add(now, "ten", 80000);
    for (int i = 0; i < 2; i++) {
        struct mapping app = {.path = profile_add_str(sides[i], text_of("/bin/app")),
                              .build_id = profile_add_str(sides[i], text_of("abcd1234"))};
        profile_add_mapping(sides[i], &app);
        meta_set(&sides[i]->meta, META_COMMAND, text_of("/bin/app 3"));
        meta_set(&sides[i]->meta, META_KERNEL, text_of("6.1"));
    }
    struct check_input in = {.selection = SUPPORT_ALL(now, 0), .before = SUPPORT_ALL(before, 0)};
    comes_out(&in, "diff self ten <= +10%", CHECK_INCONCLUSIVE, "widened to +0.0");
    comes_out(&in, "diff self ten <= +9 points", CHECK_INCONCLUSIVE, "widened to +0.0");
    meta_set(&now->meta, META_COMMAND, text_of("/bin/app 4"));
    comes_out(&in, "diff self ten <= +10%", CHECK_FAILS, "80.0% now");
    profile_free(now);
    profile_free(before);
}

static void what_came_and_went_has_a_change_too(void **state)
{
    (void)state;
    struct profile *before = split(10000), *now = split(10000);
    add(before, "gone", 500);
    add(now, "come", 500);
    struct check_input in = {.selection = SUPPORT_ALL(now, 0), .before = SUPPORT_ALL(before, 0)};
    comes_out(&in, "diff self gone <= -50%", CHECK_HOLDS, "4.8% before, 0.0% now");
    comes_out(&in, "diff self come <= +100%", CHECK_FAILS, "never seen before");
    comes_out(&in, "diff self come <= 1 points", CHECK_FAILS, "0.0% before, 4.8% now");
    profile_free(now);
    profile_free(before);
}

static void a_change_needs_something_to_change_from(void **state)
{
    (void)state;
    struct profile *p = split(100);
    struct check_input in = {.selection = SUPPORT_ALL(p, 0)};
    is_refused(&in, "diff self ten <= +10%", 1, "compares with another profile, and there is none");
    is_refused(&in, "growth ten <= 1", 1, "profiles of several sizes, and there are none");
    profile_free(p);
}

/* Of 1,000 pairs of recordings of the same program: how many intervals miss no change? */
static void relative_changes_cover(void **state)
{
    (void)state;
    uint64_t rng = 88172645463325252u;
    int failures = 0;
    for (int run = 0; run < 1000; run++) {
        struct profile *sides[2] = {empty(), empty()};
        for (int side = 0; side < 2; side++) {
            int64_t hits = 0;
            for (int i = 0; i < 500; i++) {
                rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
                hits += rng % 10 == 0;
            }
            add(sides[side], "f", hits);
            add(sides[side], "g", 500 - hits);
        }
        struct check_input in = {.selection = SUPPORT_ALL(sides[1], 0),
                                 .before = SUPPORT_ALL(sides[0], 0)};
        struct asked a = ask(&in, "diff self f 0..0%");
        const struct check_result *r = &a.check.results.at[0];
        failures += r->interval.low > 0 || r->interval.high < 0;
        assert_int_equal(r->verdict, CHECK_INCONCLUSIVE);
        asked_done(&a);
        profile_free(sides[0]);
        profile_free(sides[1]);
    }
    if (failures < 25 || failures > 75)
        fail_msg("%d of 1,000", failures);
}

/* --- code --- */

/* A function with code at 0x1000, and one inlined into it. */
static struct profile *with_code(int64_t samples)
{
    struct profile *p = empty();
    struct str_id path = profile_add_str(p, text_of("/bin/app"));
    struct mapping_id m = profile_add_mapping(p, &(struct mapping){.path = path});
    struct str_id names[] = {profile_add_str(p, text_of("kernel")),
                             profile_add_str(p, text_of("inner"))};
    struct line lines[] = {{profile_add_function(p, &(struct function){.name = names[0]}), 1, 0},
                           {profile_add_function(p, &(struct function){.name = names[1]}), 2, 0}};
    struct frame_key key = {.pc = 0x1010, .mapping = m, .lines = lines, .n_lines = 2};
    struct frame_id frame = profile_add_frame(p, &key);
    add_stack(p, &frame, 1, samples);
    key = (struct frame_key){.pc = 0x1020, .mapping = m, .lines = lines, .n_lines = 1};
    frame = profile_add_frame(p, &key);
    add_stack(p, &frame, 1, samples);
    add(p, "other", samples);
    return p;
}

static void code_is_judged_by_its_hot_blocks(void **state)
{
    (void)state;
    struct profile *p = with_code(1000);
    struct simd_mix scalar = {.n = 10, .scalar_math = 10};
    struct simd_mix packed = {.n = 10, .packed_math = 9, .scalar_math = 1, .width = {1, 9, 0}};
    struct simd_row row = {.name = "_Z6kernelv",
                           .start = 0x1000,
                           .size_bytes = 0x100,
                           .mix = scalar,
                           .hot = packed,
                           .mapping = {1}};
    struct check_input in = {.selection = SUPPORT_ALL(p, 0), .code = &row, .n_code = 1};
    comes_out(&in, "simd kernel packed >= 80% width >= 256", CHECK_HOLDS, "inside");
    comes_out(&in, "simd kernel packed >= 95%", CHECK_FAILS, "outside");
    comes_out(&in, "simd kernel width >= 512", CHECK_FAILS, "at least 512 bits");
    row.hot.width[0] = 10; /* more than half are narrower */
    comes_out(&in, "simd kernel width >= 256", CHECK_FAILS, "outside");
    comes_out(&in, "simd inner packed >= 80%", CHECK_INCONCLUSIVE, "rule for 'kernel'");
    comes_out(&in, "simd other packed >= 80%", CHECK_INCONCLUSIVE, "no sample is in code");
    in.no_code = "the file is gone";
    comes_out(&in, "simd other packed >= 80%", CHECK_INCONCLUSIVE, "the file is gone");
    profile_free(p);
    p = with_code(3); /* too few to know the hot blocks, which the rest contradicts */
    in.selection = SUPPORT_ALL(p, 0);
    comes_out(&in, "simd kernel packed >= 80%", CHECK_INCONCLUSIVE, "too few samples");
    row.mix = packed;
    comes_out(&in, "simd kernel packed >= 80%", CHECK_HOLDS, "");
    row.mix = row.hot = (struct simd_mix){.n = 10};
    comes_out(&in, "simd kernel packed >= 80%", CHECK_INCONCLUSIVE, "floating point");
    row.mix = row.hot = (struct simd_mix){.n = 1000, .scalar_math = 9}; /* a conversion or two */
    comes_out(&in, "simd kernel packed >= 80%", CHECK_INCONCLUSIVE, "less than 1%");
    row.mix = row.hot = (struct simd_mix){.n = 1000, .scalar_math = 10};
    comes_out(&in, "simd kernel packed >= 80%", CHECK_FAILS, "outside");
    row.mix = row.hot = (struct simd_mix){.n = 10};
    comes_out(&in, "simd kernel packed >= 80% width >= 128", CHECK_FAILS, "outside");
    profile_free(p);
}

/* --- growth --- */

enum { SIZES = 4 };

static void growth_is_that_of_cost_over_size(void **state)
{
    (void)state;
    struct profile *p[SIZES];
    struct selection all[SIZES];
    struct scaling_run runs[SIZES];
    for (int i = 0; i < SIZES; i++) { /* the largest first */
        int64_t n = 100 << (SIZES - 1 - i);
        p[i] = empty();
        add(p[i], "linear", n * 100);
        add(p[i], i % 2 ? "square.isra.0" : "square", n * n / 10);
        if (i < 2)
            add(p[i], "late", 500 * n);
        all[i] = selection_all(p[i], (struct value_ref){0, 0});
        runs[i] = (struct scaling_run){&all[i], (double)n};
    }
    struct scaling s;
    scaling_build(&s, runs, SIZES, 2);
    assert_ptr_equal(scaling_largest(&s)->selection->profile, p[0]);
    assert_int_equal(s.functions.n, 2);
    assert_true(text_is(s.functions.at[0].name, "late"));
    assert_true(text_is(s.functions.at[1].name, "linear"));
    struct scaling_cost square = scaling_of(&s, text_of("square"), FLAT_SELF);
    assert_true(square.fits && fabs(square.growth.exponent - 2) < 1e-6);
    assert_true(fabs(scaling_ratio_of(&s, &square).cost - 64) < 1e-6);
    assert_true(fabs(scaling_ratio_of(&s, &square).size - 8) < 1e-6);
    struct check_input in = {.selection = SUPPORT_ALL(p[0], 0), .scaling = &s};
    comes_out(&in, "growth linear 0.95..1.05", CHECK_HOLDS, "");
    comes_out(&in, "growth self square <= 1.5", CHECK_FAILS, "1.97 to 2.03");
    comes_out(&in, "growth total >= 0.5", CHECK_HOLDS, "");
    comes_out(&in, "growth late <= 3", CHECK_INCONCLUSIVE, "no interval");
    is_refused(&in, "growth self nothing <= 3", 13, "no function 'nothing'");
    scaling_done(&s);
    for (int i = 0; i < SIZES; i++)
        profile_free(p[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_is_judged_by_its_interval),
        cmocka_unit_test(of_what_was_never_seen_fewer_samples_decide),
        cmocka_unit_test(more_samples_decide_as_foretold),
        cmocka_unit_test(tolerance_widens_by_points),
        cmocka_unit_test(without_a_number_of_samples_shares_are_not_judged),
        cmocka_unit_test(a_function_that_was_never_sampled_takes_at_most_so_much),
        cmocka_unit_test(rule_on_a_function_of_the_c_library_is_about_the_variant_that_ran),
        cmocka_unit_test(names_mean_what_they_mean_in_a_report),
        cmocka_unit_test(every_unknown_name_is_told),
        cmocka_unit_test(quality_is_counted),
        cmocka_unit_test(presence_is_seen_or_not),
        cmocka_unit_test(changes_are_relative_or_in_points),
        cmocka_unit_test(what_two_runs_can_differ_by_fails_no_rule),
        cmocka_unit_test(runs_of_the_same_program_fail_no_rule),
        cmocka_unit_test(what_came_and_went_has_a_change_too),
        cmocka_unit_test(a_change_needs_something_to_change_from),
        cmocka_unit_test(relative_changes_cover),
        cmocka_unit_test(code_is_judged_by_its_hot_blocks),
        cmocka_unit_test(growth_is_that_of_cost_over_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
