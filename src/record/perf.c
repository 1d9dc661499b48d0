/*
 * perf.c - the engine `perf`: samples by perf_event_open(2). What comes out of the rings is taken
 * in perf_records.c.
 *
 * A sample carries the kernel's call chain, the user's registers and a copy of the stack, which is
 * unwound at once from the ring. The rings of all CPUs are merged by time, so that a mapping is
 * known before the samples in it: a record is taken once all rings were looked at later than it.
 */
#include "base/clock.h"
#include "model/meta.h"
#include "record/perf_inner.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

/* A record may be younger in its time than in the ring, by as long as an interrupt takes. */
enum { LATE_NS = 2000000 };

/* Less of a stack than this is worth a word: deep recursion may not fit. */
enum { STACK_ENOUGH = 32000 };

/* What is copied of a stack where that will do: most programs never need more. */
enum { PART_BYTES = 16384 };

/*
 * The same at each context switch, of which there may be very many. Nearly all programs wait near
 * the root of their stack: 4 KiB will do, and cost a fifth less than 16. Where too many stacks are
 * cut, the most is copied from then on (perf_records.c): ImageMagick's have over 16 KiB.
 */
enum { SWITCH_STACK_BYTES = 65528, SWITCH_STACK_FIRST = 4096 };

/* Room in the rings is for so many switches in a second on a CPU. */
enum { SWITCHES_HZ = 8000 };

static struct perfattr_opts attr_opts(const struct engine_opts *o, size_t event, double rate_hz)
{
    return (struct perfattr_opts){o->n_events ? o->events[event] : NULL, rate_hz, o->user_only};
}

static size_t count_events(const struct engine_opts *o)
{
    return o->n_events ? o->n_events : 1;
}

static int perf_probe(const struct engine_opts *o, struct err *err)
{
    struct perfattr a;
    bool hidden;
    long limit = perfattr_sysctl("perf_event_max_sample_rate");
    double rate_hz = limit > 0 && o->rate_hz > (double)limit ? (double)limit : o->rate_hz;
    if (o->n_events > ENGINE_EVENTS_MAX)
        return err_set(err, EXIT_ERROR, "%zu events are too many: at most %d", o->n_events,
                       ENGINE_EVENTS_MAX);
    for (size_t i = 0; i < count_events(o); i++) {
        struct perfattr_opts want = attr_opts(o, i, rate_hz);
        if (perfattr_probe(&a, &want, &hidden, err) != 0)
            return -1;
    }
    return o->machine ? perfevents_probe_machine(&a, err) : 0;
}

__attribute__((format(printf, 2, 3))) static void add_note(struct perf_run *r, const char *fmt, ...)
{
    char *note = r->facts[0].note;
    size_t n = strlen(note), room = sizeof r->facts[0].note;
    va_list ap;
    if (n)
        n += (size_t)snprintf(note + n, room - n, "; ");
    va_start(ap, fmt);
    if (n < room)
        vsnprintf(note + n, room - n, fmt, ap);
    va_end(ap);
}

/*
 * The kernel refuses rates above its limit: take the limit and say so. Close to it, advice to raise
 * the rate gains nothing.
 */
static double limited_rate(struct perf_run *r)
{
    long limit = perfattr_sysctl("perf_event_max_sample_rate");
    r->rate_is_most = limit > 0 && r->opts.rate_hz >= 0.8 * (double)limit;
    if (limit <= 0 || r->opts.rate_hz <= (double)limit)
        return r->opts.rate_hz;
    add_note(r, "kernel.perf_event_max_sample_rate limits the rate to %ld Hz", limit);
    return (double)limit;
}

static int open_event(struct perf_run *r, size_t i, double rate_hz, struct err *err)
{
    struct perfattr_opts want = attr_opts(&r->opts, i, rate_hz);
    struct perfattr *a = &r->attrs[i];
    struct engine_facts *f = &r->facts[i];
    if (perfattr_probe(a, &want, &f->kernel_hidden, err) != 0)
        return -1;
    f->event = a->event;
    f->obtained = a->obtained;
    f->dimension = a->clock ? DIM_TIME : DIM_COUNT;
    f->uneven = a->attr.freq; /* then the kernel changes the period as it goes */
    f->rate_hz = a->attr.freq || a->clock ? rate_hz : 0;
    f->rate_is_most = r->rate_is_most;
    r->clocks = r->clocks || a->clock;
    return 0;
}

