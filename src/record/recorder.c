#include "record/recorder.h"
#include "base/clock.h"
#include "record/live.h"
#include "record/urgent.h"
#include "wire/scopes.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

/* With the time between two polls this makes the second that a kill may cost. */
#define FLUSH_NS 700000000u

/* Programs that begin wait for an answer; idle, this costs next to nothing. */
enum { HEAP_POLL_MS = 4 };

/* So many spans in memory are written before it is time to. */
enum { SPANS_MAX = 1 << 16 };

/* What a collector has not taken by then is given up. */
#define SEND_END_S 5.0

/* Where a command catches Ctrl-C and goes on, the third one ends the recording without it. */
enum { INTERRUPTS_MAX = 3 };

/* --- samples --- */

/* Columns of a row. */
enum { ROW_SAMPLES, ROW_AMOUNT };

static enum unwind_end recorder_take_sample(void *to, const struct engine_sample *s)
{
    struct recorder *r = to;
    struct recorder_event *e = &r->events[s->event < r->n_events ? s->event : 0];
    enum unwind_end end;
    struct err ignored;
    int64_t values[] = {[ROW_SAMPLES] = 1, [ROW_AMOUNT] = (int64_t)s->period};
    if (s->period > INT64_MAX) {
        e->refused++;
        return UNWIND_NO_SENSE;
    }
    struct row row = {
        .stack = processes_stack(r->processes, &s->at, &end),
        .thread = processes_thread(r->processes, s->at.pid, s->at.tid),
        .has_time = true,
        .time_ns = s->time_ns,
        .values = values,
    };
    if (profile_add_row(r->profile, e->stream, &row, &ignored) != 0) {
        e->refused++; /* after 292 years of CPU time */
        return end;
    }
    if (r->waits && r->facts->waits_bare)
        waits_near(r->waits, s->at.tid, row.stack);
    tally_add(&e->tally, row.stack, values[ROW_AMOUNT]);
    e->samples++;
    e->ends[end]++;
    r->kernel_samples += s->at.n_kernel_pcs > 0;
    return end;
}

/* Samples may turn out to stand for different amounts after a while. */
static void choose_value(struct recorder *r)
{
    int type = r->facts->uneven ? ROW_AMOUNT : ROW_SAMPLES;
    r->profile->default_value = (struct value_ref){r->events[0].stream, type};
}

static void recorder_add_stream(struct recorder *r, size_t i)
{
    struct profile *p = r->profile;
    const struct engine_facts *f = &r->facts[i];
    struct text name = event_bare_name(text_of(f->event));
    autofree char *bare = mem_strndup(name.at, name.n);
    int stream = profile_add_stream(p, f->event, f->obtained);
    profile_stream(p, stream)->rate_hz = f->rate_hz > 0 ? r->opts.engine.rate_hz : 0;
    profile_add_value(p, stream, VALUE_SAMPLES, UNIT_COUNT);
    profile_add_value(p, stream, f->dimension == DIM_TIME ? "cpu" : bare,
                      dimension_unit(f->dimension));
    r->events[i].stream = stream;
    if (i == 0)
        choose_value(r);
}

struct stream *recorder_tally(const struct recorder *r)
{
    return tally_stream(&r->events[0].tally, profile_stream(r->profile, r->events[0].stream));
}

/* Of the machine. */
static uint64_t idle_so_far(const struct recorder *r, size_t *ret_cpus)
{
    const struct engine_machine *m = r->opts.engine.machine;
    return cpulist_idle_now_ns(m->cpus.at, m->cpus.n, ret_cpus);
}

/* --- the file --- */

static int begin_file(struct recorder *r, const char *output, struct err *err)
{
    if (partfile_open(&r->part, output, err) != 0)
        return -1;
    r->writing = true;
    r->file_start_ns = r->last_flush_ns = clock_kernel_ns();
    return recording_writer_init(&r->writer, r->part.out, err);
}

static void end_file(struct recorder *r)
{
    if (r->writing)
        recording_writer_done(&r->writer);
    recording_mark_done(&r->mark);
    r->mark = (struct recording_mark){0};
    r->writing = false;
}

