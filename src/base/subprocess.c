#include "base/subprocess.h"
#include "base/clock.h"
#include "base/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT_EXEC = 127, LOOK_AGAIN_MS = 20, WAIT_MAX_MS = 1000000 };

/* --- in the new process --- */

static void take_environment(char *const *env)
{
    for (; env && *env; env++)
        putenv(*env);
}

static bool take_stdio(const struct subprocess_opts *o)
{
    return (!o->in_fd || dup2(o->in_fd, STDIN_FILENO) >= 0) &&
           (!o->out_fd || dup2(o->out_fd, STDOUT_FILENO) >= 0) &&
           (!o->error_fd || dup2(o->error_fd, STDERR_FILENO) >= 0);
}

static void take_mask(const sigset_t *mask)
{
    if (mask)
        sigprocmask(SIG_SETMASK, mask, NULL);
    else
        signals_unblock();
}

/* Get SIGNAL when PARENT ends, or ended before we could ask for it. */
static void die_with(pid_t parent, int signal)
{
    prctl(PR_SET_PDEATHSIG, signal);
    if (getppid() != parent)
        raise(signal);
}

/* Returns where exec failed, with errno. FAIL_FD is what exec would close. */
static void become(const struct subprocess_opts *o, pid_t parent, int fail_fd)
{
    if (o->group)
        setpgid(0, 0);
    if (o->death_signal)
        die_with(parent, o->death_signal);
    if (!take_stdio(o) || (o->cwd && chdir(o->cwd) != 0))
        return;
    take_environment(o->env);
    if (o->prepare)
        o->prepare(o->prepare_to);
    take_mask(o->mask);
    if (o->work) {
        close(fail_fd);
        _exit(o->work(o->work_to));
    }
    execvp(o->argv[0], o->argv);
}

static _Noreturn void child(const struct subprocess_opts *o, pid_t parent, int go_fd, int fail_fd)
{
    char go;
    if (read(go_fd, &go, 1) != 1)
        _exit(CANNOT_EXEC); /* let down before it could begin */
    become(o, parent, fail_fd);
    int e = errno;
    ssize_t ignored = write(fail_fd, &e, sizeof e);
    (void)ignored;
    _exit(CANNOT_EXEC);
}

/* --- in ours --- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int make_pipe(int *ret_read, int *ret_write, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set_errno(err, errno, "cannot make a pipe");
    *ret_read = ends[0];
    *ret_write = ends[1];
    return 0;
}

static int start_child(struct subprocess *s, const struct subprocess_opts *o, int go_fd,
                       int fail_fd, struct err *err)
{
    pid_t parent = getpid();
    s->pid = fork();
    if (s->pid < 0)
        return err_set_errno(err, errno, "cannot start a process");
    if (s->pid == 0) {
        close(s->go_fd);
        close(s->fail_fd);
        child(o, parent, go_fd, fail_fd);
    }
    if (o->group)
        setpgid(s->pid, s->pid); /* whoever of the two is first */
    s->pid_fd = (int)syscall(SYS_pidfd_open, s->pid, 0);
    return 0;
}

int subprocess_start(struct subprocess *s, const struct subprocess_opts *o, struct err *err)
{
    int go = -1, fail = -1;
    *s = SUBPROCESS_NONE;
    s->group = o->group;
    int rc = make_pipe(&go, &s->go_fd, err) == 0 && make_pipe(&s->fail_fd, &fail, err) == 0
                 ? start_child(s, o, go, fail, err)
                 : -1;
    close_fd(&go);
    close_fd(&fail);
    if (rc == 0 && !o->held)
        rc = subprocess_go(s, err);
    if (rc != 0)
        subprocess_done(s);
    return rc;
}

int subprocess_go(struct subprocess *s, struct err *err)
{
    ssize_t n = write(s->go_fd, "", 1);
    if (n == 1)
        while ((n = read(s->fail_fd, &s->errnum, sizeof s->errnum)) < 0 && errno == EINTR)
            ;
    close_fd(&s->go_fd);
    close_fd(&s->fail_fd);
    if (n == 0)
        return 0; /* exec closed the pipe */
    subprocess_reap(s, true);
    if (n == (ssize_t)sizeof s->errnum)
        return 0;
    return err_set(err, EXIT_ERROR, "the command's process ended before it could start");
}

bool subprocess_has_ended(const struct subprocess *s)
{
    siginfo_t info = {0};
    return s->pid < 0 || waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid != 0;
}

static int subprocess_wait_ms(const struct subprocess *s, uint64_t until_ns)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t left_ms = !until_ns           ? WAIT_MAX_MS
                       : until_ns > now_ns ? (until_ns - now_ns) / 1000000 + 1
                                           : 0;
    uint64_t most_ms = s->pid_fd < 0 ? LOOK_AGAIN_MS : WAIT_MAX_MS;
    return (int)(left_ms < most_ms ? left_ms : most_ms);
}

enum subprocess_event subprocess_wait(const struct subprocess *s, uint64_t until_ns, int stop_fd)
{
    for (;;) {
        struct pollfd fds[2] = {{s->pid_fd, POLLIN, 0}, {stop_fd, POLLIN, 0}};
        if (subprocess_has_ended(s))
            return SUBPROCESS_ENDED;
        if (until_ns && clock_monotonic_ns() >= until_ns)
            return SUBPROCESS_LATE;
        if (poll(fds, 2, subprocess_wait_ms(s, until_ns)) > 0 && fds[1].revents &&
            !subprocess_has_ended(s))
            return SUBPROCESS_STOPPED;
    }
}

bool subprocess_reap(struct subprocess *s, bool block)
{
    pid_t got;
    if (s->pid < 0)
        return true;
    if (block)
        subprocess_wait(s, 0, -1);
    while ((got = wait4(s->pid, &s->status, block ? 0 : WNOHANG, &s->usage)) < 0 && errno == EINTR)
        ;
    if (got == 0)
        return false;
    s->pid = -1;
    close_fd(&s->pid_fd);
    return true;
}

void subprocess_kill(const struct subprocess *s, int grace_ms)
{
    pid_t to = s->group ? -s->pid : s->pid;
    if (s->pid < 0)
        return;
    if (grace_ms > 0) {
        kill(to, SIGTERM);
        subprocess_wait(s, clock_monotonic_ns() + (uint64_t)grace_ms * 1000000, -1);
    }
    kill(to, SIGKILL);
}

void subprocess_done(struct subprocess *s)
{
    bool held = s->go_fd >= 0;
    close_fd(&s->go_fd);
    close_fd(&s->fail_fd);
    if (held)
        subprocess_reap(s, true);
    close_fd(&s->pid_fd);
}
