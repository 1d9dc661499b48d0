/* starter.c - kelvin's side: requests, output, time limit; see starter.h. */
#include "bench/starter.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/path.h"
#include "bench/starter_child.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* What is read while a command runs. */
enum { FROM_REPORT, FROM_OUTPUT, FROM_ERROR, FROM_ANSWER, FROM_STOP, SOURCES };

struct starter {
    struct starter_opts opts;
    struct starter_child child;
    pid_t pid;
    int request_fd, fds[SOURCES];
    int file_fd;
    size_t file_bytes;
};

void starter_run_done(struct starter_run *r)
{
    buf_done(&r->said);
    buf_done(&r->answer);
}

/* --- open and close --- */

int starter_pipe(int *ret_read, int *ret_write)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        return -1;
    *ret_read = fcntl(fds[0], F_DUPFD_CLOEXEC, STARTER_ANSWER_FD + 1);
    *ret_write = fcntl(fds[1], F_DUPFD_CLOEXEC, STARTER_ANSWER_FD + 1);
    close(fds[0]);
    close(fds[1]);
    return *ret_read >= 0 && *ret_write >= 0 ? 0 : -1;
}

static int make_pipe(int *ret_read, int *ret_write, struct err *err)
{
    if (starter_pipe(ret_read, ret_write) != 0)
        return err_set_errno(err, errno, "cannot make a pipe");
    return 0;
}

/* One that is read until nothing is left: the command's children may keep it open for ever. */
static int make_drain(int *ret_read, int *ret_write, struct err *err)
{
    if (make_pipe(ret_read, ret_write, err) != 0)
        return -1;
    fcntl(*ret_read, F_SETFL, O_NONBLOCK);
    return 0;
}

static int make_pipes(struct starter *s, struct err *err)
{
    struct starter_child *c = &s->child;
    if (make_pipe(&c->request_fd, &s->request_fd, err) != 0 ||
        make_pipe(&s->fds[FROM_REPORT], &c->report_fd, err) != 0 ||
        make_drain(&s->fds[FROM_ANSWER], &c->answer_fd, err) != 0)
        return -1;
    if (s->opts.output == STARTER_INHERIT)
        return 0;
    if (make_drain(&s->fds[FROM_ERROR], &c->error_fd, err) != 0)
        return -1;
    if (s->opts.output == STARTER_NULL)
        return 0;
    return make_drain(&s->fds[FROM_OUTPUT], &c->output_fd, err);
}