/* Who wakes threads, where that can be seen; waits are of use without. */
static void open_wakers(struct perf_run *r)
{
    struct engine_facts *f = &r->facts[0];
    struct err err = {0};
    if (!r->switches.stacks)
        snprintf(f->no_wakers, sizeof f->no_wakers, "the kernel is hidden");
    else if (!perfswitch_open_wakers(&r->switches, &r->attrs[r->n_events + 1],
                                     r->opts.machine != NULL, &err))
        snprintf(f->no_wakers, sizeof f->no_wakers, "%s", err.text);
}

/*
 * Each context switch with the stack at that moment. Such an event has samples in the kernel only:
 * without the right to see that, there are the records of switches, which have no stacks.
 */
static int open_switches(struct perf_run *r, struct err *err)
{
    struct perfattr *a = &r->attrs[r->n_events];
    struct perfattr_opts want = {"context-switches", r->opts.rate_hz, r->opts.user_only};
    bool hidden;
    if (perfattr_probe(a, &want, &hidden, err) != 0)
        return -1;
    a->stack_most = SWITCH_STACK_BYTES;
    a->stack_first = SWITCH_STACK_FIRST;
    r->switches.stacks = !a->attr.exclude_kernel;
    r->facts[0].waits_bare = !r->switches.stacks;
    open_wakers(r);
    return 0;
}

static bool is_same_event(const struct perfattr *a, const struct perfattr *b)
{
    return a->attr.type == PERF_TYPE_SOFTWARE && b->attr.type == a->attr.type && !a->clock &&
           b->attr.config == a->attr.config;
}

/*
 * Of one software event there is one sample for all who ask (perfevents_event()): which of two of
 * ours it is for cannot be known.
 */
static int refuse_same_events(const struct perf_run *r, struct err *err)
{
    for (size_t i = 0; i < r->n_events; i++) {
        if (r->switches.stacks && is_same_event(&r->attrs[i], &r->attrs[r->n_events]))
            return err_set(err, EXIT_ERROR,
                           "waits are recorded from context switches: leave out the event '%s', "
                           "which would record these again",
                           r->attrs[i].event);
        for (size_t k = i + 1; k < r->n_events; k++)
            if (is_same_event(&r->attrs[i], &r->attrs[k]))
                return err_set(err, EXIT_ERROR,
                               "'%s' and '%s' are one event of the kernel: leave one out",
                               r->attrs[i].event, r->attrs[k].event);
    }
    return 0;
}

static int perf_open(const struct engine_opts *o, const struct engine_sink *to, void **ret,
                     struct err *err)
{
    struct perf_run *r = mem_new(struct perf_run);
    r->opts = *o;
    r->to = *to;
    r->timer_fd = r->thin.timer_fd = -1;
    r->births = PERFBIRTHS_NONE;
    r->random = clock_kernel_ns();
    r->n_events = count_events(o);
    r->switches = (struct perfswitch){.waits = to->waits, .processes = to->processes};
    stackfit_init(&r->fit);
    double rate_hz = limited_rate(r);
    for (size_t i = 0; i < r->n_events; i++) {
        if (open_event(r, i, rate_hz, err) != 0) {
            free(r);
            return -1;
        }
    }
    if ((o->waits && open_switches(r, err) != 0) || refuse_same_events(r, err) != 0) {
        free(r);
        return -1;
    }
    *ret = r;
    return 0;
}

static int perf_watch(struct perf_run *r, struct err *err)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = -1};
    r->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (r->switches.stacks && perfthin_open(&r->thin, r->opts.epoll_fd) != 0)
        return err_set(err, EXIT_ERROR, "cannot wait for switches");
    if (r->timer_fd < 0 || perfevents_watch(&r->events, r->opts.epoll_fd) != 0 ||
        epoll_ctl(r->opts.epoll_fd, EPOLL_CTL_ADD, r->timer_fd, &ev) != 0)
        return err_set(err, EXIT_ERROR, "cannot wait for samples");
    return 0;
}

/* That all events together write records at, on a CPU. */
static double record_rate(const struct perf_run *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->n_events; i++)
        sum += r->facts[i].rate_hz;
    return r->switches.stacks && sum < SWITCHES_HZ ? SWITCHES_HZ : sum;
}

/* Clocks of CPUs, where this user may have them. A command counts from its exec on. */
static void open_filter(struct perf_run *r, int pid)
{
    const struct perfattr *clock = r->attrs;
    while (clock < r->attrs + r->n_events && !clock->clock)
        clock++;
    if (clock == r->attrs + r->n_events || perffilter_open(&r->filter) != 0)
        return;
    r->filtered = perfevents_may_filter(clock, &r->filter);
    perffilter_add(&r->filter, pid, pid);
    if (!r->opts.running)
        perffilter_remove(&r->filter, pid);
}

