/* In which order records of one switch and one wake may come, and what becomes of the wait. */
#include "record/perfswitch.h"

#include "model/waitstream.h"
#include "process/process.h"
#include "record/waits.h"

#include <string.h>

#include <sys/prctl.h>
#include <unistd.h>

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

enum { SLEEPER = 7, WRITER = 8, RAW_AT = 24, RAW_BYTES = 32, SOFT_INTERRUPT = 0x10 };

/* Where the kernel's functions are, as its list of symbols says. */
static const char symbols[] = "ffffffff81000100 t process_backlog\n"
                              "ffffffff81000200 t after_process_backlog\n"
                              "ffffffff81000300 t __dev_queue_xmit\n"
                              "ffffffff81000400 t after_dev_queue_xmit\n"
                              "ffffffff81000500 t __irq_exit_rcu\n"
                              "ffffffff81000600 t after_irq_exit\n";

struct play {
    struct profile *profile;
    struct perfswitch switches;
    struct waitstream streams;
};

static struct play *play_open(void)
{
    struct play *p = mem_new(struct play);
    struct err err;
    p->profile = profile_new();
    p->switches.waits = waits_new(p->profile);
    p->switches.processes = processes_new(p->profile);
    p->switches.woken_at = RAW_AT;
    autofclose FILE *list = fmemopen((void *)(uintptr_t)symbols, sizeof symbols - 1, "r");
    sender_read(&p->switches.sender, list);
    waits_expect_wakes(p->switches.waits);
    assert_int_equal(waits_start(p->switches.waits, &err), 0);
    assert_true(waitstream_find(p->profile, &p->streams));
    processes_comm(p->switches.processes, SLEEPER, SLEEPER, "sleeper", false);
    processes_comm(p->switches.processes, WRITER, WRITER, "writer", false);
    struct process_map code = {.pid = WRITER, .start = 0x1000, .end = 0x2000, .path = "//anon"};
    processes_mmap(p->switches.processes, &code);
    perfswitch_exec(&p->switches, SLEEPER, SLEEPER, 0);
    return p;
}

static void play_close(struct play *p)
{
    waits_free(p->switches.waits);
    processes_free(p->switches.processes);
    profile_free(p->profile);
    free(p);
}

/* The sleeper comes or goes: header | pid tid | time | cpu | identifier. */
static void play_switch(struct play *p, uint64_t at_ns, uint16_t misc)
{
    struct {
        struct perf_event_header h;
        uint32_t pid, tid;
        uint64_t time_ns;
        uint32_t cpu, reserved;
        uint64_t identifier;
    } r = {{PERF_RECORD_SWITCH, misc, sizeof r}, SLEEPER, SLEEPER, at_ns, 0, 0, 0};
    perfswitch_take(&p->switches, &r.h, at_ns);
}

static void sleeper_leaves(struct play *p, uint64_t at_ns)
{
    static const uint64_t sleeps = 0xffffffff81000710;
    struct engine_sample s = {.at = {.pid = SLEEPER, .tid = SLEEPER}, .time_ns = at_ns};
    s.at.kernel_pcs = &sleeps;
    s.at.n_kernel_pcs = 1;
    perfswitch_leave(&p->switches, &s);
    play_switch(p, at_ns, PERF_RECORD_MISC_SWITCH_OUT);
}

static void sleeper_comes(struct play *p, uint64_t at_ns)
{
    play_switch(p, at_ns, 0);
}

struct wake {
    uint64_t at_ns;
    uint8_t flags;
    const uint64_t *kernel_pcs;
    size_t n_kernel_pcs;
    uint64_t pc; /* 0 = without registers */
};

static void writer_wakes(struct play *p, const struct wake *w)
{
    uint8_t raw[RAW_BYTES] = {0};
    int32_t tid = SLEEPER;
    raw[2] = w->flags;
    memcpy(raw + RAW_AT, &tid, sizeof tid);
    struct engine_sample s = {.at = {.pid = WRITER, .tid = WRITER}, .time_ns = w->at_ns};
    s.at.kernel_pcs = w->kernel_pcs;
    s.at.n_kernel_pcs = w->n_kernel_pcs;
    s.at.regs.pc = w->pc;
    perfswitch_wake(&p->switches, &s, raw, sizeof raw);
}

