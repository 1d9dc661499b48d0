#include "record/launch.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Signals that the recorder handles are its own; the mask must not reach the command. */
static void child(char **argv, const sigset_t *mask, int go_fd, int fail_fd)
{
    char c;
    if (read(go_fd, &c, 1) != 1)
        _exit(EXIT_OWN); /* the recorder gave up */
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    int e = errno;
    if (write(fail_fd, &e, sizeof e) != sizeof e)
        _exit(EXIT_OWN);
    _exit(EXIT_NOT_FOUND);
}

int launch_fork(struct launch *l, char **argv, const sigset_t *mask, struct err *err)
{
    int go[2], fail[2];
    *l = (struct launch){.pid = -1, .go_fd = -1, .fail_fd = -1};
    if (pipe2(go, O_CLOEXEC) != 0)
        return err_set_errno(err, errno, "cannot make a pipe");
    if (pipe2(fail, O_CLOEXEC) != 0) {
        int e = errno;
        close(go[0]);
        close(go[1]);
        return err_set_errno(err, e, "cannot make a pipe");
    }
    l->pid = fork();
    int e = errno;
    if (l->pid == 0) {
        close(go[1]);
        close(fail[0]);
        child(argv, mask, go[0], fail[1]);
    }
    close(go[0]);
    close(fail[1]);
    l->go_fd = go[1];
    l->fail_fd = fail[0];
    if (l->pid > 0)
        return 0;
    launch_drop(l);
    return err_set_errno(err, e, "cannot start a process");
}

static int exec_failed(const char *command, int errnum, struct err *err)
{
    struct stat st;
    bool bare = !strchr(command, '/');
    if (errnum == ENOENT && bare)
        return err_set(err, EXIT_NOT_FOUND, "no command '%s' in PATH; './%s' if it is here",
                       command, command);
    if (errnum == ENOENT && stat(command, &st) == 0)
        return err_set(err, EXIT_NOT_FOUND, "cannot run '%s': the interpreter it names is missing",
                       command);
    if (errnum == ENOENT)
        return err_set(err, EXIT_NOT_FOUND, "no command '%s'", command);
    if (errnum == EACCES && stat(command, &st) == 0 && S_ISDIR(st.st_mode))
        return err_set(err, EXIT_CANNOT_RUN, "cannot run '%s': it is a folder", command);
    if (errnum == EACCES)
        return err_set(err, EXIT_CANNOT_RUN, "cannot run '%s': not executable; 'chmod +x' it",
                       command);
    err_set_errno(err, errnum, "cannot run '%s'", command);
    err->code = EXIT_CANNOT_RUN;
    return -1;
}

static void close_pipes(struct launch *l)
{
    if (l->go_fd >= 0)
        close(l->go_fd);
    if (l->fail_fd >= 0)
        close(l->fail_fd);
    l->go_fd = l->fail_fd = -1;
}

int launch_go(struct launch *l, const char *command, struct err *err)
{
    int errnum;
    ssize_t n = write(l->go_fd, "", 1);
    if (n == 1)
        n = read(l->fail_fd, &errnum, sizeof errnum);
    close_pipes(l);
    if (n == 0)
        return 0; /* exec closed the pipe */
    waitpid(l->pid, NULL, 0);
    l->pid = -1;
    if (n == sizeof errnum)
        return exec_failed(command, errnum, err);
    return err_set(err, EXIT_OWN, "the command's process ended before it could start");
}

void launch_drop(struct launch *l)
{
    bool waiting = l->pid > 0 && l->go_fd >= 0;
    close_pipes(l);
    if (waiting)
        waitpid(l->pid, NULL, 0);
    l->pid = -1;
}
