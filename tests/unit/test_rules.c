/* test_rules.c - the language of rules: what is understood, and what is said where it is not. */
#include "analysis/rules.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct rules parse(const char *source)
{
    struct rules r;
    rules_parse(&r, text_of(source));
    return r;
}

/* The only rule of SOURCE. */
static struct rule one(struct rules *r, const char *source)
{
    *r = parse(source);
    if (r->errors.n)
        fail_msg("'%s': column %u: %s", source, r->errors.at[0].column, r->errors.at[0].text);
    assert_int_equal(r->at.n, 1);
    return r->at.at[0];
}

static void is_range(struct rule_range r, enum rule_unit unit, double low, double high)
{
    assert_int_equal(r.unit, unit);
    if (r.is.low != low && fabs(r.is.low - low) > 1e-9)
        fail_msg("from %g, not %g", r.is.low, low);
    if (r.is.high != high && fabs(r.is.high - high) > 1e-9)
        fail_msg("to %g, not %g", r.is.high, high);
}

static void shares_have_ranges_and_tolerance(void **state)
{
    (void)state;
    struct rules r;
    struct rule rule = one(&r, "total forward 90..95% tolerance 5");
    assert_int_equal(rule.kind, RULE_TOTAL);
    assert_string_equal(rule.function, "forward");
    is_range(rule.range, RULE_SHARE, 0.90, 0.95);
    assert_true(fabs(rule_bounds(&rule).low - 0.85) < 1e-9);
    assert_true(fabs(rule_bounds(&rule).high - 1.0) < 1e-9);
    rules_done(&r);
    rule = one(&r, "  self memcpy<int> <=10.5%\t# why\r");
    assert_int_equal(rule.kind, RULE_SELF);
    assert_string_equal(rule.function, "memcpy<int>");
    assert_string_equal(rule.text, "self memcpy<int> <=10.5%");
    is_range(rule.range, RULE_SHARE, -INFINITY, 0.105);
    rules_done(&r);
    rule = one(&r, "self f 90%..95%");
    is_range(rule.range, RULE_SHARE, 0.90, 0.95);
    rules_done(&r);
}

static void quality_has_counts_and_shares(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum rule_kind kind;
        enum rule_unit unit;
        double low, high;
    } cases[] = {
        {"samples >= 200", RULE_SAMPLES, RULE_COUNT, 200, INFINITY},
        {"samples>=200", RULE_SAMPLES, RULE_COUNT, 200, INFINITY},
        {"samples 200..5000", RULE_SAMPLES, RULE_COUNT, 200, 5000},
        {"lost <= 1%", RULE_LOST, RULE_SHARE, -INFINITY, 0.01},
        {"unfinished <= 5%", RULE_UNFINISHED, RULE_SHARE, -INFINITY, 0.05},
        {"unnamed <= 0.5%", RULE_UNNAMED, RULE_SHARE, -INFINITY, 0.005},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rules r;
        struct rule rule = one(&r, cases[i].text);
        assert_int_equal(rule.kind, cases[i].kind);
        assert_null(rule.function);
        is_range(rule.range, cases[i].unit, cases[i].low, cases[i].high);
        rules_done(&r);
    }
}

