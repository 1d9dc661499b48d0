#include "record/perfevents.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

/*
 * A ring should hold what comes while the recorder does not run: an eighth of a second. Where
 * memory does not suffice for that, stacks are copied in part before it becomes less than half.
 */
enum { WANT_PARTS = 8, WANT_LEAST = 128, RECORD_REST_BYTES = 1 << 9 };
enum { RINGS_MAX_BYTES = 64 << 20, STACK_MIN_BYTES = 2048 };

/* Nobody minds waiting so long for the clocks of CPUs: from 93 samples per second on. */
enum { CLOCKS_START_NS = 65000000 };

static void ioctl_all(const struct perfevents *e, int set, unsigned long request)
{
    for (size_t i = 0; i < e->fds[set].n; i++)
        ioctl(e->fds[set].at[i], request, 0);
}

static void close_all(struct perfevents *e)
{
    for (size_t i = 0; i < e->rings.n; i++)
        perfring_unmap(&e->rings.at[i]);
    for (int set = 0; set < SETS; set++) {
        for (size_t i = 0; i < e->fds[set].n; i++)
            close(e->fds[set].at[i]);
        e->fds[set].n = 0;
    }
    e->rings.n = e->cpus.n = e->tids.n = e->ids.n = 0;
}

void perfevents_close(struct perfevents *e)
{
    close_all(e);
    for (int set = 0; set < SETS; set++)
        vec_done(&e->fds[set]);
    vec_done(&e->rings);
    vec_done(&e->cpus);
    vec_done(&e->tids);
    vec_done(&e->ids);
}

static size_t power_of_two_below(size_t n)
{
    size_t p = 4096;
    while (p * 2 <= n)
        p *= 2;
    return p;
}

static size_t records_wanted(double rate_hz)
{
    size_t n = (size_t)(rate_hz / WANT_PARTS);
    return n < WANT_LEAST ? WANT_LEAST : n;
}

static size_t ring_bytes_for(size_t stack_bytes, size_t records)
{
    size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    size_t want = records * (stack_bytes + RECORD_REST_BYTES);
    size_t most = RINGS_MAX_BYTES / (cpus ? cpus : 1);
    return power_of_two_below(want < most ? want : most);
}

static size_t stack_bytes_for(size_t stack_bytes, size_t ring_bytes, size_t records)
{
    while (stack_bytes > STACK_MIN_BYTES &&
           (stack_bytes + RECORD_REST_BYTES) * records / 2 > ring_bytes)
        stack_bytes /= 2;
    return stack_bytes;
}

/* A thousand threads on dozens of CPUs need more files than are usual. */
static void allow_many_files(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur == r.rlim_max)
        return;
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
}

/* --- opening --- */

static int no_such_cpu(struct err *err)
{
    char online[64];
    FILE *f = fopen("/sys/devices/system/cpu/online", "re");
    bool known = f && fscanf(f, "%63s", online) == 1;
    if (f)
        fclose(f);
    return err_set(err, EXIT_ERROR, "not all of these CPUs are there%s%s",
                   known ? ": this machine has CPUs " : "", known ? online : "");
}

static int open_failed(int pid, int errnum, struct err *err)
{
    if (pid < 0 && (errnum == ENODEV || errnum == EINVAL))
        return no_such_cpu(err);
    if (pid < 0 && errnum != EMFILE && errnum != ENFILE)
        return err_set_errno(err, errnum, "perf_event_open cannot record the whole machine");
    if (errnum == ESRCH)
        return err_set(err, EXIT_ERROR, "process %d is gone", pid);
    if (errnum == EACCES || errnum == EPERM)
        return err_set(err, EXIT_ERROR,
                       "no right to sample process %d: it is not yours; run as "
                       "root or as its owner",
                       pid);
    if (pid < 0)
        return err_set(err, EXIT_ERROR,
                       "the limit of open files is too low for the events of each CPU: raise it "
                       "with 'ulimit -n'");
    if (errnum == EMFILE || errnum == ENFILE)
        return err_set(err, EXIT_ERROR,
                       "too many threads for the limit of open files (each needs one per CPU): "
                       "raise it with 'ulimit -n'");
    return err_set_errno(err, errnum, "perf_event_open fails for process %d", pid);
}

