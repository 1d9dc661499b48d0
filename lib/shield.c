/*
 * shield.c - keeps the agent's signal working when the program changes all signals at once.
 *
 * Many programs block every signal in their worker threads, or reset every signal when they
 * start: the first would hide those threads, the second would end the program at the next tick.
 * Only our own signal is left out; whatever the program asks about it is answered as if it were
 * done.
 */
#include "agent.h"

#include <dlfcn.h>
#include <time.h>

typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
typedef int sigmask_fn(int, const sigset_t *, sigset_t *);
typedef sighandler_t signal_fn(int, sighandler_t);
typedef int sigwait_fn(const sigset_t *, int *);
typedef int sigwaitinfo_fn(const sigset_t *, siginfo_t *);
typedef int sigtimedwait_fn(const sigset_t *, siginfo_t *, const struct timespec *);

/* The function that we stand in for, looked up once. */
#define NEXT(type, name)                           \
    ({                                             \
        static type *next;                         \
        if (!next)                                 \
            next = (type *)dlsym(RTLD_NEXT, name); \
        next;                                      \
    })

int shield_next_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
    return NEXT(sigaction_fn, "sigaction")(sig, act, old);
}

int shield_next_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    return NEXT(sigmask_fn, "pthread_sigmask")(how, set, old);
}

AGENT_API int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
    if (!agent.box || sig != AGENT_SIGNAL)
        return shield_next_sigaction(sig, act, old);
    if (old)
        *old = agent.theirs;
    if (act)
        agent.theirs = *act;
    return 0;
}

AGENT_API sighandler_t signal(int sig, sighandler_t handler)
{
    if (!agent.box || sig != AGENT_SIGNAL)
        return NEXT(signal_fn, "signal")(sig, handler);
    sighandler_t old = agent.theirs.sa_handler;
    agent.theirs = (struct sigaction){.sa_handler = handler};
    return old;
}

/* SET without our signal, kept in COPY. NULL stays NULL. */
static const sigset_t *without(const sigset_t *set, sigset_t *copy)
{
    if (!agent.box || !set)
        return set;
    *copy = *set;
    sigdelset(copy, AGENT_SIGNAL);
    return copy;
}

static const sigset_t *shield_masked(int how, const sigset_t *set, sigset_t *copy)
{
    return how == SIG_UNBLOCK ? set : without(set, copy);
}

AGENT_API int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t copy;
    return NEXT(sigmask_fn, "sigprocmask")(how, shield_masked(how, set, &copy), old);
}

AGENT_API int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t copy;
    return shield_next_sigmask(how, shield_masked(how, set, &copy), old);
}

AGENT_API int sigwait(const sigset_t *set, int *ret_sig)
{
    sigset_t copy;
    return NEXT(sigwait_fn, "sigwait")(without(set, &copy), ret_sig);
}

AGENT_API int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    sigset_t copy;
    return NEXT(sigwaitinfo_fn, "sigwaitinfo")(without(set, &copy), info);
}

AGENT_API int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    sigset_t copy;
    return NEXT(sigtimedwait_fn, "sigtimedwait")(without(set, &copy), info, timeout);
}