static void heap_rules_are_of_blocks_or_bytes(void **state)
{
    static const struct {
        const char *text;
        enum rule_kind kind;
        enum rule_unit unit;
        double low, high;
        const char *function;
    } cases[] = {
        {"allocations render == 0", RULE_ALLOCATIONS, RULE_BLOCKS, 0, 0, "render"},
        {"allocations <= 1000", RULE_ALLOCATIONS, RULE_BLOCKS, -INFINITY, 1000, NULL},
        {"temporary render <= 5", RULE_TEMPORARY, RULE_BLOCKS, -INFINITY, 5, "render"},
        {"peak <= 200 MiB", RULE_PEAK, RULE_BYTES, -INFINITY, 200 << 20, NULL},
        {"leaked render == 0", RULE_LEAKED, RULE_BYTES, 0, 0, "render"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rules r;
        struct rule rule = one(&r, cases[i].text);
        assert_int_equal(rule.kind, cases[i].kind);
        assert_string_equal(rule.function ? rule.function : "",
                            cases[i].function ? cases[i].function : "");
        is_range(rule.range, cases[i].unit, cases[i].low, cases[i].high);
        rules_done(&r);
    }
}

static void names_with_blanks_are_quoted(void **state)
{
    (void)state;
    struct rules r;
    struct rule rule = one(&r, "present \"operator new(\\\"x\\\", \\\\)\" # there");
    assert_string_equal(rule.function, "operator new(\"x\", \\)");
    assert_int_equal(rule.column, 9);
    rules_done(&r);
    rule = one(&r, "absent f()::{lambda()#2}");
    assert_string_equal(rule.function, "f()::{lambda()#2}");
    rules_done(&r);
    rule = one(&r, "self operator<= <= 5%");
    assert_string_equal(rule.function, "operator<=");
    rules_done(&r);
}

static void changes_are_relative_or_in_points(void **state)
{
    (void)state;
    struct rules r;
    struct rule rule = one(&r, "diff total matmul <= +5%");
    assert_int_equal(rule.kind, RULE_DIFF_TOTAL);
    is_range(rule.range, RULE_RELATIVE, -INFINITY, 0.05);
    rules_done(&r);
    rule = one(&r, "diff self matmul -100..+100 points");
    is_range(rule.range, RULE_POINTS, -1, 1);
    rules_done(&r);
    rule = one(&r, "diff self matmul -2..+2 points tolerance 1");
    assert_int_equal(rule.kind, RULE_DIFF_SELF);
    is_range(rule.range, RULE_POINTS, -0.02, 0.02);
    assert_true(fabs(rule_bounds(&rule).high - 0.03) < 1e-9);
    rules_done(&r);
}

static void contracts_on_code_and_growth(void **state)
{
    (void)state;
    struct rules r;
    struct rule rule = one(&r, "simd matmul packed >= 80% width >= 256");
    assert_int_equal(rule.kind, RULE_SIMD);
    is_range(rule.range, RULE_SHARE, 0.8, INFINITY);
    is_range(rule.width, RULE_BITS, 256, INFINITY);
    rules_done(&r);
    rule = one(&r, "simd matmul width >= 256");
    assert_int_equal(rule.range.unit, RULE_NONE);
    rules_done(&r);
    rule = one(&r, "growth total <= 1.2");
    assert_int_equal(rule.kind, RULE_GROWTH_TOTAL);
    assert_null(rule.function);
    is_range(rule.range, RULE_EXPONENT, -INFINITY, 1.2);
    rules_done(&r);
    rule = one(&r, "growth total f <= 1.2");
    assert_string_equal(rule.function, "f");
    rules_done(&r);
    rule = one(&r, "growth \"total\" 0.9..1.1");
    assert_string_equal(rule.function, "total");
    rules_done(&r);
    rule = one(&r, "growth self f <= 2");
    assert_int_equal(rule.kind, RULE_GROWTH_SELF);
    rules_done(&r);
}

static void rules_of_scopes(void **state)
{
    (void)state;
    struct rules r;
    struct rule rule = one(&r, "p99.9 \"read file\" <= 5ms");
    assert_int_equal(rule.kind, RULE_QUANTILE);
    assert_true(fabs(rule.quantile - 0.999) < 1e-12);
    assert_string_equal(rule.function, "read file");
    is_range(rule.range, RULE_TIME, -INFINITY, 5e6);
    assert_true(rules_need_scopes(&r));
    rules_done(&r);
    rule = one(&r, "p50 f 2..3 us # a comment");
    is_range(rule.range, RULE_TIME, 2e3, 3e3);
    rules_done(&r);
    rule = one(&r, "calls layer == 24*tokens");
    assert_int_equal(rule.kind, RULE_CALLS);
    is_range(rule.range, RULE_SPANS, 24, 24);
    assert_string_equal(rule.times, "tokens");
    rules_done(&r);
    rule = one(&r, "calls layer >= 24");
    assert_null(rule.times);
    is_range(rule.range, RULE_SPANS, 24, INFINITY);
    rules_done(&r);
    rule = one(&r, "rate tokens >= 40.5");
    is_range(rule.range, RULE_PER_SECOND, 40.5, INFINITY);
    rules_done(&r);
    rule = one(&r, "self f <= 5%");
    assert_false(rules_need_scopes(&r));
    rules_done(&r);
}

static void rules_of_runs_have_the_units_of_what_they_measure(void **state)
{
    (void)state;
    struct rules r;
    struct rule rule = one(&r, "time dot/n=64 10..50 ns");
    assert_int_equal(rule.kind, RULE_RUN_TIME);
    assert_string_equal(rule.function, "dot/n=64");
    is_range(rule.range, RULE_TIME, 10, 50);
    rules_done(&r);
    rule = one(&r, "cpu <= 2 s");
    assert_int_equal(rule.kind, RULE_RUN_CPU);
    assert_null(rule.function);
    is_range(rule.range, RULE_TIME, -INFINITY, 2e9);
    rules_done(&r);
    rule = one(&r, "scatter <= 5 % over 10 runs");
    assert_int_equal(rule.least_runs, 10);
    is_range(rule.range, RULE_SCATTERED, -INFINITY, 0.05);
    rules_done(&r);
    rule = one(&r, "scatter <= 150 %");
    is_range(rule.range, RULE_SCATTERED, -INFINITY, 1.5);
    rules_done(&r);
    rule = one(&r, "r2 >= 0.95");
    is_range(rule.range, RULE_FIT, 0.95, INFINITY);
    rules_done(&r);
    rule = one(&r, "gflops dot >= 2.5");
    is_range(rule.range, RULE_GFLOPS, 2.5, INFINITY);
    rules_done(&r);
    rule = one(&r, "memory <= 2 MiB");
    is_range(rule.range, RULE_BYTES, -INFINITY, 2 << 20);
    rules_done(&r);
    rule = one(&r, "metric tps -1..40");
    is_range(rule.range, RULE_NUMBER, -1, 40);
    rules_done(&r);
}

static void misses_are_numbers_or_rates_or_changes(void **state)
{
    (void)state;
    struct rules r;
    struct rule rule = one(&r, "cache-misses <= 1000");
    is_range(rule.range, RULE_EVENTS, -INFINITY, 1000);
    assert_null(rule.function);
    rules_done(&r);
    rule = one(&r, "branch-misses parse <= 2.5 per 1000 instructions");
    assert_string_equal(rule.function, "parse");
    is_range(rule.range, RULE_PER_1000, -INFINITY, 2.5);
    rules_done(&r);
    rule = one(&r, "diff memory <= +5%");
    assert_true(rule.change && rule.kind == RULE_MEMORY && rule.range.unit == RULE_RELATIVE);
    rules_done(&r);
    rule = one(&r, "diff l1-misses parse <= +2%");
    assert_int_equal(rule.kind, RULE_L1_MISSES);
    assert_true(rule.change);
    is_range(rule.range, RULE_RELATIVE, -INFINITY, 0.02);
    assert_int_equal(rules_require(&r, &(struct rules_have){.counts_before = true}), 0);
    assert_int_equal(rules_require(&r, &(struct rules_have){0}), -1);
    rules_done(&r);
}

static void tiers_follow_on_each_other(void **state)
{
    (void)state;
    struct rules r;
    struct rule rule = one(&r, "hotspot matmul primary");
    is_range(rule.range, RULE_SHARE, 0.20, 1);
    rules_done(&r);
    rule = one(&r, "hotspot matmul secondary");
    is_range(rule.range, RULE_SHARE, 0.05, 0.20);
    rules_done(&r);
    rule = one(&r, "hotspot matmul tertiary");
    is_range(rule.range, RULE_SHARE, 0.01, 0.05);
    rules_done(&r);
}

static void what_rules_need_is_known(void **state)
{
    (void)state;
    struct rules r = parse("samples >= 1\n");
    assert_false(rules_need_code(&r));
    assert_int_equal(rules_require(&r, &(struct rules_have){0}), 0);
    rules_done(&r);
    r = parse("diff self f <= +5%\nsimd f width >= 256\ngrowth total <= 2\n");
    assert_true(rules_need_code(&r));
    assert_int_equal(rules_require(&r, &(struct rules_have){.before = true, .sizes = true}), 0);
    assert_int_equal(rules_require(&r, &(struct rules_have){0}), -1);
    assert_int_equal(r.errors.n, 2);
    assert_int_equal(r.errors.at[0].line, 1);
    assert_non_null(strstr(r.errors.at[0].text, "with another profile"));
    assert_int_equal(r.errors.at[1].line, 3);
    assert_non_null(strstr(r.errors.at[1].text, "several sizes"));
    rules_done(&r);
}

/* A line, the column of its error and words of the message. */
static const struct {
    const char *text;
    uint32_t column;
    const char *says;
} wrong[] = {
    {"p99 f <= 5", 11, "a time needs a unit"},
    {"p99 f <= 5 MB", 12, "not a unit of time"},
    {"p99 <= 5 ms", 5, "no name of a scope"},
    {"p100 f <= 5 ms", 1, "no rule starts with 'p100'"},
    {"p0x10 f <= 5 ms", 1, "no rule starts with"},
    {"p99 f == 5 ms", 7, "not a range"},
    {"calls f == 24 * ", 17, "the name of a counter is missing"},
    {"rate f >= 40 * g", 14, "unexpected '*"},
    {"rate f >= 40%", 13, "no '%' here"},
    {"totall f <= 5%", 1, "no rule starts with 'totall': see 'kelvin help check'"},
    {"self", 5, "name of a function is missing"},
    {"self \"\" <= 5%", 6, "is empty"},
    {"self \"f <= 5%", 6, "quotes that start here do not end"},
    {"self f", 7, "a range is missing"},
    {"self f < 5%", 8, "not a range: write '<= N'"},
    {"self f = 5%", 8, "not a range"},
    {"self f 5%", 10, "two ends"},
    {"self f <= 5", 12, "write a '%'"},
    {"self f <= x", 11, "'x' is not a number"},
    {"self f <=", 10, "a number is missing"},
    {"self f <= 0x10%", 12, "unexpected 'x10%'"},
    {"self f <= 1.2.3%", 11, "not a number"},
    {"self f <= 101%", 8, "0% to 100%"},
    {"self f 95..90%", 8, "the smaller number comes first"},
    {"self f <= 5%%", 13, "unexpected"},
    {"self f <= 5% tolerance", 23, "a number is missing"},
    {"self f <= 5% tolerance 5%", 24, "points, without '%'"},
    {"self f <= 5% tolerance -1", 24, "0 to 100 points"},
    {"self f <= 5% tolerances 5", 14, "did you mean 'tolerance'"},
    {"self f <= 5% more", 14, "unexpected 'more' here"},
    {"samples >= 200%", 15, "no '%' here"},
    {"samples >= -1", 9, "cannot be below 0"},
    {"samples >= 200 tolerance 5", 16, "unexpected"},
    {"lost <= 1", 10, "write a '%'"},
    {"present", 8, "missing"},
    {"present f g", 11, "unexpected 'g' here"},
    {"diff f <= 5%", 6, "'total' or 'self'"},
    {"diff total f <= +5", 19, "'+5 points'"},
    {"diff total f <= +100.5 points", 14, "-100 to +100 points"},
    {"diff total f >= -100.5 points", 14, "-100 to +100 points"},
    {"diff total f <= -101%", 14, "shrink by more than 100%"},
    {"simd f", 7, "a simd rule needs a property of the code"},
    {"simd f packed", 14, "a range is missing"},
    {"simd f fast", 8, "'packed' or 'width'"},
    {"simd f packed >= 80% packed >= 90%", 22, "twice"},
    {"simd f width >= 1024", 14, "64 to 512"},
    {"growth <= 1.2", 8, "no name"},
    {"growth self <= 1.2", 13, "no name"},
    {"growth f <= 1.2%", 16, "no '%' here"},
    {"present \xc3\xbcml\xc3\xa4ut x", 16, "unexpected 'x'"},
    {"time <= 5", 10, "a time needs a unit"},
    {"time f 10..50 MB", 15, "not a unit of time"},
    {"scatter <= 5", 13, "scatter is in %: write a '%'"},
    {"scatter >= -1 %", 9, "scatter cannot be below 0%"},
    {"memory >= -1 %", 14, "no '%' here"},
    {"diff memory >= -101 %", 13, "nothing can shrink"},
    {"scatter <= 5 % ove 10 runs", 16, "unexpected 'ove"},
    {"scatter <= 5 % overt 10 runs", 16, "did you mean 'over'"},
    {"scatter <= 5 % over 1 runs", 21, "over 2 to"},
    {"scatter <= 5 % over 10", 23, "write 'over 10 runs'"},
    {"r2 >= 1.5", 4, "0 to 1"},
    {"gflops >= 5", 8, "no name of a benchmark"},
    {"metric >= 5", 8, "no name of a metric"},
    {"memory <= 5 ms", 13, "not a unit of memory"},
    {"cache-misses <= 5 per 100", 23, "per 1000"},
    {"cache-misses <= 5 per hour", 19, "per 1000"},
    {"diff cache-misses <= 5 points", 23, "by a part of it"},
    {"time f 1 ms..20 s", 9, "after the second: '10..50 ms'"},
    {"diff memory <= +5 MiB", 18, "write '+5%'"},
    {"diff memory parse <= +5%", 13, "not a range"},
    {"diff time <= +5%", 6, "'total' or 'self'"},
    {"hotspot f", 10, "a tier is missing"},
    {"hotspot f first", 11, "'first' is not a tier"},
    {"evil\033[31m", 1, "'evil?[31m'"},
};

static void errors_have_a_column_and_say_what_to_write(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct rules r = parse(wrong[i].text);
        if (r.errors.n != 1)
            fail_msg("'%s' gave %zu errors", wrong[i].text, r.errors.n);
        const struct rule_error *e = &r.errors.at[0];
        if (e->line != 1 || e->column != wrong[i].column || !strstr(e->text, wrong[i].says))
            fail_msg("'%s': %u:%u: %s", wrong[i].text, e->line, e->column, e->text);
        rules_done(&r);
    }
}

