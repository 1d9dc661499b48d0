/* test_conf.c - a suite file means what it says, and its faults are all told with their place. */
#include "suite/conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>

struct parsed {
    struct conf conf;
    struct buf errors;
    struct err err;
    int rc;
};

static struct parsed parse(const char *text)
{
    struct parsed p = {0};
    p.rc = conf_parse(&p.conf, "x/kelvin.conf", text_of(text), &p.errors, &p.err);
    buf_cstr(&p.errors);
    return p;
}

static void done(struct parsed *p)
{
    conf_done(&p->conf);
    buf_done(&p->errors);
}

static void values_come_with_their_origin(void **state)
{
    struct parsed p = parse("[build]\ncommand = make -j2 ; comment\n\n[workload small]\n"
                            "command = ./app --n 10\ncollect = cpu, bench\nruns = 20\n");
    (void)state;
    assert_int_equal(p.rc, 0);
    assert_string_equal(conf_text(&p.conf, "", "build.command"), "make -j2");
    assert_string_equal(conf_find(&p.conf, "", "build.command").origin, "kelvin.conf:2");
    assert_int_equal(p.conf.names[CONF_WORKLOADS].at.n, 1);
    assert_string_equal(p.conf.names[CONF_WORKLOADS].at.at[0], "small");
    assert_true(conf_has(&p.conf, "small", "workload.collect", "bench"));
    assert_false(conf_has(&p.conf, "small", "workload.collect", "simd"));
    assert_true(conf_number(&p.conf, "small", "workload.runs") == 20);
    assert_string_equal(conf_find(&p.conf, "small", "workload.rate").origin, "default");
    done(&p);
}

static void comments_hold_anything(void **state)
{
    struct parsed p = parse("# a comment; a ; in it\n; and = here ; too\n[build] # [ ; ]\n"
                            "\t# ; ]\ncommand = make ; # x\n");
    (void)state;
    assert_string_equal(p.errors.at, "");
    assert_string_equal(conf_text(&p.conf, "", "build.command"), "make");
    done(&p);
}

static void line_behind_a_blank_goes_on(void **state)
{
    struct parsed p = parse("[workload a]\n  command = ./app\n    --long 1\n    --more 2\n"
                            "collect = cpu\n");
    (void)state;
    assert_int_equal(p.rc, 0);
    assert_string_equal(conf_text(&p.conf, "a", "workload.command"), "./app --long 1 --more 2");
    assert_string_equal(conf_text(&p.conf, "a", "workload.collect"), "cpu");
    done(&p);
}

static void every_fault_is_told_with_its_line(void **state)
{
    struct parsed p = parse("[biuld]\ncommand = x\nenv = y\n[build]\ncomand = make\n"
                            "timeout = soon\n[workload]\ncommand = x\n[workload b]\n"
                            "collect = cpu hep\nruns = 1\nruns = 5\nrate = 99\nrate = 98\n");
    (void)state;
    assert_int_equal(p.rc, -1);
    assert_string_equal(
        p.errors.at,
        "kelvin.conf:2: no section '[biuld]'; did you mean '[build]'?\n"
        "kelvin.conf:5: no key 'comand' in [build]; did you mean 'command'?\n"
        "kelvin.conf:6: 'timeout' takes a number from 0.1 to 1e+06, not 'soon'\n"
        "kelvin.conf:8: '[workload]' needs a name\n"
        "kelvin.conf:10: 'collect' is made of: cpu bench benchmarks instructions cache heap scopes "
        "simd memcheck helgrind asan ubsan tsan; not 'hep'\n"
        "kelvin.conf:11: 'runs' takes a whole number from 2 to 100000, not '1'\n"
        "kelvin.conf:14: 'rate' is given twice, first at kelvin.conf:13\n");
    assert_string_equal(p.err.text, "kelvin.conf:2: no section '[biuld]'; did you mean '[build]'?");
    done(&p);
}

static void line_that_is_too_long_is_refused(void **state)
{
    char text[400] = "[build]\ncommand = ";
    (void)state;
    memset(text + strlen(text), 'x', 300);
    struct parsed p = parse(text);
    assert_int_equal(p.rc, -1);
    assert_non_null(strstr(p.errors.at, "kelvin.conf:2: the line is longer"));
    done(&p);
}

/* inih cuts longer names: two workloads would become one, and keys fall to the section before. */
static void section_that_is_too_long_is_refused_with_its_keys(void **state)
{
    char text[400] = "[build]\n[workload a";
    (void)state;
    for (int n = 40; n <= 41; n++) {
        char *end = text + strlen("[build]\n[workload ");
        memset(end, 'a', (size_t)n);
        strcpy(end + n, "]\ncommand = x\nrate = 3\n");
        struct parsed p = parse(text);
        assert_int_equal(p.rc, n == 40 ? 0 : -1);
        if (n == 41)
            assert_string_equal(p.errors.at,
                                "kelvin.conf:2: the name of a section is longer than 49 bytes\n");
        done(&p);
    }
}

