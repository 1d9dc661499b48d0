/*
 * What the recorder makes of a mailbox, whoever wrote into it: the programs that are sampled can
 * write anything there.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "record/engine.h"
#include "record/timer_follow.h"
#include "record/timer_mail.h"
#include "record/timer_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

static const struct mail_opts opts = {
    .interval_ns = 1000000, .tick_ns = 4000000, .stack_bytes = 4096};

static struct letter *slot_of(struct mail *m, uint32_t slot)
{
    char *slots = (char *)m->box + mailbox_slots_start(m->n_slots);
    return (struct letter *)(void *)(slots + (size_t)slot * m->slot_bytes);
}

static void put(struct mail *m, uint32_t slot, const struct letter *l)
{
    *slot_of(m, slot) = *l;
    *mailbox_state(m->box, slot) = SLOT_FULL;
}

static void letters_come_in_order_of_time(void **state)
{
    struct mail m;
    struct err err;
    (void)state;
    assert_int_equal(mail_open(&m, &opts, &err), 0);
    put(&m, 0, &(struct letter){.time_ns = 30, .pid = 3});
    put(&m, 7, &(struct letter){.time_ns = 10, .pid = 1});
    put(&m, m.n_slots - 1, &(struct letter){.time_ns = 20, .pid = 2});
    mail_collect(&m);
    assert_int_equal(m.items.n, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(m.items.at[i].head.pid, i + 1);
        mail_release(&m, &m.items.at[i]);
    }
    mail_collect(&m);
    assert_int_equal(m.items.n, 0);
    mail_close(&m);
}

static void a_length_that_lies_is_no_length(void **state)
{
    struct mail m;
    struct err err;
    (void)state;
    assert_int_equal(mail_open(&m, &opts, &err), 0);
    put(&m, 0, &(struct letter){.n_bytes = m.slot_bytes});
    put(&m, 1, &(struct letter){.time_ns = 1, .n_bytes = m.slot_bytes - sizeof(struct letter)});
    memset(slot_of(&m, 0)->comm, 'x', sizeof slot_of(&m, 0)->comm);
    mail_collect(&m);
    assert_int_equal(m.items.at[0].head.n_bytes, 0);
    assert_int_equal(strlen(m.items.at[0].head.comm), 15);
    assert_int_equal(m.items.at[1].head.n_bytes, m.slot_bytes - sizeof(struct letter));
    mail_close(&m);
}

/* A number that was a process, and is none now. */
static int dead_pid(void)
{
    int pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return pid;
}

static void slots_of_dead_writers_are_free_again(void **state)
{
    struct mail m;
    struct err err;
    (void)state;
    assert_int_equal(mail_open(&m, &opts, &err), 0);
    *mailbox_state(m.box, 0) = (uint64_t)dead_pid() << 32 | SLOT_TAKEN;
    *mailbox_state(m.box, 1) = (uint64_t)getpid() << 32 | SLOT_TAKEN;
    mail_collect(&m);
    assert_int_equal(*mailbox_state(m.box, 0), SLOT_FREE);
    assert_int_not_equal(*mailbox_state(m.box, 1), SLOT_FREE);
    assert_int_equal(m.items.n, 0);
    mail_close(&m);
}

static void nobody_can_cut_the_mailbox(void **state)
{
    struct mail m;
    struct err err;
    (void)state;
    assert_int_equal(mail_open(&m, &opts, &err), 0);
    assert_int_equal(ftruncate(m.fd, 0), -1);
    mail_close(&m);
}

/* --- the engine with a program that scribbles --- */

struct seen {
    size_t samples;
    struct processes *processes;
};

static enum unwind_end see(void *to, const struct engine_sample *s)
{
    struct seen *seen = to;
    enum unwind_end end;
    processes_stack(seen->processes, &s->at, &end);
    processes_thread(seen->processes, s->at.pid, s->at.tid);
    seen->samples++;
    return end;
}

static uint64_t next_random(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return *x >> 16;
}

