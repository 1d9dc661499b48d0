/* test_bench_plan.c - commands and parameters become items and groups; orders are balanced. */
#include "bench/gates.h"
#include "bench/order.h"
#include "bench/plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct opt_list none = {0};

static struct plan_opts with(const char **lines, size_t n)
{
    return (struct plan_opts){
        .lines = (char *const *)lines, .n_lines = n, .names = &none, .list = &none, .range = &none};
}

static int fails(struct plan_opts *o, const char *word)
{
    struct plan p;
    struct err err;
    int rc = plan_build(&p, o, &err);
    plan_done(&p);
    if (rc == 0 || !strstr(err.text, word))
        fail_msg("rc %d, '%s' without '%s'", rc, rc ? err.text : "", word);
    return 0;
}

static void commands_are_split_without_a_shell(void **state)
{
    (void)state;
    const char *lines[] = {"./app 'two words' a\\ b \"$HOME\""};
    struct plan_opts o = with(lines, 1);
    struct plan p;
    struct err err;
    assert_int_equal(plan_build(&p, &o, &err), 0);
    char **argv = p.commands.at[p.items.at[0].command].at.at;
    assert_string_equal(argv[0], "./app");
    assert_string_equal(argv[1], "two words");
    assert_string_equal(argv[2], "a b");
    assert_string_equal(argv[3], "$HOME");
    assert_null(argv[4]);
    plan_done(&p);
}

static void numbers_make_groups_and_words_are_compared(void **state)
{
    (void)state;
    const char *lines[] = {"./{cc}-app --n {n}"};
    const struct opt_list list = {{"cc=gcc,clang", "n=1,2,4"}, 2};
    struct plan_opts o = with(lines, 1);
    struct plan p;
    struct err err;
    o.list = &list;
    o.prepare = "make N={n}";
    assert_int_equal(plan_build(&p, &o, &err), 0);
    assert_int_equal(p.items.n, 6);
    assert_int_equal(p.groups.n, 3);
    for (size_t g = 0; g < 3; g++)
        assert_int_equal(p.groups.at[g].items.n, 2);
    assert_string_equal(p.items.at[p.groups.at[1].items.at[0]].line, "./gcc-app --n 2");
    assert_string_equal(p.items.at[p.groups.at[1].items.at[1]].line, "./clang-app --n 2");
    assert_int_equal(plan_sweep(&p), 1);
    /* Six commands, three ways to prepare, and `true`. */
    assert_int_equal(p.commands.n, 10);
    char *open = plan_fill(&p, &p.items.at[0], lines[0], 1);
    assert_string_equal(open, "./gcc-app --n {n}");
    free(open);
    plan_done(&p);
}

static void one_number_alone_is_no_sweep(void **state)
{
    (void)state;
    const char *lines[] = {"./app {m} {n}"};
    const struct opt_list list = {{"m=8", "n=1,2"}, 2}, alone = {{"m=8", "n=1"}, 2};
    struct plan_opts o = with(lines, 1);
    struct plan p;
    struct err err;
    o.list = &list;
    assert_int_equal(plan_build(&p, &o, &err), 0);
    assert_int_equal(plan_sweep(&p), 1);
    plan_done(&p);
    o.list = &alone;
    assert_int_equal(plan_build(&p, &o, &err), 0);
    assert_true(plan_sweep(&p) == PLAN_NONE);
    plan_done(&p);
}

static void only_whole_words_above_zero_are_sizes(void **state)
{
    static const struct {
        const char *values;
        bool sizes;
    } cases[] = {{"n=1,2", true},   {"n=0.5,1e3", true}, {"n=1x,2x", false}, {"n=0,1", false},
                 {"n=-1,1", false}, {"n=inf,1", false},  {"n=nan,1", false}};
    const char *lines[] = {"./app {n}"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct opt_list list = {{cases[i].values}, 1};
        struct plan_opts o = with(lines, 1);
        struct plan p;
        struct err err;
        o.list = &list;
        assert_int_equal(plan_build(&p, &o, &err), 0);
        assert_int_equal(plan_sweep(&p), cases[i].sizes ? 0 : PLAN_NONE);
        assert_int_equal(p.groups.n, cases[i].sizes ? 2 : 1);
        plan_done(&p);
    }
}

