#include "guard.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

enum { CANARY = 0xc5, CAUGHT = 5 };

static const int caught_signals[CAUGHT] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

/*
 * A signal handler is given no argument of ours, so what it needs has to be found from nothing.
 * One proof runs at a time.
 */
static struct {
    sigjmp_buf jump;
    volatile sig_atomic_t inside; /* a guarded call: else a fault is not ours */
    volatile uint64_t calls;
    uint64_t calls_seen;
    int ticks, limit; /* seconds of CPU time in the same call */
    struct fault fault;
    struct sigaction old[CAUGHT], old_timer;
    stack_t old_stack;
    uint8_t *stack;
    uint8_t *trap;
} guard;

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static void region_unmap(struct region *r)
{
    if (r->base)
        munmap(r->base - GUARD_BYTES, r->size_bytes + 2 * GUARD_BYTES);
    *r = (struct region){0};
}

void region_done(struct region *r)
{
    region_unmap(r);
}

static int region_map(struct region *r, size_t need)
{
    region_unmap(r);
    size_t size = round_up(need, GUARD_BYTES);
    uint8_t *all = mmap(NULL, size + 2 * GUARD_BYTES, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return -1;
    r->base = all + GUARD_BYTES;
    r->size_bytes = size;
    if (mprotect(r->base, size, PROT_READ | PROT_WRITE) == 0)
        return 0;
    region_unmap(r);
    return -1;
}

uint8_t *region_place(struct region *r, size_t n_bytes, int place)
{
    size_t aside = (size_t)(place < 0 ? GUARD_AT_START - place : place);
    size_t need = n_bytes + aside + 2 * GUARD_CANARY_BYTES;
    if (n_bytes > GUARD_MAX_BYTES || (need > r->size_bytes && region_map(r, need) < 0))
        return NULL;
    r->n_bytes = n_bytes;
    r->at = place < 0 ? r->base + aside : r->base + r->size_bytes - aside - n_bytes;
    return r->at;
}

/* The canary bytes: [*low, at) and [at + n, *high). */
static void canaries(const struct region *r, uint8_t **low, uint8_t **high)
{
    uint8_t *end = r->at + r->n_bytes, *last = r->base + r->size_bytes;
    *low = r->at - r->base < GUARD_CANARY_BYTES ? r->base : r->at - GUARD_CANARY_BYTES;
    *high = last - end < GUARD_CANARY_BYTES ? last : end + GUARD_CANARY_BYTES;
}

void region_mark(const struct region *r)
{
    uint8_t *low, *high, *end = r->at + r->n_bytes;
    canaries(r, &low, &high);
    memset(low, CANARY, (size_t)(r->at - low));
    memset(end, CANARY, (size_t)(high - end));
}

static const uint8_t *first_changed(const uint8_t *from, const uint8_t *to)
{
    for (; from < to; from++)
        if (*from != CANARY)
            return from;
    return NULL;
}

const uint8_t *region_scribbled(const struct region *r)
{
    uint8_t *low, *high;
    canaries(r, &low, &high);
    const uint8_t *found = first_changed(r->at + r->n_bytes, high);
    return found ? found : first_changed(low, r->at);
}

int region_seal(const struct region *r, bool sealed)
{
    return mprotect(r->base, r->size_bytes, sealed ? PROT_READ : PROT_READ | PROT_WRITE);
}

bool region_holds(const struct region *r, uintptr_t address)
{
    uintptr_t base = (uintptr_t)r->base;
    return r->base && address >= base - GUARD_BYTES && address < base + r->size_bytes + GUARD_BYTES;
}

static enum access access_of(int sig, const void *context)
{
#ifdef __x86_64__
    /* Bit 1 of the page fault's error code: it was a write. */
    const ucontext_t *u = context;
    if (sig == SIGSEGV || sig == SIGBUS)
        return u->uc_mcontext.gregs[REG_ERR] & 2 ? ACCESS_WRITE : ACCESS_READ;
#else
    (void)sig, (void)context;
#endif
    return ACCESS_UNKNOWN;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    if (!guard.inside) {
        signal(sig, SIG_DFL); /* not ours: die of it when the instruction is tried again */
        if (info->si_code <= 0)
            raise(sig);
        return;
    }
    guard.inside = 0;
    guard.fault = (struct fault){.signal = sig};
    /* A general protection fault comes from "the kernel", without an address. */
    if ((sig == SIGSEGV || sig == SIGBUS) && info->si_code != SI_KERNEL && info->si_code > 0) {
        guard.fault.address = (uintptr_t)info->si_addr;
        guard.fault.has_address = true;
        guard.fault.access = access_of(sig, context);
    }
    siglongjmp(guard.jump, 1);
}

static void on_tick(int sig)
{
    (void)sig;
    guard.ticks = guard.calls == guard.calls_seen ? guard.ticks + 1 : 0;
    guard.calls_seen = guard.calls;
    if (!guard.inside || guard.ticks < guard.limit)
        return;
    guard.inside = 0;
    guard.fault = (struct fault){.signal = GUARD_HANG};
    siglongjmp(guard.jump, 1);
}

/* Signals are not blocked while handled, so that jumping out needs no system call to undo that. */
static int handle_signals(void)
{
    struct sigaction fault = {.sa_sigaction = on_fault,
                              .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    struct sigaction tick = {.sa_handler = on_tick,
                             .sa_flags = SA_ONSTACK | SA_NODEFER | SA_RESTART};
    int failed = sigaction(SIGVTALRM, &tick, &guard.old_timer);
    for (int i = 0; i < CAUGHT; i++)
        failed |= sigaction(caught_signals[i], &fault, &guard.old[i]);
    return failed;
}

int guard_open(int cpu_limit_s)
{
    size_t stack_bytes = 64 << 10;
    uint8_t *both =
        mmap(NULL, stack_bytes + GUARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (both == MAP_FAILED)
        return -1;
    guard.limit = cpu_limit_s;
    guard.trap = both;
    guard.stack = both + GUARD_BYTES;
    stack_t s = {.ss_sp = guard.stack, .ss_size = stack_bytes};
    struct itimerval second = {{1, 0}, {1, 0}};
    if (mprotect(guard.stack, stack_bytes, PROT_READ | PROT_WRITE) < 0 ||
        sigaltstack(&s, &guard.old_stack) < 0 || handle_signals() < 0)
        return -1;
    return setitimer(ITIMER_VIRTUAL, &second, NULL);
}

void guard_close(void)
{
    struct itimerval never = {0};
    setitimer(ITIMER_VIRTUAL, &never, NULL);
    sigaction(SIGVTALRM, &guard.old_timer, NULL);
    for (int i = 0; i < CAUGHT; i++)
        sigaction(caught_signals[i], &guard.old[i], NULL);
    sigaltstack(&guard.old_stack, NULL);
    munmap(guard.trap, (64 << 10) + GUARD_BYTES);
    guard.trap = guard.stack = NULL;
}

int guard_call(void (*f)(void *arg), void *arg, struct fault *ret_fault)
{
    guard.calls++;
    int how = sigsetjmp(guard.jump, 0);
    if (how == 0) {
        guard.inside = 1;
        f(arg);
    }
    guard.inside = 0;
    *ret_fault = how == 1 ? guard.fault : (struct fault){0};
    return how;
}

void guard_leave(void)
{
    guard.inside = 0;
    siglongjmp(guard.jump, 2);
}

uintptr_t guard_trap(void)
{
    return (uintptr_t)guard.trap + GUARD_BYTES / 2;
}
