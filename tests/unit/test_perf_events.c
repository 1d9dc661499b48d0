/*
 * Several events at once: each sample says which it belongs to, and each event has its own facts.
 * Needs the right to use perf_event_open; skipped where there is none.
 */
#include "record/engine.h"
#include "record/launch.h"
#include "record/perfevents.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { EVENTS = 3 };

struct seen {
    uint64_t samples[EVENTS], period[EVENTS];
};

static enum unwind_end see(void *to, const struct engine_sample *s)
{
    struct seen *seen = to;
    assert_in_range(s->event, 0, EVENTS - 1);
    seen->samples[s->event]++;
    seen->period[s->event] += s->period;
    return UNWIND_WHOLE;
}

/* A shell that counts: new pages, and some CPU time. */
static const char *const command[] = {"sh", "-c",
                                      "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done", NULL};

static void run_command(void *run, int epoll_fd)
{
    struct subprocess l = SUBPROCESS_NONE;
    struct err err;
    sigset_t none;
    sigemptyset(&none);
    assert_int_equal(launch_fork(&l, (char **)(uintptr_t)command, &none, &err), 0);
    assert_int_equal(engine_perf.attach(run, l.pid, &err), 0);
    assert_int_equal(launch_go(&l, command[0], &err), 0);
    for (int status; waitpid(l.pid, &status, WNOHANG) == 0;) {
        struct epoll_event ready[4];
        epoll_wait(epoll_fd, ready, 4, 50);
        assert_int_equal(engine_perf.poll(run, &err), 0);
    }
    engine_perf.stop(run);
}

static void samples_of_several_events_are_told_apart(void **state)
{
    static const char *const events[EVENTS] = {"cpu-clock:u", "page-faults:u", "task-clock:u"};
    struct seen seen = {0};
    struct err err;
    void *run;
    (void)state;
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct engine_opts o = {.rate_hz = 997,
                            .events = events,
                            .n_events = EVENTS,
                            .stack_bytes = 32768,
                            .epoll_fd = epoll_fd,
                            .command = (char **)(uintptr_t)command};
    if (engine_perf.probe(&o, &err) != 0) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
    struct profile *p = profile_new();
    struct engine_sink to = {processes_new(p), see, &seen};
    assert_int_equal(engine_perf.open(&o, &to, &run, &err), 0);
    run_command(run, epoll_fd);
    const struct engine_facts *f = engine_perf.facts(run);
    assert_string_equal(f[1].event, "page-faults:u");
    assert_int_equal(f[1].dimension, DIM_COUNT);
    assert_true(seen.samples[1] > 0);
    assert_int_equal(seen.samples[1] + f[1].lost, f[1].counted); /* each one is a sample */
    for (int i = 0; i < EVENTS; i += 2) {
        assert_int_equal(f[i].dimension, DIM_TIME);
        assert_true(seen.samples[i] > 0);
        assert_int_equal(seen.period[i], f[i].sampled_ns);
        /* Clocks of CPUs meet a program by chance where others run, too: five standard errors. */
        double chance_ns = 5e6 * sqrt((double)seen.samples[i]);
        assert_true((double)f[i].sampled_ns <= (double)f[i].cpu_used_ns + 1e7 + chance_ns);
    }
    engine_perf.close(run);
    processes_free(to.processes);
    profile_free(p);
    close(epoll_fd);
}

static void too_many_events_are_refused(void **state)
{
    const char *events[ENGINE_EVENTS_MAX + 1];
    struct err err;
    (void)state;
    for (int i = 0; i <= ENGINE_EVENTS_MAX; i++)
        events[i] = "cpu-clock";
    struct engine_opts o = {
        .rate_hz = 99, .events = events, .n_events = ENGINE_EVENTS_MAX + 1, .stack_bytes = 8192};
    assert_int_equal(engine_perf.probe(&o, &err), -1);
}

/* A clock of period P ticks 1 / P times. */
static void clocks_of_a_cpu_tick_together_as_often_as_asked(void **state)
{
    (void)state;
    const uint64_t asked_ns[] = {1001001, 200040, 10101010};
    for (size_t i = 0; i < sizeof asked_ns / sizeof *asked_ns; i++) {
        double rate = 0, asked = 1.0 / (double)asked_ns[i];
        for (size_t clock = 0; clock < 6; clock++)
            rate += 1.0 / (double)perfevents_period(asked_ns[i], 6, clock);
        assert_true(rate > 0.9998 * asked && rate < 1.0002 * asked);
        /* one alone ticks a tenth more often, never less */
        assert_in_range(perfevents_period(asked_ns[i], 1, 0), asked_ns[i] * 9 / 10, asked_ns[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_of_several_events_are_told_apart),
        cmocka_unit_test(too_many_events_are_refused),
        cmocka_unit_test(clocks_of_a_cpu_tick_together_as_often_as_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