static void wakes_at(struct play *p, uint64_t at_ns)
{
    writer_wakes(p, &(struct wake){.at_ns = at_ns});
}

static int64_t play_total(struct play *p, enum wait_column column)
{
    return profile_stream(p->profile, p->streams.waits)
        ->types[p->streams.wait_column[column]]
        .total;
}

static void waited(struct play *p, int64_t waits, int64_t blocked_ns, int64_t runnable_ns)
{
    assert_int_equal(play_total(p, WAIT_COUNT), waits);
    assert_int_equal(play_total(p, WAIT_BLOCKED), blocked_ns);
    assert_int_equal(play_total(p, WAIT_RUNNABLE), runnable_ns);
}

/* Who woke in the only wait that has a waker; "" for none. */
static struct text play_waker(struct play *p, size_t *ret_n)
{
    const struct stream *wakes = profile_stream(p->profile, p->streams.wakes);
    struct stack_id waiter;
    *ret_n = wakes->rows.n;
    return *ret_n ? waitstream_waker_of(p->profile, wakes->rows.stack[0], &waiter)
                  : (struct text){"", 0};
}

static void woken_by(struct play *p, const char *name)
{
    size_t n;
    struct text waker = play_waker(p, &n);
    assert_int_equal(n, *name ? 1 : 0);
    assert_true(text_is(waker, name));
}

static bool waker_has_functions(struct play *p)
{
    const struct stream *wakes = profile_stream(p->profile, p->streams.wakes);
    return stacks_depth(&p->profile->stacks, wakes->rows.stack[0]) > 2; /* sleeps, woken by */
}

static void a_wake_before_the_thread_comes_ends_its_blocked_time(void **state)
{
    (void)state;
    struct play *p = play_open();
    sleeper_leaves(p, 1000);
    wakes_at(p, 5000);
    sleeper_comes(p, 6000);
    waits_stop(p->switches.waits, 9000);
    waited(p, 1, 4000, 1000);
    woken_by(p, "writer");
    play_close(p);
}

/* Who woke, if a thread of another program does that has NAME now. */
static char *outsider_of(const char *name)
{
    uint8_t raw[RAW_BYTES] = {0};
    int32_t tid = SLEEPER;
    char before[16];
    size_t n;
    struct play *p = play_open();
    memcpy(raw + RAW_AT, &tid, sizeof tid);
    struct engine_sample s = {.at = {.pid = getpid(), .tid = getpid()}, .time_ns = 5000};
    sleeper_leaves(p, 1000);
    prctl(PR_GET_NAME, before);
    prctl(PR_SET_NAME, name);
    perfswitch_wake(&p->switches, &s, raw, sizeof raw);
    prctl(PR_SET_NAME, before);
    sleeper_comes(p, 6000);
    waits_stop(p->switches.waits, 9000);
    struct text waker = play_waker(p, &n);
    char *is = mem_strndup(waker.at, waker.n);
    play_close(p);
    return is;
}

/* Workers of the kernel take turns: it is their queue that says what woke. */
static void workers_of_the_kernel_are_called_after_their_queue(void **state)
{
    static const char *const names[][2] = {{"kworker/0:1-evt", "kworker-evt"},
                                           {"kworker/u8:5+rx", "kworker+rx"},
                                           {"kworker/1:2", "kworker"},
                                           {"kworkers/1", "kworkers/1"},
                                           {"postgres", "postgres"}};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        autofree char *is = outsider_of(names[i][0]);
        assert_string_equal(is, names[i][1]);
    }
}

/* The wait has ended by then: the record is of none, and the next wait is not woken by it. */
static void a_wake_after_the_thread_came_is_of_no_wait(void **state)
{
    (void)state;
    struct play *p = play_open();
    sleeper_leaves(p, 1000);
    sleeper_comes(p, 6000);
    wakes_at(p, 6100);
    sleeper_leaves(p, 7000);
    wakes_at(p, 6900); /* late, of the time before it left */
    sleeper_comes(p, 8000);
    waits_stop(p->switches.waits, 9000);
    waited(p, 2, 6000, 0);
    woken_by(p, "");
    play_close(p);
}