/* Who runs already, and names for what has no process. */
static int scan_machine(struct perf_run *r, uint64_t start_ns, struct err *err)
{
    struct processes *ps = r->to.processes;
    const struct process_wish *w = &r->opts.machine->wish;
    bool first = perffilter_is_first_namespace();
    processes_comm(ps, 0, 0, first ? "[interrupts]" : "[outside]", false);
    if (!first)
        add_note(
            r,
            "processes outside of this PID namespace (container) have no number here: "
            "together they are [outside], without names; record on the host to see which is which");
    processes_comm(ps, -1, -1, "[ended]", false);
    int n = processes_scan_all(ps, err);
    if (n < 0)
        return -1;
    if (!n && w->cgroup)
        return err_set(err, EXIT_ERROR,
                       "no process is in the cgroup or container '%s': /proc/PID/cgroup says where "
                       "one is",
                       w->cgroup);
    perfswitch_attach_all(&r->switches, start_ns);
    return 0;
}

static void open_births(struct perf_run *r)
{
    perfbirths_open(&r->births, r->attrs, r->n_events, r->opts.epoll_fd);
    for (size_t i = 0; i < r->events.tids.n; i++)
        perfbirths_born(&r->births, r->events.tids.at[i], 0);
}

static int perf_attach(void *run, int pid, struct err *err)
{
    struct perf_run *r = run;
    const struct engine_machine *machine = r->opts.machine;
    if (machine)
        pid = -1;
    else
        open_filter(r, pid);
    if (r->clocks)
        r->facts->clocks = r->filtered || machine ? "of CPUs" : "of threads";
    struct perfevents_opts o = {r->opts.running,
                                record_rate(r),
                                (size_t)r->opts.stack_bytes,
                                r->opts.stack_bytes > PART_BYTES ? PART_BYTES : 0,
                                r->filtered ? &r->filter : NULL,
                                r->switches.waits != NULL,
                                machine != NULL,
                                machine ? machine->cpus.at : NULL,
                                machine ? machine->cpus.n : 0};
    size_t n = r->n_events + r->switches.stacks + r->switches.wakers;
    uint64_t start_ns = clock_kernel_ns();
    if (perfevents_open(&r->events, r->attrs, n, pid, &o, err) != 0)
        return -1;
    if (r->events.stack_bytes < STACK_ENOUGH && r->events.stack_bytes < o.stack_bytes / 8 * 8)
        add_note(r,
                 "only %zu bytes of each stack are copied, for want of ring memory: lower the "
                 "rate, or raise 'ulimit -l'",
                 r->events.stack_bytes);
    for (size_t i = 0; r->filtered && r->opts.running && i < r->events.tids.n; i++)
        perffilter_add(&r->filter, pid, r->events.tids.at[i]);
    if (perf_watch(r, err) != 0)
        return -1;
    if (!r->filtered && !machine)
        open_births(r);
    if (machine)
        return scan_machine(r, start_ns, err);
    if (!r->opts.running)
        return 0;
    if (processes_scan(r->to.processes, pid, err) != 0)
        return -1;
    perfswitch_attach(&r->switches, pid, start_ns, r->events.tids.at, r->events.tids.n);
    return 0;
}

/* --- turns --- */

/*
 * However odd the period is, some program has the same. After a few samples a clock is therefore
 * turned off for a random moment, which the other set looks at meanwhile: it goes on with
 * what was left of its period, at another place in the program's rhythm, and nothing is lost. Where
 * stacks need all that can be copied there is no other set that would do; then the moment is
 * not seen at all, and is short and rare.
 */
enum { TURN_SAMPLES = 4, TURN_SAMPLES_BLIND = 128, TURN_NS = 3000000, TURN_NS_BLIND = 1000000 };

/* Turning thousands of threads takes a while. It may take so much of the time. */
enum { TURN_COST = 200 };

/*
 * While samples come, look after so long whether stacks are cut. A machine at a low rate has few
 * of them, and the recorder is to be looked for in vain there: at 99 Hz and less it gets up ten
 * times a second. (Processes that come and go are still seen in time to ask whose they are, or
 * else are like those that started them.)
 */
enum { LOOK_NS = 20000000, LOOK_MOST_NS = 100000000, LOOK_SAMPLES = 10 };

static uint64_t random_below(struct perf_run *r, uint64_t n)
{
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    return (r->random >> 33) % n;
}

