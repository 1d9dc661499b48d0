#include "record/perfswitch.h"

#include "base/clock.h"
#include "record/hungstack.h"
#include "record/perfevents.h"
#include "record/tracefs.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static struct waits_at switch_at(struct perfswitch *s, int pid, int tid, uint64_t time_ns)
{
    return (struct waits_at){pid, tid,         time_ns, processes_thread(s->processes, pid, tid),
                             0,   WAITS_NO_CPU};
}

/* The letter in /proc; 0 = it is gone. */
static char state_of_thread(int pid, int tid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    autofclose FILE *f = fopen(path, "re");
    line[f ? fread(line, 1, sizeof line - 1, f) : 0] = '\0';
    const char *name_end = strrchr(line, ')');
    return name_end && name_end[1] ? name_end[2] : '\0';
}

/*
 * USER: the program's functions are worth their cost, as of one program. Who has ended and was not
 * waited for yet will never run again; of one that can run nobody knows whether it does.
 */
static void find_thread(struct perfswitch *s, int pid, int tid, uint64_t start_ns, bool user)
{
    char state = state_of_thread(pid, tid);
    bool waits = state && strchr("SDITtP", state);
    if (!state || strchr("ZXx", state))
        return;
    struct waits_at at = switch_at(s, pid, tid, start_ns);
    struct waits_look look = {.state = waits ? THREAD_BLOCKED : THREAD_UNKNOWN,
                              .time_ns = clock_kernel_ns()};
    if (waits && s->stacks)
        look.stack =
            hungstack_of(s->processes, &(struct hungstack_who){pid, tid, user}, &look.time_ns);
    waits_found(s->waits, &at, &look);
}

void perfswitch_attach(struct perfswitch *s, int pid, uint64_t start_ns, const int *tids, size_t n)
{
    for (size_t i = 0; s->waits && i < n; i++)
        find_thread(s, pid, tids[i], start_ns, true);
}

static void attach_process(struct perfswitch *s, int pid, uint64_t start_ns)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *d = processes_wants(s->processes, pid) ? opendir(path) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        int tid = atoi(e->d_name);
        if (tid > 0)
            find_thread(s, pid, tid, start_ns, false);
    }
    if (d)
        closedir(d);
}

void perfswitch_attach_all(struct perfswitch *s, uint64_t start_ns)
{
    DIR *d = s->waits ? opendir("/proc") : NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        if (atoi(e->d_name) > 0)
            attach_process(s, atoi(e->d_name), start_ns);
    if (d)
        closedir(d);
}

void perfswitch_look_again(struct perfswitch *s, uint64_t from_ns, bool user)
{
    enum { LOOKS_MOST = 16 }; /* about a tenth of a millisecond each */
    struct waits_at at;
    size_t pos = 0;
    for (int i = 0; s->waits && i < LOOKS_MOST && waits_next_unseen(s->waits, from_ns, &pos, &at);
         i++) {
        struct hungstack_who who = {at.pid, at.tid, user};
        struct waits_look look = {.state = THREAD_BLOCKED};
        look.stack = hungstack_of(s->processes, &who, &look.time_ns);
        waits_looked(s->waits, at.tid, &look);
    }
}

/* A CPU that idles, and who is not asked for, have no waits. */
static bool is_watched(const struct perfswitch *s, int pid)
{
    return s->waits && pid > 0 && processes_wants(s->processes, pid);
}

enum unwind_end perfswitch_leave(struct perfswitch *s, const struct engine_sample *sample)
{
    enum unwind_end end;
    if (!is_watched(s, sample->at.pid))
        return UNWIND_WHOLE;
    struct waits_at at = switch_at(s, sample->at.pid, sample->at.tid, sample->time_ns);
    struct stack_id stack = processes_stack(s->processes, &sample->at, &end);
    waits_leave(s->waits, &at, stack, end);
    return end;
}

/* The one who left was known to be followed, and the other chosen, before its stack was copied. */
enum { SWITCH_NS = 5000 };

static struct switch_left *left_of(struct perfswitch *s, const struct perf_event_header *h)
{
    enum { CPU_FROM_END = 16 };
    uint32_t cpu = *(const uint32_t *)((const char *)h + h->size - CPU_FROM_END);
    struct switch_left *left = &s->left[cpu % SWITCH_CPUS_KNOWN];
    if (left->cpu != cpu)
        *left = (struct switch_left){.cpu = cpu};
    return left;
}

/* Since when who comes at AT has the CPU: since the other LEFT, if it comes right after it. */
static uint64_t came_ns(const struct switch_left *left, const struct waits_at *at)
{
    bool next = left->out_ns && left->tid != at->tid && at->time_ns >= left->out_ns &&
                at->time_ns - left->out_ns <= SWITCH_NS;
    return next ? left->left_ns : at->time_ns;
}

/*
 * Behind the header there is what all records end with: pid tid | time | cpu | identifier. Of a CPU
 * there is first who came before or comes next.
 */