static int open_file(struct starter *s, struct err *err)
{
    const char *path = s->opts.output_path;
    if (s->opts.output != STARTER_FILE)
        return 0;
    autofree char *target = path_target(path);
    if (target ? path_is_planted(target) : errno == EACCES)
        return err_set(err, EXIT_ERROR,
                       "cannot write '%s': another user put it into a shared folder", path);
    s->file_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return s->file_fd >= 0 ? 0 : err_set_errno(err, errno, "cannot write '%s'", path);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int split_off(struct starter *s, struct err *err)
{
    s->child.shared = mmap(NULL, sizeof *s->child.shared, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s->child.shared == MAP_FAILED) {
        s->child.shared = NULL;
        return err_set_errno(err, errno, "cannot get memory to share");
    }
    s->pid = fork();
    if (s->pid < 0)
        return err_set_errno(err, errno, "cannot start a process");
    if (s->pid == 0) {
        close_fd(&s->request_fd); /* so that the end of kelvin is the end of requests */
        starter_child_main(&s->child);
    }
    close_fd(&s->child.request_fd);
    close_fd(&s->child.report_fd);
    close_fd(&s->child.answer_fd);
    close_fd(&s->child.error_fd);
    close_fd(&s->child.output_fd);
    return 0;
}

int starter_open(struct starter **ret, const struct starter_opts *opts, struct err *err)
{
    struct starter *s = *ret = mem_new(struct starter);
    *s = (struct starter){.opts = *opts, .pid = -1, .request_fd = -1, .file_fd = -1};
    s->child = (struct starter_child){.opts = &s->opts,
                                      .request_fd = -1,
                                      .report_fd = -1,
                                      .output_fd = -1,
                                      .error_fd = -1,
                                      .answer_fd = -1};
    for (int i = 0; i < SOURCES; i++)
        s->fds[i] = -1;
    s->fds[FROM_STOP] = opts->stop_fd;
    starter_child_environment(&s->child);
    if (make_pipes(s, err) == 0 && open_file(s, err) == 0 && split_off(s, err) == 0)
        return 0;
    starter_close(s);
    *ret = NULL;
    return -1;
}

static void end_command(struct starter *s)
{
    pid_t pid = s->child.shared ? s->child.shared->pid : 0;
    if (pid > 0)
        kill(-pid, SIGKILL);
}

void starter_close(struct starter *s)
{
    if (!s)
        return;
    end_command(s);
    close_fd(&s->request_fd);
    if (s->pid > 0)
        waitpid(s->pid, NULL, 0);
    for (int i = 0; i < FROM_STOP; i++)
        close_fd(&s->fds[i]);
    close_fd(&s->child.request_fd);
    close_fd(&s->child.report_fd);
    close_fd(&s->child.output_fd);
    close_fd(&s->child.error_fd);
    close_fd(&s->child.answer_fd);
    close_fd(&s->file_fd);
    if (s->child.shared)
        munmap(s->child.shared, sizeof *s->child.shared);
    starter_child_environment_done(&s->child);
    free(s);
}

/* --- while a command runs --- */

static void keep_end(struct buf *b, struct text bytes, size_t kept)
{
    buf_add(b, bytes.at, bytes.n);
    if (b->n > 2 * kept) {
        memmove(b->at, b->at + b->n - kept, kept);
        b->n = kept;
    }
}

/* A disk that is full ends the file, not the run. */
static void keep_in_file(struct starter *s, struct starter_run *r, const char *bytes, size_t n)
{
    size_t room = STARTER_FILE_MAX - s->file_bytes;
    size_t take = n < room ? n : room;
    ssize_t done = write(s->file_fd, bytes, take);
    s->file_bytes += done > 0 ? (size_t)done : 0;
    r->output_cut |= done < (ssize_t)n;
}

static void starter_keep(struct starter *s, struct starter_run *r, int source, struct text bytes)
{
    if (source == FROM_ANSWER) {
        if (r->answer.n + bytes.n <= STARTER_ANSWER_MAX)
            buf_add(&r->answer, bytes.at, bytes.n);
    } else if (source == FROM_OUTPUT && s->opts.output == STARTER_FILE) {
        keep_in_file(s, r, bytes.at, bytes.n);
    } else {
        keep_end(&r->said, bytes, s->opts.kept_bytes ? s->opts.kept_bytes : STARTER_KEPT_BYTES);
    }
}

/* Take what is there now. */
static void starter_drain(struct starter *s, struct starter_run *r, int source)
{
    char bytes[65536];
    ssize_t n;
    for (int i = 0; i < 64 && s->fds[source] >= 0; i++) { /* who writes for ever gets no grip */
        n = read(s->fds[source], bytes, sizeof bytes);
        if (n <= 0)
            return;
        starter_keep(s, r, source, (struct text){bytes, (size_t)n});
    }
}

static int wait_ms(const struct starter *s, double started_s)
{
    if (!(s->opts.timeout_s > 0))
        return -1;
    double left = s->opts.timeout_s - (clock_monotonic_s() - started_s);
    return left > 0 ? (int)fmin(left * 1000 + 1, 3600e3) : 0;
}

/* Whether the run is to be cut short, and why. */
static enum starter_end cut_short(const struct starter *s, const struct pollfd *p, int n_ready,
                                  double started_s)
{
    if (n_ready > 0 && (p[FROM_STOP].revents & POLLIN))
        return STARTER_STOPPED;
    return wait_ms(s, started_s) == 0 ? STARTER_TIMED_OUT : STARTER_EXITED;
}

/* Until the report is there. Returns what cut the run short, or STARTER_EXITED. */
static enum starter_end attend(struct starter *s, struct starter_run *r)
{
    enum starter_end end = STARTER_EXITED;
    double started_s = clock_monotonic_s();
    struct pollfd p[SOURCES];
    for (int i = 0; i < SOURCES; i++)
        p[i] = (struct pollfd){s->fds[i], POLLIN, 0};
    for (;;) {
        /* Asked to end before it was born, a command is ended a moment later. */
        int n = poll(p, SOURCES, end == STARTER_EXITED ? wait_ms(s, started_s) : 10);
        if (n < 0 && errno != EINTR)
            return STARTER_STOPPED;
        for (int i = FROM_OUTPUT; i <= FROM_ANSWER; i++)
            if (n > 0 && p[i].revents)
                starter_drain(s, r, i);
        if (n > 0 && p[FROM_REPORT].revents)
            return end;
        if (end == STARTER_EXITED)
            end = cut_short(s, p, n, started_s);
        if (end != STARTER_EXITED) {
            p[FROM_STOP].fd = -1;
            end_command(s);
        }
    }
}

static void rewind_file(struct starter *s)
{
    s->file_bytes = 0;
    if (s->file_fd < 0 || lseek(s->file_fd, 0, SEEK_SET) != 0)
        return;
    int cut = ftruncate(s->file_fd, 0);
    (void)cut; /* devices have nothing to cut */
}

static void take_report(struct starter_run *r, const struct starter_report *report)
{
    memcpy(r->value, report->value, sizeof r->value);
    r->status = report->status;
    if (r->end == STARTER_EXITED)
        r->end = report->end;
}

int starter_run(struct starter *s, size_t command, size_t pad_bytes, struct starter_run *ret,
                struct err *err)
{
    struct starter_request request = {command, pad_bytes};
    struct starter_report report;
    ret->said.n = ret->answer.n = 0;
    ret->output_cut = false;
    rewind_file(s);
    if (write(s->request_fd, &request, sizeof request) != (ssize_t)sizeof request)
        return err_set(err, EXIT_ERROR, "the process that starts commands was killed");
    ret->end = attend(s, ret);
    if (read(s->fds[FROM_REPORT], &report, sizeof report) != (ssize_t)sizeof report)
        return err_set(err, EXIT_ERROR, "the process that starts commands was killed");
    for (int i = FROM_OUTPUT; i <= FROM_ANSWER; i++)
        starter_drain(s, ret, i);
    take_report(ret, &report);
    return 0;
}