int perfevents_set(size_t event, enum perfcopy copy)
{
    return 1 + COPIES * (int)event + copy;
}

/* It begins with a small copy, and grows when that does not do. */
static bool begins_small(const struct perfevents *e, size_t event)
{
    return e->attrs[event].stack_first && e->attrs[event].stack_first < e->stack_bytes;
}

/* Events that count each time cannot go from one set to another: some would be missed. */
static bool has_part(const struct perfevents *e, size_t event)
{
    return e->part_bytes && e->attrs[event].attr.sample_period != 1;
}

static struct perfattr watch_attr(const struct perfevents *e)
{
    struct perfattr s = e->attrs[0];
    s.attr.type = PERF_TYPE_SOFTWARE;
    s.attr.config = e->machine ? PERF_COUNT_SW_DUMMY : PERF_COUNT_SW_TASK_CLOCK;
    s.attr.inherit = !e->machine;
    s.attr.freq = 0;
    s.attr.sample_period = 0;
    s.attr.sample_type &= ~(uint64_t)(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
    s.attr.context_switch = e->switches;
    return s;
}

/* Of a CPU: it ticks from the start to the end, whatever runs. */
static bool is_of_cpu(const struct perfevents *e, size_t event)
{
    const struct perfattr *a = &e->attrs[event];
    return e->machine || a->of_cpu || (e->filter && a->clock);
}

/* EXCLUDE_IDLE: a clock of the machine also sees interrupts that are served by an idle CPU. */
static void make_of_cpu(struct perf_event_attr *t, bool exclude_idle)
{
    t->inherit = 0;
    t->exclude_idle = exclude_idle;
    t->disabled = 1;
    t->enable_on_exec = 0;
}

static int apply_trace_filter(const struct perfattr *a, int fd)
{
    return a->filter ? ioctl(fd, PERF_EVENT_IOC_SET_FILTER, a->filter) : 0;
}

bool perfevents_may_filter(const struct perfattr *a, const struct perffilter *f)
{
    struct perfattr s = *a;
    int cpu = sched_getcpu();
    make_of_cpu(&s.attr, true);
    autoclose int fd = perfattr_open(&s, -1, cpu < 0 ? 0 : cpu);
    return fd >= 0 && perffilter_apply(f, fd) == 0;
}

int perfevents_probe_machine(const struct perfattr *a, struct err *err)
{
    struct perfattr s = *a;
    int cpu = sched_getcpu();
    make_of_cpu(&s.attr, true);
    autoclose int fd = perfattr_open(&s, -1, cpu < 0 ? 0 : cpu);
    if (fd >= 0 && apply_trace_filter(&s, fd) == 0)
        return 0;
    if (errno != EACCES && errno != EPERM)
        return err_set_errno(err, errno, "perf_event_open cannot record the whole machine");
    if (geteuid() == 0)
        return err_set(err, EXIT_ERROR,
                       "no right to record the whole machine: root has no CAP_PERFMON here, as in "
                       "a container; start it with --cap-add PERFMON, or on the host run 'sysctl "
                       "kernel.perf_event_paranoid=0'");
    return err_set(err, EXIT_ERROR,
                   "no right to record the whole machine: kernel.perf_event_paranoid is %ld; run "
                   "as root, or 'sysctl kernel.perf_event_paranoid=0'",
                   perfattr_sysctl("perf_event_paranoid"));
}

/* How long each clock of a CPU takes, of what one alone would: together they are as many. */
static const double clock_factors[] = {0.8288, 0.9117, 0.9947, 1.0359, 1.1188, 1.2018};
enum { CPU_CLOCKS = sizeof clock_factors / sizeof *clock_factors };

/* Starting them takes as long as a period does. */
size_t perfevents_clocks(const struct perfevents *e, size_t event)
{
    bool soon = e->attrs[event].attr.sample_period * CPU_CLOCKS < CLOCKS_START_NS;
    return is_of_cpu(e, event) && e->attrs[event].clock && soon ? CPU_CLOCKS : 1;
}

/*
 * A clock that has no others beside it. A program with a rhythm near ours would be looked at in the
 * same places again and again (seen: a part of 10.4% in loops of 1 ms read as 2.2%, as 999 Hz
 * goes round such a loop in a thousand samples). So its period is a little shorter than asked for,
 * by the factor that spreads the first 5 to 80 samples best over loops of 0.5 to 3 ms, whole and
 * half and quarter milliseconds: a tenth more samples per second. No other CPU and no other set may
 * have a longer one instead, as shares are shares of samples.
 */
#define LONE_FACTOR 0.9095

uint64_t perfevents_period(uint64_t period_ns, size_t n_clocks, size_t clock)
{
    double factor = n_clocks > 1 ? (double)n_clocks * clock_factors[clock] : LONE_FACTOR;
    return (uint64_t)llround((double)period_ns * factor);
}

static struct perfattr sample_attr(const struct perfevents *e, size_t event, enum perfcopy copy)
{
    struct perfattr s = e->attrs[event];
    struct perf_event_attr *t = &s.attr;
    if (is_of_cpu(e, event))
        make_of_cpu(t, !(e->machine && e->attrs[event].clock));
    t->mmap = t->mmap2 = t->comm = t->comm_exec = t->task = t->build_id = 0;
    bool small = begins_small(e, event);
    if (copy == COPY_PART)
        t->sample_stack_user = (uint32_t)(small ? s.stack_first : e->part_bytes);
    if (small ? copy == COPY_WHOLE : copy == COPY_PART) {
        t->disabled = 1;
        t->enable_on_exec = 0;
    }
    return s;
}

/* The first event of a CPU makes its ring, RING; the others write to it. Returns an errno. */
static int give_ring(struct perfevents *e, int fd, int cpu, size_t ring)
{
    if (ring < e->rings.n)
        return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, e->fds[SET_WATCH].at[ring]) != 0 ? errno : 0;
    struct perfring r;
    if (perfring_map(&r, fd, e->ring_bytes) != 0)
        return errno == EPERM ? ENOLCK : errno;
    *vec_push(&e->rings) = r;
    *vec_push(&e->cpus) = cpu;
    return 0;
}

