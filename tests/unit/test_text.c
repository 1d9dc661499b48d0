/*
 * Pieces of text, numbers in them, and numbers as people read them.
 */
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void cut_leaves_the_rest(void **state)
{
    (void)state;
    struct text t = text_of("a;;b");
    assert_true(text_is(text_cut(&t, ';'), "a"));
    assert_true(text_is(text_cut(&t, ';'), ""));
    assert_true(text_is(text_cut(&t, ';'), "b"));
    assert_int_equal(t.n, 0);
}

static void decimals_are_exact(void **state)
{
    (void)state;
    int64_t v;
    int d;
    assert_true(text_decimal(text_of("1.50"), &v, &d) && v == 15 && d == 1);
    assert_true(text_decimal(text_of("9223372036854775807"), &v, &d) && v == INT64_MAX);
    assert_false(text_decimal(text_of("9223372036854775808"), &v, &d));
    static const char *const wrong[] = {"", ".", ".5", "-1", "1e3", "1.x", "0x10", "1.0123456789"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(text_decimal(text_of(wrong[i]), &v, &d));
}

static void numbers_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    uint64_t v;
    assert_true(text_u64(text_of("18446744073709551615"), 10, &v) && v == UINT64_MAX);
    assert_false(text_u64(text_of("18446744073709551616"), 10, &v));
    assert_true(text_u64(text_of("fF"), 16, &v) && v == 255);
    assert_false(text_u64(text_of("12a"), 10, &v));
    assert_false(text_u64(text_of(""), 10, &v));
}

static void units_read_well(void **state)
{
    (void)state;
    char s[UNITS_MAX];
    assert_string_equal(units_count(s, 0), "0");
    assert_string_equal(units_count(s, 1234567), "1,234,567");
    assert_string_equal(units_count(s, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(units_decimal(s, 1250, 2), "12.5");
    snprintf(s, sizeof s, "%+.1f %+.1f %+.1f %+.1f", units_change(0.99999), units_change(1.0004),
             units_change(0.999), units_change(2));
    assert_string_equal(s, "+0.0 +0.0 -0.1 +100.0");
    assert_string_equal(units_decimal(s, -5, 2), "-0.05");
    assert_string_equal(units_decimal(s, INT64_MIN, 0), "-9223372036854775808");
    assert_string_equal(units_decimal_count(s, -123456, 1), "-12,345.6");
    assert_string_equal(units_scaled(s, 1.25e9, SCALED_NS), "1.25 s");
    assert_string_equal(units_seconds(s, 0.0057), "5.7 ms");
    assert_string_equal(units_seconds(s, 7.75), "7.75 s");
    assert_string_equal(units_many(s, 1, "record was", "records were"), "1 record was");
    assert_string_equal(units_many(s, 1234, "record was", "records were"), "1,234 records were");
    assert_string_equal(units_many(s, 0, "sample", "samples"), "0 samples");
    assert_string_equal(units_scaled(s, 3.5 * 1048576, SCALED_BYTES), "3.5 MiB");
    assert_string_equal(units_scaled(s, 3500000.5, SCALED_COUNT), "3,500,001");
    assert_string_equal(units_share(s, 1, 0), "0.00%");
}

static void numbers_of_any_size_have_four_digits(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {{3.14159, "3.142"},   {0, "0"},
                 {0.00012, "0.00012"}, {9999, "9999"},
                 {12345.6, "12,346"},  {-12345, "-12,345"},
                 {999999, "999,999"},  {1e6, "1 M"},
                 {3.048e8, "304.8 M"}, {-2.5e9, "-2.5 G"},
                 {7e12, "7 T"},        {1e15, "1e+15"},
                 {INFINITY, "inf"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char s[UNITS_MAX];
        assert_string_equal(units_number(s, cases[i].value), cases[i].text);
    }
}

static void assert_xml(const char *in, size_t n, const char *out)
{
    autobuf struct buf b = {0};
    utf8_xml(&b, (struct text){in, n});
    assert_string_equal(buf_cstr(&b), out);
}

static void xml_is_always_valid(void **state)
{
    (void)state;
    assert_xml("a<b>&\"'", 7, "a&lt;b&gt;&amp;&quot;&#39;");
    assert_xml("\x01\x00z", 3, "\xef\xbf\xbd\xef\xbf\xbdz");
    assert_xml("\xff\xc0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* overlong NUL */
    assert_xml("\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
    assert_xml("\xef\xbf\xbf", 3, "\xef\xbf\xbd");                         /* U+FFFF */
    assert_xml("\xc3\xa9", 2, "\xc3\xa9");
    assert_xml("\xc3", 1, "\xef\xbf\xbd");
}

static void characters_are_counted_not_bytes(void **state)
{
    (void)state;
    struct text t = text_of("h\xc3\xa9llo\xff");
    assert_int_equal(utf8_count(t), 6);
    assert_int_equal(utf8_head(t, 2).n, 3);
    assert_int_equal(utf8_head(t, 99).n, t.n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_leaves_the_rest),
        cmocka_unit_test(decimals_are_exact),
        cmocka_unit_test(numbers_of_any_size_have_four_digits),
        cmocka_unit_test(numbers_that_do_not_fit_are_refused),
        cmocka_unit_test(units_read_well),
        cmocka_unit_test(xml_is_always_valid),
        cmocka_unit_test(characters_are_counted_not_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
