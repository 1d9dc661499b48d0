#include "record/recorder.h"
#include "record/urgent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define SECOND_NS 1000000000u
/* With the time between two polls this makes the second that a kill may cost. */
#define FLUSH_NS 700000000u

/* Where a command catches Ctrl-C and goes on, the third one ends the recording without it. */
enum { INTERRUPTS_MAX = 3 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/* --- samples --- */

static enum unwind_end take_sample(void *to, const struct engine_sample *s)
{
    struct recorder *r = to;
    enum unwind_end end;
    struct err ignored;
    int64_t values[2] = {1, (int64_t)s->period};
    struct sample row = {
        .stack = processes_stack(r->processes, &s->at, &end),
        .thread = processes_thread(r->processes, s->at.pid, s->at.tid),
        .has_time = true,
        .time_ns = s->time_ns,
        .values = values,
    };
    profile_add_sample(r->profile, &row, &ignored); /* fails after 292 years of CPU time */
    r->samples++;
    r->ends[end]++;
    r->kernel_samples += s->at.n_kernel_pcs > 0;
    return end;
}

static void add_types(struct recorder *r)
{
    struct profile *p = r->profile;
    const struct engine_facts *f = r->facts;
    bool clock = strcmp(f->unit, "nanoseconds") == 0;
    autofree char *bare = mem_strndup(f->event, strcspn(f->event, ":"));
    p->default_type = profile_add_type(p, f->event, "samples", "count");
    int weight = profile_add_type(p, f->event, clock ? "cpu" : bare, f->unit);
    p->types[weight].count_type = p->default_type;
}

/* --- the file --- */

static int open_part(struct recorder *r, struct err *err)
{
    struct stat st;
    if (stat(r->opts.output, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(err, EXIT_ERROR, "cannot record to '%s': it is no plain file",
                       r->opts.output);
    r->part_path = mem_printf("%s.part", r->opts.output);
    int fd = open(r->part_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_set_errno(err, errno, "cannot write '%s'; choose a place with -o", r->part_path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || ftruncate(fd, 0) != 0) {
        int e = errno;
        close(fd);
        free(r->part_path);
        r->part_path = NULL;
        return e == EWOULDBLOCK ? err_set(err, EXIT_ERROR,
                                          "another kelvin is recording to '%s'; choose a place "
                                          "with -o",
                                          r->opts.output)
                                : err_set_errno(err, e, "cannot write '%s'", r->opts.output);
    }
    r->part = fdopen(fd, "w");
    return recording_writer_init(&r->writer, r->part, err);
}

static int flush(struct recorder *r, struct err *err)
{
    r->last_flush_ns = now_ns();
    meta_set_u64(&r->profile->meta, META_LOST, r->facts->lost);
    if (recording_append(&r->writer, r->profile, &r->mark, err) != 0)
        return -1;
    if (fflush(r->part) != 0)
        return err_set_errno(err, errno, "cannot write '%s'", r->part_path);
    return 0;
}

int recorder_publish(struct recorder *r, struct err *err)
{
    if (flush(r, err) != 0 || recording_end(&r->writer, r->profile, err) != 0)
        return -1;
    if (fflush(r->part) != 0 || fsync(fileno(r->part)) != 0 ||
        rename(r->part_path, r->opts.output) != 0)
        return err_set_errno(err, errno, "cannot write '%s'; what was there before is unchanged",
                             r->opts.output);
    free(r->part_path);
    r->part_path = NULL;
    return 0;
}

/* --- start --- */

static int watch(struct recorder *r, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};
    return fd < 0 ? 0 : epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

/* What was ignored stays so, as nohup(1) wants it: blocked, it would be seen again. */
static void add_unless_ignored(sigset_t *set, int sig)
{
    struct sigaction before;
    if (sigaction(sig, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaddset(set, sig);
}

static int open_fds(struct recorder *r, struct err *err)
{
    sigset_t set;
    sigemptyset(&set);
    add_unless_ignored(&set, SIGINT);
    add_unless_ignored(&set, SIGTERM);
    add_unless_ignored(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &r->mask);
    r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (r->epoll_fd < 0 || r->signal_fd < 0 || watch(r, r->signal_fd) != 0)
        return err_set_errno(err, errno, "cannot wait for events");
    r->opts.engine.epoll_fd = r->epoll_fd;
    return 0;
}

static int start_engine(struct recorder *r, struct err *err)
{
    struct engine_opts *o = &r->opts.engine;
    struct engine_sink to = {r->processes, take_sample, r};
    if (engine_pick(o, &r->engine, r->engine_note, sizeof r->engine_note, err) != 0)
        return -1;
    if (r->engine->open(o, &to, &r->run, err) != 0)
        return -1;
    r->facts = r->engine->facts(r->run);
    add_types(r);
    return 0;
}

/* The command waits while sampling is set up for it. */
static int start_command(struct recorder *r, struct err *err)
{
    char **argv = r->opts.command;
    const char *slash = strrchr(argv[0], '/');
    if (launch_fork(&r->launch, argv, &r->mask, err) != 0)
        return -1;
    urgent_begin();
    int pid = r->launch.pid;
    processes_comm(r->processes, pid, pid, slash ? slash + 1 : argv[0], true);
    if (r->engine->attach(r->run, pid, err) != 0)
        return -1;
    r->start_ns = now_ns();
    return launch_go(&r->launch, argv[0], err);
}

static int start_process(struct recorder *r, struct err *err)
{
    int pid = r->opts.pid;
    if (kill(pid, 0) != 0 && errno == ESRCH)
        return err_set(err, EXIT_ERROR, "no process %d", pid);
    r->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    watch(r, r->pid_fd);
    urgent_begin();
    int rc = r->engine->attach(r->run, pid, err);
    r->start_ns = now_ns();
    return rc;
}

int recorder_start(struct recorder *r, const struct recorder_opts *o, struct err *err)
{
    *r = (struct recorder){.opts = *o, .epoll_fd = -1, .signal_fd = -1, .pid_fd = -1};
    r->launch = (struct launch){-1, -1, -1};
    r->opts.engine.running = !o->command;
    r->opts.engine.command = o->command;
    r->profile = profile_new();
    r->processes = processes_new(r->profile);
    processes_set_live(r->processes);
    if (open_fds(r, err) != 0 || start_engine(r, err) != 0 || open_part(r, err) != 0)
        return -1;
    return o->command ? start_command(r, err) : start_process(r, err);
}

/* --- the loop --- */

static bool reap(struct recorder *r)
{
    if (!r->opts.command || r->exited)
        return r->exited;
    if (wait4(r->launch.pid, &r->status, WNOHANG, &r->usage) == r->launch.pid) {
        r->exited = true;
        r->launch.pid = -1;
    }
    return r->exited;
}

/* Ctrl-C reaches the command as well: it decides whether that is the end. */
static bool take_signals(struct recorder *r)
{
    struct signalfd_siginfo s;
    bool over = false;
    while (read(r->signal_fd, &s, sizeof s) == sizeof s) {
        if (s.ssi_signo == SIGCHLD)
            continue;
        if (!r->opts.command || ++r->interrupts >= INTERRUPTS_MAX)
            over = true;
        else if (s.ssi_signo != SIGINT)
            kill(r->launch.pid, (int)s.ssi_signo);
    }
    if (over)
        r->end = END_INTERRUPT;
    return over;
}

/* The time of a command is over: ask it to end, and record until it does. */
static bool take_duration(struct recorder *r)
{
    double seconds = (double)(now_ns() - r->start_ns) / SECOND_NS;
    if (r->opts.duration_s <= 0 || seconds < r->opts.duration_s)
        return false;
    r->end = END_DURATION;
    r->opts.duration_s = 0;
    if (r->opts.command)
        kill(r->launch.pid, SIGTERM);
    return !r->opts.command;
}

static int wait_ms(const struct recorder *r)
{
    double left_ms = r->engine->poll_ms;
    if (r->opts.duration_s > 0) {
        double end_ms = r->opts.duration_s * 1000 - (double)(now_ns() - r->start_ns) / 1e6;
        left_ms = end_ms < left_ms ? end_ms : left_ms;
    }
    return left_ms < 0 ? 0 : (int)left_ms + 1;
}

/* Wait for something to happen; true when that was the last. */
static bool wait_for_end(struct recorder *r)
{
    struct epoll_event events[16];
    int n = epoll_wait(r->epoll_fd, events, 16, wait_ms(r));
    for (int i = 0; i < n; i++)
        if (r->pid_fd >= 0 && events[i].data.fd == r->pid_fd)
            return true;
    bool interrupted = take_signals(r);
    return reap(r) || interrupted || take_duration(r);
}

static int beat(struct recorder *r, struct err *err)
{
    if (now_ns() - r->last_flush_ns < FLUSH_NS)
        return 0;
    if (flush(r, err) != 0)
        return -1;
    if (r->opts.status)
        r->opts.status(r);
    return 0;
}

/* The disk is full or gone: the command must not suffer for it. */
static int give_up(struct recorder *r)
{
    r->end = END_WRITE;
    r->engine->stop(r->run);
    urgent_end();
    r->end_ns = now_ns();
    if (r->opts.command && wait4(r->launch.pid, &r->status, 0, &r->usage) == r->launch.pid)
        r->exited = true;
    return -1;
}

int recorder_run(struct recorder *r, struct err *err)
{
    bool over = false;
    while (!over) {
        over = wait_for_end(r);
        if (r->engine->poll(r->run, err) != 0 || beat(r, err) != 0)
            return give_up(r);
    }
    r->end_ns = now_ns();
    r->engine->stop(r->run);
    urgent_end();
    return flush(r, err);
}

void recorder_done(struct recorder *r, bool keep_part)
{
    if (r->engine)
        r->engine->close(r->run);
    launch_drop(&r->launch);
    if (r->part) {
        recording_writer_done(&r->writer);
        fclose(r->part);
    }
    if (r->part_path && !keep_part)
        unlink(r->part_path);
    free(r->part_path);
    recording_mark_done(&r->mark);
    processes_free(r->processes);
    profile_free(r->profile);
    int fds[] = {r->epoll_fd, r->signal_fd, r->pid_fd};
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}
