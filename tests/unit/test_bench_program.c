/* test_bench_program.c - what benchmark programs and valgrind answer, well-formed or not. */
#include "bench/count.h"
#include "bench/program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define GREETING "{\"kelvin_bench\":1,\"program\":\"./x\"}\n"

static void results_are_read_with_their_parameters(void **state)
{
    (void)state;
    struct program_answer a;
    program_read(
        &a,
        text_of(GREETING
                "{\"name\":\"sum/n=1000\",\"ns\":81.25,\"low\":80,\"cpu_ns\":80.5,\"items\":1000,"
                "\"bytes\":4000,\"param\":\"n\",\"size\":1000,\"counts\":[1,2],"
                "\"times\":[3.5,4],\"new\":{\"deep\":[{}]}}\n"
                "{\"name\":\"nop\",\"ns\":0,\"low\":0,\"cpu_ns\":-1}\n"
                "{\"end\":true,\"exit\":0}\n"));
    assert_true(a.greeted && a.ended);
    assert_int_equal(a.results.n, 2);
    assert_string_equal(a.results.at[0].name, "sum/n=1000");
    assert_true(a.results.at[0].ns == 81.25 && a.results.at[0].items == 1000);
    assert_true(a.results.at[0].bytes == 4000 && a.results.at[0].size == 1000);
    assert_string_equal(a.results.at[0].parameter, "n");
    assert_true(a.results.at[1].ns == 0 && isnan(a.results.at[1].size));
    assert_true(a.results.at[0].cpu_ns == 80.5 && !a.results.at[0].is_empty);
    assert_true(isnan(a.results.at[1].cpu_ns) && a.results.at[1].is_empty);
    assert_int_equal(a.failures.n, 0);
    program_answer_done(&a);
}

static void no_cpu_time_at_all_is_a_time(void **state)
{
    (void)state;
    struct program_answer a;
    program_read(
        &a,
        text_of(GREETING "{\"name\":\"a\",\"ns\":5,\"cpu_ns\":0}\n{\"name\":\"b\",\"ns\":5}\n"));
    assert_int_equal(a.results.n, 2);
    assert_true(a.results.at[0].cpu_ns == 0);
    assert_true(isnan(a.results.at[1].cpu_ns));
    program_answer_done(&a);
}

static void a_fit_is_between_nothing_and_all(void **state)
{
    (void)state;
    struct program_answer a;
    program_read(&a, text_of(GREETING "{\"name\":\"a\",\"ns\":5,\"r2\":0.25,\"cpu_r2\":0.75}\n"
                                      "{\"name\":\"b\",\"ns\":5,\"r2\":-3,\"cpu_r2\":null}\n"
                                      "{\"name\":\"c\",\"ns\":5,\"r2\":1.5}\n"));
    assert_int_equal(a.results.n, 3);
    assert_true(a.results.at[0].r2 == 0.25 && a.results.at[0].cpu_r2 == 0.75);
    assert_true(a.results.at[1].r2 == 0 && isnan(a.results.at[1].cpu_r2));
    assert_true(isnan(a.results.at[2].r2));
    program_answer_done(&a);
}

static void proofs_that_fail_are_told(void **state)
{
    (void)state;
    struct program_answer a;
    program_read(&a, text_of(GREETING
                             "{\"race\":\"dot\",\"ratio\":1.2,\"min_speedup\":2,\"ok\":false}\n"
                             "{\"equal\":\"hist\",\"ok\":false,\"message\":\"differs at 3\"}\n"
                             "{\"equal\":\"fine\",\"ok\":true}\n"
                             "{\"error\":\"no such benchmark\",\"name\":\"x\",\"exit\":1}\n"));
    assert_int_equal(a.failures.n, 3);
    assert_string_equal(a.failures.at[0], "race 'dot' does not hold");
    assert_string_equal(a.failures.at[1], "equivalence 'hist' does not hold: differs at 3");
    assert_string_equal(a.failures.at[2], "no such benchmark");
    assert_int_equal(a.results.n, 0);
    assert_false(a.ended);
    program_answer_done(&a);
}

static void proofs_that_hold_are_told(void **state)
{
    struct program_answer a;
    (void)state;
    program_read(&a, text_of("{\"kelvin_bench\":1}\n"
                             "{\"equal\":\"dot\",\"ok\":true,\"cases\":1000000}\n"
                             "{\"race\":\"dot\",\"ratio\":7.9,\"low\":7.8,\"high\":8,"
                             "\"min_speedup\":2,\"ok\":true}\n"
                             "{\"cliff\":\"dot\",\"length\":64,\"message\":\"cliff: x\"}\n"
                             "{\"equal\":\"odd\",\"ok\":true,\"cases\":-1}\n"));
    assert_int_equal(a.proofs.n, 3);
    assert_string_equal(a.proofs.at[0], "'dot' computes the same on 1,000,000 inputs");
    assert_string_equal(a.proofs.at[1], "'dot' is 7.90 times as fast (7.80 to 8.00; at least 2)");
    assert_string_equal(a.proofs.at[2], "'dot' has a cliff: x");
    assert_int_equal(a.failures.n, 0);
    program_answer_done(&a);
}