/* In the present file. In the end an engine may know that fewer were lost than it feared before. */
static uint64_t lost_in_file(const struct recorder *r, size_t i)
{
    const struct recorder_event *e = &r->events[i];
    uint64_t lost = r->facts[i].lost;
    return (lost > e->lost_before ? lost - e->lost_before : 0) + e->refused;
}

/* What the engine knows by now about a stream. */
static void describe_stream(struct recorder *r, size_t i)
{
    const struct recorder_event *e = &r->events[i];
    struct stream *s = profile_stream(r->profile, e->stream);
    s->lost_known = true;
    s->lost = lost_in_file(r, i);
    s->throttled = r->facts[i].throttled;
    s->guessed = e->ends[UNWIND_GUESSED];
    for (int k = 0; k < UNWIND_ENDS; k++)
        if (e->ends[k] && !unwind_end_is_bottom((enum unwind_end)k))
            profile_set_unfinished(r->profile, e->stream, unwind_end_name((enum unwind_end)k),
                                   e->ends[k]);
    s->unfinished_known = true;
}

static int recorder_flush(struct recorder *r, struct err *err)
{
    r->last_flush_ns = clock_kernel_ns();
    if (!r->writing)
        return err_set(err, EXIT_ERROR, "there is no file to write to");
    for (size_t i = 0; i < r->n_events; i++)
        describe_stream(r, i);
    choose_value(r);
    if (r->waits)
        waits_flush(r->waits);
    if (r->scopes)
        scopes_describe(r->scopes);
    if (recording_append(&r->writer, r->profile, &r->mark, err) != 0)
        return -1;
    if (fflush(r->part.out) != 0)
        return err_set_errno(err, errno, "cannot write '%s'", r->part.path);
    profile_forget_rows(r->profile);
    r->saved_samples = r->events[0].samples;
    return 0;
}

int recorder_publish(struct recorder *r, char **ret_old, struct err *err)
{
    if (recorder_flush(r, err) != 0 || recording_end(&r->writer, r->profile, err) != 0)
        return -1;
    return partfile_publish(&r->part, ret_old, err);
}

/* --- the next file --- */

static void start_over(struct recorder *r, size_t i)
{
    struct recorder_event *e = &r->events[i];
    tally_done(&e->tally);
    *e = (struct recorder_event){.stream = e->stream,
                                 .lost_before = r->facts[i].lost,
                                 .samples_before = e->samples_before + e->samples};
}

/* Whether there is more than the engine that knows ids of the profile: what programs say of
 * themselves, and waits that last. */
static bool recorder_ids_are_held(const struct recorder *r)
{
    return r->opts.command || r->send || r->waits || (r->scopes && scopes_are_used(r->scopes));
}

/*
 * Where nothing knows ids of the profile, the next file has one of its own: what was called long
 * ago is then neither in memory nor in every file.
 */
static void begin_profile(struct recorder *r)
{
    struct profile *old = r->profile;
    r->profile = profile_new();
    r->profile->clock = (struct clock_pair){clock_kernel_ns(), clock_wall_ns()};
    processes_move(r->processes, r->profile);
    for (size_t i = 0; i < r->n_events; i++)
        recorder_add_stream(r, i);
    if (r->scopes)
        scopes_move(r->scopes, r->profile);
    profile_free(old);
}

static void start_all_over(struct recorder *r)
{
    size_t ignored;
    r->earlier_samples += r->events[0].samples;
    r->earlier_lost += lost_in_file(r, 0);
    for (size_t i = 0; i < r->n_events; i++)
        start_over(r, i);
    bool held = recorder_ids_are_held(r);
    if (!held)
        begin_profile(r);
    for (size_t i = 0; held && i < r->n_events; i++)
        stream_clear(profile_stream(r->profile, r->events[i].stream));
    if (r->scopes)
        scopes_start_over(r->scopes);
    if (r->waits)
        waits_start_over(r->waits);
    r->kernel_samples = r->saved_samples = 0;
    r->start_ns = r->end_ns;
    if (r->opts.engine.machine)
        r->idle_ns = idle_so_far(r, &ignored);
}

