/* How a thread spent the last seconds, by the kernel's own numbers. */
#include "suite/threadtimes.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define WINDOW_NS UINT64_C(10000000000)

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void spin_ms(uint64_t ms)
{
    uint64_t until_ns = clock_thread_cpu_ns() + ms * 1000000;
    while (clock_thread_cpu_ns() < until_ns)
        ;
}

static void sleep_and_work_are_told_apart(void **state)
{
    struct threadtimes t = {0};
    double part[THREAD_TIMES];
    int tid = (int)syscall(SYS_gettid);
    (void)state;
    assert_false(threadtimes_ask(&t, getpid(), tid, WINDOW_NS, part)); /* nothing to compare with */
    spin_ms(100);
    sleep_ms(400);
    assert_true(threadtimes_ask(&t, getpid(), tid, WINDOW_NS, part));
    assert_true(part[TIME_RUNNING] > 0.01 && part[TIME_RUNNING] <= 0.25);
    assert_true(part[TIME_BLOCKED] >= 0.01);
    double sum = part[TIME_RUNNING] + part[TIME_RUNNABLE] + part[TIME_BLOCKED];
    assert_true(sum > 0.999 && sum < 1.001);
    threadtimes_done(&t);
}

static void what_was_before_the_window_does_not_count(void **state)
{
    struct threadtimes t = {0};
    double part[THREAD_TIMES];
    int tid = (int)syscall(SYS_gettid);
    (void)state;
    threadtimes_ask(&t, getpid(), tid, WINDOW_NS, part);
    spin_ms(300);
    threadtimes_ask(&t, getpid(), tid, WINDOW_NS, part);
    sleep_ms(600);
    /* Of a window of 500 ms the reading of 600 ms ago is the first, and since then it slept. */
    assert_true(threadtimes_ask(&t, getpid(), tid, 500000000, part));
    assert_true(part[TIME_RUNNING] < 0.1);
    threadtimes_done(&t);
}

static void a_thread_that_has_ended_is_not_known(void **state)
{
    struct threadtimes t = {0};
    double part[THREAD_TIMES];
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    assert_false(threadtimes_ask(&t, pid, pid, WINDOW_NS, part));
    assert_int_equal(t.threads.n, 0);
    threadtimes_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sleep_and_work_are_told_apart),
        cmocka_unit_test(what_was_before_the_window_does_not_count),
        cmocka_unit_test(a_thread_that_has_ended_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