static void scribble(struct mail *m, uint64_t *x)
{
    static const char maps[] = "400000-500000 r-xp 0 00:00 0 /bin/sh\nfff-0 r-xp\n x\n"
                               "0-ffffffffffffffff r-xp ffffffffffffffff 00:00 0 /\n";
    for (uint32_t slot = 0; slot < m->n_slots; slot++) {
        struct letter *l = slot_of(m, slot);
        for (size_t i = 0; i < m->slot_bytes / 8; i++)
            ((uint64_t *)(void *)l)[i] = next_random(x);
        memcpy(letter_bytes(l), maps, sizeof maps);
        l->kind = (uint32_t)next_random(x) % 5;
        l->pid = (int)(next_random(x) % 4) - 1;
        l->tid = (int)(next_random(x) % 4) - 1;
        l->parent_pid = (int)(next_random(x) % 4);
        l->n_bytes = (uint32_t)next_random(x) % (m->slot_bytes * 2);
        l->regs[0] = next_random(x) % 0x600000; /* pc */
        if (next_random(x) % 2) {               /* else it cannot be true, and is refused at once */
            l->time_ns = clock_monotonic_ns();
            l->period_ns = 1000000;
        }
        *mailbox_state(m->box, slot) = next_random(x) % 4 ? SLOT_FULL : next_random(x);
    }
}

static void a_scribbled_mailbox_does_no_harm(void **state)
{
    struct profile *p = profile_new();
    struct seen seen = {.processes = processes_new(p)};
    struct engine_opts o = {.rate_hz = 999, .stack_bytes = 4096, .epoll_fd = -1, .engine = "timer"};
    struct engine_sink to = {seen.processes, see, &seen};
    struct err err;
    void *run;
    uint64_t x = 42;
    (void)state;
    assert_int_equal(engine_timer.open(&o, &to, &run, &err), 0);
    /* Reach the mailbox as a program would. */
    int pid, fd;
    unsigned long long inode;
    assert_int_equal(sscanf(getenv(MAILBOX_ENV), "%d %d %llu", &pid, &fd, &inode), 3);
    struct mailbox *box = mmap(NULL, MAILBOX_PAGE, PROT_READ, MAP_SHARED, fd, 0);
    struct mail m = {.n_slots = box->n_slots, .slot_bytes = box->slot_bytes};
    m.box = mmap(NULL, box->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_int_equal(engine_timer.attach(run, getpid(), &err), 0);
    assert_null(getenv(MAILBOX_ENV));
    for (int round = 0; round < 20; round++) {
        scribble(&m, &x);
        assert_int_equal(engine_timer.poll(run, &err), 0);
    }
    assert_true(seen.samples > 100);
    engine_timer.stop(run);
    engine_timer.close(run);
    munmap(m.box, box->size_bytes);
    munmap(box, MAILBOX_PAGE);
    processes_free(seen.processes);
    profile_free(p);
}

/* --- what is asked in /proc --- */

static void own_threads_get_names_and_maps(void **state)
{
    struct profile *p = profile_new();
    struct follow f = {.processes = processes_new(p)};
    struct process_sample s = {.pid = getpid(), .tid = getpid()};
    (void)state;
    s.regs.pc = (uint64_t)(uintptr_t)own_threads_get_names_and_maps;
    assert_int_not_equal(processes_walk(f.processes, &s), UNWIND_STACK_CUT);
    follow_thread(&f, s.pid, s.tid, "early", 1);
    assert_int_equal(processes_walk(f.processes, &s), UNWIND_STACK_CUT);
    struct thread_id id = processes_thread(f.processes, s.pid, s.tid);
    assert_true(text_starts(profile_str(p, p->threads.at[id.i].name), "test_timer"));
    assert_false(follow_look(&f, s.pid, 2)); /* nothing new, and too early */
    follow_done(&f);
    processes_free(f.processes);
    profile_free(p);
}

static void a_command_that_is_not_there_is_left_to_exec(void **state)
{
    struct err err;
    (void)state;
    assert_int_equal(timer_program_check("no-such-command-anywhere", "no way in", &err), 0);
    assert_int_equal(timer_program_check("/", "no way in", &err), 0);
    assert_int_equal(timer_program_check("sh", "no way in", &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_come_in_order_of_time),
        cmocka_unit_test(a_length_that_lies_is_no_length),
        cmocka_unit_test(slots_of_dead_writers_are_free_again),
        cmocka_unit_test(nobody_can_cut_the_mailbox),
        cmocka_unit_test(a_scribbled_mailbox_does_no_harm),
        cmocka_unit_test(own_threads_get_names_and_maps),
        cmocka_unit_test(a_command_that_is_not_there_is_left_to_exec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
