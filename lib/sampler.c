/*
 * sampler.c - a CPU-time timer for every thread, and the handler of its signal.
 *
 * The handler makes no system call on its usual way, so it also works in a sandbox.
 */
#include "agent.h"
#include "proc.h"
#include "unwind/walk.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

/* Threads that were created but have not begun; one more than this is not sampled. */
enum { STARTS = 1024 };

#define MAIN_STACK_MAX (UINT64_C(128) << 20)    /* the kernel keeps this much free for it */
#define THREAD_STACK_MAX (UINT64_C(1024) << 20) /* more is taken for another stack */

/* What a new thread should run. */
struct start {
    _Atomic bool taken;
    void *(*run)(void *);
    void *arg;
    uint64_t stack_bytes;
};

static struct start starts[STARTS];
static _Atomic uint32_t next_start;
static pthread_key_t end_key;

/* --- timers --- */

static void timer_set(uint64_t first_ns, uint64_t interval_ns)
{
    struct itimerspec when = {
        .it_interval = {(time_t)(interval_ns / 1000000000u), (long)(interval_ns % 1000000000u)},
        .it_value = {(time_t)(first_ns / 1000000000u), (long)(first_ns % 1000000000u)},
    };
    syscall(SYS_timer_settime, self.timer, 0, &when, NULL);
}

/*
 * The kernel looks at CPU-time timers at its tick only. So that threads which live shorter than an
 * interval are seen as often as they should, every tick on a CPU must find the first timer expired
 * with the probability tick / interval.
 */
static uint64_t first_ns(void)
{
    uint64_t tick_ns = agent.tick_ns, random = (uint64_t)self.tid << 32 ^ proc_now_ns();
    uint64_t at = (random * UINT64_C(0x9e3779b97f4a7c15) >> 20) % agent.interval_ns;
    return agent.interval_ns <= tick_ns || at <= tick_ns / 2 ? 1 : at - tick_ns / 2;
}

void sampler_begin(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = AGENT_SIGNAL};
    event.sigev_value.sival_ptr = &agent;
    event._sigev_un._tid = self.tid;
    self.met = false;
    self.armed = !agent.box->stop && !self.resting && self.seen.pid &&
                 syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &self.timer) == 0;
    if (self.armed)
        timer_set(first_ns(), agent.interval_ns);
    else
        atomic_fetch_add(&agent.box->unsampled, 1);
}

static void timer_end(void *unused)
{
    (void)unused;
    bool armed = self.armed;
    self.armed = false; /* first: a signal may still be under way */
    if (armed)
        syscall(SYS_timer_delete, self.timer);
}

void sampler_rest(void)
{
    if (!self.resting && self.armed)
        atomic_fetch_add(&agent.box->unsampled, 1);
    self.resting = true;
    timer_end(NULL);
}

void sampler_resume(void)
{
    if (!self.resting)
        return;
    self.resting = false;
    sampler_begin();
}

/* --- the handler --- */

/*
 * By words, and not by memcpy, which may be that of a memory checker. Memory from FROM to TO is
 * there.
 */
static uint32_t copy_words(volatile uint64_t *to, uintptr_t from, uintptr_t end, uint32_t max)
{
    typedef uint64_t __attribute__((aligned(1), may_alias)) word;
    uint64_t there = (uint64_t)(end - from);
    uint32_t n = (uint32_t)(there < max ? there : max) / sizeof(word);
    const word *at = (const word *)from;
    for (uint32_t i = 0; i < n; i++)
        to[i] = at[i];
    return n * (uint32_t)sizeof(word);
}

/* Of a stack that we do not know, a coroutine's perhaps: the kernel knows where memory ends. */
static uint32_t copy_unknown(void *to, uintptr_t from, uint32_t max)
{
    struct iovec here = {to, max}, there = {(void *)from, max};
    ssize_t n = process_vm_readv(agent.pid, &here, 1, &there, 1, 0);
    return n > 0 ? (uint32_t)n : 0;
}

static uint32_t copy_stack(struct letter *l, uintptr_t sp)
{
    if (sp >= self.stack_low && sp < self.stack_end)
        return copy_words((void *)letter_bytes(l), sp, self.stack_end, agent.stack_bytes);
    return copy_unknown(letter_bytes(l), sp, agent.stack_bytes);
}

/*
 * What a sample stands for: the CPU time since the one before. The first has none before it; a
 * thread is met by a tick with the probability life / tick, so it stands for a tick.
 */
static uint64_t period_ns(const siginfo_t *info)
{
    uint64_t overruns = info->si_overrun > 0 ? (uint64_t)info->si_overrun : 0;
    uint64_t tick_ns = agent.tick_ns, ns = (1 + overruns) * agent.interval_ns;
    if (!self.met && agent.interval_ns < tick_ns)
        ns = tick_ns;
    self.met = true;
    return ns;
}

static void fill_sample(struct letter *l, const void *ucontext, uint64_t ns)
{
    _Static_assert(sizeof(struct unwind_regs) == sizeof l->regs, "mailbox.h");
    struct unwind_regs *regs = (void *)l->regs;
    unwind_regs_from_ucontext(ucontext, regs);
    l->period_ns = ns;
    l->n_bytes = copy_stack(l, (uintptr_t)regs->sp);
}