/* Where samples come from. Returns an errno. */
struct place {
    int tid, cpu;
    size_t ring;
    int leader; /* of the group; -1 = none */
};

/*
 * Counters of a thread on a CPU are one group: the kernel has all of them on or none, so that their
 * ratios are of the same time however often it must take turns. Clocks are no counters.
 */
static bool is_counter(const struct perfevents *e, size_t event)
{
    const struct perfattr *a = &e->attrs[event];
    bool switches = begins_small(e, event) || a->attr.sample_type & PERF_SAMPLE_RAW; /* or wakes */
    return !a->clock && !switches;
}

static int leader_of(const struct perfevents *e, size_t event)
{
    for (size_t i = 0; i < event && is_counter(e, event); i++) {
        int set = perfevents_set(i, COPY_WHOLE);
        if (is_counter(e, i) && e->fds[set].n)
            return e->fds[set].at[e->fds[set].n - 1];
    }
    return -1;
}

static int open_set(struct perfevents *e, const struct perfattr *a, int set, struct place at)
{
    int fd = perfattr_open_in(a, at.tid, at.cpu, at.leader);
    if (fd < 0 && errno == EINVAL && at.leader >= 0) {
        fd = perfattr_open(a, at.tid, at.cpu);
        e->ungrouped |= fd >= 0;
    }
    if (fd < 0)
        return errno;
    *vec_push(&e->fds[set]) = fd;
    return give_ring(e, fd, at.cpu, at.ring);
}

