/* test_bench_starter.c - commands are started, measured, limited and ended. */
#include "bench/counter.h"
#include "bench/starter.h"
#include "bench/starter_child.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Run ARGV once; RET is to be given back. */
static void run(struct starter_opts o, const char **argv, struct starter_run *ret)
{
    char *const *commands[] = {(char *const *)argv};
    struct starter *s;
    struct err err;
    o.commands = commands;
    o.n_commands = 1;
    if (o.stop_fd == 0)
        o.stop_fd = -1;
    *ret = (struct starter_run){0};
    assert_int_equal(starter_open(&s, &o, &err), 0);
    assert_int_equal(starter_run(s, 0, 100, ret, &err), 0);
    starter_close(s);
}

#define SH(script) ((const char *[]){"/bin/sh", "-c", script, NULL})

static void an_exit_code_and_all_measures_come_back(void **state)
{
    (void)state;
    struct starter_run r;
    run((struct starter_opts){0}, SH("sleep 0.05; exit 7"), &r);
    assert_int_equal(r.end, STARTER_EXITED);
    assert_int_equal(r.status, 7);
    assert_true(r.value[MEASURE_TIME] >= 50e6);
    assert_true(r.value[MEASURE_CPU] < r.value[MEASURE_TIME]); /* it slept */
    assert_true(r.value[MEASURE_PEAK_RSS] > 100e3);
    assert_true(r.value[MEASURE_SWITCHES_FREE] >= 1);
    assert_true(isnan(r.value[MEASURE_INSTRUCTIONS]));
    starter_run_done(&r);
}

static void the_end_of_standard_error_is_kept(void **state)
{
    (void)state;
    struct starter_run r;
    run((struct starter_opts){0}, SH("echo out; echo boo >&2; kill -9 $$"), &r);
    assert_int_equal(r.end, STARTER_SIGNALLED);
    assert_int_equal(r.status, 9);
    assert_true(text_is(buf_text(&r.said), "boo\n"));
    starter_run_done(&r);
    run((struct starter_opts){.output = STARTER_PIPE}, SH("yes | head -c 1000000; echo end"), &r);
    assert_true(r.said.n <= 2 * STARTER_KEPT_BYTES && text_ends(buf_text(&r.said), "y\nend\n"));
    starter_run_done(&r);
}

static void commands_start_with_no_signal_blocked(void **state)
{
    (void)state;
    struct starter_run r;
    run((struct starter_opts){.output = STARTER_PIPE}, SH("grep SigBlk: /proc/self/status"), &r);
    assert_true(text_is(buf_text(&r.said), "SigBlk:\t0000000000000000\n"));
    starter_run_done(&r);
}

static void nothing_is_missing_within_the_end_that_is_kept(void **state)
{
    (void)state;
    struct starter_run r;
    autobuf struct buf all = {0};
    for (int i = 100000; i <= 110000; i++)
        buf_printf(&all, "%d\n", i);
    run((struct starter_opts){.output = STARTER_PIPE}, SH("seq 100000 110000"), &r);
    assert_in_range(r.said.n, STARTER_KEPT_BYTES, 2 * STARTER_KEPT_BYTES);
    assert_true(text_ends(buf_text(&all), buf_cstr(&r.said)));
    starter_run_done(&r);
}

static void what_cannot_be_run_says_why(void **state)
{
    (void)state;
    struct starter_run r;
    run((struct starter_opts){0}, (const char *[]){"no-such-command-anywhere", NULL}, &r);
    assert_int_equal(r.end, STARTER_NOT_RUN);
    assert_int_equal(r.status, ENOENT);
    starter_run_done(&r);
    run((struct starter_opts){0}, (const char *[]){"/", NULL}, &r);
    assert_int_equal(r.status, EACCES);
    starter_run_done(&r);
}

/* A starter serves many runs: nothing of one is left in the next. */
static void a_run_is_not_told_by_the_one_before(void **state)
{
    (void)state;
    const char *none[] = {"no-such-command-anywhere", NULL};
    char *const *commands[] = {(char *const *)none, (char *const *)SH("echo one >&2; exit 3"),
                               (char *const *)SH("exit 0")};
    struct starter_opts o = {.commands = commands, .n_commands = 3, .stop_fd = -1};
    struct starter_run r = {0};
    struct starter *s;
    struct err err;
    assert_int_equal(starter_open(&s, &o, &err), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(starter_run(s, 0, 0, &r, &err), 0);
        assert_int_equal(r.end, STARTER_NOT_RUN);
        assert_int_equal(r.status, ENOENT);
        assert_int_equal(starter_run(s, 1, 0, &r, &err), 0);
        assert_int_equal(r.end, STARTER_EXITED);
        assert_int_equal(r.status, 3);
        assert_true(text_is(buf_text(&r.said), "one\n"));
        assert_int_equal(starter_run(s, 2, 0, &r, &err), 0);
        assert_int_equal(r.end, STARTER_EXITED);
        assert_int_equal(r.status, 0);
        assert_int_equal(r.said.n, 0);
    }
    starter_run_done(&r);
    starter_close(s);
}

