#include "record/perfattr.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/meta.h"
#include "record/tracefs.h"
#include "unwind/walk.h"

#include <errno.h>
#include <math.h>
#include <sys/syscall.h>
#include <time.h>

struct named_event {
    const char *name;
    uint32_t type;
    uint64_t config;
};

#define HW PERF_TYPE_HARDWARE
#define SW PERF_TYPE_SOFTWARE

static const struct named_event named_events[] = {
    {"cycles", HW, PERF_COUNT_HW_CPU_CYCLES},
    {"cpu-cycles", HW, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", HW, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", HW, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", HW, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", HW, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-instructions", HW, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", HW, PERF_COUNT_HW_BRANCH_MISSES},
    {"bus-cycles", HW, PERF_COUNT_HW_BUS_CYCLES},
    {"ref-cycles", HW, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"stalled-cycles-frontend", HW, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend", HW, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"cpu-clock", SW, PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", SW, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", SW, PERF_COUNT_SW_PAGE_FAULTS},
    {"faults", SW, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", SW, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", SW, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", SW, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cs", SW, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", SW, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"migrations", SW, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"alignment-faults", SW, PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults", SW, PERF_COUNT_SW_EMULATION_FAULTS},
};

long perfattr_sysctl(const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
    autofclose FILE *f = fopen(path, "re");
    long v;
    return f && fscanf(f, "%ld", &v) == 1 ? v : -1;
}

int perfattr_open(const struct perfattr *a, int pid, int cpu)
{
    return perfattr_open_in(a, pid, cpu, -1);
}

int perfattr_open_in(const struct perfattr *a, int pid, int cpu, int leader)
{
    return (int)syscall(SYS_perf_event_open, &a->attr, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

/* --- the event --- */

static bool set_named(struct perfattr *a, struct text name)
{
    for (size_t i = 0; i < sizeof named_events / sizeof *named_events; i++) {
        const struct named_event *e = &named_events[i];
        if (!text_is(name, e->name))
            continue;
        a->attr.type = e->type;
        a->attr.config = e->config;
        return true;
    }
    return false;
}

/* "r01c2": a raw event of the processor. */
static bool set_raw(struct perfattr *a, struct text name)
{
    uint64_t config;
    if (name.n < 2 || name.at[0] != 'r' ||
        !text_u64((struct text){name.at + 1, name.n - 1}, 16, &config))
        return false;
    a->attr.type = PERF_TYPE_RAW;
    a->attr.config = config;
    return true;
}

/* "sched:sched_switch": a tracepoint, whose number is in a file. */
static bool set_tracepoint(struct perfattr *a, struct text name)
{
    struct text event = name;
    struct text group = text_cut(&event, ':');
    if (!event.n || memchr(name.at, '/', name.n))
        return false;
    uint64_t id;
    if (!tracefs_id(group, event, &id))
        return false;
    a->attr.type = PERF_TYPE_TRACEPOINT;
    a->attr.config = id;
    return true;
}

/* ":u" and ":k" behind a name, of which both together mean neither. */
static struct text cut_modifiers(struct perfattr *a, struct text name)
{
    bool user = false, kernel = false;
    const char *colon = memrchr(name.at, ':', name.n);
    if (!colon || colon + 1 == name.at + name.n)
        return name;
    for (const char *c = colon + 1; c < name.at + name.n; c++) {
        if (*c != 'u' && *c != 'k')
            return name;
        *(*c == 'u' ? &user : &kernel) = true;
    }
    a->attr.exclude_kernel = user && !kernel;
    a->attr.exclude_user = kernel && !user;
    return (struct text){name.at, (size_t)(colon - name.at)};
}

static int set_event(struct perfattr *a, const char *event, struct err *err)
{
    struct text name = cut_modifiers(a, text_of(event));
    snprintf(a->event, sizeof a->event, "%s", event);
    bool known = set_named(a, name) || set_tracepoint(a, name) || set_raw(a, name);
    if (!known && memchr(name.at, ':', name.n) && !tracefs_can_read())
        return err_set(err, EXIT_ERROR,
                       "no right to look up the tracepoint '%s' in tracefs: run as root", event);
    if (!known)
        return err_set(err, EXIT_ERROR,
                       "no event '%s': use cycles, instructions, cache-misses, branch-misses, "
                       "cpu-clock, page-faults, context-switches, GROUP:TRACEPOINT or rHEX",
                       event);
    a->clock = a->attr.type == SW && (a->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
                                      a->attr.config == PERF_COUNT_SW_TASK_CLOCK);
    bool hardware = a->attr.type == HW || a->attr.type == PERF_TYPE_RAW;
    a->obtained = hardware                               ? BY_HARDWARE
                  : a->clock                             ? BY_SOFTWARE_CLOCK
                  : a->attr.type == PERF_TYPE_TRACEPOINT ? BY_TRACE
                                                         : BY_SOFTWARE_EVENT;
    return 0;
}

/* Clocks and counters are sampled at a rate; software events and tracepoints are rare: each counts.
 */
static void set_rate(struct perfattr *a, double rate_hz)
{
    if (a->obtained == BY_SOFTWARE_EVENT || a->obtained == BY_TRACE) {
        a->attr.sample_period = 1;
    } else if (a->clock) {
        a->attr.sample_period = (uint64_t)llround(1e9 / rate_hz);
    } else {
        a->attr.freq = 1;
        a->attr.sample_freq = (uint64_t)llround(rate_hz);
    }
}

#define READ_TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static void set_records(struct perfattr *a)
{
    struct perf_event_attr *t = &a->attr;
    t->size = sizeof *t;
    t->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                     PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER |
                     PERF_SAMPLE_STACK_USER;
    t->sample_regs_user = unwind_perf_regs_mask;
    t->sample_stack_user = 8192;
    t->disabled = 1;
    t->inherit = 1;
    t->mmap = t->mmap2 = t->comm = t->comm_exec = t->task = 1;
    t->build_id = 1;
    t->sample_id_all = 1;
    t->exclude_hv = 1;
    t->exclude_callchain_user = 1;
    t->use_clockid = 1;
    t->clockid = CLOCK_MONOTONIC;
    t->read_format = READ_TIMES | PERF_FORMAT_LOST;
    t->watermark = 1;
}

void perfattr_set_sizes(struct perfattr *a, size_t stack_bytes, size_t wakeup_bytes)
{
    size_t most = a->stack_most && a->stack_most < stack_bytes ? a->stack_most : stack_bytes;
    a->attr.sample_stack_user = (uint32_t)most;
    a->attr.wakeup_watermark = (uint32_t)wakeup_bytes;
}

/* The call chain is asked for only where it has something to add: the kernel's part. */
static void set_kernel(struct perfattr *a, bool hidden)
{
    if (hidden)
        a->attr.exclude_kernel = 1;
    if (a->attr.exclude_kernel)
        a->attr.sample_type &= ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
    else
        a->attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
}

/* --- what the kernel accepts --- */

/* Give up one more feature, newest first. False when nothing is left to give up. */
static bool drop_feature(struct perfattr *a)
{
    switch (a->dropped++) {
    case 0:
        a->attr.read_format = READ_TIMES; /* before 6.0 */
        return true;
    case 1:
        a->attr.build_id = 0; /* before 5.12 */
        return true;
    default:
        return false;
    }
}

/* Open on ourselves and close again; 0 or an errno. */
static int try_open(struct perfattr *a)
{
    for (;;) {
        int fd = perfattr_open(a, 0, 0);
        if (fd >= 0) {
            close(fd);
            return 0;
        }
        if (errno != EINVAL || !drop_feature(a))
            return errno;
    }
}

bool perfattr_read_age(struct perfattr *a)
{
    a->attr.sample_type |= PERF_SAMPLE_READ;
    autoclose int fd = perfattr_open(a, 0, 0);
    if (fd < 0)
        a->attr.sample_type &= ~(uint64_t)PERF_SAMPLE_READ;
    return fd >= 0;
}

static int perfattr_refused(const struct perfattr *a, int errnum, struct err *err)
{
    long paranoid = perfattr_sysctl("perf_event_paranoid");
    bool rights = errnum == EACCES || errnum == EPERM;
    if (rights && paranoid > 2)
        return err_set_hint(err, EXIT_ERROR, HINT_TIMER,
                            "kernel.perf_event_paranoid is %ld: run 'sysctl "
                            "kernel.perf_event_paranoid=2' as root",
                            paranoid);
    if (rights && a->attr.type == PERF_TYPE_TRACEPOINT)
        return err_set(err, EXIT_ERROR, "no right to use the tracepoint '%s': run as root",
                       a->event);
    if (rights && a->attr.exclude_user)
        return err_set(err, EXIT_ERROR,
                       "no right to sample the kernel, and '%s' asks for nothing else: run as "
                       "root, or 'sysctl kernel.perf_event_paranoid=1'",
                       a->event);
    if (rights || errnum == ENOSYS)
        return err_set_hint(
            err, EXIT_ERROR, HINT_TIMER,
            "perf_event_open is blocked, as a container's seccomp filter does: start "
            "the container with --cap-add PERFMON");
    if (errnum == ENOENT || errnum == EOPNOTSUPP || errnum == ENODEV)
        return err_set_hint(
            err, EXIT_ERROR, HINT_CPU_CLOCK,
            "this machine has no event '%s' (virtual machines rarely have counters)", a->event);
    return err_set_errno(err, errnum, "perf_event_open does not take the event '%s'", a->event);
}

static int probe_event(struct perfattr *a, const char *event, const struct perfattr_opts *o,
                       bool *ret_kernel_hidden, struct err *err)
{
    *a = (struct perfattr){0};
    *ret_kernel_hidden = false;
    set_records(a);
    if (set_event(a, event, err) != 0)
        return -1;
    set_rate(a, o->rate_hz);
    set_kernel(a, o->user_only);
    int e = try_open(a);
    if ((e == EACCES || e == EPERM) && !a->attr.exclude_kernel && !a->attr.exclude_user) {
        *ret_kernel_hidden = true;
        set_kernel(a, true);
        e = try_open(a);
    }
    return e ? perfattr_refused(a, e, err) : 0;
}

int perfattr_probe(struct perfattr *a, const struct perfattr_opts *o, bool *ret_kernel_hidden,
                   struct err *err)
{
    if (o->event)
        return probe_event(a, o->event, o, ret_kernel_hidden, err);
    if (probe_event(a, "cycles", o, ret_kernel_hidden, err) == 0)
        return 0;
    return probe_event(a, "cpu-clock", o, ret_kernel_hidden, err);
}
