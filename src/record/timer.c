/*
 * timer.c - the engine `timer`: programs sample themselves.
 *
 * A library (lib/) is preloaded into the command and all it starts. It gives every thread a timer
 * of its own CPU time, and on each signal copies registers and stack into a mailbox in shared
 * memory, from which they are unwound here as the perf engine's are.
 *
 * The kernel looks at CPU-time timers only at its tick, 100 to 1000 times a second, whatever rate
 * was asked for: a sample stands for all expiries since the one before.
 */
#include "base/clock.h"
#include "model/meta.h"
#include "record/engine.h"
#include "record/preload.h"
#include "record/timer_follow.h"
#include "record/timer_mail.h"
#include "record/timer_program.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

enum { POLL_MS = 50, STACK_MAX_BYTES = 256 << 10, RATE_MAX_HZ = 10000 };

struct timer_run {
    struct engine_opts opts;
    struct engine_sink to;
    struct mail mail;
    struct follow follow;
    struct engine_facts facts;
    struct preload preload;
    bool stopped;
    uint64_t starts; /* programs that the agent got into */
    uint64_t period_ns;
    uint64_t start_ns;
    uint64_t refused; /* samples that cannot be true */
};

/* --- can it work? --- */

static int check_timer(struct err *err)
{
    struct sigevent none = {.sigev_notify = SIGEV_NONE};
    int timer;
    if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &none, &timer) != 0)
        return err_set_errno(err, errno, "CPU-time timers cannot be made here");
    syscall(SYS_timer_delete, timer);
    return 0;
}

static int timer_probe(const struct engine_opts *o, struct err *err)
{
    if (o->machine)
        return err_set(err, EXIT_ERROR,
                       "the engine 'timer' works inside one program: it cannot record the machine");
    if (o->running)
        return err_set(err, EXIT_ERROR,
                       "the timer engine cannot attach to a running process: start it with "
                       "'kelvin record -- COMMAND', or allow perf_event_open, see 'kelvin doctor'");
    if (o->waits)
        return err_set(err, EXIT_ERROR,
                       "the timer engine cannot see context switches: waits need perf_event_open, "
                       "see 'kelvin doctor'");
    if (o->n_events)
        return err_set(err, EXIT_ERROR,
                       "the timer engine knows only CPU time, not the event '%s': leave out -e",
                       o->events[0]);
    if (preload_check(MAILBOX_AGENT_FILE, err) != 0 || check_timer(err) != 0)
        return -1;
    return o->command ? timer_program_check(o->command[0],
                                            "the timer engine cannot get in; allow "
                                            "perf_event_open, see 'kelvin doctor'",
                                            err)
                      : 0;
}

/* --- life --- */

static void timer_close(void *run)
{
    struct timer_run *r = run;
    if (!r)
        return;
    preload_end(&r->preload);
    mail_close(&r->mail);
    follow_done(&r->follow);
    free(r);
}

static uint64_t tick_ns(void)
{
    uint64_t ns = clock_tick_ns();
    return ns ? ns : 4000000;
}

static struct mail_opts mail_opts_of(const struct engine_opts *o)
{
    double rate_hz = o->rate_hz < RATE_MAX_HZ ? o->rate_hz : RATE_MAX_HZ;
    long stack_bytes = o->stack_bytes < STACK_MAX_BYTES ? o->stack_bytes : STACK_MAX_BYTES;
    return (struct mail_opts){.interval_ns = (uint64_t)(1e9 / rate_hz),
                              .tick_ns = tick_ns(),
                              .stack_bytes = stack_bytes > 0 ? (uint32_t)stack_bytes : 0};
}

static void set_facts(struct timer_run *r, const struct mail_opts *m)
{
    uint64_t ns = m->interval_ns > m->tick_ns ? m->interval_ns : m->tick_ns;
    r->facts = (struct engine_facts){.event = "cpu-timer",
                                     .obtained = BY_TIMER,
                                     .dimension = DIM_TIME,
                                     .uneven = true,
                                     .clocks = "of threads",
                                     .rate_hz = 1e9 / (double)ns,
                                     .rate_is_most = m->interval_ns <= m->tick_ns};
    if (m->interval_ns < m->tick_ns)
        snprintf(r->facts.note, sizeof r->facts.note,
                 "the kernel looks at timers of CPU time only at its tick, %.10g times per second",
                 r->facts.rate_hz);
}

static int timer_open(const struct engine_opts *o, const struct engine_sink *to, void **ret,
                      struct err *err)
{
    struct timer_run *r = mem_new(struct timer_run);
    struct mail_opts mail = mail_opts_of(o);
    r->opts = *o;
    r->to = *to;
    r->start_ns = clock_kernel_ns();
    r->follow.processes = to->processes;
    set_facts(r, &mail);
    if (mail_open(&r->mail, &mail, err) != 0) {
        timer_close(r);
        return -1;
    }
    preload_begin(
        &r->preload, MAILBOX_AGENT_FILE, PRELOAD_LAST, MAILBOX_ENV,
        mem_printf("%d %d %llu", getpid(), r->mail.fd, (unsigned long long)r->mail.inode));
    *ret = r;
    return 0;
}

