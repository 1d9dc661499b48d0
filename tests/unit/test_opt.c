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
    double s;
    bool quiet;
};

static const struct opt table[] = {
    {0, "env", OPT_LIST, offsetof(struct opts, env), "NAME=VALUE", "a variable"},
    {'n', "runs", OPT_INT, offsetof(struct opts, n), "N", "how often", .min = 1, .max = 9},
    {'d', "duration", OPT_SECONDS, offsetof(struct opts, s), "SECONDS", "how long", .min = 0.1,
     .max = 600},
    {'q', "quiet", OPT_FLAG, offsetof(struct opts, quiet), NULL, "say nothing"},
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

static void flags_take_no_value(void **state)
{
    static const struct {
        const char *word, *error; /* NULL: fine */
    } cases[] = {
        {"-q", NULL},
        {"--quiet", NULL},
        {"-qn3", "-q takes no value; write options apart: -q -n3"},
        {"--quiet=yes", "--quiet takes no value"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct opts o = {0};
        struct opt_result r;
        struct err err;
        char *args[] = {(char *)(uintptr_t)cases[i].word};
        int rc = opt_parse(table, &o, 1, args, &r, &err);
        assert_int_equal(rc, cases[i].error ? -1 : 0);
        assert_int_equal(o.quiet, rc == 0);
        if (rc != 0)
            assert_string_equal(err.text, cases[i].error);
    }
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

static int parse_duration(const char *word, double *ret, struct err *err)
{
    struct opts o = {0};
    struct opt_result r;
    char *args[] = {(char *)"-d", (char *)word};
    int rc = opt_parse(table, &o, 2, args, &r, err);
    *ret = o.s;
    return rc;
}

static void seconds_may_have_a_unit(void **state)
{
    double s;
    struct err err;
    (void)state;
    assert_true(parse_duration("2.5", &s, &err) == 0 && s == 2.5);
    assert_true(parse_duration("500ms", &s, &err) == 0 && s == 0.5);
    assert_true(parse_duration("10m", &s, &err) == 0 && s == 600);
    assert_int_equal(parse_duration("11m", &s, &err), -1);
    assert_string_equal(err.text, "--duration takes a number from 0.1 to 600, not 11m");
    assert_int_equal(parse_duration("1x", &s, &err), -1);
    assert_non_null(strstr(err.text, "seconds, or a time such as 500ms or 10m, not '1x'"));
}

/* One slip of the fingers in a short word, two in a longer one. */
static void a_word_is_near_if_few_of_its_letters_differ(void **state)
{
    static const char *const words[] = {"r", "pigz", "record", NULL};
    (void)state;
    assert_null(opt_nearest("a", words));
    assert_null(opt_nearest("ping", words));
    assert_string_equal(opt_nearest("pig", words), "pigz");
    assert_string_equal(opt_nearest("recrod", words), "record");
    assert_string_equal(opt_nearest("rcrod", words), "record");
    assert_null(opt_nearest("rord", words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_keeps_every_value_in_order),
        cmocka_unit_test(flags_take_no_value),
        cmocka_unit_test(list_that_is_too_long_is_an_error),
        cmocka_unit_test(seconds_may_have_a_unit),
        cmocka_unit_test(a_word_is_near_if_few_of_its_letters_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
