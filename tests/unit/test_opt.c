/* Options from a table. */
#include "base/opt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct opts {
    struct opt_list env;
    long n;
};

static const struct opt table[] = {
    {0, "env", OPT_LIST, offsetof(struct opts, env), "NAME=VALUE", "a variable"},
    {'n', "runs", OPT_INT, offsetof(struct opts, n), "N", "how often", .min = 1, .max = 9},
    OPT_END,
};

static void list_keeps_every_value_in_order(void **state)
{
    struct opts o = {0};
    struct opt_result r;
    struct err err;
    char *args[] = {(char *)"--env", (char *)"A=1", (char *)"x", (char *)"--env=B=2",
                    (char *)"-n3"};
    (void)state;
    assert_int_equal(opt_parse(table, &o, 5, args, &r, &err), 0);
    assert_int_equal(o.env.n, 2);
    assert_string_equal(o.env.at[0], "A=1");
    assert_string_equal(o.env.at[1], "B=2");
    assert_int_equal(o.n, 3);
    assert_int_equal(r.n_operands, 1);
}

static void list_that_is_too_long_is_an_error(void **state)
{
    struct opts o = {0};
    struct opt_result r;
    struct err err;
    char *args[OPT_LIST_MAX + 1];
    (void)state;
    for (int i = 0; i <= OPT_LIST_MAX; i++)
        args[i] = (char *)"--env=A=1";
    assert_int_equal(opt_parse(table, &o, OPT_LIST_MAX + 1, args, &r, &err), -1);
    assert_non_null(strstr(err.text, "--env"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_keeps_every_value_in_order),
        cmocka_unit_test(list_that_is_too_long_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
