/*
 * scopes_self.c - rings that the program makes by itself.
 *
 * Either a recorder comes while the program runs (kelvin.h's door), and opens them through /proc;
 * or KELVIN_OUTPUT asks the program to record itself: then it starts a recorder, which inherits
 * them. That is a process of its own, not a thread: it outlives a program that is killed, and the
 * rings are read however the program ends. It is nobody's child, has a session of its own (Ctrl-C
 * is not for it), and nothing of the program's files but its standard error.
 *
 * The program waits for it twice: until it listens, so that the first scopes find a reader, and at
 * exit(), so that the file is there when the program has ended; each time for a few seconds at
 * most.
 */
#include "scopes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_MS = 5000, END_MS = 10000 };

/* --- a recorder comes --- */

static uint64_t answered; /* the request whose rings these are */
static int own_fd = -1;

/* A recorder that was killed left its rings to us. */
static bool somebody_records(void)
{
    int pid = channel ? channel->recorder_pid : 0;
    return channel && !atomic_load(&channel->stop) && pid && (kill(pid, 0) == 0 || errno == EPERM);
}

static int make_rings(void)
{
    int fd = channel_make(SCOPES_RINGS, SCOPES_RING_BYTES, CHANNEL_SCOPES);
    if (fd < 0)
        return -1;
    if (own_fd >= 0)
        syscall(SYS_close, own_fd);
    return own_fd = fd;
}

static void answer_first(struct kelvin_door *door)
{
    if (somebody_records()) {
        door->fd = -2;
        return;
    }
    door->fd = make_rings();
    if (door->fd < 0)
        return;
    channel->params[SCOPES_PARAM_TICKS] = door->ticks;
    scopes_begin_now();
    __atomic_store_n(&scopes_epoch, scopes_epoch + 1, __ATOMIC_RELEASE);
    answered = door->request;
}

const struct kelvin_hooks *kelvin_answer(struct kelvin_door *door);

/* Doors of several libraries of one program lead to the same rings. */
SCOPES_EXPORT const struct kelvin_hooks *kelvin_answer(struct kelvin_door *door)
{
    static _Atomic uint32_t busy;
    int e = errno;
    if (atomic_exchange(&busy, 1))
        return NULL;
    if (answered && answered == door->request)
        door->fd = own_fd;
    else
        answer_first(door);
    atomic_store(&busy, 0);
    errno = e;
    return door->fd != -1 ? &scopes_hooks : NULL;
}

/* --- a recorder is started --- */

static struct {
    int fd; /* of the socket to the recorder */
    pid_t pid;
    ino_t inode;
} self = {.fd = -1};

static void put_between(int from, int to)
{
    if (syscall(SYS_close_range, from, to, 0) != 0)
        for (int fd = from; fd <= to && fd < 65536; fd++)
            syscall(SYS_close, fd);
}

/* Nothing else stays open, or who reads from a pipe of the program's would wait for us. */
static void keep_files(int rings, int socket)
{
    int low = rings < socket ? rings : socket, high = rings < socket ? socket : rings;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, 0);
        dup2(null, 1);
    }
    put_between(3, low - 1);
    put_between(low + 1, high - 1);
    put_between(high + 1, INT32_MAX);
    fcntl(rings, F_SETFD, 0);
    fcntl(socket, F_SETFD, 0);
}

/* "DIR/kelvin" of "DIR/libkelvin-scopes.so" or "DIR/../lib/kelvin/libkelvin-scopes.so". */
static bool recorder_beside(const char *library, char *to, size_t size)
{
    static const char installed[] = "../lib/kelvin/";
    size_t n = (size_t)(strrchr(library, '/') + 1 - library), tail = sizeof installed - 1;
    if (n >= tail && memcmp(library + n - tail, installed, tail) == 0)
        n -= tail;
    return (size_t)snprintf(to, size, "%.*skelvin", (int)n, library) < size;
}

static void run_recorder(const char *program, const char *output, int socket)
{
    char pid[16], files[32];
    const char *const words[] = {program, "record", "--engine", "none", "--quiet",
                                 "--pid", pid,      "--output", output, NULL};
    char *argv[sizeof words / sizeof *words];
    memcpy(argv, words, sizeof words);
    snprintf(pid, sizeof pid, "%d", self.pid);
    keep_files(own_fd, socket);
    snprintf(files, sizeof files, "%d %d", own_fd, socket);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setenv(SCOPES_SELF_ENV, files, 1);
    unsetenv(KELVIN_OUTPUT_ENV);
    unsetenv("LD_PRELOAD");
    execv(program, argv);
}

/* Nobody's child: a program may wait for any of its own. */
static bool start_recorder(const char *program, const char *output, int socket)
{
    pid_t child = fork();
    if (child < 0)
        return false;
    if (child == 0) {
        setsid();
        if (fork() == 0)
            run_recorder(program, output, socket);
        _exit(0);
    }
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return true;
}

/* True when the recorder wrote a byte, false when it is gone or silent for so long. */
static bool hear(int within_ms)
{
    struct pollfd p = {.fd = self.fd, .events = POLLIN};
    char byte;
    uint64_t until_ns = proc_now_ns() + (uint64_t)within_ms * 1000000;
    while (proc_now_ns() < until_ns) {
        int left_ms = (int)((until_ns - proc_now_ns()) / 1000000) + 1;
        if (poll(&p, 1, left_ms) > 0)
            return recv(self.fd, &byte, 1, MSG_DONTWAIT) == 1;
    }
    return false;
}

static int open_sockets(int *ret_theirs)
{
    int both[2];
    struct stat st;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0)
        return -1;
    int far = fcntl(both[0], F_DUPFD_CLOEXEC, own_fd + 1);
    self.fd = far >= 0 ? far : both[0];
    if (far >= 0)
        syscall(SYS_close, both[0]);
    self.inode = fstat(self.fd, &st) == 0 ? st.st_ino : 0;
    *ret_theirs = both[1];
    return 0;
}

static bool begin_alone(const char *output, const char *library)
{
    char program[1024];
    int theirs;
    self.pid = getpid();
    if (!recorder_beside(library, program, sizeof program) || make_rings() < 0 ||
        open_sockets(&theirs) != 0)
        return false;
    bool started = start_recorder(program, output, theirs);
    syscall(SYS_close, theirs);
    return started && hear(START_MS);
}

const struct kelvin_hooks *kelvin_record_itself(const char *output, const char *library,
                                                struct kelvin_door *door);

/* LIBRARY is where this one was found. NULL: nothing is recorded. */
SCOPES_EXPORT const struct kelvin_hooks *
kelvin_record_itself(const char *output, const char *library, struct kelvin_door *door)
{
    int e = errno;
    if (channel || !strchr(library, '/'))
        return channel ? &scopes_hooks : NULL;
    bool begun = begin_alone(output, library);
    if (begun) {
        door->request = (uint64_t)channel->recorder_pid << 32;
        scopes_begin_now();
    } else if (channel) {
        atomic_store(&channel->stop, 1);
    }
    errno = e;
    return begun ? &scopes_hooks : NULL;
}

/* Whether the file is still ours: programs close what they do not know, and use the numbers. */
static bool socket_is_ours(void)
{
    struct stat st;
    return self.fd >= 0 && self.pid == getpid() && fstat(self.fd, &st) == 0 &&
           S_ISSOCK(st.st_mode) && st.st_ino == self.inode;
}

__attribute__((destructor)) static void scopes_exit(void)
{
    int e = errno;
    scopes_main_over();
    if (socket_is_ours() && send(self.fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1)
        hear(END_MS);
    errno = e;
}
