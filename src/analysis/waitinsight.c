#include "analysis/waitinsight.h"

#include "analysis/restack.h"
#include "base/units.h"

/* Less than this is no reason to do anything, whatever its share. */
enum { LEAST_NS = 10000000 };

/* Shares that stand out. */
#define LEAST_NO_CPU 0.2
#define LEAST_NO_CPU_OF_ALL 0.02 /* of the wall time of all threads */
#define LEAST_CAUSE 0.25         /* of the queue time that a limit explains */
#define LEAST_STOLEN 0.1         /* of the time of all CPUs */
#define LEAST_RIVALS_KNOWN 0.3   /* of the queue time: the rest is taken to be like it */
#define MOSTLY 0.8
#define LEAST_LOCK 0.1
#define LEAST_IO 0.2
#define LEAST_IO_OF_ALL 0.02 /* of the longest life: one compiler of a build is not the build */

/* Waits in a second at one place, and how short they are. */
enum { OFTEN_HZ = 2000, SHORT_NS = 200000 };

/* The same of sleeps, which do nothing but look at the clock. */
enum { TIMER_HZ = 1000, TIMER_NS = 1000000 };

static double part_of(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* The innermost function of the program itself, else of a library of it; "" where there is none. */
static struct text place_of(const struct waitsum *w, struct stack_id stack)
{
    const struct profile *p = w->selection->profile;
    struct text place = {"", 0};
    for (; stack.i; stack = p->stacks.nodes.at[stack.i].parent) {
        struct frame_id id = p->stacks.nodes.at[stack.i].frame;
        const struct frame *f = profile_frame(p, id);
        for (size_t i = labels_count(f); i-- > 0;)
            if (f->kind != FRAME_KERNEL && f->n_lines && !waitsum_is_libc(p, f) &&
                !selection_hides(w->selection, id, i)) {
                struct text name = labels_text(&w->labels, labels_get(&w->labels, p, id, i));
                place = place.n ? place : name;
                if (!waitsum_is_runtime(name) && !restack_is_start(name))
                    return name;
            }
    }
    return place;
}

/* Where most of the waits for REASON are; NULL where there are none. */
static const struct waitsum_stack *longest_of(const struct waitsum *w, enum wait_reason reason)
{
    for (size_t i = 0; i < w->stacks.n; i++)
        if (!w->stacks.at[i].runnable && w->stacks.at[i].reason == reason)
            return &w->stacks.at[i];
    return NULL;
}

/* --- no CPU: who had it --- */

struct no_cpu_cause {
    char evidence[160];
    const char *advice;
};

static double meta_ns(const struct meta *m, const char *key)
{
    uint64_t ns = 0;
    return meta_find_u64(m, key, &ns) ? (double)ns : 0;
}

/* What the kernel counted: a quota of the cgroup, or a host that had other work. */
static bool is_limited(const struct meta *m, double queued_ns, struct no_cpu_cause *ret)
{
    char n[UNITS_MAX];
    const char *cpus = meta_find(m, META_CPUS);
    double machine_ns = meta_ns(m, META_DURATION_NS) * (cpus ? strtod(cpus, NULL) : 0);
    double throttled = meta_ns(m, META_THROTTLED_NS), stolen = meta_ns(m, META_STOLEN_NS);
    bool quota = throttled > 0 && throttled >= LEAST_CAUSE * queued_ns;
    if (!quota && (machine_ns <= 0 || stolen < LEAST_STOLEN * machine_ns))
        return false;
    snprintf(ret->evidence, sizeof ret->evidence,
             quota ? "; its cgroup had used up its CPU quota for %s"
                   : "; the host had taken the machine's CPUs for %s (steal time)",
             units_scaled(n, quota ? throttled : stolen, SCALED_NS));
    ret->advice = quota ? "The quota is the limit (cpu.max, or cpu.cfs_quota_us): raise it, or run "
                          "fewer threads than it has CPUs for."
                        : "The virtual machine waits for its host: measure on a host that is less "
                          "busy before you change the program.";
    return true;
}

/* Who ran on the CPUs for which threads queued, where most of that is known. */
static bool has_rivals(const struct meta *m, double queued_ns, struct no_cpu_cause *ret)
{
    double known = meta_ns(m, META_WAITS_QUEUED_NS);
    double own = known > 0 ? meta_ns(m, META_WAITS_QUEUED_OWN_NS) / known : 0;
    if (known < LEAST_RIVALS_KNOWN * queued_ns || known <= 0)
        return false;
    snprintf(ret->evidence, sizeof ret->evidence,
             "; the program's own threads had the CPU for %.0f%% of that time, others for %.0f%%",
             100 * own, 100 * (1 - own));
    ret->advice = own >= MOSTLY
                      ? "The program competes with itself: use fewer threads, or let them "
                        "use more CPUs (affinity, cpuset)."
                  : own <= 1 - MOSTLY
                      ? "Other processes had the CPUs: record on a quieter machine before you "
                        "change the program."
                      : "Both the program's own threads and other processes had the CPUs: record "
                        "on a quieter machine, then see whether fewer threads suffice.";
    return true;
}

static void find_no_cpu_cause(const struct waitsum *w, struct no_cpu_cause *ret)
{
    const struct meta *meta = &w->selection->profile->meta;
    bool part = w->selection->words; /* causes are known of the whole recording only */
    double queued_ns = (double)w->state_ns[THREAD_RUNNABLE];
    *ret = (struct no_cpu_cause){
        .advice = meta_find(meta, META_MACHINE)
                      ? "The machine has more work than CPUs: run less at a time, or add CPUs."
                  : meta_was_busy(meta)
                      ? "The machine had more work than CPUs when this began: other processes may "
                        "have taken them, or the program's own threads share too few (affinity, "
                        "a limit). Record the whole machine to see which before you change the "
                        "program."
                      : "More threads are ready than there are CPUs for them: use fewer threads, "
                        "or give the program more CPUs. Other processes may hold some."};
    if (!part && !meta_find(meta, META_MACHINE) && !is_limited(meta, queued_ns, ret))
        has_rivals(meta, queued_ns, ret);
}

static bool test_no_cpu(const struct waitsum *w, struct waitinsight *ret)
{
    char n[2][UNITS_MAX];
    struct no_cpu_cause cause;
    const char *least = waitsum_has_wakers(w) ? "" : "at least ";
    int64_t queued_ns = w->state_ns[THREAD_RUNNABLE];
    int64_t wanted_ns = waitsum_add_ns(queued_ns, w->state_ns[THREAD_RUNNING]);
    if (queued_ns < LEAST_NS || part_of(queued_ns, wanted_ns) < LEAST_NO_CPU ||
        part_of(queued_ns, w->wall_ns) < LEAST_NO_CPU_OF_ALL)
        return false;
    find_no_cpu_cause(w, &cause);
    ret->id = "no-cpu";
    ret->ns = queued_ns;
    ret->advice = cause.advice;
    snprintf(ret->evidence, sizeof ret->evidence,
             "threads wanted a CPU for %s%s and had none for %s%s of it (%.0f%%)%s", least,
             units_scaled(n[0], (double)wanted_ns, SCALED_NS), least,
             units_scaled(n[1], (double)queued_ns, SCALED_NS), 100 * part_of(queued_ns, wanted_ns),
             cause.evidence);
    return true;
}

/* Threads that waited for a lock when the recording began and still do. */
static size_t count_stuck(const struct waitsum *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->threads.n; i++) {
        const struct waitsum_thread *t = &w->threads.at[i];
        n += waitsum_never_woke(t) && t->wall_ns >= LEAST_NS &&
             part_of(t->reason_ns[WAIT_LOCK], t->wall_ns) > 0.9;
    }
    return n;
}

