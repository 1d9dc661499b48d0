#include "base/signals.h"

#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

static bool is_ignored(int signal_number)
{
    struct sigaction now;
    return sigaction(signal_number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static void watched(sigset_t *ret)
{
    sigemptyset(ret);
    sigaddset(ret, SIGINT);
    sigaddset(ret, SIGTERM);
    if (!is_ignored(SIGHUP))
        sigaddset(ret, SIGHUP);
}

int signals_open(struct signals *s, bool children)
{
    sigset_t set;
    watched(&set);
    if (children)
        sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &s->before);
    s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->fd >= 0)
        return 0;
    int e = errno;
    sigprocmask(SIG_SETMASK, &s->before, NULL);
    errno = e;
    return -1;
}

int signals_take(const struct signals *s)
{
    struct signalfd_siginfo taken;
    bool there = s->fd >= 0 && read(s->fd, &taken, sizeof taken) == (ssize_t)sizeof taken;
    return there ? (int)taken.ssi_signo : 0;
}

bool signals_pending(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};
    return poll(&p, 1, 0) > 0;
}

void signals_close(struct signals *s)
{
    if (s->fd < 0)
        return;
    while (signals_take(s))
        ;
    close(s->fd);
    s->fd = -1;
    sigprocmask(SIG_SETMASK, &s->before, NULL);
}

void signals_unblock(void)
{
    sigset_t set;
    watched(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void do_nothing(int signal_number)
{
    (void)signal_number;
}

void signals_survive(int signal_number)
{
    struct sigaction quiet = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
    if (!is_ignored(signal_number))
        sigaction(signal_number, &quiet, NULL);
}