static int open_clock(struct perfevents *e, const struct perfattr *a, size_t event,
                      enum perfcopy copy, struct place at)
{
    int set = perfevents_set(event, copy), rc = open_set(e, a, set, at);
    struct perfid id = {.event = (uint32_t)event};
    int fd = rc == 0 ? e->fds[set].at[e->fds[set].n - 1] : -1;
    if (rc == 0 && ioctl(fd, PERF_EVENT_IOC_ID, &id.id) == 0)
        *vec_push(&e->ids) = id;
    if (rc == 0 && apply_trace_filter(a, fd) != 0)
        return errno;
    bool filtered = e->filter && e->attrs[event].clock && at.tid < 0;
    return rc == 0 && filtered && perffilter_apply(e->filter, fd) != 0 ? errno : rc;
}

static int open_copy(struct perfevents *e, size_t event, enum perfcopy copy, struct place at)
{
    struct perfattr a = sample_attr(e, event, copy);
    size_t n = perfevents_clocks(e, event);
    uint64_t period = a.attr.sample_period;
    int rc = 0;
    at.tid = is_of_cpu(e, event) ? -1 : at.tid;
    at.leader = copy == COPY_WHOLE ? leader_of(e, event) : -1;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (e->attrs[event].clock)
            a.attr.sample_period = perfevents_period(period, n, i);
        rc = open_clock(e, &a, event, copy, at);
    }
    return rc;
}

/* The events of one thread on one CPU. Returns an errno. */
static int open_sets(struct perfevents *e, struct place at)
{
    struct perfattr watch = watch_attr(e);
    bool first = at.ring == e->rings.n;
    int rc = open_set(e, &watch, SET_WATCH, at);
    for (size_t i = 0; rc == 0 && i < e->n_events; i++) {
        if (is_of_cpu(e, i) && !first)
            continue;
        rc = open_copy(e, i, COPY_WHOLE, at);
        if (rc == 0 && (has_part(e, i) || begins_small(e, i)))
            rc = open_copy(e, i, COPY_PART, at);
    }
    return rc;
}

/* The events of one thread. Those of the first make the rings. Returns an errno. */
static int open_thread(struct perfevents *e, int tid)
{
    bool first = e->rings.n == 0;
    int n_cpus = first ? (int)sysconf(_SC_NPROCESSORS_CONF) : (int)e->cpus.n;
    for (int i = 0; i < n_cpus; i++) {
        int cpu = first ? i : e->cpus.at[i];
        int rc = open_sets(e, (struct place){tid, cpu, first ? e->rings.n : (size_t)i, -1});
        if (rc != 0 && rc != ENODEV) /* this CPU is off */
            return rc;
    }
    *vec_push(&e->tids) = tid;
    return 0;
}

/* The events of the machine, whoever runs. Returns an errno. */
static int open_machine(struct perfevents *e, const struct perfevents_opts *o)
{
    size_t n = o->n_cpus ? o->n_cpus : (size_t)sysconf(_SC_NPROCESSORS_CONF);
    for (size_t i = 0; i < n; i++) {
        int cpu = o->n_cpus ? o->cpus[i] : (int)i;
        int rc = open_sets(e, (struct place){-1, cpu, e->rings.n, -1});
        if (rc != 0 && (rc != ENODEV || o->n_cpus))
            return rc;
    }
    return 0;
}

static bool has_tid(const struct perfevents *e, int tid)
{
    for (size_t i = 0; i < e->tids.n; i++)
        if (e->tids.at[i] == tid)
            return true;
    return false;
}

/* Whether TID was born to a thread that we watched already, and so inherited its events. */
static bool is_inherited(struct perfevents *e, int tid)
{
    for (size_t i = 0; i < e->rings.n; i++) {
        perfring_look(&e->rings.at[i]);
        if (perfring_has_fork(&e->rings.at[i], tid))
            return true;
    }
    return false;
}