static void the_first_of_two_wakes_counts(void **state)
{
    (void)state;
    struct play *p = play_open();
    sleeper_leaves(p, 1000);
    wakes_at(p, 4000);
    wakes_at(p, 5000);
    sleeper_comes(p, 6000);
    waits_stop(p->switches.waits, 9000);
    waited(p, 1, 3000, 2000);
    woken_by(p, "writer");
    play_close(p);
}

/* Nobody knows when it could have run: all of the wait is blocked, and nobody is named. */
static void a_lost_wake_leaves_the_wait_whole(void **state)
{
    (void)state;
    struct play *p = play_open();
    sleeper_leaves(p, 1000);
    sleeper_comes(p, 6000);
    waits_stop(p->switches.waits, 9000);
    waited(p, 1, 5000, 0);
    woken_by(p, "");
    play_close(p);
}

/* --- soft interrupts --- */

static const uint64_t sends[] = {0xffffffff81000110, 0xffffffff81000310};
static const uint64_t interrupted[] = {0xffffffff81000110, 0xffffffff81000510};

static void play_soft(struct play *p, const struct wake *first, const struct wake *second)
{
    sleeper_leaves(p, 1000);
    writer_wakes(p, first);
    writer_wakes(p, second);
    sleeper_comes(p, 6000);
    waits_stop(p->switches.waits, 9000);
    waited(p, 1, 3000, 2000);
}

/* One has the kernel's call chain and no stack, the other the stack: whichever comes first. */
static void of_two_samples_of_a_sender_both_say_that_it_is_one(void **state)
{
    (void)state;
    struct wake chain = {4000, SOFT_INTERRUPT, sends, 2, 0},
                stack = {4000, SOFT_INTERRUPT, NULL, 0, 0x1100};
    for (int i = 0; i < 2; i++) {
        struct play *p = play_open();
        chain.at_ns = 4000 + (uint64_t)(i ? 2 : 0);
        stack.at_ns = 4000 + (uint64_t)(i ? 0 : 2);
        play_soft(p, i ? &stack : &chain, i ? &chain : &stack);
        woken_by(p, "writer");
        /* Of the stack that comes first nobody knew yet whose it was: then there is the name. */
        assert_int_equal(waker_has_functions(p), !i);
        play_close(p);
    }
}

static void who_is_interrupted_does_not_wake(void **state)
{
    (void)state;
    struct wake chain = {4000, SOFT_INTERRUPT, interrupted, 2, 0},
                stack = {4002, SOFT_INTERRUPT, NULL, 0, 0x1100};
    struct play *p = play_open();
    play_soft(p, &chain, &stack);
    woken_by(p, "an interrupt");
    play_close(p);
}

/* The stack of a later wake in an interrupt is not that of who sent something before. */
static void an_old_send_explains_no_new_wake(void **state)
{
    (void)state;
    struct play *p = play_open();
    struct wake sent = {500, SOFT_INTERRUPT, sends, 2, 0},
                later = {900000, SOFT_INTERRUPT, NULL, 0, 0x1100};
    writer_wakes(p, &sent);
    sleeper_leaves(p, 1000);
    writer_wakes(p, &later);
    sleeper_comes(p, 900100);
    waits_stop(p->switches.waits, 900200);
    woken_by(p, "an interrupt");
    play_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wake_before_the_thread_comes_ends_its_blocked_time),
        cmocka_unit_test(workers_of_the_kernel_are_called_after_their_queue),
        cmocka_unit_test(a_wake_after_the_thread_came_is_of_no_wait),
        cmocka_unit_test(the_first_of_two_wakes_counts),
        cmocka_unit_test(a_lost_wake_leaves_the_wait_whole),
        cmocka_unit_test(of_two_samples_of_a_sender_both_say_that_it_is_one),
        cmocka_unit_test(who_is_interrupted_does_not_wake),
        cmocka_unit_test(an_old_send_explains_no_new_wake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