static bool test_stuck(const struct waitsum *w, struct waitinsight *ret)
{
    size_t n = count_stuck(w);
    const struct waitsum_stack *most = longest_of(w, WAIT_LOCK);
    if (!n || !most || w->selection->words) /* of a part, nobody knows what was before and after */
        return false;
    struct text place = place_of(w, most->stack);
    ret->id = "stuck-on-locks";
    ret->ns = w->by_reason[WAIT_LOCK].ns;
    ret->advice =
        "This may be a deadlock, each thread waiting for a lock that another one holds: look at "
        "the "
        "stacks below. A recording of the program from its start, with locks, names the holders.";
    snprintf(ret->evidence, sizeof ret->evidence,
             "%zu thread%s waited for a lock from the beginning of the recording to its end%s%.*s",
             n, n == 1 ? "" : "s", place.n ? ", one in " : "", TEXT_ARG(place));
    return true;
}

static bool test_locks(const struct waitsum *w, struct waitinsight *ret)
{
    char n[2][UNITS_MAX];
    const struct wait_sum *s = &w->by_reason[WAIT_LOCK];
    const struct waitsum_stack *most = longest_of(w, WAIT_LOCK);
    if (!most || s->ns < LEAST_NS || part_of(s->ns, w->wall_ns) < LEAST_LOCK)
        return false;
    struct text place = place_of(w, most->stack);
    ret->id = "lock-waits";
    ret->ns = s->ns;
    ret->advice = "Hold the lock for a shorter time, split it, or let each thread collect its "
                  "results and take the lock once.";
    snprintf(ret->evidence, sizeof ret->evidence,
             "%s of thread time (%.0f%%) goes to waiting for locks, %s wait%s%s%.*s",
             units_scaled(n[0], (double)s->ns, SCALED_NS), 100 * part_of(s->ns, w->wall_ns),
             units_count(n[1], s->n), s->n == 1 ? "" : "s", place.n ? ", longest in " : "",
             TEXT_ARG(place));
    return true;
}