static void ranges_count_up_and_down(void **state)
{
    (void)state;
    const char *lines[] = {"x {a} {b}"};
    const struct opt_list range = {{"a=1..10..4", "b=0.3..0.1..-0.1"}, 2};
    struct plan_opts o = with(lines, 1);
    struct plan p;
    struct err err;
    o.range = &range;
    assert_int_equal(plan_build(&p, &o, &err), 0);
    assert_int_equal(p.parameters.at[0].values.at.n, 3);
    assert_string_equal(p.parameters.at[0].values.at.at[2], "9");
    assert_int_equal(p.parameters.at[1].values.at.n, 3);
    assert_string_equal(p.parameters.at[1].values.at.at[2], "0.1");
    plan_done(&p);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    const char *one[] = {"x {n}"}, *two[] = {"x", "x"}, *empty[] = {" "}, *open[] = {"x 'y"};
    static const struct {
        const char *list, *range, *word;
    } rows[] = {
        {"n=", NULL, "no values"},
        {"n=1,,2", NULL, "empty"},
        {"n=1,", NULL, "empty"},
        {"n=1,1", NULL, "twice"},
        {"=1", NULL, "name"},
        {"{=1", NULL, "name"},
        {"m=1", NULL, "in no command"},
        {NULL, "n=1", "from..to"},
        {NULL, "n=1..x", "from..to"},
        {NULL, "n=5..1", "no values"},
        {NULL, "n=1..2..0", "no values"},
        {NULL, "n=1..1000000", "at most"},
        {"n=1", "n=1..2", "given twice"},
        {NULL, "n=1..inf", "from..to"},
        {NULL, "n=1..2..1..1", "from"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan_opts o = with(one, 1);
        struct opt_list list = {{rows[i].list}, rows[i].list != NULL};
        struct opt_list range = {{rows[i].range}, rows[i].range != NULL};
        o.list = &list;
        o.range = &range;
        fails(&o, rows[i].word);
    }
    const struct opt_list same = {{"a", "a"}, 2}, few = {{"a"}, 1};
    struct plan_opts o = with(two, 2);
    o.names = &same;
    fails(&o, "must differ");
    o.names = &few;
    fails(&o, "1 name for 2 commands");
    o = with(empty, 1);
    fails(&o, "empty");
    o = with(open, 1);
    fails(&o, "quote");
}

static void equal_commands_get_names_of_their_own(void **state)
{
    (void)state;
    const char *lines[] = {"x", "x", "x"};
    struct plan_opts o = with(lines, 3);
    struct plan p;
    struct err err;
    o.aa = true;
    assert_int_equal(plan_build(&p, &o, &err), 0);
    assert_string_equal(p.items.at[1].name, "x #2");
    assert_string_equal(p.items.at[2].name, "x #3");
    assert_true(p.items.at[3].aa);
    assert_int_equal(p.groups.at[0].items.n, 4);
    plan_done(&p);
}

static void given_names_tell_every_parameter(void **state)
{
    (void)state;
    const char *lines[] = {"./{cc}-app --n {n}"};
    const struct opt_list list = {{"cc=gcc,clang", "n=1,2"}, 2};
    static const struct {
        const char *given, *name;
    } cases[] = {{"app", "app/cc=gcc/n=1"}, {"app-{n}", "app-1/cc=gcc"}, {"{cc} {n}", "gcc 1"}};
    for (size_t i = 0; i < 3; i++) {
        const struct opt_list names = {{cases[i].given}, 1};
        struct plan_opts o = with(lines, 1);
        struct plan p;
        struct err err;
        o.list = &list;
        o.names = &names;
        assert_int_equal(plan_build(&p, &o, &err), 0);
        assert_string_equal(p.items.at[0].name, cases[i].name);
        plan_done(&p);
    }
}

/* In every N blocks each of N commands has each place once; over many all orders of two come. */
static void every_command_has_every_place_equally_often(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 7; n++) {
        uint64_t rng = n;
        struct order o;
        order_init(&o, n, &rng);
        for (int square = 0; square < 50; square++) {
            int seen[7][7] = {{0}};
            for (size_t b = 0; b < n; b++) {
                size_t at[7];
                order_next(&o, at);
                for (size_t i = 0; i < n; i++)
                    seen[at[i]][i]++;
            }
            for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < n; k++)
                    assert_int_equal(seen[i][k], 1);
        }
        order_done(&o);
    }
}

static void who_is_first_cannot_be_foretold(void **state)
{
    (void)state;
    uint64_t rng = 1;
    struct order o;
    size_t at[2], first = 0;
    order_init(&o, 2, &rng);
    for (int i = 0; i < 1000; i++) {
        order_next(&o, at);
        first += at[0];
        order_next(&o, at);
    }
    order_done(&o);
    assert_in_range(first, 430, 570);
}

static void gates_are_for_all_or_for_one(void **state)
{
    (void)state;
    const struct opt_list gates = {{"10%", "sum=3", "a=b=0.5%"}, 3};
    const struct opt_list bad[] = {{{"x"}, 1}, {{"-1%"}, 1}, {{"n="}, 1}, {{"5%%"}, 1}};
    struct err err;
    assert_int_equal(gates_check(&gates, &err), 0);
    assert_true(gates_find(&gates, "other", "") == 0.1);
    assert_true(gates_find(&gates, "./new: sum", "sum") == 0.03);
    assert_true(gates_find(&gates, "a=b", "") == 0.005);
    assert_true(isnan(gates_find(&none, "x", "")));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(gates_check(&bad[i], &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_split_without_a_shell),
        cmocka_unit_test(numbers_make_groups_and_words_are_compared),
        cmocka_unit_test(one_number_alone_is_no_sweep),
        cmocka_unit_test(only_whole_words_above_zero_are_sizes),
        cmocka_unit_test(ranges_count_up_and_down),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(equal_commands_get_names_of_their_own),
        cmocka_unit_test(given_names_tell_every_parameter),
        cmocka_unit_test(every_command_has_every_place_equally_often),
        cmocka_unit_test(who_is_first_cannot_be_foretold),
        cmocka_unit_test(gates_are_for_all_or_for_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