int recorder_skip(struct recorder *r, const char *output, struct err *err)
{
    bool any = r->saved_samples > 0;
    r->end_ns = clock_kernel_ns();
    end_file(r);
    partfile_close(&r->part, any);
    start_all_over(r);
    return begin_file(r, output, err);
}

int recorder_rotate(struct recorder *r, const char *output, int (*finish)(struct recorder *r),
                    struct err *err)
{
    r->end_ns = clock_kernel_ns();
    if (recorder_flush(r, err) != 0)
        return -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return err_set_errno(err, errno, "cannot begin a new file");
    if (pid == 0)
        _exit(finish(r));
    end_file(r);
    partfile_close(&r->part, true);
    start_all_over(r);
    return begin_file(r, output, err) == 0 ? pid : -1;
}

/* --- start --- */

static int recorder_watch(struct recorder *r, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};
    return fd < 0 ? 0 : epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

static int open_fds(struct recorder *r, struct err *err)
{
    r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (r->epoll_fd < 0 || signals_open(&r->signals, true) != 0 ||
        recorder_watch(r, r->signals.fd) != 0)
        return err_set_errno(err, errno, "cannot wait for events");
    r->opts.engine.epoll_fd = r->epoll_fd;
    return 0;
}

static int start_engine(struct recorder *r, struct err *err)
{
    struct engine_opts *o = &r->opts.engine;
    struct engine_sink to = {r->processes, recorder_take_sample, r, NULL};
    o->waits = r->opts.waits;
    if (engine_pick(o, &r->engine, r->engine_note, sizeof r->engine_note, err) != 0)
        return -1;
    if (o->waits)
        to.waits = r->waits = waits_new(r->profile);
    if (r->engine->open(o, &to, &r->run, err) != 0)
        return -1;
    r->facts = r->engine->facts(r->run);
    r->n_events = o->n_events ? o->n_events : 1;
    for (size_t i = 0; i < r->n_events; i++)
        recorder_add_stream(r, i);
    return r->waits ? waits_start(r->waits, err) : 0;
}

/* Before the command is: a port that is taken must not cost a run. */
static int start_listening(struct recorder *r, struct err *err)
{
    struct listen_opts o = {
        .address = r->opts.listen, .token = r->opts.listen_token, .pages = live_pages, .to = r};
    if (!o.address)
        return 0;
    if (listen_open(&o, &r->listen, err) != 0)
        return -1;
    if (recorder_watch(r, listen_fd(r->listen)) != 0)
        return err_set_errno(err, errno, "cannot wait for requests");
    if (r->opts.listening)
        r->opts.listening(r->listen);
    return 0;
}

static struct attrs_id labels_of_place(void *recorder, const struct scopes_place *place)
{
    struct recorder *r = recorder;
    return r->scopes ? scopes_labels(r->scopes, place) : (struct attrs_id){0};
}

static int start_heap(struct recorder *r, struct err *err)
{
    struct heap_opts o = {.command = r->opts.command,
                          .pid = r->opts.pid,
                          .stack_bytes = (size_t)r->opts.engine.stack_bytes,
                          .profile = r->profile,
                          .processes = r->processes,
                          .sample_bytes = r->opts.heap_sample_bytes,
                          .maps = r->opts.heap_maps,
                          .locks = r->opts.locks,
                          .scopes_of = labels_of_place,
                          .arg = r};
    return r->opts.heap ? heap_open(&o, &r->heap, err) : 0;
}

static int start_locks(struct recorder *r, struct err *err)
{
    struct locks_opts o = {.command = r->opts.command,
                           .profile = r->profile,
                           .processes = r->processes,
                           .name = r->opts.name_lock,
                           .name_arg = r->opts.name_lock_arg};
    return r->opts.locks ? locks_open(&o, &r->locks, err) : 0;
}

/* Nobody asked for them: where there can be none (a limit on the size of files), the rest is
 * recorded. Programs of a whole machine run already and cannot be told about the rings: to look for
 * them fifty times a second was half of all wakeups. */