/* The command is forked and has its environment; what else kelvin starts must not. */
static int timer_attach(void *run, int pid, struct err *err)
{
    struct timer_run *r = run;
    (void)pid;
    (void)err;
    preload_end(&r->preload);
    return 0;
}

/* --- letters --- */

static struct text bytes_of(const struct mail_item *item)
{
    return (struct text){(const char *)item->bytes, item->head.n_bytes};
}

/*
 * A process may be gone before anybody could look what it had loaded. It reported before it went,
 * and that may be among the letters after ITEM.
 */
static bool told_later(struct timer_run *r, const struct mail_item *item)
{
    const struct mail_item *end = r->mail.items.at + r->mail.items.n;
    for (const struct mail_item *i = item + 1; i < end; i++) {
        if (i->head.pid != item->head.pid || i->head.kind == LETTER_SAMPLE)
            continue;
        if (i->head.kind != LETTER_MAPS)
            return false;
        follow_maps(&r->follow, i->head.pid, bytes_of(i));
        return true;
    }
    return false;
}

/* A stack may end like this in a library that was not there when last looked. */
static bool is_lost(enum unwind_end end)
{
    return end == UNWIND_NO_MAP || end == UNWIND_NO_RULE || end == UNWIND_NO_SENSE;
}

static void timer_take_sample(struct timer_run *r, const struct mail_item *item, uint64_t now_ns)
{
    const struct letter *l = &item->head;
    struct engine_sample s = {.time_ns = l->time_ns, .period = l->period_ns};
    s.at.pid = l->pid;
    s.at.tid = l->tid;
    memcpy(&s.at.regs, l->regs, sizeof s.at.regs);
    s.at.stack = (struct unwind_stack){s.at.regs.sp, item->bytes, l->n_bytes, false};
    follow_thread(&r->follow, l->pid, l->tid, l->comm, now_ns);
    if (is_lost(processes_walk(r->to.processes, &s.at)) && !told_later(r, item))
        follow_look(&r->follow, l->pid, now_ns);
    r->to.sample(r->to.to, &s);
    r->period_ns += l->period_ns;
}

/* Any program may scribble on the mailbox. No thread runs for longer than the recording. */
static bool can_be_true(const struct timer_run *r, const struct letter *l, uint64_t now_ns)
{
    bool in_time = l->time_ns >= r->start_ns && l->time_ns <= now_ns;
    return l->pid > 0 && l->tid > 0 && in_time &&
           l->period_ns <= now_ns - r->start_ns + CLOCK_SECOND_NS;
}

static void take_letter(struct timer_run *r, const struct mail_item *item, uint64_t now_ns)
{
    const struct letter *l = &item->head;
    switch (l->kind) {
    case LETTER_START:
        r->starts++;
        follow_start(&r->follow, l->pid, l->comm, bytes_of(item));
        break;
    case LETTER_MAPS:
        follow_maps(&r->follow, l->pid, bytes_of(item));
        break;
    case LETTER_FORK:
        follow_fork(&r->follow, l->pid, l->parent_pid, l->parent_tid);
        break;
    case LETTER_SAMPLE:
        if (can_be_true(r, l, now_ns))
            timer_take_sample(r, item, now_ns);
        else
            r->refused++;
        break;
    }
}

static int timer_poll(void *run, struct err *err)
{
    struct timer_run *r = run;
    (void)err;
    if (r->stopped)
        return 0;
    mail_collect(&r->mail);
    uint64_t now_ns = clock_kernel_ns();
    for (size_t i = 0; i < r->mail.items.n; i++)
        take_letter(r, &r->mail.items.at[i], now_ns);
    for (size_t i = 0; i < r->mail.items.n; i++)
        mail_release(&r->mail, &r->mail.items.at[i]);
    r->facts.lost = r->mail.box->lost + r->refused;
    r->facts.counted = r->period_ns + r->mail.box->lost_ns;
    r->facts.sampled_ns = r->period_ns;
    return 0;
}

/* --- the end --- */

static void set_note(struct timer_run *r)
{
    char *to = r->facts.note;
    size_t n = sizeof r->facts.note;
    uint64_t unsampled = r->mail.box->unsampled;
    if (!r->starts)
        snprintf(to, n,
                 "nothing came from the command: its environment was cleared, or its loader "
                 "takes no preloads");
    else if (unsampled)
        snprintf(to, n,
                 "%llu thread%s could not be sampled (no timer to be had, strict seccomp, a small "
                 "signal stack, or a /proc of its own)",
                 (unsigned long long)unsampled, unsampled == 1 ? "" : "s");
}

static void timer_stop(void *run)
{
    struct timer_run *r = run;
    struct err ignored;
    if (r->stopped)
        return;
    r->mail.box->stop = 1;
    timer_poll(r, &ignored);
    set_note(r);
    r->stopped = true;
}

static const struct engine_facts *timer_facts(void *run)
{
    return &((struct timer_run *)run)->facts;
}

const struct engine engine_timer = {
    .name = "timer",
    .title = "in-process timer",
    .poll_ms = POLL_MS,
    .probe = timer_probe,
    .open = timer_open,
    .attach = timer_attach,
    .poll = timer_poll,
    .facts = timer_facts,
    .stop = timer_stop,
    .close = timer_close,
};
