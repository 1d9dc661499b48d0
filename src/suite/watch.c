#include "suite/watch.h"

#include "base/clock.h"
#include "suite/record_inner.h"
#include "symbol/readable.h"
#include "symbol/symbolize.h"

#include <dirent.h>
#include <errno.h>
#include <sys/epoll.h>

/* More stacks than this, and the profile begins anew: what ran an hour ago is not shown. */
enum { STACKS_MAX = 1 << 19 };

struct watch_sample {
    uint64_t time_ns;
    struct stack_id stack;
    struct thread_id thread;
    int64_t period;
};

struct watch {
    struct watch_opts opts;
    struct engine_machine machine;
    kallsyms_ranges ticks;
    const struct engine *engine;
    void *run;
    const struct engine_facts *facts;
    struct profile *profile;
    struct processes *processes;
    int epoll_fd;
    VEC(struct watch_sample) samples; /* from first on, oldest first */
    size_t first;
    uint64_t start_ns;
    VEC(uint64_t) idle_at, idle_ns; /* when it was asked for, and what was said */
    size_t n_cpus;
    struct threadtimes times;
};

static enum unwind_end watch_keep(void *to, const struct engine_sample *s)
{
    struct watch *w = to;
    enum unwind_end end;
    struct watch_sample new = {.time_ns = s->time_ns,
                               .stack = processes_stack(w->processes, &s->at, &end),
                               .thread = processes_thread(w->processes, s->at.pid, s->at.tid),
                               .period = s->period <= INT64_MAX ? (int64_t)s->period : 0};
    *vec_push(&w->samples) = new;
    return end;
}

static void add_stream(struct watch *w)
{
    struct profile *p = w->profile;
    p->clock = (struct clock_pair){clock_kernel_ns(), clock_wall_ns()};
    int s = profile_add_stream(p, w->facts->event, w->facts->obtained);
    profile_stream(p, s)->rate_hz = w->opts.rate_hz;
    int count = profile_add_value(p, s, VALUE_SAMPLES, UNIT_COUNT);
    int amount = profile_add_value(p, s, w->facts->dimension == DIM_TIME ? "cpu" : "events",
                                   dimension_unit(w->facts->dimension));
    p->default_value = (struct value_ref){s, w->facts->uneven ? amount : count};
    if (!w->opts.pid)
        meta_set_str(&p->meta, META_MACHINE, "yes");
}

/* --- idle time --- */

static void ask_idle(struct watch *w, uint64_t now_ns)
{
    *vec_push(&w->idle_at) = now_ns;
    *vec_push(&w->idle_ns) = cpulist_idle_now_ns(w->machine.cpus.at, w->machine.cpus.n, &w->n_cpus);
}

/* Threads that only wait have no samples. Each is read once, to know how it goes on. */
static void find_threads(struct watch *w)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/task", w->opts.pid);
    DIR *tasks = w->opts.pid ? opendir(path) : NULL;
    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        int tid = atoi(e->d_name);
        double ignored[THREAD_TIMES];
        if (tid > 0)
            processes_thread(w->processes, w->opts.pid, tid);
        if (tid > 0 && threadtimes_is_new(&w->times, tid))
            threadtimes_ask(&w->times, w->opts.pid, tid, UINT64_MAX, ignored);
    }
    if (tasks)
        closedir(tasks);
}

/* --- opening --- */

static int open_engine(struct watch *w, struct err *err)
{
    struct engine_opts o = {.rate_hz = w->opts.rate_hz,
                            .stack_bytes = RECORD_STACK_BYTES,
                            .running = true,
                            .epoll_fd = w->epoll_fd,
                            .engine = "perf",
                            .machine = w->opts.pid ? NULL : &w->machine};
    struct engine_sink to = {w->processes, watch_keep, w, NULL};
    char note[240];
    if (engine_pick(&o, &w->engine, note, sizeof note, err) != 0 ||
        w->engine->open(&o, &to, &w->run, err) != 0)
        return -1;
    w->facts = w->engine->facts(w->run);
    add_stream(w);
    return w->engine->attach(w->run, w->opts.pid, err);
}

static int watch_start(struct watch *w, struct err *err)
{
    struct record_opts like = {
        .cpus = w->opts.cpus, .cgroup = w->opts.cgroup, .user = w->opts.user};
    if (!w->opts.pid && record_machine_init(&w->machine, &like, &w->ticks, err) != 0)
        return -1;
    w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (w->epoll_fd < 0)
        return err_set_errno(err, errno, "cannot wait for samples");
    w->profile = profile_new();
    w->processes = processes_new(w->profile);
    processes_set_live(w->processes);
    if (!w->opts.pid)
        processes_set_labels(w->processes, &w->machine.wish);
    w->start_ns = clock_kernel_ns();
    if (!w->opts.pid)
        ask_idle(w, w->start_ns);
    if (open_engine(w, err) != 0)
        return -1;
    find_threads(w);
    return 0;
}

int watch_open(struct watch **ret, const struct watch_opts *o, struct err *err)
{
    struct watch *w = mem_new(struct watch);
    w->opts = *o;
    w->epoll_fd = -1;
    if (watch_start(w, err) != 0) {
        watch_close(w);
        return -1;
    }
    *ret = w;
    return 0;
}

