/*
 * exec.c - run a command of a suite.
 */
#include "suite/exec.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { GRACE_MS = 2000, TAIL_BYTES = 16 << 10 };

/* --- CPUs --- */

static int add_cpus(cpu_set_t *set, const char *word)
{
    char *end;
    long first = strtol(word, &end, 10), last = first;
    if (end != word && *end == '-' && end[1])
        last = strtol(end + 1, &end, 10);
    if (end == word || *end || first < 0 || last < first || last >= CPU_SETSIZE)
        return -1;
    for (long i = first; i <= last; i++)
        CPU_SET((size_t)i, set);
    return 0;
}

int exec_check_cpus(const struct words *cpus, struct err *err)
{
    cpu_set_t usable, one;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0)
        return 0;
    for (size_t i = 0; i < cpus->at.n; i++) {
        CPU_ZERO(&one);
        if (add_cpus(&one, cpus->at.at[i]) != 0)
            return err_set(err, EXIT_ERROR, "'%s' is no list of CPUs: write '1' or '2-3'",
                           cpus->at.at[i]);
        CPU_AND(&one, &one, &usable);
        if (!CPU_COUNT(&one))
            return err_set(err, EXIT_ERROR, "CPU %s cannot be used here: %d can, see 'nproc'",
                           cpus->at.at[i], CPU_COUNT(&usable));
    }
    return 0;
}

/* --- in the child --- */

static void pin(const struct words *cpus)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = 0; i < cpus->at.n; i++)
        if (add_cpus(&set, cpus->at.at[i]) != 0)
            return;
    sched_setaffinity(0, sizeof set, &set);
}

static void set_variables(const struct words *env)
{
    for (size_t i = 0; i < env->at.n; i++)
        if (strchr(env->at.at[i], '='))
            putenv(env->at.at[i]);
}

static void open_as(const char *path, int flags, int fd)
{
    int opened = open(path, flags, 0666);
    if (opened < 0)
        return;
    dup2(opened, fd);
    if (opened != fd)
        close(opened);
}

/* Never returns; what went wrong is told through the pipe. */
static void child(const struct exec_opts *o, int tell)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* if kelvin is killed, nothing goes on */
    open_as(*o->input ? o->input : "/dev/null", O_RDONLY, STDIN_FILENO);
    open_as(o->log, O_WRONLY | O_CREAT | O_APPEND, STDOUT_FILENO);
    dup2(STDOUT_FILENO, STDERR_FILENO);
    if (o->cpus && o->cpus->at.n)
        pin(o->cpus);
    if (o->env)
        set_variables(o->env);
    if (o->fixed_layout)
        personality(ADDR_NO_RANDOMIZE);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(o->argv[0], o->argv);
    int e = errno;
    ssize_t ignored = write(tell, &e, sizeof e);
    (void)ignored;
    _exit(127);
}

/* --- in the parent --- */

struct running {
    pid_t pid;
    int pid_fd;
};

static int start(const struct exec_opts *o, struct running *r, int *ret_errno, struct err *err)
{
    int tell[2];
    *ret_errno = 0;
    if (pipe2(tell, O_CLOEXEC) != 0)
        return err_set_errno(err, errno, "cannot make a pipe");
    r->pid = fork();
    if (r->pid == 0)
        child(o, tell[1]);
    int e = errno;
    close(tell[1]);
    if (r->pid < 0) {
        close(tell[0]);
        return err_set_errno(err, e, "cannot start a process");
    }
    setpgid(r->pid, r->pid);
    if (read(tell[0], ret_errno, sizeof *ret_errno) != (ssize_t)sizeof *ret_errno)
        *ret_errno = 0;
    close(tell[0]);
    r->pid_fd = (int)syscall(SYS_pidfd_open, r->pid, 0);
    return 0;
}

/* 1 when the process ended, 0 when the time was up, -1 when the user wants to stop. */
static int wait_for(const struct running *r, double timeout_s, int stop_fd)
{
    double until = clock_monotonic_s() + timeout_s;
    for (;;) {
        struct pollfd fds[2] = {{r->pid_fd, POLLIN, 0}, {stop_fd, POLLIN, 0}};
        double left = until - clock_monotonic_s();
        if (left <= 0)
            return 0;
        poll(fds, 2, left > 1000 ? 1000000 : (int)(left * 1000) + 1);
        if (fds[0].revents)
            return 1;
        if (fds[1].revents)
            return -1;
    }
}

/* Politely first. */
static void end_group(struct running *r)
{
    kill(-r->pid, SIGTERM);
    struct pollfd fd = {r->pid_fd, POLLIN, 0};
    poll(&fd, 1, GRACE_MS);
    kill(-r->pid, SIGKILL);
}

int exec_run(const struct exec_opts *o, struct exec_result *ret, struct err *err)
{
    struct running r = {.pid_fd = -1};
    int cannot, status;
    *ret = (struct exec_result){0};
    double began = clock_monotonic_s();
    if (start(o, &r, &cannot, err) != 0)
        return -1;
    int ended = cannot ? 1 : wait_for(&r, o->timeout_s, o->stop_fd);
    if (ended <= 0)
        end_group(&r);
    while (waitpid(r.pid, &status, 0) < 0 && errno == EINTR)
        ;
    ret->wall_s = clock_monotonic_s() - began;
    if (r.pid_fd >= 0)
        close(r.pid_fd);
    ret->end = cannot                ? EXEC_NOT_RUN
               : ended == 0          ? EXEC_TIMED_OUT
               : ended < 0           ? EXEC_INTERRUPTED
               : WIFSIGNALED(status) ? EXEC_SIGNALLED
                                     : EXEC_EXITED;
    ret->status = cannot ? cannot : WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    return 0;
}

void exec_say(const struct exec_result *r, struct buf *b)
{
    switch (r->end) {
    case EXEC_EXITED:
        buf_printf(b, "ended with exit code %d", r->status);
        break;
    case EXEC_SIGNALLED:
        buf_printf(b, "was killed by signal %d (%s)", r->status, strsignal(r->status));
        break;
    case EXEC_TIMED_OUT:
        buf_printf(b, "was not done after %.1f s and was ended", r->wall_s);
        break;
    case EXEC_INTERRUPTED:
        buf_str(b, "was interrupted");
        break;
    case EXEC_NOT_RUN:
        buf_printf(b, "could not be started: %s", strerror(r->status));
        break;
    }
}

void exec_tail(const char *log, size_t n, struct buf *b)
{
    autofree char *bytes = mem_calloc(1, TAIL_BYTES);
    autofclose FILE *in = fopen(log, "re");
    if (!in)
        return;
    if (fseek(in, -TAIL_BYTES, SEEK_END) != 0)
        rewind(in);
    struct text rest = {bytes, fread(bytes, 1, TAIL_BYTES, in)};
    while (rest.n && rest.at[rest.n - 1] == '\n')
        rest.n--;
    size_t from = rest.n;
    for (size_t lines = 0; from > 0; from--)
        if (rest.at[from - 1] == '\n' && ++lines == n)
            break;
    rest = (struct text){rest.at + from, rest.n - from};
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        buf_printf(b, "  %.*s\n", TEXT_ARG(line));
    }
}
