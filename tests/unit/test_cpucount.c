/* test_cpucount.c - the CPU time of processes is what the kernel says when it is asked at the end.
 */
#include "model/profile.h"
#include "record/cpucount.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void spin(unsigned ms)
{
    struct rusage u = {0};
    while ((uint64_t)u.ru_utime.tv_sec * 1000 + (uint64_t)u.ru_utime.tv_usec / 1000 < ms)
        getrusage(RUSAGE_SELF, &u);
}

/* Works, has a child that works and is waited for, then holds still until it is killed. */
static pid_t start_worker(unsigned own_ms, unsigned child_ms)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    spin(own_ms);
    pid_t child = child_ms ? fork() : -1;
    if (child == 0) {
        spin(child_ms);
        _exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
    raise(SIGSTOP);
    _exit(0);
}

static uint64_t end_ns(pid_t pid)
{
    struct rusage u;
    kill(pid, SIGKILL);
    wait4(pid, NULL, 0, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
           (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static void counts_a_process_and_the_children_it_waited_for(void **state)
{
    struct cpucount c = {0};
    struct profile *p = profile_new();
    (void)state;
    pid_t pid = start_worker(50, 100);
    cpucount_begin(&c, pid);
    uint64_t before_ns = c.processes.at[0].before_ns;
    waitpid(pid, NULL, WUNTRACED);
    cpucount_look(&c, p, true);
    uint64_t seen_ns = cpucount_total(&c), whole_ns = end_ns(pid);
    cpucount_look(&c, p, true); /* it is gone, and what it had stays */
    assert_true(cpucount_total(&c) == seen_ns);
    assert_true(seen_ns + before_ns >= 100000000);
    assert_true(seen_ns <= whole_ns + 20000000); /* children are counted in ticks */
    cpucount_done(&c);
    profile_free(p);
}

static void what_was_used_before_the_beginning_does_not_count(void **state)
{
    struct cpucount c = {0};
    struct profile *p = profile_new();
    (void)state;
    pid_t pid = start_worker(50, 50);
    waitpid(pid, NULL, WUNTRACED);
    cpucount_begin(&c, pid);
    cpucount_look(&c, p, true);
    uint64_t seen_ns = cpucount_total(&c);
    end_ns(pid);
    assert_true(seen_ns == 0);
    cpucount_done(&c);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_a_process_and_the_children_it_waited_for),
        cmocka_unit_test(what_was_used_before_the_beginning_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
