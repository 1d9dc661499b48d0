/* test_workload.c - commands of a suite: what is put in, how they run, how their end is told. */
#include "suite/exec.h"
#include "suite/workload.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>

static void build(struct conf *c, const char *text)
{
    autobuf struct buf errors = {0};
    struct err err;
    assert_int_equal(conf_parse(c, "kelvin.conf", text_of(text), &errors, &err), 0);
}

static void braces_are_replaced(void **state)
{
    struct conf c;
    struct workload w;
    struct err err;
    (void)state;
    build(&c, "[determinism]\nseed = 7\nthreads = 3\n[input passwords]\n"
              "patterns = /none/*.txt /etc/pass*d\n[workload a]\n"
              "command = ./app --seed {seed} -j{threads} '{passwords}' {} {x y}\n");
    assert_int_equal(workload_build(&w, &c, 0, &err), 0);
    assert_string_equal(w.line, "./app --seed 7 -j3 '/etc/passwd' {} {x y}");
    assert_int_equal(w.argv.at.n, 8);
    assert_string_equal(w.argv.at.at[4], "/etc/passwd");
    bool threads = false;
    for (size_t i = 0; i < w.env.at.n; i++)
        threads |= strcmp(w.env.at.at[i], "OMP_NUM_THREADS=3") == 0;
    assert_true(threads);
    workload_done(&w);
    conf_done(&c);
}

static void missing_input_comes_with_its_hint(void **state)
{
    struct conf c;
    struct workload w;
    struct err err;
    (void)state;
    build(&c, "[input data]\npatterns = /none/*.txt\nhint = run 'make data'\n"
              "[workload a]\ncommand = ./app {data}\n");
    assert_int_equal(workload_build(&w, &c, 0, &err), -1);
    assert_string_equal(
        err.text,
        "kelvin.conf:5: workload 'a': no file for input 'data' (/none/*.txt): run 'make data'");
    workload_done(&w);
    conf_done(&c);
}

static void unknown_brace_is_an_error(void **state)
{
    struct conf c;
    struct workload w;
    struct err err;
    (void)state;
    build(&c, "[workload a]\ncommand = ./app {sede}\n");
    assert_int_equal(workload_build(&w, &c, 0, &err), -1);
    assert_non_null(strstr(err.text, "{sede}"));
    workload_done(&w);
    conf_done(&c);
}

struct ran {
    struct exec_result result;
    struct buf tail;
};

/* Run a line of shell. */
static struct ran run(const char *line, double timeout_s)
{
    char log[] = "/tmp/kelvin-exec-XXXXXX";
    char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)line, NULL};
    struct ran r = {0};
    struct err err;
    close(mkstemp(log));
    struct exec_opts o = {
        .argv = argv, .input = "", .log = log, .timeout_s = timeout_s, .stop_fd = -1};
    assert_int_equal(exec_run(&o, &r.result, &err), 0);
    exec_tail(log, 2, &r.tail);
    buf_cstr(&r.tail);
    unlink(log);
    return r;
}

static void end_of_a_command_is_told(void **state)
{
    autobuf struct buf said = {0};
    (void)state;
    struct ran r = run("echo one; echo two; echo three >&2; exit 4", 60);
    assert_int_equal(r.result.end, EXEC_EXITED);
    assert_int_equal(r.result.status, 4);
    assert_string_equal(r.tail.at, "  two\n  three\n");
    buf_done(&r.tail);
    r = run("kill -SEGV $$", 60);
    assert_int_equal(r.result.end, EXEC_SIGNALLED);
    assert_int_equal(r.result.status, SIGSEGV);
    exec_say(&r.result, &said);
    assert_non_null(strstr(buf_cstr(&said), "signal 11"));
    buf_done(&r.tail);
}

static void command_that_never_ends_is_ended_with_all_it_started(void **state)
{
    (void)state;
    struct ran r = run("sleep 1000 & echo $!; wait", 0.3);
    assert_int_equal(r.result.end, EXEC_TIMED_OUT);
    pid_t grandchild = (pid_t)atoi(r.tail.at);
    assert_true(grandchild > 0);
    for (int i = 0; i < 100 && kill(grandchild, 0) == 0; i++)
        usleep(20000);
    assert_int_not_equal(kill(grandchild, 0), 0);
    buf_done(&r.tail);
}

static void command_that_is_not_there_is_told(void **state)
{
    char *argv[] = {(char *)"/none/such", NULL};
    struct exec_result r;
    struct err err;
    (void)state;
    struct exec_opts o = {
        .argv = argv, .input = "", .log = "/dev/null", .timeout_s = 9, .stop_fd = -1};
    assert_int_equal(exec_run(&o, &r, &err), 0);
    assert_int_equal(r.end, EXEC_NOT_RUN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(braces_are_replaced),
        cmocka_unit_test(missing_input_comes_with_its_hint),
        cmocka_unit_test(unknown_brace_is_an_error),
        cmocka_unit_test(end_of_a_command_is_told),
        cmocka_unit_test(command_that_never_ends_is_ended_with_all_it_started),
        cmocka_unit_test(command_that_is_not_there_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