/* A recorder that is gone makes no room again: then this is over. */
static void lose_sample(uint64_t ns)
{
    atomic_fetch_add(&agent.box->lost, 1);
    atomic_fetch_add(&agent.box->lost_ns, ns);
    if (proc_is_gone(agent.box->recorder_pid))
        agent.box->stop = 1;
}

static void sampler_take_sample(const siginfo_t *info, const void *ucontext)
{
    uint32_t slot;
    if (agent.box->stop) {
        timer_set(0, 0);
        return;
    }
    uint64_t ns = period_ns(info);
    struct letter *l = agent_letter_begin(LETTER_SAMPLE, &slot);
    if (!l) {
        lose_sample(ns);
        return;
    }
    fill_sample(l, ucontext, ns);
    agent_letter_end(slot);
}

/* The program may use the same signal for something of its own. */
static void pass_on(int sig, siginfo_t *info, void *ucontext)
{
    const struct sigaction *a = &agent.theirs;
    if (a->sa_handler == SIG_DFL || a->sa_handler == SIG_IGN)
        return;
    if (a->sa_flags & SA_SIGINFO)
        a->sa_sigaction(sig, info, ucontext);
    else
        a->sa_handler(sig);
}

static void on_signal(int sig, siginfo_t *info, void *ucontext)
{
    int e = errno;
    if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &agent)
        pass_on(sig, info, ucontext);
    else if (self.armed)
        sampler_take_sample(info, ucontext);
    errno = e;
}

/* --- threads --- */

static void unblock_signal(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, AGENT_SIGNAL);
    shield_next_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Asked here, because the handler makes no system calls. */
static void ask_name(void)
{
    syscall(SYS_prctl, PR_GET_NAME, self.comm, 0, 0, 0);
}

void sampler_ask_ids(void)
{
    if (!proc_own_ids(agent.box->recorder_pid, &self.seen))
        self.seen = (struct proc_ids){0};
}

static void thread_init(uintptr_t stack_end, uint64_t stack_bytes)
{
    self.tid = (int)syscall(SYS_gettid);
    sampler_ask_ids();
    self.stack_end = stack_end;
    self.stack_low = stack_end > stack_bytes ? stack_end - stack_bytes : 0;
    ask_name();
    pthread_setspecific(end_key, &self);
    unblock_signal();
}

void sampler_init(uintptr_t stack_end)
{
    struct sigaction ours = {.sa_sigaction = on_signal,
                             .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&ours.sa_mask);
    pthread_key_create(&end_key, timer_end);
    shield_next_sigaction(AGENT_SIGNAL, &ours, &agent.theirs);
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    getrlimit(RLIMIT_STACK, &limit);
    thread_init(stack_end, limit.rlim_cur < MAIN_STACK_MAX ? limit.rlim_cur : MAIN_STACK_MAX);
}

static struct start *start_take(void)
{
    for (int i = 0; i < STARTS; i++) {
        struct start *s = &starts[atomic_fetch_add(&next_start, 1) % STARTS];
        if (!atomic_exchange(&s->taken, true))
            return s;
    }
    return NULL;
}

/*
 * glibc and musl put the thread's descriptor at the end of its stack, also when the program
 * brought its own. The caller's frame is somewhere below.
 */
static __attribute__((noinline)) void thread_begin(uint64_t stack_bytes)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), end = (uintptr_t)pthread_self();
    if (end <= here || end - here > THREAD_STACK_MAX)
        end = here; /* another libc: then every stack is unknown */
    thread_init(end, stack_bytes);
    sampler_begin();
}

/* Ends in a jump, so that stacks look as they would without it. */
static void *thread_run(void *arg)
{
    struct start *s = arg;
    void *(*run)(void *) = s->run;
    void *run_arg = s->arg;
    uint64_t stack_bytes = s->stack_bytes;
    atomic_store(&s->taken, false);
    thread_begin(stack_bytes);
    return run(run_arg);
}

static uint64_t stack_bytes_of(const pthread_attr_t *attr)
{
    pthread_attr_t usual;
    size_t n = 0;
    pthread_attr_init(&usual);
    pthread_attr_getstacksize(attr ? attr : &usual, &n);
    pthread_attr_destroy(&usual);
    return n;
}

typedef int setname_fn(pthread_t, const char *);

AGENT_API int pthread_setname_np(pthread_t thread, const char *name)
{
    static setname_fn *next;
    if (!next)
        next = (setname_fn *)dlsym(RTLD_NEXT, "pthread_setname_np");
    int failed = next(thread, name);
    if (!failed && pthread_equal(thread, pthread_self()))
        ask_name();
    return failed;
}

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

AGENT_API int pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *),
                             void *arg)
{
    static create_fn *next;
    if (!next)
        next = (create_fn *)dlsym(RTLD_NEXT, "pthread_create");
    agent_init();
    struct start *s = agent.box && !agent.box->stop ? start_take() : NULL;
    if (!s) {
        if (agent.box && !agent.box->stop)
            atomic_fetch_add(&agent.box->unsampled, 1);
        return next(ret, attr, run, arg);
    }
    s->run = run;
    s->arg = arg;
    s->stack_bytes = stack_bytes_of(attr);
    int failed = next(ret, attr, thread_run, s);
    if (failed)
        atomic_store(&s->taken, false);
    return failed;
}