void watch_close(struct watch *w)
{
    if (!w)
        return;
    if (w->run)
        w->engine->close(w->run);
    processes_free(w->processes);
    profile_free(w->profile);
    if (w->epoll_fd >= 0)
        close(w->epoll_fd);
    vec_done(&w->samples);
    vec_done(&w->idle_at);
    vec_done(&w->idle_ns);
    vec_done(&w->machine.cpus);
    vec_done(&w->ticks);
    threadtimes_done(&w->times);
    free(w);
}

int watch_fd(const struct watch *w)
{
    return w->epoll_fd;
}

int watch_take(struct watch *w, struct err *err)
{
    struct epoll_event ignored[8];
    epoll_wait(w->epoll_fd, ignored, 8, 0);
    return w->engine->poll(w->run, err);
}

/* --- the window --- */

static void begin_anew(struct watch *w)
{
    struct profile *old = w->profile;
    w->profile = profile_new();
    processes_move(w->processes, w->profile);
    add_stream(w);
    profile_free(old);
    w->samples.n = w->first = 0;
    w->start_ns = clock_kernel_ns();
}

static void drop_old(struct watch *w, uint64_t from_ns)
{
    while (w->first < w->samples.n && w->samples.at[w->first].time_ns < from_ns)
        w->first++;
    if (!w->first || w->first < w->samples.n / 2)
        return;
    w->samples.n -= w->first;
    memmove(w->samples.at, w->samples.at + w->first, w->samples.n * sizeof *w->samples.at);
    w->first = 0;
}

static double watch_put_rows(struct watch *w)
{
    struct stream *s = profile_stream(w->profile, 0);
    struct err ignored;
    double cpu_ns = 0;
    s->rows.n = s->rows.forgotten = 0;
    for (int i = 0; i < s->n_types; i++)
        s->types[i].total = 0;
    for (size_t i = w->first; i < w->samples.n; i++) {
        const struct watch_sample *from = &w->samples.at[i];
        int64_t values[] = {1, from->period};
        struct row row = {.stack = from->stack,
                          .thread = from->thread,
                          .has_time = true,
                          .time_ns = from->time_ns,
                          .values = values};
        profile_add_row(w->profile, 0, &row, &ignored);
        cpu_ns += (double)from->period;
    }
    return cpu_ns;
}

/* Of what was said before FROM_NS only the last is needed. */
static void forget_idle(struct watch *w, uint64_t from_ns)
{
    size_t n = 0;
    while (n + 1 < w->idle_at.n && w->idle_at.at[n + 1] <= from_ns)
        n++;
    w->idle_at.n -= n;
    w->idle_ns.n -= n;
    memmove(w->idle_at.at, w->idle_at.at + n, w->idle_at.n * sizeof *w->idle_at.at);
    memmove(w->idle_ns.at, w->idle_ns.at + n, w->idle_ns.n * sizeof *w->idle_ns.at);
}

/* Since the first answer that is kept: about as long as the window. The kernel counts in ticks. */
static bool idle_share(struct watch *w, uint64_t now_ns, uint64_t from_ns, double *ret)
{
    enum { LEAST_NS = 500 * 1000 * 1000 };
    ask_idle(w, now_ns);
    forget_idle(w, from_ns);
    double span_ns = (double)(now_ns - w->idle_at.at[0]);
    if (span_ns < LEAST_NS || !w->n_cpus)
        return false;
    double was_ns = (double)(w->idle_ns.at[w->idle_ns.n - 1] - w->idle_ns.at[0]);
    double share = was_ns / (span_ns * (double)w->n_cpus);
    *ret = share < 1 ? share : 1;
    return true;
}

bool watch_times(struct watch *w, struct thread_id thread, double ret[THREAD_TIMES])
{
    const struct thread *t = &w->profile->threads.at[thread.i];
    int32_t pid = profile_pid(w->profile, t);
    return pid > 0 && t->tid > 0 &&
           threadtimes_ask(&w->times, pid, t->tid, (uint64_t)(w->opts.window_s * 1e9), ret);
}

void watch_select(struct watch *w, struct watch_state *ret)
{
    uint64_t window_ns = (uint64_t)(w->opts.window_s * 1e9); /* may reach back before the boot */
    if (w->profile->stacks.nodes.n > STACKS_MAX)
        begin_anew(w);
    find_threads(w);
    uint64_t now_ns = clock_kernel_ns();
    uint64_t from_ns = now_ns - w->start_ns > window_ns ? now_ns - window_ns : w->start_ns;
    drop_old(w, from_ns);
    double cpu_ns = watch_put_rows(w), seconds = (double)(now_ns - from_ns) / 1e9;
    struct symbolize_opts names = {.locate = processes_locate,
                                   .locate_arg = w->processes,
                                   .owner = processes_owner,
                                   .no_inlines = true,
                                   .no_debuginfod = true};
    symbolize(w->profile, &names);
    readable_rename(w->profile);
    *ret = (struct watch_state){
        .selection = selection_all(w->profile, w->profile->default_value),
        .seconds = seconds,
        .cpus = seconds > 0 && w->facts->dimension == DIM_TIME ? cpu_ns / 1e9 / seconds : 0,
        .lost = w->facts->lost,
        .kernel_hidden = w->facts->kernel_hidden,
    };
    if (!w->opts.pid)
        ret->idle_known = idle_share(w, now_ns, from_ns, &ret->idle);
    ret->n_cpus = w->n_cpus;
}
