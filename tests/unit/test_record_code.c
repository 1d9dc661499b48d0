/* test_record_code.c - what `kelvin record` exits with, by how the command ended. */
#include "suite/record.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* The status of a child that runs SCRIPT. */
static int status_of(const char *script)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int code_of(const char *script, bool time_over, int ours)
{
    struct record_facts r = {
        .exited = true, .status = status_of(script), .end = time_over ? END_DURATION : END_EXIT};
    return record_code(&r, ours);
}

static void a_command_ended_by_its_duration_did_not_fail(void **state)
{
    (void)state;
    assert_int_equal(code_of("kill -TERM $$", true, EXIT_OK), 0);
    assert_int_equal(code_of("kill -TERM $$", true, EXIT_FAILS), EXIT_FAILS);
    assert_int_equal(code_of("kill -TERM $$", false, EXIT_OK), 143); /* by somebody else */
    assert_int_equal(code_of("kill -KILL $$", true, EXIT_OK), 137);
    assert_int_equal(code_of("exit 7", true, EXIT_OK), 7); /* it was asked, and failed */
}

static void a_failing_command_is_never_masked(void **state)
{
    (void)state;
    assert_int_equal(code_of("exit 0", false, EXIT_OK), 0);
    assert_int_equal(code_of("exit 0", false, EXIT_FAILS), EXIT_FAILS);
    assert_int_equal(code_of("exit 5", false, EXIT_FAILS), 5);
    assert_int_equal(code_of("kill -SEGV $$", false, EXIT_OK), 139);
}

static void a_process_that_goes_on_has_no_code(void **state)
{
    struct record_facts r = {.end = END_DURATION, .status = 7 << 8};
    (void)state;
    assert_int_equal(record_code(&r, EXIT_OK), EXIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_ended_by_its_duration_did_not_fail),
        cmocka_unit_test(a_failing_command_is_never_masked),
        cmocka_unit_test(a_process_that_goes_on_has_no_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