static void start_scopes(struct recorder *r)
{
    if (r->opts.engine.machine)
        return;
    struct scopes_opts o = {.profile = r->profile, .processes = r->processes};
    o.live = r->opts.listen ? &r->live : NULL;
    o.send = r->send;
    o.functions = r->opts.functions;
    o.least_ns = r->opts.functions_least_ns;
    o.pid = r->opts.command ? 0 : r->opts.pid;
    o.self = getenv(SCOPES_SELF_ENV);
    o.heap = r->opts.heap;
    o.blocks = r->opts.heap && !r->opts.heap_sample_bytes;
    struct err err;
    if (scopes_open(&o, &r->scopes, &err) != 0)
        snprintf(r->scopes_note, sizeof r->scopes_note, "no scopes of kelvin.h: %s", err.text);
    if (r->scopes)
        recorder_watch(r, scopes_self_fd(r->scopes));
}

/*
 * Ctrl-C may have come before there was a process to get it. The new process blocks signals until
 * it executes the program, so one that reached both of us counts once.
 */
static void pass_early_signals(struct recorder *r)
{
    for (int signal; (signal = signals_take(&r->signals));)
        if (signal != SIGCHLD)
            kill(r->launch.pid, signal);
}

/* The command waits while sampling is set up for it. */
static int start_command(struct recorder *r, struct err *err)
{
    char **argv = r->opts.command;
    const char *slash = strrchr(argv[0], '/');
    if (launch_fork(&r->launch, argv, &r->signals.before, err) != 0)
        return -1;
    urgent_begin();
    if (r->scopes) /* the last to be preloaded is the first to be taken back */
        scopes_attach(r->scopes);
    if (r->locks)
        locks_attach(r->locks);
    if (r->heap && heap_attach(r->heap, err) != 0)
        return -1;
    int pid = r->launch.pid;
    processes_comm(r->processes, pid, pid, slash ? slash + 1 : argv[0], true);
    if (r->heap && r->engine == &engine_perf) /* it alone reports every one */
        heap_watch_execs(r->heap);
    if (r->engine->attach(r->run, pid, err) != 0)
        return -1;
    runqueue_begin_at(&r->queue, pid);
    cpucount_begin(&r->cpu, pid);
    r->start_ns = clock_kernel_ns();
    pass_early_signals(r);
    return launch_go(&r->launch, argv[0], err);
}

static int start_process(struct recorder *r, struct err *err)
{
    int pid = r->opts.pid;
    if (kill(pid, 0) != 0 && errno == ESRCH)
        return err_set(err, EXIT_ERROR, "no process %d", pid);
    r->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    recorder_watch(r, r->pid_fd);
    urgent_begin();
    int rc = r->engine->attach(r->run, pid, err);
    r->start_ns = clock_kernel_ns();
    runqueue_begin_with(&r->queue, pid);
    cpucount_begin(&r->cpu, pid);
    if (rc == 0 && r->scopes)
        scopes_attach(r->scopes);
    if (rc == 0 && r->heap)
        rc = heap_attach(r->heap, err);
    return rc;
}

static int start_machine(struct recorder *r, struct err *err)
{
    size_t ignored;
    urgent_begin();
    int rc = r->engine->attach(r->run, -1, err);
    r->start_ns = clock_kernel_ns();
    r->idle_ns = idle_so_far(r, &ignored);
    return rc;
}

uint64_t recorder_idle_ns(const struct recorder *r, size_t *ret_cpus)
{
    uint64_t now_ns = idle_so_far(r, ret_cpus);
    return now_ns > r->idle_ns ? now_ns - r->idle_ns : 0;
}