/* Open the threads that are new since the last time. Returns an errno, or -N for N new ones. */
static int open_new_threads(struct perfevents *e, int pid, bool again)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT ? ESRCH : errno;
    int rc = 0, n = 0;
    for (struct dirent *f; rc == 0 && (f = readdir(d));) {
        int tid = atoi(f->d_name);
        if (tid <= 0 || has_tid(e, tid) || (again && is_inherited(e, tid)))
            continue;
        rc = open_thread(e, tid);
        if (rc == ESRCH && e->rings.n)
            rc = 0; /* ended meanwhile */
        n++;
    }
    closedir(d);
    return rc ? rc : -n;
}

/* Threads may be born while we look: look until there is none that was not seen. */
static int open_running(struct perfevents *e, int pid)
{
    int rc = -1;
    for (int round = 0; rc < 0 && round < 10; round++) {
        rc = open_new_threads(e, pid, round > 0);
        if (rc < 0)
            usleep(1000); /* let the records of births arrive */
    }
    return rc < 0 ? 0 : rc;
}

static int compare_ids(const void *a, const void *b)
{
    const struct perfid *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

uint32_t perfevents_event(const struct perfevents *e, uint64_t id)
{
    struct perfid key = {.id = id};
    const struct perfid *found =
        e->n_events > 1 ? bsearch(&key, e->ids.at, e->ids.n, sizeof key, compare_ids) : NULL;
    return found ? found->event : e->foreign;
}

/*
 * The kernel (6.18 at least) fills in one sample of a software event for all who asked for that
 * event on a CPU, so that it comes to our ring with the id of another recorder's. Clocks and
 * tracepoints have samples of their own.
 */
static uint32_t event_of_foreign_ids(const struct perfattr *a, size_t n)
{
    uint32_t event = 0;
    for (size_t i = 0; i < n; i++)
        if (a[i].attr.type == PERF_TYPE_SOFTWARE && !a[i].clock)
            event = (uint32_t)i;
    return event;
}

/* Those that share a rate start one after the other, so that the first samples are spread, too. */
static void start_clocks_of(const struct perfevents *e, size_t event)
{
    int set = perfevents_set(event, begins_small(e, event) ? COPY_PART : COPY_WHOLE);
    size_t n = perfevents_clocks(e, event);
    for (size_t k = 0; k < n; k++) {
        if (k > 0)
            usleep((useconds_t)(e->attrs[event].attr.sample_period / 1000));
        for (size_t i = k; i < e->fds[set].n; i += n)
            ioctl(e->fds[set].at[i], PERF_EVENT_IOC_ENABLE, 0);
    }
}

/* They cannot wait for a command's exec: who samples before it is the reader's to know. */
static void start_cpu_clocks(const struct perfevents *e)
{
    for (size_t i = 0; i < e->n_events; i++)
        if (is_of_cpu(e, i))
            start_clocks_of(e, i);
}

int perfevents_open(struct perfevents *e, struct perfattr *a, size_t n, int pid,
                    const struct perfevents_opts *o, struct err *err)
{
    size_t records = records_wanted(o->rate_hz);
    allow_many_files();
    e->on = COPY_WHOLE;
    e->attrs = a;
    e->n_events = n;
    e->part_bytes = o->part_bytes;
    e->filter = o->filter;
    e->switches = o->switches;
    e->machine = o->machine;
    e->foreign = event_of_foreign_ids(a, n);
    for (size_t i = 0; i < n; i++) {
        a[i].attr.disabled = !o->running;
        a[i].attr.enable_on_exec = !o->running;
    }
    for (size_t ring = ring_bytes_for(o->stack_bytes, records); ring >= 8192;) {
        e->ring_bytes = ring;
        e->stack_bytes = stack_bytes_for(o->stack_bytes, ring, records) & ~(size_t)7;
        if (e->stack_bytes <= e->part_bytes)
            e->part_bytes = 0;
        for (size_t i = 0; i < n; i++)
            perfattr_set_sizes(&a[i], e->stack_bytes, ring / 4);
        int rc = o->machine   ? open_machine(e, o)
                 : o->running ? open_running(e, pid)
                              : open_thread(e, pid);
        if (rc == 0) {
            qsort(e->ids.at, e->ids.n, sizeof *e->ids.at, compare_ids);
            start_cpu_clocks(e);
            return 0;
        }
        close_all(e);
        if (rc == EMFILE && e->part_bytes)
            e->part_bytes = 0; /* a third fewer files */
        else if (rc == ENOLCK)
            ring /= 2;
        else
            return open_failed(pid, rc, err);
    }
    return err_set(err, EXIT_ERROR,
                   "no memory for rings: raise 'ulimit -l' or kernel.perf_event_mlock_kb");
}

/* --- while they are open --- */

int perfevents_watch(const struct perfevents *e, int epoll_fd)
{
    /* Edges only: the event of a thread that ended would say so for ever. */
    struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.fd = -1};
    for (size_t i = 0; i < e->rings.n; i++)
        if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, e->fds[SET_WATCH].at[i], &ev) != 0)
            return -1;
    return 0;
}

