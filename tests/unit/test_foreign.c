/* test_foreign.c - what Google Benchmark and Criterion write down. */
#include "base/buf.h"
#include "base/mem.h"
#include "bench/foreign.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

static const char google[] =
    "{\"context\": {\"num_cpus\": 2, \"caches\": [{\"level\": 1}]},\n"
    " \"benchmarks\": [\n"
    "  {\"name\": \"sum/8\", \"run_type\": \"iteration\", \"iterations\": 100, \"real_time\": "
    "2.5,\n"
    "   \"cpu_time\": 2.0, \"time_unit\": \"us\", \"items_per_second\": 4e6},\n"
    "  {\"name\": \"sum/8\", \"run_type\": \"iteration\", \"real_time\": 3.5, \"cpu_time\": 3.0,\n"
    "   \"time_unit\": \"us\"},\n"
    "  {\"name\": \"sum/8_mean\", \"run_type\": \"aggregate\", \"aggregate_name\": \"mean\",\n"
    "   \"real_time\": 3.0, \"cpu_time\": 2.5, \"time_unit\": \"us\"},\n"
    "  {\"name\": \"old\", \"real_time\": 7, \"cpu_time\": 6, \"time_unit\": \"ns\"}]}";

static void repetitions_are_averaged_and_aggregates_left_out(void **state)
{
    struct program_answer a = {0};
    struct err err;
    (void)state;
    assert_int_equal(foreign_parse_google(&a, text_of(google), &err), 0);
    assert_int_equal(a.results.n, 2);
    assert_string_equal(a.results.at[0].name, "sum/8");
    assert_true(fabs(a.results.at[0].ns - 3000) < 1e-9);
    assert_true(fabs(a.results.at[0].cpu_ns - 2500) < 1e-9);
    assert_true(fabs(a.results.at[0].items - 8) < 1e-9); /* 4e6 per second of CPU time, in 2 us */
    assert_string_equal(a.results.at[1].name, "old");
    assert_true(a.results.at[1].ns == 7);
    program_answer_done(&a);
}

static void rates_are_by_the_clock_that_the_benchmark_asked_for(void **state)
{
    static const char both[] =
        "{\"benchmarks\": [{\"name\": \"io/real_time\", \"real_time\": 50, \"cpu_time\": 20,"
        " \"time_unit\": \"ns\", \"bytes_per_second\": 2e9},"
        "{\"name\": \"own/8/manual_time\", \"real_time\": 50, \"cpu_time\": 20, \"time_unit\": "
        "\"ns\", \"bytes_per_second\": 2e9},"
        "{\"name\": \"plain\", \"real_time\": 50, \"cpu_time\": 20, \"time_unit\": \"ns\","
        " \"bytes_per_second\": 2e9},"
        "{\"name\": \"no_cpu\", \"real_time\": 50, \"time_unit\": \"ns\","
        " \"bytes_per_second\": 2e9}]}";
    static const double bytes[] = {100, 100, 40, 100};
    struct program_answer a = {0};
    struct err err;
    (void)state;
    assert_int_equal(foreign_parse_google(&a, text_of(both), &err), 0);
    assert_int_equal(a.results.n, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(a.results.at[i].bytes - bytes[i]) < 1e-9);
    program_answer_done(&a);
}

static void a_filter_leaves_what_has_it_in_its_name(void **state)
{
    struct program_answer a = {0};
    struct err err;
    (void)state;
    assert_int_equal(foreign_parse_google(&a, text_of(google), &err), 0);
    assert_int_equal(foreign_filter(&a, "ol", &err), 0);
    assert_int_equal(a.results.n, 1);
    assert_string_equal(a.results.at[0].name, "old");
    assert_int_equal(foreign_filter(&a, "sum", &err), -1);
    assert_int_equal(a.results.n, 0);
    program_answer_done(&a);
}

static void what_is_no_json_is_an_error_and_a_failed_benchmark_too(void **state)
{
    struct program_answer a = {0}, b = {0};
    struct err err;
    (void)state;
    assert_int_equal(foreign_parse_google(&a, text_of("{\"benchmarks\": [{"), &err), -1);
    assert_int_equal(foreign_parse_google(
                         &b,
                         text_of("{\"benchmarks\": [{\"name\": \"x\", \"error_occurred\": true, "
                                 "\"error_message\": \"no file\", \"real_time\": 0}]}"),
                         &err),
                     0);
    assert_int_equal(b.results.n, 0);
    assert_string_equal(b.failures.at[0], "benchmark 'x' failed: no file");
    program_answer_done(&a);
    program_answer_done(&b);
}

static void write_to(const char *folder, const char *name, const char *text)
{
    autofree char *path = mem_printf("%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void make(const char *root, const char *below)
{
    autofree char *path = mem_printf("%s/%s", root, below);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        mkdir(path, 0777);
    }
    mkdir(path, 0777);
}

static void criterion_has_a_folder_for_each_benchmark(void **state)
{
    char root[] = "/tmp/kelvin-criterion-XXXXXX";
    struct program_answer a = {0}, none = {0};
    struct timespec ever = {0}, later;
    struct err err;
    (void)state;
    assert_non_null(mkdtemp(root));
    make(root, "fib/20/new");
    make(root, "fib/20/base");
    make(root, "plain/new");
    write_to(root, "fib/20/new/benchmark.json",
             "{\"group_id\": \"fib\", \"throughput\": {\"Bytes\": 64}, \"full_id\": \"fib/n=20\"}");
    write_to(root, "fib/20/new/estimates.json",
             "{\"median\": {\"point_estimate\": 1}, \"mean\": {\"confidence_interval\": {}, "
             "\"point_estimate\": 26029.5}}");
    write_to(root, "fib/20/base/estimates.json", "{\"mean\": {\"point_estimate\": 9}}");
    write_to(root, "plain/new/estimates.json", "{\"mean\": {\"point_estimate\": 12}}");
    assert_int_equal(foreign_read(&a, root, ever, &err), 0);
    assert_int_equal(a.results.n, 2);
    for (size_t i = 0; i < 2; i++) {
        bool fib = strcmp(a.results.at[i].name, "fib/n=20") == 0;
        assert_true(fib || strcmp(a.results.at[i].name, "plain") == 0);
        assert_true(a.results.at[i].ns == (fib ? 26029.5 : 12));
        assert_true(isnan(a.results.at[i].cpu_ns));
        assert_true(isnan(a.results.at[i].r2) && isnan(a.results.at[i].cpu_r2));
        assert_true(a.results.at[i].bytes == (fib ? 64 : 0) && a.results.at[i].items == 0);
    }
    clock_gettime(CLOCK_REALTIME, &later);
    later.tv_sec += 60;
    assert_int_equal(foreign_read(&none, root, later, &err), -1);
    assert_non_null(strstr(err.text, "the run wrote no results to"));
    autofree char *remove = mem_printf("rm -rf %s", root);
    assert_int_equal(system(remove), 0);
    program_answer_done(&a);
    program_answer_done(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repetitions_are_averaged_and_aggregates_left_out),
        cmocka_unit_test(rates_are_by_the_clock_that_the_benchmark_asked_for),
        cmocka_unit_test(a_filter_leaves_what_has_it_in_its_name),
        cmocka_unit_test(what_is_no_json_is_an_error_and_a_failed_benchmark_too),
        cmocka_unit_test(criterion_has_a_folder_for_each_benchmark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