static void name_that_hides_its_files_is_refused(void **state)
{
    (void)state;
    const char *const names[] = {".", ".a", "-rf", "a.b-c", "_a", "9"};
    for (int i = 0; i < 6; i++) {
        char text[80];
        snprintf(text, sizeof text, "[workload %s]\ncommand = x\n", names[i]);
        struct parsed p = parse(text);
        assert_int_equal(p.rc, i < 3 ? -1 : 0);
        done(&p);
    }
}

static void line_without_meaning_is_refused(void **state)
{
    struct parsed p = parse("[build]\nmake all\n");
    (void)state;
    assert_int_equal(p.rc, -1);
    assert_string_equal(p.errors.at, "kelvin.conf:2: neither '[section]' nor 'key = value'\n");
    done(&p);
}

static void errors_come_in_the_order_of_the_file(void **state)
{
    struct parsed p = parse("[project]\nmake all\n[workload a]\ncollect = cpu\n  bensh\n"
                            "runs = many\n[workload b\ncommand = x\nall\n; all\n# all\n"
                            "[workload c]\nrate: x ; y\nrate ; = x\n");
    (void)state;
    assert_int_equal(p.rc, -1);
    int line = 0, expected[] = {2, 4, 6, 7, 9, 13, 14};
    struct text rest = buf_text(&p.errors);
    for (int i = 0; i < 7; i++) {
        struct text one = text_cut(&rest, '\n');
        if (sscanf(one.at ? one.at : "", "kelvin.conf:%d: ", &line) != 1 || line != expected[i])
            fail_msg("instead of line %d: %s", expected[i], p.errors.at);
    }
    assert_int_equal(rest.n,
                     0); /* what follows a section that cannot be read is not blamed on another */
    done(&p);
}

static void byte_order_mark_is_no_word(void **state)
{
    struct parsed p = parse("\xef\xbb\xbf[build]\ncommand = make\n");
    (void)state;
    assert_int_equal(p.rc, 0);
    done(&p);
}

/* A folder of its own with a file of TEXT. */
static char *write_conf(const char *text)
{
    static char path[] = "/tmp/kelvin-conf-XXXXXX";
    strcpy(path + strlen(path) - 6, "XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

static void environment_overrules_the_file_and_options_both(void **state)
{
    const char *sets[] = {"workload.a.runs=30", "publish.folder=out"};
    struct conf c;
    struct buf errors = {0};
    struct err err;
    (void)state;
    char *path = write_conf("[workload a]\nruns = 10\nrate = 50\n[publish]\nfolder = perf\n");
    setenv("KELVIN_WORKLOAD_A_RUNS", "20", 1);
    setenv("KELVIN_WORKLOAD_A_RATE", "60", 1);
    int rc = conf_read(&c, path, (struct conf_sets){sets, 2, "--set"}, &errors, &err);
    unsetenv("KELVIN_WORKLOAD_A_RUNS");
    unsetenv("KELVIN_WORKLOAD_A_RATE");
    unlink(path);
    assert_int_equal(rc, 0);
    assert_string_equal(conf_text(&c, "a", "workload.runs"), "30");
    assert_string_equal(conf_find(&c, "a", "workload.runs").origin, "--set");
    assert_string_equal(conf_text(&c, "a", "workload.rate"), "60");
    assert_string_equal(conf_find(&c, "a", "workload.rate").origin, "KELVIN_WORKLOAD_A_RATE");
    assert_string_equal(conf_text(&c, "", "publish.folder"), "out");
    conf_done(&c);
    buf_done(&errors);
}

static void wrong_option_names_the_key_that_was_meant(void **state)
{
    const char *sets[] = {"build.comand=make"};
    struct conf c;
    struct buf errors = {0};
    struct err err;
    (void)state;
    char *path = write_conf("[project]\nname = x\n");
    int rc = conf_read(&c, path, (struct conf_sets){sets, 1, "--set"}, &errors, &err);
    unlink(path);
    assert_int_equal(rc, -1);
    assert_non_null(strstr(err.text, "'command'"));
    conf_done(&c);
    buf_done(&errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_with_their_origin),
        cmocka_unit_test(comments_hold_anything),
        cmocka_unit_test(line_behind_a_blank_goes_on),
        cmocka_unit_test(every_fault_is_told_with_its_line),
        cmocka_unit_test(line_that_is_too_long_is_refused),
        cmocka_unit_test(section_that_is_too_long_is_refused_with_its_keys),
        cmocka_unit_test(name_that_hides_its_files_is_refused),
        cmocka_unit_test(line_without_meaning_is_refused),
        cmocka_unit_test(errors_come_in_the_order_of_the_file),
        cmocka_unit_test(byte_order_mark_is_no_word),
        cmocka_unit_test(environment_overrules_the_file_and_options_both),
        cmocka_unit_test(wrong_option_names_the_key_that_was_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