static void a_run_without_end_is_ended_with_all_it_started(void **state)
{
    (void)state;
    struct starter_run r;
    run((struct starter_opts){.timeout_s = 0.2, .output = STARTER_PIPE},
        SH("sleep 1000 & echo $!; wait"), &r);
    assert_int_equal(r.end, STARTER_TIMED_OUT);
    pid_t sleeper = (pid_t)strtol(buf_cstr(&r.said), NULL, 10);
    assert_true(sleeper > 1);
    for (int i = 0; i < 200 && kill(sleeper, 0) == 0; i++)
        usleep(10000); /* until its new parent has taken note */
    char path[64], state_of[16] = "";
    snprintf(path, sizeof path, "/proc/%d/status", (int)sleeper);
    FILE *f = fopen(path, "r"); /* a zombie where nobody takes note */
    char line[128];
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "State: %15s", state_of);
    if (f)
        fclose(f);
    assert_true(!*state_of || strcmp(state_of, "Z") == 0);
    starter_run_done(&r);
}

static void the_user_can_stop_a_run(void **state)
{
    (void)state;
    struct starter_run r;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], "", 1), 1);
    run((struct starter_opts){.stop_fd = fds[0]}, SH("sleep 1000"), &r);
    assert_int_equal(r.end, STARTER_STOPPED);
    starter_run_done(&r);
    close(fds[0]);
    close(fds[1]);
}

/* Whichever numbers are free when the pipes are made. */
static void answers_arrive_whatever_is_open(void **state)
{
    (void)state;
    int held[12], n = 0;
    for (; n < 12; n++) {
        struct starter_run r;
        run((struct starter_opts){.ask = "x=1"}, SH("echo hi >&9"), &r);
        assert_int_equal(r.status, 0);
        assert_true(text_is(buf_text(&r.answer), "hi\n"));
        starter_run_done(&r);
        held[n] = dup(0);
    }
    while (n > 0)
        close(held[--n]);
}

static void environment_folder_and_input_are_as_asked(void **state)
{
    (void)state;
    struct starter_run r;
    const char *env[] = {"COLOUR=blue", "HOME=/elsewhere", NULL};
    run((struct starter_opts){.env = (char *const *)env,
                              .cwd = "/",
                              .input = "/etc/passwd",
                              .output = STARTER_PIPE,
                              .ask = "x=1"},
        SH("echo $COLOUR $HOME $(pwd) ${#KELVIN_BENCH_PADDING} $KELVIN_BENCH_ASK; head -c 5; "
           "echo hi >&$KELVIN_BENCH_FD"),
        &r);
    assert_true(text_is(buf_text(&r.said), "blue /elsewhere / 100 x=1\nroot:"));
    assert_true(text_is(buf_text(&r.answer), "hi\n"));
    starter_run_done(&r);
}

/* Where the CPU has no counter the run goes well all the same, without a count. */
static void counting_runs_end_as_others_do(void **state)
{
    (void)state;
    struct starter_run r;
    const char *why;
    struct starter_opts o = {.count = COUNTED(MEASURE_INSTRUCTIONS), .fixed_layout = true};
    run(o, SH("echo boo >&2; exit 7"), &r);
    assert_int_equal(r.end, STARTER_EXITED);
    assert_int_equal(r.status, 7);
    assert_true(text_is(buf_text(&r.said), "boo\n"));
    assert_true(r.value[MEASURE_TIME] > 0);
    if (counter_works(COUNTED(MEASURE_INSTRUCTIONS), &why))
        assert_true(r.value[MEASURE_INSTRUCTIONS] > 1000);
    else
        assert_true(isnan(r.value[MEASURE_INSTRUCTIONS]));
    starter_run_done(&r);
    run(o, (const char *[]){"no-such-command-anywhere", NULL}, &r);
    assert_int_equal(r.end, STARTER_NOT_RUN);
    assert_int_equal(r.status, ENOENT);
    starter_run_done(&r);
}