void perfswitch_take(struct perfswitch *s, const struct perf_event_header *h, uint64_t at_ns)
{
    const uint32_t *ids = (const void *)(h + 1);
    ids += h->type == PERF_RECORD_SWITCH_CPU_WIDE ? 2 : 0;
    struct switch_left *left = left_of(s, h), before = *left;
    left->out_ns = 0;
    if (!is_watched(s, (int)ids[0]))
        return;
    struct waits_at at = switch_at(s, (int)ids[0], (int)ids[1], at_ns);
    at.cpu = left->cpu;
    if (h->misc & PERF_RECORD_MISC_SWITCH_OUT) {
        left->left_ns = waits_out(s->waits, &at, h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
        left->out_ns = at_ns;
        left->tid = at.tid;
    } else {
        at.came_ns = came_ns(&before, &at);
        waits_in(s->waits, &at);
    }
}

/* --- wakers --- */

/* Of /proc/self/ns/pid where numbers are the kernel's own: PROC_PID_INIT_INO. */
#define FIRST_NAMESPACE UINT32_C(0xeffffffc)

/* Raw data begins with the number of the tracepoint, then flags: in an interrupt, hard or soft. */
enum { FLAGS_AT = 2, IN_INTERRUPT = 0x08 | 0x10 };

/* Enough for who wakes: most do so near the root of their stack. */
enum { WAKER_STACK_BYTES = 4096 };

static int open_waker(struct perfswitch *s, struct perfattr *a, struct err *err)
{
    struct perfattr_opts want = {"sched:sched_waking", 1, false};
    bool hidden;
    if (perfattr_probe(a, &want, &hidden, err) != 0)
        return err_set(err, EXIT_ERROR,
                       geteuid() == 0 ? "this kernel does not show its wakeups"
                                      : "wakeups are shown to root only; run as root");
    int at = tracefs_offset("sched", "sched_waking", "pid");
    if (at < 0 || a->attr.exclude_kernel)
        return err_set(err, EXIT_ERROR, "the kernel does not show its wakeups: run as root");
    a->attr.sample_type |= PERF_SAMPLE_RAW;
    a->attr.sample_type &= ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
    a->stack_most = WAKER_STACK_BYTES;
    s->woken_at = (size_t)at;
    autoclose int fd = perfattr_open(a, 0, -1);
    return fd >= 0 ? 0 : err_set(err, EXIT_ERROR, "no right to see wakeups: run as root");
}

/* The same of a CPU, without the stack. False where that cannot be had. */
static bool open_wakes_of_cpus(struct perfattr *a, const struct perfattr *waker)
{
    *a = *waker;
    a->of_cpu = true;
    a->attr.sample_type &= ~(uint64_t)(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
    return perfevents_probe_machine(a, &(struct err){0}) == 0;
}

/* Of TCP about 20 lead from the wakeup to where it was sent; each takes time. */
enum { SENDER_FRAMES = 32 };

/*
 * Those in soft interrupts, not in hard ones: few on most machines. Where the machine is recorded
 * the other event has their stacks already, and a copy of 4 KB would be made twice for each.
 */
static bool open_senders(struct perfattr *a, const struct perfattr *waker, bool machine)
{
    *a = *waker;
    if (machine)
        a->attr.sample_type &= ~(uint64_t)(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
    a->of_cpu = true;
    a->filter = "common_flags & 16 && !(common_flags & 8)";
    a->attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
    a->attr.sample_max_stack = SENDER_FRAMES;
    return perfevents_probe_machine(a, &(struct err){0}) == 0;
}

size_t perfswitch_open_wakers(struct perfswitch *s, struct perfattr a[3], bool machine,
                              struct err *err)
{
    struct stat ns;
    if (stat("/proc/self/ns/pid", &ns) != 0 || ns.st_ino != FIRST_NAMESPACE) {
        err_set(err, EXIT_ERROR,
                "in a pid namespace the kernel's thread numbers are unknown; record from outside "
                "the container");
        return 0;
    }
    if (open_waker(s, &a[0], err) != 0)
        return 0;
    s->wakers = 1;
    s->wakers += !machine && open_wakes_of_cpus(&a[1], &a[0]);
    if (open_senders(&a[s->wakers], &a[0], machine)) {
        sender_find(&s->sender);
        s->wakers++;
    }
    waits_expect_wakes(s->waits);
    return s->wakers;
}

/*
 * Kernel threads take turns at a queue of work: "kworker/u8:5-ext4-rsv-conversion" is
 * "kworker-ext4-rsv-conversion". Returns the length of what is left of NAME.
 */
static size_t worker_name(char *name, size_t n)
{
    enum { FRONT = sizeof "kworker" - 1 };
    size_t end = FRONT;
    if (!text_starts((struct text){name, n}, "kworker/"))
        return n;
    while (end < n && name[end] != '-' && name[end] != '+')
        end++;
    memmove(name + FRONT, name + end, n - end);
    return FRONT + n - end;
}

/*
 * Who is not part of the recording has a name in /proc, if it has not ended. Numbers of those that
 * have would make a row of each, and say nothing.
 */
static struct frame_id ask_waker(struct profile *p, int tid)
{
    char path[40], name[64];
    snprintf(path, sizeof path, "/proc/%d/comm", tid);
    autofclose FILE *f = fopen(path, "re");
    size_t n = f ? fread(name, 1, sizeof name - 1, f) : 0;
    if (n && name[n - 1] == '\n')
        n--;
    n = worker_name(name, n);
    return waitstream_waker(p, n ? (struct text){name, n} : text_of("an ended process"));
}

static struct frame_id name_waker(struct perfswitch *s, struct profile *p, int tid)
{
    struct str_id name = processes_name(s->processes, tid);
    struct waker_name *k = &s->known[(unsigned)tid % WAKERS_KNOWN];
    if (k->frame.i && k->tid == tid && k->name.i == name.i)
        return k->frame;
    struct frame_id frame = name.i ? waitstream_waker(p, profile_str(p, name)) : ask_waker(p, tid);
    *k = (struct waker_name){tid, name, frame};
    return frame;
}

/* The stack of the thread that waits with the waker's behind it. */
static struct stack_id woken_stack(struct perfswitch *s, const struct process_sample *at,
                                   struct stack_id waiter, bool interrupt)
{
    struct profile *p = processes_profile(s->processes);
    struct frame_id name =
        interrupt ? waitstream_waker(p, text_of("an interrupt")) : name_waker(s, p, at->tid);
    bool known = !interrupt && processes_knows(s->processes, at->pid);
    return processes_woken_stack(s->processes, waiter, name, known ? at : NULL);
}

/* Two samples of one wake are written one after the other, by the same thread. */
enum { SAME_WAKE_NS = 100000 };

/*
 * Whether a wake in a soft interrupt is by who runs there. The kernel's call chain says so; a
 * sample with the stack instead is of the same wake as the one before, or is not known to be.
 */
static bool is_sender(struct perfswitch *s, const struct engine_sample *sample, int woken)
{
    const struct process_sample *at = &sample->at;
    struct switch_sent *sent = &s->sent[(unsigned)at->tid % SENT_KNOWN];
    if (sender_is_current(&s->sender, at->kernel_pcs, at->n_kernel_pcs)) {
        *sent = (struct switch_sent){at->tid, woken, sample->time_ns};
        return true;
    }
    return !at->n_kernel_pcs && sent->tid == at->tid && sent->woken == woken &&
           sample->time_ns >= sent->time_ns && sample->time_ns - sent->time_ns <= SAME_WAKE_NS;
}

void perfswitch_wake(struct perfswitch *s, const struct engine_sample *sample, const uint8_t *raw,
                     size_t n)
{
    int32_t tid;
    const struct process_sample *at = &sample->at;
    if (!s->waits || n < s->woken_at + sizeof tid)
        return;
    memcpy(&tid, raw + s->woken_at, sizeof tid);
    bool interrupt = at->pid <= 0 || (raw[FLAGS_AT] & IN_INTERRUPT && !is_sender(s, sample, tid));
    struct waits_wake wake = {.tid = tid, .time_ns = sample->time_ns};
    wake.known = interrupt ? WAKER_INTERRUPT : at->regs.pc ? WAKER_WALKED : WAKER_NAMED;
    if (!waits_wants_wake(s->waits, &wake))
        return;
    if (wake.stack.i)
        wake.stack = woken_stack(s, at, wake.stack, interrupt);
    waits_wake(s->waits, &wake);
}

/* --- lives --- */

/* Who calls exec runs. */
void perfswitch_exec(struct perfswitch *s, int pid, int tid, uint64_t at_ns)
{
    if (!is_watched(s, pid))
        return;
    struct waits_at at = switch_at(s, pid, tid, at_ns);
    waits_begin(s->waits, &at, THREAD_RUNNING);
}

/* Who is born waits for its first CPU. */
void perfswitch_fork(struct perfswitch *s, int pid, int tid, uint64_t at_ns)
{
    if (!is_watched(s, pid))
        return;
    struct waits_at at = switch_at(s, pid, tid, at_ns);
    waits_begin(s->waits, &at, THREAD_RUNNABLE);
}

void perfswitch_exit(struct perfswitch *s, int tid, uint64_t at_ns)
{
    if (s->waits)
        waits_end(s->waits, &(struct waits_at){.tid = tid, .time_ns = at_ns});
}

void perfswitch_lose(struct perfswitch *s, uint64_t n)
{
    if (s->waits)
        waits_lose(s->waits, n);
}

void perfswitch_begin_hole(struct perfswitch *s)
{
    if (s->waits)
        waits_begin_hole(s->waits);
}

void perfswitch_end_hole(struct perfswitch *s)
{
    if (s->waits)
        waits_end_hole(s->waits);
}

void perfswitch_stop(struct perfswitch *s, uint64_t end_ns)
{
    if (s->waits)
        waits_stop(s->waits, end_ns);
}