struct perfattr_counts perfevents_read(const struct perfevents *e, int set)
{
    struct perfattr_counts sum = {0};
    for (size_t i = 0; i < e->fds[set].n; i++) {
        struct perfattr_counts one = {0};
        if (read(e->fds[set].at[i], &one, sizeof one) <= 0)
            continue;
        sum.value += one.value;
        sum.enabled_ns += one.enabled_ns;
        sum.running_ns += one.running_ns;
        sum.lost += one.lost;
    }
    return sum;
}

/* What of EVENT is on when the recording asks for COPY. */
static enum perfcopy copy_of(const struct perfevents *e, size_t event, enum perfcopy copy)
{
    if (begins_small(e, event))
        return e->grown ? COPY_WHOLE : COPY_PART;
    if (copy == COPY_NONE && !e->attrs[event].clock)
        return COPY_WHOLE;
    return copy == COPY_PART && !has_part(e, event) ? COPY_WHOLE : copy;
}

/* The two events of a thread on a CPU one right after the other, so that little time is between. */
static void change_copy(struct perfevents *e, size_t event, enum perfcopy from, enum perfcopy to)
{
    size_t n = e->fds[perfevents_set(event, COPY_WHOLE)].n;
    for (size_t i = 0; from != to && i < n; i++) {
        if (from != COPY_NONE)
            ioctl(e->fds[perfevents_set(event, from)].at[i], PERF_EVENT_IOC_DISABLE, 0);
        if (to != COPY_NONE)
            ioctl(e->fds[perfevents_set(event, to)].at[i], PERF_EVENT_IOC_ENABLE, 0);
    }
}

void perfevents_sample(struct perfevents *e, enum perfcopy copy)
{
    for (size_t i = 0; copy != e->on && i < e->n_events; i++)
        change_copy(e, i, copy_of(e, i, e->on), copy_of(e, i, copy));
    e->on = copy;
}

void perfevents_grow(struct perfevents *e)
{
    for (size_t i = 0; !e->grown && i < e->n_events; i++) {
        if (!begins_small(e, i))
            continue;
        ioctl_all(e, perfevents_set(i, COPY_WHOLE), PERF_EVENT_IOC_ENABLE);
        ioctl_all(e, perfevents_set(i, COPY_PART), PERF_EVENT_IOC_DISABLE);
    }
    e->grown = true;
}

void perfevents_switch(struct perfevents *e, size_t event, bool on)
{
    enum perfcopy copy = copy_of(e, event, e->on);
    change_copy(e, event, on ? COPY_NONE : copy, on ? copy : COPY_NONE);
}

void perfevents_disable(struct perfevents *e)
{
    for (size_t i = 0; i < e->n_events; i++)
        change_copy(e, i, copy_of(e, i, e->on), COPY_NONE);
    e->on = COPY_NONE;
    ioctl_all(e, SET_WATCH, PERF_EVENT_IOC_DISABLE);
}
