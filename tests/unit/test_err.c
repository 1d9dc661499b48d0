/* Texts of errors. */
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void text_that_is_cut_says_so(void **state)
{
    struct err e;
    char letters[300];
    (void)state;
    for (size_t n = 230; n < 250; n++) {
        memset(letters, 'a', n);
        letters[n] = '\0';
        assert_int_equal(err_set(&e, EXIT_ERROR, "%s", letters), -1);
        assert_int_equal(strlen(e.text), n < sizeof e.text ? n : sizeof e.text - 1);
        assert_int_equal(strstr(e.text, "...") != NULL, n >= sizeof e.text);
    }
}

static void cut_is_between_two_characters(void **state)
{
    struct err e;
    (void)state;
    for (int n = 200; n < 204; n++) {
        err_set(
            &e, EXIT_ERROR, "%*s%s", n, "",
            "\u2192\u2192\u2192\u2192\u2192\u2192\u2192\u2192\u2192\u2192\u2192\u2192\u2192\u2192"
            "\u2192");
        assert_string_equal(e.text + strlen(e.text) - 6, "\u2192...");
    }
}

static void reason_stays_behind_a_text_that_fits(void **state)
{
    struct err e;
    (void)state;
    err_set_errno(&e, 2, "cannot open '%s'", "x");
    assert_string_equal(e.text, "cannot open 'x': No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_that_is_cut_says_so),
        cmocka_unit_test(cut_is_between_two_characters),
        cmocka_unit_test(reason_stays_behind_a_text_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
