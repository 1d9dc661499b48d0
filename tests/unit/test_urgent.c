/*
 * A recorder that goes first does so for a fraction of a second without sleep at most.
 */
#include "record/urgent.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static int policy(void)
{
    return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* In a process of its own: 0 is as it should be, 77 no rights. */
static int stays_awake(void)
{
    urgent_begin();
    if (policy() != SCHED_RR)
        return 77;
    double end = cpu_seconds() + 1;
    while (policy() == SCHED_RR && cpu_seconds() < end)
        continue;
    return policy() == SCHED_OTHER ? 0 : 1;
}

static int child_is_plain(void)
{
    urgent_begin();
    if (policy() != SCHED_RR)
        return 77;
    int status, pid = fork();
    if (pid == 0)
        _exit(policy() == SCHED_OTHER ? 0 : 1);
    waitpid(pid, &status, 0);
    urgent_end();
    return WEXITSTATUS(status) == 0 && policy() == SCHED_OTHER ? 0 : 1;
}

static void run_alone(int (*check)(void))
{
    int status, pid = fork();
    if (pid == 0)
        _exit(check());
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void without_sleep_it_is_soon_like_others(void **state)
{
    (void)state;
    run_alone(stays_awake);
}

static void what_it_starts_is_like_others(void **state)
{
    (void)state;
    run_alone(child_is_plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_sleep_it_is_soon_like_others),
        cmocka_unit_test(what_it_starts_is_like_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