static void what_makes_no_sense_is_left_alone(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "\n\n\n",
        "{\"name\":\"x\",\"ns\":1}\n", /* no greeting */
        GREETING "{\"name\":\"\",\"ns\":1}\n",
        GREETING "{\"name\":\"x\"}\n",
        GREETING "{\"name\":\"x\",\"ns\":\"1\"}\n",
        GREETING "{\"name\":5,\"ns\":1}\n",
        GREETING "[1,2]\n7\nnull\n{\n{\"name\":\"x\",\"ns\":1",
        GREETING "{\"name\":\"x\",\"ns\":1}}\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct program_answer a;
        program_read(&a, text_of(bad[i]));
        assert_int_equal(a.results.n, 0);
        program_answer_done(&a);
    }
    struct program_answer a;
    program_read(&a, text_of(GREETING "{\"name\":\"x\",\"ns\":1,\"items\":-5,\"size\":-1}\n"
                                      "{\"name\":\"x\",\"ns\":2}\n"));
    assert_int_equal(a.results.n, 1); /* the second has the same name */
    assert_true(a.results.at[0].items == 0 && isnan(a.results.at[0].size));
    program_answer_done(&a);
}

static void valgrinds_count_is_found(void **state)
{
    (void)state;
    double v[MEASURES];
    unsigned all = COUNTED(MEASURE_INSTRUCTIONS) | COUNTED(MEASURE_CACHE_MISSES) |
                   COUNTED(MEASURE_BRANCH_MISSES);
    struct text said = text_of("==12== Cachegrind\n==12== \n"
                               "==12== I   refs:      70,125,467\n"
                               "==12== I1  misses:            901\n"
                               "==12== LLi misses:            900\n"
                               "==12== LL refs:             2,345  (  2,000 rd   +   345 wr)\n"
                               "==12== LL misses:           1,234  (  1,000 rd   +   234 wr)\n"
                               "==12== LL miss rate:          0.0%\n"
                               "==12== Branches:          10,000  ( 9,000 cond + 1,000 ind)\n"
                               "==12== Mispredicts:          567  (   500 cond +    67 ind)\n");
    count_parse(said, all, v);
    assert_true(v[MEASURE_INSTRUCTIONS] == 70125467);
    assert_true(v[MEASURE_CACHE_MISSES] == 1234);
    assert_true(v[MEASURE_BRANCH_MISSES] == 567);
    count_parse(said, COUNTED(MEASURE_INSTRUCTIONS), v);
    assert_true(v[MEASURE_INSTRUCTIONS] == 70125467 && isnan(v[MEASURE_BRANCH_MISSES]));
    count_parse(text_of("valgrind: cannot run\n"), all, v);
    assert_true(isnan(v[MEASURE_INSTRUCTIONS]));
    count_parse(text_of(""), all, v);
    assert_true(isnan(v[MEASURE_INSTRUCTIONS]));
}

static void what_is_to_be_counted_is_a_list_whose_first_word_decides(void **state)
{
    (void)state;
    unsigned set;
    enum measure first;
    struct err err;
    assert_int_equal(count_read("branch-misses,instructions", &set, &first, &err), 0);
    assert_int_equal(first, MEASURE_BRANCH_MISSES);
    assert_int_equal(set, COUNTED(MEASURE_INSTRUCTIONS) | COUNTED(MEASURE_BRANCH_MISSES));
    assert_int_equal(count_read("allocations", &set, &first, &err), 0);
    static const char *const wrong[] = {
        "", "time", "cycles,,instructions", "allocations,cycles", "cycle", "cycles,"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (i != 5)
            assert_int_equal(count_read(wrong[i], &set, &first, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_read_with_their_parameters),
        cmocka_unit_test(no_cpu_time_at_all_is_a_time),
        cmocka_unit_test(a_fit_is_between_nothing_and_all),
        cmocka_unit_test(proofs_that_fail_are_told),
        cmocka_unit_test(proofs_that_hold_are_told),
        cmocka_unit_test(what_makes_no_sense_is_left_alone),
        cmocka_unit_test(valgrinds_count_is_found),
        cmocka_unit_test(what_is_to_be_counted_is_a_list_whose_first_word_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
