/* Programs that are started: what they find, how they end, and signals meanwhile. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/signals.h"
#include "base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

/* Run a line of sh as O has it; what it printed in SAID. */
static struct subprocess run(struct subprocess_opts o, const char *line, char *said, size_t size)
{
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)line, NULL};
    struct subprocess s;
    struct err err;
    int ends[2];
    size_t n = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    o.argv = argv;
    o.out_fd = ends[1];
    assert_int_equal(subprocess_start(&s, &o, &err), 0);
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], said + n, size - 1 - n)) > 0;)
        n += (size_t)got;
    said[n] = '\0';
    close(ends[0]);
    assert_true(subprocess_reap(&s, true));
    return s;
}

static void environment_folder_and_status_are_as_asked_for(void **state)
{
    (void)state;
    char said[200], *env[] = {(char[]){"KELVIN_A=1"}, (char[]){"HOME=/nowhere"}, NULL};
    struct subprocess s = run((struct subprocess_opts){.env = env, .cwd = "/"},
                              "echo $KELVIN_A $HOME $PWD; exit 7", said, sizeof said);
    assert_string_equal(said, "1 /nowhere /\n");
    assert_int_equal(WEXITSTATUS(s.status), 7);
    assert_true(s.usage.ru_maxrss > 0);
    assert_int_equal(s.pid, -1);
    s = run((struct subprocess_opts){0}, "kill -SEGV $$", said, sizeof said);
    assert_int_equal(WTERMSIG(s.status), SIGSEGV);
}

static void a_program_that_cannot_be_executed_says_why(void **state)
{
    (void)state;
    char *argv[] = {(char[]){"/no/such/program"}, NULL};
    struct subprocess_opts o = {.argv = argv};
    struct subprocess s;
    struct err err;
    assert_int_equal(subprocess_start(&s, &o, &err), 0);
    assert_int_equal(s.errnum, ENOENT);
    assert_int_equal(subprocess_wait(&s, 0, -1), SUBPROCESS_ENDED);
    argv[0] = (char[]){"true"};
    o.cwd = "/no/such/folder";
    assert_int_equal(subprocess_start(&s, &o, &err), 0);
    assert_int_equal(s.errnum, ENOENT);
}

static int work_and_answer(void *to)
{
    const int *fd = to;
    const char *a = getenv("KELVIN_A");
    return a && write(*fd, a, strlen(a)) > 0 ? 5 : 6;
}

static int work_and_crash(void *to)
{
    (void)to;
    raise(SIGKILL);
    return 0;
}

static void a_function_can_have_a_process_of_its_own(void **state)
{
    (void)state;
    char said[8] = "", *env[] = {(char[]){"KELVIN_A=yes"}, NULL};
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct subprocess_opts o = {.env = env, .work = work_and_answer, .work_to = &ends[1]};
    struct subprocess s;
    struct err err;
    assert_int_equal(subprocess_start(&s, &o, &err), 0);
    assert_int_equal(s.errnum, 0);
    assert_true(subprocess_reap(&s, true));
    assert_int_equal(WEXITSTATUS(s.status), 5);
    assert_int_equal(read(ends[0], said, sizeof said - 1), 3);
    assert_string_equal(said, "yes");
    assert_null(getenv("KELVIN_A"));
    o.work = work_and_crash;
    assert_int_equal(subprocess_start(&s, &o, &err), 0);
    assert_true(subprocess_reap(&s, true));
    assert_int_equal(WTERMSIG(s.status), SIGKILL);
    close(ends[0]);
    close(ends[1]);
}

static void a_held_one_waits_and_goes_away_unasked(void **state)
{
    (void)state;
    char *argv[] = {(char[]){"true"}, NULL};
    struct subprocess_opts o = {.argv = argv, .held = true};
    struct subprocess s;
    struct err err;
    assert_int_equal(subprocess_start(&s, &o, &err), 0);
    assert_int_equal(subprocess_wait(&s, clock_monotonic_ns() + 50000000, -1), SUBPROCESS_LATE);
    assert_int_equal(subprocess_go(&s, &err), 0);
    assert_true(subprocess_reap(&s, true));
    assert_int_equal(s.status, 0);
    assert_int_equal(subprocess_start(&s, &o, &err), 0);
    pid_t pid = s.pid;
    subprocess_done(&s);
    assert_int_equal(kill(pid, 0), -1);
}