static void wake_after(struct perf_run *r, uint64_t ns)
{
    struct itimerspec when = {.it_value = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)}};
    timerfd_settime(r->timer_fd, 0, &when, NULL);
}

static uint64_t look_ns(const struct perf_run *r)
{
    uint64_t ns = (uint64_t)(LOOK_SAMPLES * 1e9 / (r->opts.rate_hz > 1 ? r->opts.rate_hz : 1));
    if (!r->opts.machine || ns < LOOK_NS)
        return LOOK_NS;
    return ns < LOOK_MOST_NS ? ns : LOOK_MOST_NS;
}

static void choose_set(struct perf_run *r)
{
    enum perfcopy usual = r->fit.part ? COPY_PART : COPY_WHOLE;
    enum perfcopy other = r->fit.part ? COPY_WHOLE : COPY_NONE;
    uint64_t before_ns = clock_kernel_ns();
    perfevents_sample(&r->events, r->turned ? other : usual);
    uint64_t after_ns = clock_kernel_ns();
    uint64_t rest_ns = TURN_COST * (after_ns - before_ns);
    if (after_ns + rest_ns > r->next_turn_ns)
        r->next_turn_ns = after_ns + rest_ns;
}

static void begin_turn(struct perf_run *r, uint64_t at_ns)
{
    uint64_t ns = 1 + random_below(r, r->fit.part ? TURN_NS : TURN_NS_BLIND);
    r->turned = true;
    r->turn_end_ns = at_ns + ns;
    wake_after(r, ns);
}

static void end_turn(struct perf_run *r)
{
    uint64_t n = r->fit.part ? TURN_SAMPLES : TURN_SAMPLES_BLIND;
    r->turned = false;
    r->next_turn_samples = r->samples + n + random_below(r, n);
}

static void perf_take_turn(struct perf_run *r)
{
    uint64_t at_ns = clock_kernel_ns();
    if (r->turned && at_ns >= r->turn_end_ns)
        end_turn(r);
    else if (r->clocks && !r->turned && r->samples >= r->next_turn_samples &&
             at_ns >= r->next_turn_ns)
        begin_turn(r, at_ns);
    choose_set(r);
}

/* A wait that lasted so long is worth a look of its own. */
enum { LONG_WAIT_NS = 20000000 };

/* Long waits that began while stacks were off. They are asked for when the recorder is awake
 * anyway. */
static void look_at_long_waits(struct perf_run *r, uint64_t least_ns)
{
    enum { LOOKS_APART_NS = 50000000 };
    uint64_t now_ns = clock_kernel_ns();
    if (!r->switches.stacks || now_ns < r->next_look_ns)
        return;
    perfswitch_look_again(&r->switches, now_ns - least_ns, !r->opts.machine);
    r->next_look_ns = now_ns + LOOKS_APART_NS;
}

/* Stacks of switches and of wakers, where switches come too fast for all. */
static void take_turns_with_stacks(struct perf_run *r)
{
    uint64_t now_ns = clock_kernel_ns();
    if (!r->switches.stacks || !perfthin_step(&r->thin, r->n_switches, now_ns))
        return;
    if (r->thin.off)
        waits_thin(r->switches.waits, now_ns);
    for (size_t i = r->n_events; i < r->events.n_events; i++)
        perfevents_switch(&r->events, i, !r->thin.off);
    perfthin_took(&r->thin, clock_kernel_ns() - now_ns);
}

static int perf_poll(void *run, struct err *err)
{
    struct perf_run *r = run;
    uint64_t before = r->samples, ignored;
    (void)err;
    while (read(r->timer_fd, &ignored, sizeof ignored) > 0)
        continue;
    perf_take_until(r, clock_kernel_ns() - LATE_NS);
    perf_take_turn(r);
    perfbirths_step(&r->births, &r->events,
                    r->fit.part ? r->events.part_bytes : r->events.stack_bytes);
    take_turns_with_stacks(r);
    look_at_long_waits(r, LONG_WAIT_NS);
    if (r->samples > before && !r->turned)
        wake_after(r, look_ns(r) / 2 + random_below(r, look_ns(r)));
    return 0;
}

/* A counter's samples stand for so much of the CPU time as they do of what was counted. */
static uint64_t sampled_by_counter(const struct engine_facts *f)
{
    double share = f->counted ? (double)f->sampled / (double)f->counted : 0;
    return (uint64_t)((share < 1 ? share : 1) * (double)f->cpu_used_ns);
}