static void a_file_has_the_output_of_the_last_run(void **state)
{
    (void)state;
    char path[] = "/tmp/kelvin-test-XXXXXX", text[16] = "";
    int fd = mkstemp(path);
    char *const *commands[] = {(char *const *)SH("echo hallo"), (char *const *)SH("echo hi")};
    struct starter_opts o = {.commands = commands,
                             .n_commands = 2,
                             .output = STARTER_FILE,
                             .output_path = path,
                             .stop_fd = -1};
    struct starter_run r = {0};
    struct starter *s;
    struct err err;
    assert_int_equal(starter_open(&s, &o, &err), 0);
    assert_int_equal(starter_run(s, 0, 0, &r, &err), 0);
    assert_int_equal(pread(fd, text, sizeof text - 1, 0), 6);
    assert_string_equal(text, "hallo\n");
    assert_int_equal(starter_run(s, 1, 0, &r, &err), 0); /* shorter: nothing is left of the first */
    assert_int_equal(pread(fd, text, sizeof text - 1, 0), 3);
    assert_memory_equal(text, "hi\n", 3);
    starter_run_done(&r);
    starter_close(s);
    close(fd);
    unlink(path);
}

static void nothing_runs_in_another_folder_than_asked_for(void **state)
{
    (void)state;
    struct starter_run r;
    for (int counted = 0; counted < 2; counted++) {
        run((struct starter_opts){.cwd = "/nonexistent/folder",
                                  .count = counted ? COUNTED(MEASURE_INSTRUCTIONS) : 0},
            SH("exit 0"), &r);
        assert_int_equal(r.end, STARTER_NOT_RUN);
        assert_int_equal(r.status, ENOENT);
        starter_run_done(&r);
    }
}

static size_t open_descriptors(void)
{
    size_t n = 0;
    for (int fd = 0; fd < 1000; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* The command finds the descriptor of its answers where it was told to, so nothing else may be
 * there. */
static void a_pipe_stays_clear_of_the_answers_and_leaves_nothing_open(void **state)
{
    size_t before = open_descriptors();
    int from, to;
    char c = 0;
    (void)state;
    assert_int_equal(starter_pipe(&from, &to), 0);
    assert_int_equal(open_descriptors(), before + 2);
    assert_true(from > STARTER_ANSWER_FD && to > STARTER_ANSWER_FD);
    assert_int_equal(write(to, "x", 1), 1);
    assert_int_equal(read(from, &c, 1), 1);
    assert_int_equal(c, 'x');
    close(from);
    close(to);
    assert_int_equal(open_descriptors(), before);
}

static void a_starter_leaves_nothing_open_whatever_becomes_of_the_output(void **state)
{
    static const enum starter_output kinds[] = {STARTER_NULL, STARTER_PIPE, STARTER_FILE};
    const char *argv[] = {"true", NULL};
    char path[] = "/tmp/kelvin-test.XXXXXX";
    close(mkstemp(path));
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t before = open_descriptors();
        struct starter_run r;
        struct starter_opts o = {.output = kinds[i], .output_path = path};
        run(o, argv, &r);
        starter_run_done(&r);
        assert_int_equal(open_descriptors(), before);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exit_code_and_all_measures_come_back),
        cmocka_unit_test(the_end_of_standard_error_is_kept),
        cmocka_unit_test(commands_start_with_no_signal_blocked),
        cmocka_unit_test(nothing_is_missing_within_the_end_that_is_kept),
        cmocka_unit_test(what_cannot_be_run_says_why),
        cmocka_unit_test(a_run_is_not_told_by_the_one_before),
        cmocka_unit_test(a_run_without_end_is_ended_with_all_it_started),
        cmocka_unit_test(the_user_can_stop_a_run),
        cmocka_unit_test(answers_arrive_whatever_is_open),
        cmocka_unit_test(environment_folder_and_input_are_as_asked),
        cmocka_unit_test(counting_runs_end_as_others_do),
        cmocka_unit_test(a_file_has_the_output_of_the_last_run),
        cmocka_unit_test(nothing_runs_in_another_folder_than_asked_for),
        cmocka_unit_test(a_pipe_stays_clear_of_the_answers_and_leaves_nothing_open),
        cmocka_unit_test(a_starter_leaves_nothing_open_whatever_becomes_of_the_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