static void a_group_is_ended_as_a_whole(void **state)
{
    (void)state;
    int ends[2], pid = 0;
    char line[] = "trap '' TERM; sleep 60 & echo $!; wait", said[40] = "";
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, line, NULL};
    struct subprocess s;
    struct err err;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct subprocess_opts o = {.argv = argv, .out_fd = ends[1], .group = true};
    assert_int_equal(subprocess_start(&s, &o, &err), 0);
    close(ends[1]);
    assert_true(read(ends[0], said, sizeof said - 1) > 0);
    assert_int_equal(sscanf(said, "%d", &pid), 1);
    assert_false(subprocess_reap(&s, false));
    subprocess_kill(&s, 20);
    assert_true(subprocess_reap(&s, true));
    assert_int_equal(WTERMSIG(s.status), SIGKILL);
    /* Nobody holds the pipe any more, or this would wait. */
    assert_int_equal(read(ends[0], said, sizeof said), 0);
    close(ends[0]);
}

/* The mask and what is ignored, as the kernel tells it for a new program. */
static void signals_of(struct subprocess_opts o, char *said, size_t n)
{
    run(o, "grep -E '^Sig(Blk|Ign)' /proc/self/status", said, n);
}

static void programs_find_signals_as_they_were(void **state)
{
    (void)state;
    char before[200], after[200];
    struct signals watch;
    sigset_t usr;
    sigemptyset(&usr);
    sigaddset(&usr, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr, NULL);
    signal(SIGUSR2, SIG_IGN);
    signals_of((struct subprocess_opts){0}, before, sizeof before);
    signals_survive(SIGPIPE);
    signals_survive(SIGXFSZ);
    assert_int_equal(signals_open(&watch, true), 0);
    signals_of((struct subprocess_opts){0}, after, sizeof after);
    assert_string_equal(after, before);
    signals_of((struct subprocess_opts){.mask = &watch.before}, after, sizeof after);
    assert_string_equal(after, before);
    signals_close(&watch);
    sigprocmask(SIG_UNBLOCK, &usr, NULL);
}

static void the_wish_to_end_is_something_to_read(void **state)
{
    (void)state;
    struct signals s;
    assert_int_equal(signals_open(&s, false), 0);
    assert_false(signals_pending(s.fd));
    assert_int_equal(signals_take(&s), 0);
    raise(SIGTERM);
    assert_true(signals_pending(s.fd));
    assert_int_equal(signals_take(&s), SIGTERM);
    raise(SIGINT);
    signals_close(&s); /* forgets it, or this would be the end */
    signals_close(&s);
}

static void a_hangup_that_is_ignored_stays_ignored(void **state)
{
    (void)state;
    struct signals s;
    signal(SIGHUP, SIG_IGN);
    assert_int_equal(signals_open(&s, false), 0);
    raise(SIGHUP);
    assert_false(signals_pending(s.fd));
    signals_close(&s);
    signal(SIGHUP, SIG_DFL);
    assert_int_equal(signals_open(&s, false), 0);
    raise(SIGHUP);
    assert_true(signals_pending(s.fd));
    signals_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environment_folder_and_status_are_as_asked_for),
        cmocka_unit_test(a_program_that_cannot_be_executed_says_why),
        cmocka_unit_test(a_function_can_have_a_process_of_its_own),
        cmocka_unit_test(a_held_one_waits_and_goes_away_unasked),
        cmocka_unit_test(a_group_is_ended_as_a_whole),
        cmocka_unit_test(programs_find_signals_as_they_were),
        cmocka_unit_test(the_wish_to_end_is_something_to_read),
        cmocka_unit_test(a_hangup_that_is_ignored_stays_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
