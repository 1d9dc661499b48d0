/* test_runqueue.c - how long threads could run and had no CPU: the kernel's counts of processes. */
#include "record/runqueue.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A process that wants a CPU all the time. */
static pid_t start_spinner(void)
{
    pid_t pid = fork();
    if (pid == 0)
        for (volatile unsigned i = 0;; i++)
            ;
    return pid;
}

static void stay_on_one_cpu(void)
{
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

/* Two that want one CPU: each waits while the other has it. */
static void waits_before_the_beginning_do_not_count(void **state)
{
    struct runqueue begun = {0}, all = {0};
    uint64_t begun_ns = 1, all_ns = 0;
    (void)state;
    stay_on_one_cpu();
    pid_t pid = start_spinner(), other = start_spinner();
    for (int tries = 0; tries < 1000 && all_ns == 0; tries++) {
        usleep(10000);
        runqueue_look_at(&all, pid);
        if (!runqueue_total(&all, 0, &all_ns))
            all_ns = 0;
    }
    kill(pid, SIGSTOP); /* its counts stand still */
    runqueue_begin_at(&begun, pid);
    bool known = runqueue_total(&begun, 0, &begun_ns);
    kill(pid, SIGKILL);
    kill(other, SIGKILL);
    waitpid(pid, NULL, 0);
    waitpid(other, NULL, 0);
    assert_true(all_ns > 0);
    assert_true(known);
    assert_true(begun_ns == 0);
    runqueue_done(&begun);
    runqueue_done(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_before_the_beginning_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
