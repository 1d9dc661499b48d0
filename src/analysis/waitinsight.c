#include "analysis/waitinsight.h"

#include "base/units.h"

/* Less than this is no reason to do anything, whatever its share. */
enum { LEAST_NS = 10000000 };

/* Shares that stand out. */
#define LEAST_NO_CPU 0.2
#define LEAST_LOCK 0.1
#define LEAST_IO 0.2

/* Waits in a second at one place, and how short they are. */
enum { OFTEN_HZ = 2000, SHORT_NS = 200000 };

/* The same of sleeps, which do nothing but look at the clock. */
enum { TIMER_HZ = 1000, TIMER_NS = 1000000 };

static double part_of(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* The innermost function of the program itself, "" where there is none. */
static struct text place_of(const struct waitsum *w, struct stack_id stack)
{
    const struct profile *p = w->selection->profile;
    for (; stack.i; stack = p->stacks.nodes.at[stack.i].parent) {
        struct frame_id id = p->stacks.nodes.at[stack.i].frame;
        const struct frame *f = profile_frame(p, id);
        for (size_t i = labels_count(f); i-- > 0;)
            if (f->kind != FRAME_KERNEL && f->n_lines && !waitsum_is_libc(p, f) &&
                !selection_hides(w->selection, id, i))
                return labels_text(&w->labels, labels_get(&w->labels, p, id, i));
    }
    return (struct text){"", 0};
}

/* Where most of the waits for REASON are; NULL where there are none. */
static const struct waitsum_stack *longest_of(const struct waitsum *w, enum wait_reason reason)
{
    for (size_t i = 0; i < w->stacks.n; i++)
        if (!w->stacks.at[i].runnable && w->stacks.at[i].reason == reason)
            return &w->stacks.at[i];
    return NULL;
}

static bool test_no_cpu(const struct waitsum *w, struct waitinsight *ret)
{
    char n[2][UNITS_MAX];
    int64_t queued_ns = w->state_ns[THREAD_RUNNABLE];
    int64_t wanted_ns = waitsum_add_ns(queued_ns, w->state_ns[THREAD_RUNNING]);
    if (queued_ns < LEAST_NS || part_of(queued_ns, wanted_ns) < LEAST_NO_CPU)
        return false;
    ret->id = "no-cpu";
    ret->advice = meta_was_busy(&w->selection->profile->meta)
                      ? "Other processes wanted the CPUs too: the machine had more work than CPUs "
                        "when this began. Record on a quieter one before you change the program."
                      : "More threads are ready than there are CPUs for them: use fewer threads, "
                        "or give the program more CPUs. Other processes may hold some.";
    snprintf(ret->evidence, sizeof ret->evidence,
             "threads wanted a CPU for %s and had none for %s of it (%.0f%%)",
             units_scaled(n[0], (double)wanted_ns, SCALED_NS),
             units_scaled(n[1], (double)queued_ns, SCALED_NS), 100 * part_of(queued_ns, wanted_ns));
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
    ret->advice = "Hold the lock for a shorter time, split it, or let each thread collect its "
                  "results and take the lock once.";
    snprintf(ret->evidence, sizeof ret->evidence,
             "%s of thread time (%.0f%%) goes to waiting for locks, %s wait%s%s%.*s",
             units_scaled(n[0], (double)s->ns, SCALED_NS), 100 * part_of(s->ns, w->wall_ns),
             units_count(n[1], s->n), s->n == 1 ? "" : "s", place.n ? ", longest in " : "",
             TEXT_ARG(place));
    return true;
}

static int64_t io_of_thread(const struct waitsum_thread *t)
{
    return t->reason_ns[WAIT_FILE] + t->reason_ns[WAIT_SYNC] + t->reason_ns[WAIT_PAGE_FAULT];
}

static bool is_mostly_faults(const struct waitsum_thread *t)
{
    return 2 * t->reason_ns[WAIT_PAGE_FAULT] > io_of_thread(t);
}

/* The thread that waits longest for disks, among those that do little else but work. */
static bool test_io(const struct waitsum *w, struct waitinsight *ret)
{
    char n[UNITS_MAX];
    const struct waitsum_thread *worst = NULL;
    for (size_t i = 0; i < w->threads.n; i++) {
        const struct waitsum_thread *t = &w->threads.at[i];
        bool much = io_of_thread(t) >= LEAST_NS && part_of(io_of_thread(t), t->wall_ns) >= LEAST_IO;
        if (much && (!worst || io_of_thread(t) > io_of_thread(worst)))
            worst = t;
    }
    if (!worst)
        return false;
    bool faults = is_mostly_faults(worst);
    const struct waitsum_stack *most =
        longest_of(w, faults                                                      ? WAIT_PAGE_FAULT
                      : worst->reason_ns[WAIT_SYNC] > worst->reason_ns[WAIT_FILE] ? WAIT_SYNC
                                                                                  : WAIT_FILE);
    struct text place = most ? place_of(w, most->stack) : (struct text){"", 0};
    ret->id = faults ? "page-faults" : "io-in-path";
    ret->advice = faults ? "Memory that comes from a file or from swap is read when it is touched: "
                           "read ahead (madvise, MAP_POPULATE, read), touch it before it is "
                           "needed, or use less of it."
                         : "Read ahead, write later or in another thread, or sync several changes "
                           "at once.";
    snprintf(ret->evidence, sizeof ret->evidence,
             "thread '%.*s' waits %s for %s, %.0f%% of its wall time%s%.*s",
             TEXT_ARG(profile_str(w->selection->profile, worst->name)),
             units_scaled(n, (double)io_of_thread(worst), SCALED_NS),
             faults ? "page faults" : "files, fsync or page faults",
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

/* The place with the most waits, of those that the clock ends or of the others. */
static const struct waitsum_stack *busiest(const struct waitsum *w, bool of_clock)
{
    const struct waitsum_stack *most = NULL;
    for (size_t i = 0; i < w->stacks.n; i++) {
        const struct waitsum_stack *s = &w->stacks.at[i];
        if (!s->runnable && is_of_clock(s) == of_clock && (!most || s->sum.n > most->sum.n))
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
    double seconds = (double)longest_life_ns(w) / 1e9;
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

size_t waitinsight_find(const struct waitsum *w, struct waitinsight ret[WAITINSIGHTS_MAX])
{
    static bool (*const tests[WAITINSIGHTS_MAX])(const struct waitsum *, struct waitinsight *) = {
        waitinsight_large_pool, test_no_cpu, test_locks, test_io, test_wakes, test_timers,
        waitinsight_small_pool};
    size_t n = 0;
    for (size_t i = 0; i < WAITINSIGHTS_MAX; i++)
        if (!(tests[i] == test_no_cpu && n)) /* the pool is why */
            n += tests[i](w, &ret[n]);
    return n;
}