/* Records of switches, and their stacks. */
static uint64_t count_lost_switches(struct perf_run *r, uint64_t lost_watch)
{
    uint64_t lost_stacks = 0;
    for (size_t i = r->n_events; i < r->events.n_events; i++)
        for (int copy = 0; copy < COPIES; copy++)
            lost_stacks += perfevents_read(&r->events, perfevents_set(i, (enum perfcopy)copy)).lost;
    if (r->attrs[0].attr.read_format & PERF_FORMAT_LOST)
        waits_set_lost(r->switches.waits, lost_watch + lost_stacks);
    return lost_watch + lost_stacks;
}

/* A counter that took turns with others has seen a part of the time only. */
static void note_multiplexed(struct perf_run *r)
{
    for (size_t i = 0; i < r->n_events; i++) {
        const struct engine_facts *f = &r->facts[i];
        double share = f->enabled_ns ? (double)f->running_ns / (double)f->enabled_ns : 1;
        if (f->obtained == BY_HARDWARE && share < 0.95) {
            add_note(r, "the CPU has too few counters: %s counted %.0f%% of the time", f->event,
                     100 * share);
            return;
        }
    }
}

/*
 * What became of the CPU time, and of samples that found no room. Events share their rings, so a
 * record of losses does not say whose they are; the events' own counts do, since Linux 6.0.
 */
static void read_counts(struct perf_run *r)
{
    uint64_t lost_of[ENGINE_EVENTS_MAX], lost_of_all;
    struct perfattr_counts watch = perfevents_read(&r->events, SET_WATCH);
    uint64_t cpu_ns = watch.value;
    lost_of_all = r->switches.waits ? count_lost_switches(r, watch.lost) : 0;
    for (size_t i = 0; i < r->n_events; i++) {
        struct engine_facts *f = &r->facts[i];
        struct perfattr_counts whole = perfevents_read(&r->events, perfevents_set(i, COPY_WHOLE)),
                               part = perfevents_read(&r->events, perfevents_set(i, COPY_PART));
        f->cpu_used_ns = cpu_ns;
        f->counted = r->attrs[i].clock ? cpu_ns : whole.value + part.value;
        /* An event of a thread is enabled wherever that runs, and counts on its own CPU only: on
         * all of them together it should count as long as the thread has a CPU. */
        uint64_t wanted_ns = r->opts.machine ? whole.enabled_ns + part.enabled_ns : cpu_ns;
        f->enabled_ns = r->attrs[i].clock ? 0 : wanted_ns;
        f->running_ns = r->attrs[i].clock ? 0 : whole.running_ns + part.running_ns;
        if (f->obtained == BY_HARDWARE && !r->attrs[i].attr.exclude_kernel)
            f->sampled_ns = sampled_by_counter(f);
        lost_of_all += lost_of[i] = whole.lost + part.lost;
    }
    for (size_t i = 0; i < r->n_events && lost_of_all; i++)
        r->facts[i].lost = lost_of[i];
    for (size_t i = 0; i < r->n_events && r->filtered; i++) {
        struct engine_facts *f = &r->facts[i];
        uint64_t unseen_ns = f->cpu_used_ns > f->sampled_ns ? f->cpu_used_ns - f->sampled_ns : 0;
        if (r->attrs[i].clock)
            f->lost = perffilter_lost(f->lost, unseen_ns, f->rate_hz);
    }
    note_multiplexed(r);
}

static void perf_stop(void *run)
{
    struct perf_run *r = run;
    r->next_look_ns = 0;
    look_at_long_waits(r, 0);
    uint64_t end_ns = clock_kernel_ns();
    perfevents_disable(&r->events);
    perfbirths_stop(&r->births);
    perf_take_until(r, UINT64_MAX);
    perf_settle_endings(r, UINT64_MAX, -1);
    read_counts(r);
    perfswitch_stop(&r->switches, end_ns);
    perfbirths_close(&r->births);
    perfevents_close(&r->events);
}

static const struct engine_facts *perf_facts(void *run)
{
    return ((struct perf_run *)run)->facts;
}

static void perf_close(void *run)
{
    struct perf_run *r = run;
    if (!r)
        return;
    perfbirths_close(&r->births);
    perfevents_close(&r->events);
    perffilter_close(&r->filter);
    perfthin_close(&r->thin);
    vec_done(&r->endings);
    if (r->timer_fd >= 0)
        close(r->timer_fd);
    free(r);
}

const struct engine engine_perf = {
    .name = "perf",
    .title = "perf_event_open",
    .poll_ms = 100,
    .probe = perf_probe,
    .open = perf_open,
    .attach = perf_attach,
    .poll = perf_poll,
    .facts = perf_facts,
    .stop = perf_stop,
    .close = perf_close,
};