int recorder_start(struct recorder *r, const struct recorder_opts *o, struct err *err)
{
    *r = (struct recorder){.opts = *o, .epoll_fd = -1, .signals.fd = -1, .pid_fd = -1};
    r->launch = SUBPROCESS_NONE;
    r->opts.engine.running = !o->command;
    r->opts.engine.command = o->command;
    r->profile = profile_new();
    r->profile->clock = (struct clock_pair){clock_kernel_ns(), clock_wall_ns()};
    r->processes = processes_new(r->profile);
    processes_set_live(r->processes);
    if (o->engine.machine)
        processes_set_labels(r->processes, &o->engine.machine->wish);
    cpulimits_start(&r->limits, o->command || o->engine.machine ? getpid() : o->pid);
    if (open_fds(r, err) != 0 || start_engine(r, err) != 0 || start_heap(r, err) != 0 ||
        start_locks(r, err) != 0 || start_listening(r, err) != 0 ||
        (o->otlp && spansend_open(o->otlp, r->profile, &r->send, err) != 0))
        return -1;
    start_scopes(r);
    if (begin_file(r, o->output, err) != 0)
        return -1;
    return o->engine.machine ? start_machine(r, err)
           : o->command      ? start_command(r, err)
                             : start_process(r, err);
}

/* --- the loop --- */

static bool take_end(struct recorder *r, bool block)
{
    r->exited = subprocess_reap(&r->launch, block);
    r->status = r->launch.status;
    r->usage = r->launch.usage;
    return r->exited;
}

/*
 * Its last figures are there until it is reaped. To ask for them each time would cost a tenth of a
 * recorder that takes records of a busy heap, as that comes thousands of times a second.
 *
 * Reaping a process drops its files below /proc. While one of its last threads is at that too, the
 * kernel tries again and again without sleep, and a recorder that goes first keeps that thread from
 * its CPU: until the kernel's limit on real-time work, 0.95 s by which the run seemed longer.
 */
static bool reap(struct recorder *r)
{
    if (!r->opts.command || r->exited)
        return r->exited;
    if (!subprocess_has_ended(&r->launch))
        return false;
    runqueue_look_at(&r->queue, r->launch.pid);
    urgent_end();
    return take_end(r, false);
}

/* Ctrl-C reaches the command as well: it decides whether that is the end. */
static bool take_signals(struct recorder *r)
{
    bool over = false;
    for (int signal; (signal = signals_take(&r->signals));) {
        if (signal == SIGCHLD)
            continue;
        if (!r->opts.command || ++r->interrupts >= INTERRUPTS_MAX)
            over = true;
        else if (signal != SIGINT)
            kill(r->launch.pid, signal);
    }
    if (over)
        r->end = END_INTERRUPT;
    return over;
}

/* The time of a command is over: ask it to end, and record until it does. */
static bool take_duration(struct recorder *r)
{
    double seconds = (double)(clock_kernel_ns() - r->first_start_ns) / CLOCK_SECOND_NS;
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
    bool preloaded = r->heap || r->locks, busy = r->heap_busy || r->locks_busy;
    double left_ms = preloaded ? (busy ? 0 : HEAP_POLL_MS) : r->engine->poll_ms;
    if (r->scopes)
        left_ms = fmin(left_ms, r->scopes_busy ? 0 : scopes_poll_ms(r->scopes));
    if (r->opts.duration_s > 0) {
        double end_ms =
            r->opts.duration_s * 1000 - (double)(clock_kernel_ns() - r->first_start_ns) / 1e6;
        left_ms = end_ms < left_ms ? end_ms : left_ms;
    }
    return left_ms <= 0 ? 0 : (int)ceil(left_ms);
}

/* It ends, or it has closed files that it does not know: then its end is seen otherwise. */
static bool program_ends(struct recorder *r)
{
    if (scopes_self_ends(r->scopes))
        return true;
    epoll_ctl(r->epoll_fd, EPOLL_CTL_DEL, scopes_self_fd(r->scopes), NULL);
    return false;
}

/* Wait for something to happen; true when that was the last. */
static bool wait_for_end(struct recorder *r)
{
    struct epoll_event events[16];
    int n = epoll_wait(r->epoll_fd, events, 16, wait_ms(r));
    int self_fd = r->scopes ? scopes_self_fd(r->scopes) : -1;
    for (int i = 0; i < n; i++) {
        int fd = events[i].data.fd;
        if (fd >= 0 && (fd == r->pid_fd || (fd == self_fd && program_ends(r))))
            return true;
    }
    bool interrupted = take_signals(r);
    return reap(r) || interrupted || take_duration(r);
}

