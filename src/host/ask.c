#include "host/ask.h"
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Our variables with those that keep a program from asking back or from speaking another tongue. */
static char **quiet_environ(void)
{
    static const char *const ours[] = {"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true",
                                       "SSH_ASKPASS=true", "GIT_OPTIONAL_LOCKS=0"};
    size_t n = 0, n_ours = sizeof ours / sizeof *ours;
    while (environ[n])
        n++;
    char **all = mem_calloc(n + n_ours + 1, sizeof *all);
    for (size_t i = 0; i < n_ours; i++) /* the first of a name is the one that counts */
        all[i] = (char *)(uintptr_t)ours[i];
    memcpy(all + n_ours, environ, n * sizeof *all);
    return all;
}

/* Start ARGV with its output going to OUT_FD; -1 if that cannot be done. */
static pid_t start(const char *const *argv, int out_fd)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, pipe_only;
    pid_t pid = -1;
    autofree char **env = quiet_environ();
    sigemptyset(&none);
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out_fd, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &pipe_only);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (posix_spawnp(&pid, argv[0], &files, &attr, (char *const *)(uintptr_t)argv, env) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return pid;
}

/* Read FD to its end. False when time or room ran out. */
static bool listen_until(int fd, int64_t deadline_ms, struct buf *ret)
{
    char bytes[4096];
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left = deadline_ms - now_ms();
        int ready = left > 0 ? poll(&p, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n == 0)
            return true;
        if (n < 0 || ret->n + (size_t)n > ASK_BYTES_MAX)
            return false;
        buf_add(ret, bytes, (size_t)n);
    }
}

/* The output may be closed and the program stay: wait for it only as long as the time lasts. */
static bool ended_well(pid_t pid, int64_t deadline_ms)
{
    int status;
    for (;;) {
        pid_t got = waitpid(pid, &status, WNOHANG);
        if (got == pid)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if ((got < 0 && errno != EINTR) || now_ms() >= deadline_ms)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return false;
}

bool ask_program(struct ask *a, const char *const *argv, struct buf *ret)
{
    int ends[2];
    int64_t began = now_ms(), deadline = began + a->ms_left;
    if (a->ms_left <= 0 || pipe2(ends, O_CLOEXEC) != 0)
        return false;
    autoclose int in = ends[0];
    pid_t pid = start(argv, ends[1]);
    close(ends[1]);
    if (pid < 0)
        return false;
    bool heard = listen_until(in, deadline, ret);
    bool well = ended_well(pid, heard ? deadline : 0);
    a->ms_left -= (int)(now_ms() - began);
    return heard && well;
}