static int64_t longest_wall_ns(const struct waitsum *w)
{
    int64_t most = 1;
    for (size_t i = 0; i < w->threads.n; i++)
        most = w->threads.at[i].wall_ns > most ? w->threads.at[i].wall_ns : most;
    return most;
}

static int64_t io_of_thread(const struct waitsum_thread *t)
{
    return t->reason_ns[WAIT_FILE] + t->reason_ns[WAIT_SYNC] + t->reason_ns[WAIT_PAGE_FAULT];
}

static bool is_mostly_faults(const struct waitsum_thread *t)
{
    return 2 * t->reason_ns[WAIT_PAGE_FAULT] > io_of_thread(t);
}

/* Where a thread waits longest for REASON: of others' waits nothing is said. The empty stack:
 * nowhere. */
static struct stack_id longest_of_thread(const struct waitsum *w, const struct waitsum_thread *t,
                                         enum wait_reason reason)
{
    const struct profile *p = w->selection->profile;
    const struct rows *rows = &w->selection->stream->rows;
    const int64_t *blocked = selection_values(w->selection);
    autofree int64_t *ns = mem_calloc(p->stacks.nodes.n, sizeof *ns);
    struct waitstream streams;
    struct stack_id best = {0};
    if (waitstream_find(p, &streams))
        blocked = rows->value[streams.wait_column[WAIT_BLOCKED]];
    for (size_t i = 0; i < w->selection->n_rows; i++) {
        size_t row = selection_row(w->selection, i);
        const struct thread *of = &p->threads.at[rows->thread[row].i];
        if (of->process.i == t->process.i && of->tid == t->tid)
            ns[rows->stack[row].i] = waitsum_add_ns(ns[rows->stack[row].i], blocked[row]);
    }
    for (uint32_t i = 1; i < p->stacks.nodes.n; i++)
        if (ns[i] > ns[best.i] && waitreason_of_stack(p, (struct stack_id){i}) == reason)
            best.i = i;
    return best;
}

/* "files and page faults": those of them that T waited for. */
static const char *io_words(const struct waitsum_thread *t)
{
    static const char *const words[] = {"files",
                                        "files",
                                        "fsync",
                                        "files and fsync",
                                        "page faults",
                                        "files and page faults",
                                        "fsync and page faults",
                                        "files, fsync and page faults"};
    int seen = (t->reason_ns[WAIT_FILE] > 0) + 2 * (t->reason_ns[WAIT_SYNC] > 0) +
               4 * (t->reason_ns[WAIT_PAGE_FAULT] > 0);
    return words[seen];
}