static int beat(struct recorder *r, struct err *err)
{
    bool early = r->scopes && scopes_waiting(r->scopes) > SPANS_MAX;
    if (!early && clock_kernel_ns() - r->last_flush_ns < FLUSH_NS)
        return 0;
    if (recorder_flush(r, err) != 0)
        return r->opts.rescue ? r->opts.rescue(r, err) : -1;
    r->beats++;
    if (r->send)
        spansend_flush(r->send);
    if (r->opts.status)
        r->opts.status(r);
    bool full = r->opts.rotate_s > 0 &&
                (double)(clock_kernel_ns() - r->file_start_ns) >= r->opts.rotate_s * 1e9;
    if (!full || r->opts.rotate(r, err) == 0)
        return 0;
    return r->opts.rescue ? r->opts.rescue(r, err) : -1;
}

static void stop_scopes(struct recorder *r)
{
    if (!r->scopes)
        return;
    scopes_stop(r->scopes);
    if (r->send)
        spansend_stop(r->send, SEND_END_S);
    const char *why = scopes_why_none(r->scopes);
    if (why)
        snprintf(r->scopes_note, sizeof r->scopes_note, "no scopes of kelvin.h: %s", why);
}

/* Nobody is answered any more; who asks must not wait while names are looked up. */
static void stop_listening(struct recorder *r)
{
    listen_close(r->listen);
    r->listen = NULL;
}

/* The disk is full or gone: the command must not suffer for it. */
static int recorder_give_up(struct recorder *r)
{
    stop_listening(r);
    r->end = END_WRITE;
    r->engine->stop(r->run);
    urgent_end();
    r->end_ns = clock_kernel_ns();
    if (r->heap)
        heap_stop(r->heap, r->end_ns);
    if (r->locks)
        locks_stop(r->locks);
    stop_scopes(r);
    if (r->opts.command && !r->exited)
        take_end(r, true);
    return -1;
}

/* What the kernel counted is gone with the process. */
static void look_at_processes(struct recorder *r, bool now)
{
    if (r->opts.engine.machine)
        return;
    runqueue_look(&r->queue, r->profile, now);
    cpucount_look(&r->cpu, r->profile, now);
}

int recorder_run(struct recorder *r, struct err *err)
{
    bool over = false;
    r->first_start_ns = r->start_ns;
    while (!over) {
        over = wait_for_end(r);
        /* The engine first: it hears of processes whose threads the heap asks for. */
        if (r->engine->poll(r->run, err) != 0)
            return recorder_give_up(r);
        look_at_processes(r, over);
        if (r->heap)
            r->heap_busy = heap_poll(r->heap);
        if (r->locks)
            r->locks_busy = locks_poll(r->locks);
        if (r->scopes)
            r->scopes_busy = scopes_poll(r->scopes);
        if (r->listen && r->scopes)
            threadstates_look(&r->states, r->scopes, clock_kernel_ns());
        if (r->listen)
            listen_poll(r->listen);
        if (beat(r, err) != 0)
            return recorder_give_up(r);
    }
    r->end_ns = clock_kernel_ns();
    stop_listening(r);
    r->engine->stop(r->run);
    urgent_end();
    if (r->heap)
        heap_stop(r->heap, r->end_ns);
    if (r->locks)
        locks_stop(r->locks);
    stop_scopes(r);
    return recorder_flush(r, err);
}

void recorder_done(struct recorder *r, bool keep_part)
{
    stop_listening(r);
    locks_close(r->locks);
    heap_close(r->heap);
    waits_free(r->waits);
    scopes_close(r->scopes);
    spansend_close(r->send);
    scopelive_done(&r->live);
    threadstates_done(&r->states);
    runqueue_done(&r->queue);
    cpucount_done(&r->cpu);
    if (r->engine)
        r->engine->close(r->run);
    subprocess_done(&r->launch);
    signals_close(&r->signals);
    end_file(r);
    partfile_close(&r->part, keep_part);
    for (size_t i = 0; i < r->n_events; i++)
        tally_done(&r->events[i].tally);
    processes_free(r->processes);
    profile_free(r->profile);
    int fds[] = {r->epoll_fd, r->pid_fd};
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}
