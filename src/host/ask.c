#include "host/ask.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

/* Start ARGV with its output going to OUT_FD. */
static bool ask_start(struct subprocess *s, const char *const *argv, int out_fd)
{
    /* What keeps a program from asking back, or from speaking another language. */
    static const char *const quiet[] = {
        "LC_ALL=C",         "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true",
        "SSH_ASKPASS=true", "GIT_OPTIONAL_LOCKS=0",  NULL};
    struct err ignored;
    autoclose int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct subprocess_opts with = {
        .argv = (char *const *)(uintptr_t)argv,
        .env = (char *const *)(uintptr_t)quiet,
        .in_fd = null_fd,
        .out_fd = out_fd,
        .error_fd = null_fd,
    };
    return null_fd > 0 && subprocess_start(s, &with, &ignored) == 0;
}

/* Read FD to its end. False when time or room ran out. */
static bool listen_until(int fd, uint64_t deadline_ns, struct buf *ret)
{
    char bytes[4096];
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        uint64_t now_ns = clock_monotonic_ns();
        uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
        int ready = left_ns ? poll(&p, 1, (int)(left_ns / 1000000) + 1) : 0;
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
static bool ended_well(struct subprocess *s, uint64_t deadline_ns)
{
    if (subprocess_wait(s, deadline_ns, -1) != SUBPROCESS_ENDED)
        subprocess_kill(s, 0);
    subprocess_reap(s, true);
    return !s->errnum && WIFEXITED(s->status) && WEXITSTATUS(s->status) == 0;
}

bool ask_program(struct ask *a, const char *const *argv, struct buf *ret)
{
    int ends[2];
    struct subprocess s;
    uint64_t began_ns = clock_monotonic_ns();
    if (a->ms_left <= 0 || pipe2(ends, O_CLOEXEC) != 0)
        return false;
    autoclose int in = ends[0];
    bool started = ask_start(&s, argv, ends[1]);
    close(ends[1]);
    if (!started)
        return false;
    uint64_t deadline_ns = began_ns + (uint64_t)a->ms_left * 1000000;
    bool heard = listen_until(in, deadline_ns, ret);
    bool well = ended_well(&s, heard ? deadline_ns : began_ns);
    a->ms_left -= (int)((clock_monotonic_ns() - began_ns + 999999) / 1000000);
    return heard && well;
}