/* The thread that waits longest for disks, among those that do little else but work. */
static bool test_io(const struct waitsum *w, struct waitinsight *ret)
{
    char n[UNITS_MAX];
    const struct waitsum_thread *worst = NULL;
    for (size_t i = 0; i < w->threads.n; i++) {
        const struct waitsum_thread *t = &w->threads.at[i];
        bool much = io_of_thread(t) >= LEAST_NS &&
                    part_of(io_of_thread(t), t->wall_ns) >= LEAST_IO &&
                    part_of(io_of_thread(t), longest_wall_ns(w)) >= LEAST_IO_OF_ALL;
        if (much && (!worst || io_of_thread(t) > io_of_thread(worst)))
            worst = t;
    }
    if (!worst)
        return false;
    bool faults = is_mostly_faults(worst);
    enum wait_reason reason = faults ? WAIT_PAGE_FAULT
                              : worst->reason_ns[WAIT_SYNC] > worst->reason_ns[WAIT_FILE]
                                  ? WAIT_SYNC
                                  : WAIT_FILE;
    struct text place = place_of(w, longest_of_thread(w, worst, reason));
    ret->id = faults ? "page-faults" : "io-in-path";
    ret->ns = io_of_thread(worst);
    ret->advice = faults ? "Memory that comes from a file or from swap is read when it is touched: "
                           "read ahead (madvise, MAP_POPULATE, read), touch it before it is "
                           "needed, or use less of it. A second run, with files in "
                           "memory, may wait for far less."
                  : reason == WAIT_FILE
                      ? "Read ahead, or write later or in another thread. A second run, with files "
                        "in memory, may wait for far less."
                      : "Write later or in another thread, or sync several changes at once.";
    snprintf(ret->evidence, sizeof ret->evidence,
             "thread '%.*s' waits %s for %s, %.0f%% of its wall time%s%.*s",
             TEXT_ARG(profile_str(w->selection->profile, worst->name)),
             units_scaled(n, (double)io_of_thread(worst), SCALED_NS), io_words(worst),
             100 * part_of(io_of_thread(worst), worst->wall_ns), place.n ? ", mostly in " : "",
             TEXT_ARG(place));
    return true;
}

/* The time of the thread that lived longest, without that in which it had no CPU. */
static int64_t longest_life_ns(const struct waitsum *w)
{
    int64_t most = 0;
    for (size_t i = 0; i < w->threads.n; i++) {
        const struct waitsum_thread *t = &w->threads.at[i];
        int64_t ns = t->wall_ns - t->state_ns[THREAD_RUNNABLE];
        most = ns > most ? ns : most;
    }
    return most;
}

/* Who sleeps is woken by the clock; other waits may be, after a timeout. */
static bool is_of_clock(const struct waitsum_stack *s)
{
    return s->reason == WAIT_SLEEP;
}

/* Go's runtime looks after its threads by the clock: nobody who reads this can change that. */
static bool is_of_runtime(const struct waitsum *w, struct stack_id stack)
{
    const struct profile *p = w->selection->profile;
    for (; stack.i; stack = p->stacks.nodes.at[stack.i].parent) {
        const struct frame *f = profile_frame(p, p->stacks.nodes.at[stack.i].frame);
        for (size_t i = 0; i < f->n_lines; i++)
            if (text_is(profile_function_name(p, profile_lines(p, f)[i].function),
                        "runtime.sysmon"))
                return true;
    }
    return false;
}

/* A disk is waited for, or our own recorder: no thread is at the other side. */
static bool is_of_device(const struct waitsum_stack *s)
{
    return s->reason == WAIT_FILE || s->reason == WAIT_SYNC || s->reason == WAIT_PAGE_FAULT ||
           s->reason == WAIT_RECORDER;
}