static void all_errors_are_told_at_once(void **state)
{
    (void)state;
    struct rules r = parse("# three of five\nsamples >= 200\nself f <= 5\n\nlost 1%\nabsent g\nx");
    assert_int_equal(r.at.n, 2);
    assert_int_equal(r.errors.n, 3);
    assert_int_equal(r.errors.at[0].line, 3);
    assert_int_equal(r.errors.at[1].line, 5);
    assert_int_equal(r.errors.at[2].line, 7);
    rules_done(&r);
}

static void a_file_without_rules_is_an_error(void **state)
{
    (void)state;
    static const char *const sources[] = {"", "\n\n", "# only words\n  # and blanks"};
    for (size_t i = 0; i < 3; i++) {
        struct rules r = parse(sources[i]);
        assert_int_equal(r.errors.n, 1);
        assert_non_null(strstr(r.errors.at[0].text, "no rule"));
        rules_done(&r);
    }
}

static void what_is_no_text_is_one_error(void **state)
{
    (void)state;
    struct rules r;
    static const char binary[] = "\x7f"
                                 "ELF\0\0\n\n\n";
    assert_int_equal(rules_parse(&r, (struct text){binary, sizeof binary}), -1);
    assert_int_equal(r.errors.n, 1);
    assert_non_null(strstr(r.errors.at[0].text, "not text"));
    rules_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_have_ranges_and_tolerance),
        cmocka_unit_test(quality_has_counts_and_shares),
        cmocka_unit_test(heap_rules_are_of_blocks_or_bytes),
        cmocka_unit_test(names_with_blanks_are_quoted),
        cmocka_unit_test(changes_are_relative_or_in_points),
        cmocka_unit_test(contracts_on_code_and_growth),
        cmocka_unit_test(rules_of_scopes),
        cmocka_unit_test(rules_of_runs_have_the_units_of_what_they_measure),
        cmocka_unit_test(misses_are_numbers_or_rates_or_changes),
        cmocka_unit_test(tiers_follow_on_each_other),
        cmocka_unit_test(what_rules_need_is_known),
        cmocka_unit_test(errors_have_a_column_and_say_what_to_write),
        cmocka_unit_test(all_errors_are_told_at_once),
        cmocka_unit_test(a_file_without_rules_is_an_error),
        cmocka_unit_test(what_is_no_text_is_one_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
