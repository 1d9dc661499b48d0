/* test_utf8.c - what may be shown, and what never is. */
#include "base/csv.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void check_plain(const char *in, const char *out)
{
    autobuf struct buf b = {0};
    utf8_plain(&b, text_of(in));
    assert_string_equal(buf_cstr(&b), out);
}

static void names_as_they_are_stay(void **state)
{
    (void)state;
    check_plain("main", "main");
    check_plain("gr\xc3\xb6\xc3\x9f"
                "e <T> \xe6\x97\xa5",
                "gr\xc3\xb6\xc3\x9f"
                "e <T> \xe6\x97\xa5");
    check_plain("", "");
}

static void control_characters_become_question_marks(void **state)
{
    (void)state;
    check_plain("a\033[2Jb", "a?[2Jb");
    check_plain("a\nb\tc\rd\be\177", "a?b?c?d?e?");
    check_plain("\xc2\x9b"
                "31m",
                "?31m"); /* CSI as one character */
}

static void marks_that_turn_the_direction_become_question_marks(void **state)
{
    static const char *const marks[] = {
        "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa", "\xe2\x80\xab", "\xe2\x80\xac",
        "\xe2\x80\xad", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa7", "\xe2\x81\xa8",
        "\xe2\x81\xa9", "\xd8\x9c",     "\xe2\x80\xa8", "\xe2\x80\xa9",
    };
    (void)state;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        check_plain(marks[i], "?");
    check_plain("\xe2\x80\x93\xe2\x80\xaf", "\xe2\x80\x93\xe2\x80\xaf"); /* a dash, a blank */
}

static void bad_bytes_are_replaced_one_by_one(void **state)
{
    (void)state;
    check_plain("\x9b"
                "31m",
                "\xef\xbf\xbd"
                "31m"); /* CSI of 8-bit terminals */
    check_plain("\xe2\x80", "\xef\xbf\xbd\xef\xbf\xbd");
}

/* Every byte value at every place of a word and behind it. */
static void plain_ends_at_the_first_byte_that_is_not_printable(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++)
        for (size_t at = 0; at < 20; at++) {
            char name[20];
            memset(name, c % 2 ? ' ' : '~', sizeof name);
            name[at] = (char)c;
            bool printable = c >= ' ' && c <= '~';
            assert_int_equal(utf8_printable((struct text){name, sizeof name}),
                             printable ? sizeof name : at);
        }
}

static void json_escapes_what_is_hidden(void **state)
{
    autobuf struct buf b = {0};
    (void)state;
    utf8_json(&b, text_of("a\"\\\033\xc2\x9b\xe2\x80\xae\xc3\xb6"));
    assert_string_equal(buf_cstr(&b), "a\\\"\\\\\\u001b\\u009b\\u202e\xc3\xb6");
}

static void xml_replaces_what_is_hidden(void **state)
{
    autobuf struct buf b = {0};
    (void)state;
    utf8_xml(&b, text_of("<\033\xe2\x80\xae>"));
    assert_string_equal(buf_cstr(&b), "&lt;\xef\xbf\xbd\xef\xbf\xbd&gt;");
}

static void check_csv(const char *in, const char *quoted, const char *as_needed)
{
    autofree char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    csv_quoted(out, text_of(in));
    putc(' ', out);
    csv_text(out, text_of(in));
    fclose(out);
    autofree char *both = mem_printf("%s %s", quoted, as_needed);
    assert_string_equal(text, both);
}

static void tables_for_spreadsheets_hold_neither_controls_nor_formulas(void **state)
{
    (void)state;
    check_csv("main", "\"main\"", "main");
    check_csv("", "\"\"", "");
    check_csv("a,\"b\"", "\"a,\"\"b\"\"\"", "\"a,\"\"b\"\"\"");
    check_csv("a\033[2J\xe2\x80\xae\n\xff", "\"a?[2J??\xef\xbf\xbd\"", "a?[2J??\xef\xbf\xbd");
    check_csv("=cmd()", "\"'=cmd()\"", "\"'=cmd()\"");
    check_csv("\t=1", "\"'?=1\"", "\"'?=1\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_for_spreadsheets_hold_neither_controls_nor_formulas),
        cmocka_unit_test(names_as_they_are_stay),
        cmocka_unit_test(control_characters_become_question_marks),
        cmocka_unit_test(marks_that_turn_the_direction_become_question_marks),
        cmocka_unit_test(bad_bytes_are_replaced_one_by_one),
        cmocka_unit_test(plain_ends_at_the_first_byte_that_is_not_printable),
        cmocka_unit_test(json_escapes_what_is_hidden),
        cmocka_unit_test(xml_replaces_what_is_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