/*
 * The place with the most waits, of those that the clock ends or of the others. None where the
 * stacks are those of CPU samples: nobody knows where it waits, nor for what.
 */
static const struct waitsum_stack *busiest(const struct waitsum *w, bool of_clock)
{
    const struct waitsum_stack *most = NULL;
    for (size_t i = 0; !w->n_near && i < w->stacks.n; i++) {
        const struct waitsum_stack *s = &w->stacks.at[i];
        if (!s->runnable && is_of_clock(s) == of_clock && (!most || s->sum.n > most->sum.n) &&
            !is_of_device(s) && !is_of_runtime(w, s->stack))
            most = s;
    }
    return most;
}

/* Whether there are at least HZ of them in a second, of at most SHORT_NS on average. */
static bool is_often(const struct waitsum_stack *s, double seconds, double hz, double short_ns)
{
    return s && seconds * 1e9 >= LEAST_NS && (double)s->sum.n >= hz * seconds &&
           (double)s->sum.ns <= short_ns * (double)s->sum.n;
}

static void say_often(const struct waitsum *w, const struct waitsum_stack *most, const char *what,
                      struct waitinsight *ret)
{
    char n[3][UNITS_MAX];
    double seconds = (double)longest_wall_ns(w) / 1e9;
    ret->ns = most->sum.ns;
    struct text place = place_of(w, most->stack);
    snprintf(ret->evidence, sizeof ret->evidence, "%s %s (%s per second) of %s on average%s%.*s",
             units_count(n[0], most->sum.n), what,
             units_count(n[1], (uint64_t)((double)most->sum.n / seconds)),
             units_scaled(n[2], (double)most->sum.ns / (double)most->sum.n, SCALED_NS),
             place.n ? " in " : "", TEXT_ARG(place));
}

static bool test_wakes(const struct waitsum *w, struct waitinsight *ret)
{
    const struct waitsum_stack *most = busiest(w, false);
    if (!is_often(most, (double)longest_life_ns(w) / 1e9, OFTEN_HZ, SHORT_NS))
        return false;
    ret->id = "wakes-often";
    ret->advice = "Every wait costs two context switches: do more work per wake-up, in batches, or "
                  "let one thread do both sides.";
    say_often(w, most, "waits", ret);
    return true;
}

static bool test_timers(const struct waitsum *w, struct waitinsight *ret)
{
    const struct waitsum_stack *most = busiest(w, true);
    if (!is_often(most, (double)longest_life_ns(w) / 1e9, TIMER_HZ, TIMER_NS) ||
        w->state_ns[THREAD_RUNNING] > most->sum.ns) /* it works in between */
        return false;
    ret->id = "timer-storm";
    ret->advice = "The clock wakes the program again and again, mostly for nothing: wait for the "
                  "event itself (a condition, poll, a blocking read), or sleep longer.";
    say_often(w, most, "sleeps", ret);
    return true;
}

static int insights_by_time(const void *a, const void *b)
{
    const struct waitinsight *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : strcmp(x->id, y->id);
}

size_t waitinsight_find(const struct waitsum *w, struct waitinsight ret[WAITINSIGHTS_MAX])
{
    static bool (*const tests[WAITINSIGHTS_MAX])(const struct waitsum *,
                                                 struct waitinsight *) = {waitinsight_large_pool,
                                                                          test_no_cpu,
                                                                          test_stuck,
                                                                          test_locks,
                                                                          waitinsight_each_other,
                                                                          test_io,
                                                                          test_wakes,
                                                                          test_timers,
                                                                          waitinsight_small_pool,
                                                                          waitinsight_idle_pool};
    size_t n = 0;
    for (size_t i = 0; i < WAITINSIGHTS_MAX; i++)
        if (!(tests[i] == test_no_cpu && n) && /* the pool is why */
            !(tests[i] == test_locks && n && strcmp(ret[n - 1].id, "stuck-on-locks") == 0))
            n += tests[i](w, &ret[n]);
    if (n)
        qsort(ret, n, sizeof *ret, insights_by_time);
    return n;
}
