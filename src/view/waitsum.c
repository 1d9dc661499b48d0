#include "view/waitsum_inner.h"

#include "analysis/lockstory.h"
#include "analysis/waitinsight.h"
#include "base/buf.h"
#include "base/units.h"
#include "model/meta.h"
#include "model/streamkind.h"

#include <math.h>

static int reasons_by_time(const void *a, const void *b)
{
    const struct waitsum_reason *x = a, *y = b;
    if (x->sum.ns != y->sum.ns)
        return x->sum.ns < y->sum.ns ? 1 : -1;
    return strcmp(x->name, y->name);
}

size_t waitsum_reasons(const struct waitsum *w, struct waitsum_reason ret[WAITSUM_REASONS])
{
    size_t n = 0;
    for (int i = 0; i < WAIT_REASONS; i++)
        if (w->by_reason[i].n)
            ret[n++] =
                (struct waitsum_reason){waitreason_name((enum wait_reason)i),
                                        waitreason_about((enum wait_reason)i), w->by_reason[i]};
    if (w->runnable.n)
        ret[n++] = (struct waitsum_reason){thread_state_name(THREAD_RUNNABLE),
                                           "no CPU: preempted, woken, or new", w->runnable};
    qsort(ret, n, sizeof *ret, reasons_by_time);
    return n;
}

/* --- cells --- */

void waitsum_cell_ns(struct document *d, int64_t ns)
{
    char s[UNITS_MAX];
    document_cell(d, text_of(ns ? units_scaled(s, (double)ns, SCALED_NS) : "0"), 0);
}

void waitsum_cell_share(struct document *d, int64_t part, int64_t whole)
{
    char s[UNITS_MAX];
    double share = whole > 0 ? (double)part / (double)whole : 0;
    snprintf(s, sizeof s, "%.1f%%", 100 * share);
    document_cell(d, text_of(s), share < 1 ? share : 1);
}

void waitsum_cells_of_sum(struct document *d, const struct wait_sum *s, int64_t whole_ns)
{
    char n[UNITS_MAX];
    waitsum_cell_ns(d, s->ns);
    waitsum_cell_share(d, s->ns, whole_ns);
    document_cell(d, text_of(units_count(n, s->n)), 0);
    waitsum_cell_ns(d, s->n ? s->ns / (int64_t)s->n : 0);
    waitsum_cell_ns(d, s->max_ns);
}

int64_t waitsum_off_cpu_of_all(const struct waitsum *w)
{
    int64_t ns = w->runnable.ns;
    for (int i = 0; i < WAIT_REASONS; i++)
        ns = waitsum_add_ns(ns, w->by_reason[i].ns);
    return ns;
}

/* --- the verdict --- */

/* "3 threads", or "3 threads in 2 processes". */
static char *count_threads(const struct waitsum *w)
{
    size_t n = w->threads.n, n_processes = 0;
    autofree bool *seen = mem_calloc(w->selection->profile->processes.n + 1, sizeof *seen);
    for (size_t i = 0; i < n; i++) {
        bool *of = &seen[w->threads.at[i].process.i];
        n_processes += !*of;
        *of = true;
    }
    autofree char *in = n_processes > 1 ? mem_printf(" in %zu processes", n_processes) : NULL;
    return mem_printf("%zu thread%s%s", n, n == 1 ? "" : "s", in ? in : "");
}

static void add_states_sentence(struct document *d, const struct waitsum *w)
{
    autofree char *threads = count_threads(w);
    char n[THREAD_STATES + 1][UNITS_MAX];
    double whole = w->wall_ns > 0 ? (double)w->wall_ns : 1;
    for (int i = 0; i < THREAD_STATES; i++)
        units_scaled(n[i], (double)w->state_ns[i], SCALED_NS);
    if (!w->has_states) {
        document_text(d, "%s, off-CPU for %s in total.", threads,
                      units_scaled(n[0], (double)waitsum_off_cpu_of_all(w), SCALED_NS));
        return;
    }
    document_text(d,
                  "%s, %s of thread time: running %s (%.1f%%), blocked %s (%.1f%%), "
                  "runnable without a CPU %s (%.1f%%).",
                  threads, units_scaled(n[THREAD_STATES], (double)w->wall_ns, SCALED_NS),
                  n[THREAD_RUNNING], 100 * (double)w->state_ns[THREAD_RUNNING] / whole,
                  n[THREAD_BLOCKED], 100 * (double)w->state_ns[THREAD_BLOCKED] / whole,
                  n[THREAD_RUNNABLE], 100 * (double)w->state_ns[THREAD_RUNNABLE] / whole);
    if (w->state_ns[THREAD_UNKNOWN])
        document_text(d, "Not known: %s (%.1f%%), where records were lost or not yet taken.",
                      n[THREAD_UNKNOWN], 100 * (double)w->state_ns[THREAD_UNKNOWN] / whole);
}

/* From this part of it on, two counts of one time need a word. */
#define TIMES_DIFFER 0.02
#define TIMES_DIFFER_NS 20e6

/*
 * The kernel charges a switch from where the thread before it stops to whoever comes next, and
 * records it where that is done: measured 0.5 us for each on a warm CPU and 4 us on a cold one,
 * with and without stacks of the switches. More than this has another cause.
 */
#define SWITCH_CHARGED_NS 20e3

static void add_cpu_sentence(struct document *d, const struct waitsum *w)
{
    char n[UNITS_MAX], switches[UNITS_MAX];
    uint64_t cpu_ns;
    double running = (double)w->state_ns[THREAD_RUNNING];
    if (!w->has_states || w->selection->words || running <= 0 ||
        !meta_find_u64(&w->selection->profile->meta, META_CPU_TIME_NS, &cpu_ns))
        return;
    double more = (double)cpu_ns / running - 1;
    double each_ns = w->n_waits ? more * running / (double)w->n_waits : INFINITY;
    autofree char *charged =
        more > 0 && each_ns < SWITCH_CHARGED_NS
            ? mem_printf(": it charges each switch to the thread that comes next, here %.2g us of "
                         "each of %s",
                         each_ns / 1e3, units_count(switches, w->n_waits))
            : mem_printf("%s", "");
    if (fabs(more) >= TIMES_DIFFER && fabs(more * running) >= TIMES_DIFFER_NS)
        document_text(d, "The kernel counted %s of CPU time, %.1f%% %s than the switches show%s.",
                      units_scaled(n, (double)cpu_ns, SCALED_NS), 100 * fabs(more),
                      more > 0 ? "more" : "less", charged);
}

bool waitsum_has_stacks(const struct waitsum *w)
{
    const char *stacks = meta_find(&w->selection->profile->meta, META_WAITS_STACKS);
    return !stacks || strcmp(stacks, "no") != 0;
}

/* Stacks of which not every wait has its own. */
static void add_stack_sentences(struct document *d, const struct waitsum *w)
{
    char n[2][UNITS_MAX];
    if (100 * w->n_summed >= w->n_waits && w->n_summed)
        document_text(d,
                      "Switches came too fast to take every stack: %s of the waits (%.0f%%) are "
                      "counted and timed, but their stacks and reasons are shared out like those "
                      "of the sampled waits of the same thread.",
                      units_count(n[0], w->n_summed),
                      100 * (double)w->n_summed / (double)(w->n_waits ? w->n_waits : 1));
    if (w->n_near)
        document_text(d,
                      "Stacks of %s wait%s are those of the last CPU sample of the same thread: "
                      "about where it was, not where it waits. Reasons are not known.",
                      units_count(n[1], w->n_near), w->n_near == 1 ? "" : "s");
}

/* Reasons that the kernel hides, of which our library in the program knows some. */
static void add_lock_sentence(struct document *d, const struct waitsum *w)
{
    struct lockstory s;
    struct err none;
    char n[4][UNITS_MAX];
    int rc = lockstory_build(&s, w->selection->profile, &none);
    const struct lockstory_total *of[] = {&s.locks_total, &s.signals_total};
    for (size_t i = 0; i < 2; i++) {
        units_scaled(n[2 * i], (double)of[i]->wait_ns, SCALED_NS);
        units_count(n[2 * i + 1], of[i]->waits);
    }
    if (rc == 0 && s.locks_total.waits + s.signals_total.waits)
        document_text(d,
                      "Kelvin's library in the program knows what some of the waits were for: %s "
                      "for locks (%s waits), %s for conditions, semaphores and barriers (%s). The "
                      "report on locks names them.",
                      n[0], n[1], n[2], n[3]);
    lockstory_done(&s);
}

static void add_loss_sentences(struct document *d, const struct waitsum *w)
{
    const struct stream *s = w->selection->stream;
    const char *unknown = meta_find(&w->selection->profile->meta, META_WAITS_UNKNOWN_ENDS);
    const char *of_all = w->selection->words ? " in the whole recording" : "";
    uint64_t cut = w->n_open + w->n_begun + w->n_cut;
    char n[3][UNITS_MAX];
    document_text(d, "%s wait%s%s", units_count(n[0], w->n_waits), w->n_waits == 1 ? "" : "s",
                  !s->lost_known ? "; losses are not known."
                  : s->lost      ? "."
                                 : "; no records lost.");
    if (s->lost)
        document_text(d,
                      "%s lost%s: waits are missing, and some that are shown may "
                      "contain time in which the thread ran.",
                      units_many(n[1], s->lost, "record was", "records were"), of_all);
    if (unknown)
        document_text(d, "Waits with an unknown end%s, not in the tables: %s.", of_all, unknown);
    if (cut)
        document_text(d,
                      "%s wait%s began before the %s or lasted longer; only the part inside "
                      "counts.",
                      units_count(n[2], cut), cut == 1 ? "" : "s",
                      w->n_cut ? "selected time" : "recording");
    if (!waitsum_has_stacks(w))
        document_text(d,
                      "Durations come from switch records alone: the kernel was not recorded, so "
                      "no wait has its own stack or a reason.");
    else if (w->n_stackless)
        document_text(d, "Waits without a stack: %s.", units_count(n[1], w->n_stackless));
    add_stack_sentences(d, w);
    if (!waitsum_has_stacks(w) && !w->selection->words)
        add_lock_sentence(d, w);
}

static bool has_goroutines(const struct profile *p)
{
    for (size_t i = 0; i < p->functions.n; i++)
        if (text_is(profile_function_name(p, (struct function_id){(uint32_t)i}),
                    "runtime.findRunnable"))
            return true;
    return false;
}

static void waitsum_add_head(struct document *d, const struct waitsum *w)
{
    add_states_sentence(d, w);
    add_cpu_sentence(d, w);
    add_loss_sentences(d, w);
    if (has_goroutines(w->selection->profile))
        document_text(d, "Goroutines wait without a thread, so their waits are not seen: these are "
                         "the waits of the threads of Go's runtime, idle ones in "
                         "runtime.findRunnable. Go's block and mutex profiles show goroutines.");
    if (w->selection->words)
        document_text(d, "Only: %s.%s", w->selection->words,
                      w->has_states
                          ? ""
                          : " Wall time, running time, wakers and parallelism belong to whole "
                            "threads and are left out.");
}

/* --- tables --- */

static void add_reasons(struct document *d, const struct waitsum *w)
{
    static const struct document_column columns[] = {{"time", .right = true},
                                                     {"of off-CPU", .right = true, .spare = 2},
                                                     {"waits", .right = true},
                                                     {"mean", .right = true, .spare = 3},
                                                     {"max", .right = true, .spare = 1},
                                                     {"reason"},
                                                     {"meaning", .wide = true, .spare = 4}};
    struct waitsum_reason list[WAITSUM_REASONS];
    size_t n = waitsum_reasons(w, list);
    document_heading(d, "Off-CPU time by reason");
    document_table(d, columns, 7);
    for (size_t i = 0; i < n; i++) {
        waitsum_cells_of_sum(d, &list[i].sum, waitsum_off_cpu_of_all(w));
        document_cell(d, text_of(list[i].name), 0);
        document_cell(d, text_of(list[i].about), 0);
    }
}

static void add_main_reason(struct document *d, const struct waitsum_thread *t)
{
    char s[UNITS_MAX];
    enum wait_reason r = waitsum_main_reason(t);
    int64_t sum_ns = 0;
    for (int i = 0; i < WAIT_REASONS; i++)
        sum_ns += t->reason_ns[i];
    if (r == WAIT_REASONS)
        *s = '\0';
    else
        snprintf(s, sizeof s, "%s %.0f%%", waitreason_name(r),
                 100 * (double)t->reason_ns[r] / (double)sum_ns);
    document_cell(d, text_of(s), 0);
}

static size_t count_woken(const struct waitsum *w)
{
    size_t n = 0;
    while (n < w->threads.n && !waitsum_never_woke(&w->threads.at[n]))
        n++;
    return n;
}

/* Columns of which nothing is known are dropped. */
static void add_state_cells(struct document *d, const struct waitsum *w,
                            const struct waitsum_thread *t)
{
    const int64_t cells[] = {t->wall_ns, t->state_ns[THREAD_RUNNING], t->state_ns[THREAD_RUNNABLE],
                             t->state_ns[THREAD_BLOCKED], t->state_ns[THREAD_UNKNOWN]};
    for (int i = 0; i < 5; i++)
        if (!w->has_states || (i == 4 && !w->state_ns[THREAD_UNKNOWN]))
            document_cell(d, text_of(""), 0);
        else
            waitsum_cell_ns(d, cells[i]);
}

static void waitsum_add_threads(struct document *d, const struct waitsum_view *v)
{
    static const struct document_column columns[] = {{"wall", .right = true, .spare = 3},
                                                     {"running", .right = true},
                                                     {"runnable", .right = true, .spare = 2},
                                                     {"blocked", .right = true},
                                                     {"unknown", .right = true, .spare = 1},
                                                     {"waits", .right = true, .spare = 4},
                                                     {"blocked mostly on", .spare = 1},
                                                     {"tid", .right = true, .spare = 5},
                                                     {"thread", .wide = true}};
    const struct waitsum *w = v->sum;
    const struct profile *p = w->selection->profile;
    char s[UNITS_MAX];
    size_t woken = count_woken(w), listed = woken ? woken : w->threads.n;
    document_heading(d, "By thread");
    document_table(d, columns, 9);
    for (size_t i = 0; i < listed && i < v->top; i++) {
        const struct waitsum_thread *t = &w->threads.at[i];
        add_state_cells(d, w, t);
        document_cell(d, text_of(units_count(s, t->waits)), 0);
        add_main_reason(d, t);
        snprintf(s, sizeof s, "%d", t->tid);
        document_cell(d, text_of(s), 0);
        document_cell(d, profile_str(p, t->name), 0);
    }
    document_drop_empty(d);
    if (listed > v->top)
        document_text(d, "%zu more not shown.", listed - v->top);
    if (listed < w->threads.n)
        document_text(d, "Threads that did not run once, not listed: %zu.", w->threads.n - listed);
}

static void waitsum_add_insights(struct document *d, const struct waitsum *w)
{
    struct waitinsight list[WAITINSIGHTS_MAX];
    size_t n = waitinsight_find(w, list);
    if (n)
        document_heading(d, "Insights");
    for (size_t i = 0; i < n; i++)
        document_item(d, list[i].id, list[i].evidence, list[i].advice);
}

/* --- how parallel --- */

static void add_others(struct document *d, const struct parallel *q)
{
    autobuf struct buf b = {0};
    double sum = 0;
    for (int i = 0; i < WAIT_REASONS; i++)
        sum += (double)q->others_ns[i];
    for (int i = 0; i < WAIT_REASONS && sum > 0; i++) {
        double share = (double)q->others_ns[i] / sum;
        if (share >= 0.01)
            buf_printf(&b, "%s%s %.0f%%", b.n ? ", " : "", waitreason_name((enum wait_reason)i),
                       100 * share);
    }
    if (b.n && (double)q->others_ns[WAIT_UNKNOWN] < sum) /* else nothing is known */
        document_text(d, "In the serial time the others waited for: %s.", buf_cstr(&b));
}

static void add_alone(struct document *d, const struct parallel *q)
{
    static const struct document_column columns[] = {
        {"serial", .right = true},
        {"of the serial time", .right = true, .spare = 1},
        {"tid", .right = true},
        {"thread", .wide = true}};
    autobuf struct buf names = {0};
    char s[UNITS_MAX];
    document_table(d, columns, 4);
    for (int i = 0; i < PARALLEL_NAMES && q->threads[i].ns; i++) {
        waitsum_cell_ns(d, q->threads[i].ns);
        waitsum_cell_share(d, q->threads[i].ns, q->serial_ns);
        snprintf(s, sizeof s, "%d", q->threads[i].tid);
        document_cell(d, text_of(s), 0);
        document_cell(d, text_of(q->threads[i].name), 0);
    }
    for (int i = 0; i < PARALLEL_NAMES && q->functions[i].samples &&
                    q->functions[i].samples * 100 >= q->samples;
         i++)
        buf_printf(&names, "%s%s %.0f%%", names.n ? ", " : "", q->functions[i].name,
                   100 * (double)q->functions[i].samples / (double)q->samples);
    if (names.n)
        document_text(
            d,
            "Functions in the serial time, by %s sample%s: %s. The kernel, libc.so, std:: of "
            "C++ and Rust and code of no known function count for their callers.",
            units_count(s, q->samples), q->samples == 1 ? "" : "s", buf_cstr(&names));
}

/* Others that were ready when one ran alone lacked a CPU, not work: that time is not serial. */
static void add_serial(struct document *d, const struct waitsum *w, const struct parallel *q)
{
    char n[3][UNITS_MAX];
    bool woken = waitsum_has_wakers(w); /* else who was woken and is ready passes for blocked */
    int64_t ready_ns = q->alone_ns - q->serial_ns;
    if (q->alone_ns <= 0)
        return;
    document_text(d, "One thread ran alone for %s: %.1f%% of the time in which any ran.",
                  units_scaled(n[0], (double)q->alone_ns, SCALED_NS),
                  100 * (double)q->alone_ns / (double)parallel_busy_ns(q));
    if (ready_ns > q->alone_ns / 100)
        document_text(
            d,
            "For %s%s of that (%.1f%%) another thread was ready to run and had no CPU. %s "
            "the other %s are serial.",
            woken ? "" : "at least ", units_scaled(n[1], (double)ready_ns, SCALED_NS),
            100 * (double)ready_ns / (double)q->alone_ns, woken ? "Only" : "At most",
            units_scaled(n[2], (double)q->serial_ns, SCALED_NS));
    if (q->serial_ns <= 0)
        return;
    add_others(d, q);
    add_alone(d, q);
}

static void waitsum_add_parallel(struct document *d, const struct waitsum *w,
                                 const struct parallel *q)
{
    char n[3][UNITS_MAX];
    int64_t busy_ns = parallel_busy_ns(q), idle_ns = q->wall_ns - busy_ns;
    autobuf struct buf over_time = {0};
    if (!q->known || q->threads_most < 2 || busy_ns <= 0)
        return;
    document_heading(d, "Parallelism");
    document_text(d,
                  "%.2f threads ran at once on average over %s; at most %zu lived at once. For %s "
                  "(%.1f%%) none ran.",
                  q->mean, units_scaled(n[0], (double)q->wall_ns, SCALED_NS), q->threads_most,
                  units_scaled(n[1], (double)idle_ns, SCALED_NS),
                  100 * (double)idle_ns / (double)q->wall_ns);
    if (q->starved_ns > idle_ns / 100)
        document_text(d, "For %s%s of that (%.1f%%) a thread was ready to run and had no CPU.",
                      waitsum_has_wakers(w) ? "" : "at least ",
                      units_scaled(n[2], (double)q->starved_ns, SCALED_NS),
                      100 * (double)q->starved_ns / (double)idle_ns);
    double most = 0;
    for (int i = 0; i < PARALLEL_SLICES; i++)
        most = q->slice[i] > most ? q->slice[i] : most;
    for (int i = 0; i < PARALLEL_SLICES; i++)
        buf_printf(&over_time, "%s%.*f", i ? " " : "", most < 0.95 ? 2 : 1, q->slice[i]);
    document_text(d, "Over time, in %d equal parts: %s.", PARALLEL_SLICES, buf_cstr(&over_time));
    add_serial(d, w, q);
}

/* WIDTH: of a terminal, in which stacks are in brief; 0 = whole stacks. */
static void waitsum_fill(struct document *d, const struct waitsum_view *v, int width)
{
    waitsum_add_head(d, v->sum);
    waitsum_add_insights(d, v->sum);
    add_reasons(d, v->sum);
    waitsum_add_threads(d, v);
    if (waitsum_has_stacks(v->sum) || v->sum->n_near)
        waitsum_add_stacks(d, v, width);
    waitsum_add_wakers(d, v, width);
    if (v->parallel)
        waitsum_add_parallel(d, v->sum, v->parallel);
    document_text(
        d, !v->sum->has_states ? "Runnable: preempted, woken or just started, and not on a CPU yet."
           : waitsum_has_wakers(v->sum)
               ? "Runnable: preempted, woken or just started, and not on a CPU yet. The states of "
                 "a thread add up to its wall time."
               : "Runnable: preempted or just started, and not on a CPU yet. Blocked time contains "
                 "the wait for a CPU after waking up. The states of a thread add up to its "
                 "wall time.");
    if (v->sum->by_reason[WAIT_LOCK].n &&
        stream_kind_find(v->sum->selection->profile, STREAM_LOCKS) >= 0)
        document_text(d, "Lock: each time off-CPU counts as a wait. One call waits several times "
                         "if another thread takes the lock before the woken one runs.");
}

/* --- printing --- */

static char *title_of_waits(const struct waitsum_view *v)
{
    const struct meta *meta = &v->sum->selection->profile->meta;
    const char *command = meta_find(meta, META_COMMAND), *part = meta_find(meta, META_MACHINE_PART);
    if (meta_find(meta, META_MACHINE))
        command = v->sum->selection->words ? "a part of the machine"
                  : part                   ? part
                                           : "the whole machine";
    return mem_printf("Waits of %s", command ? command : v->subject);
}

void waitsum_print(FILE *out, const struct waitsum_view *v, const struct document_paper *paper)
{
    struct document d = {0};
    autofree char *title = title_of_waits(v);
    waitsum_fill(&d, v, paper->form == DOCUMENT_AS_TEXT ? paper->width : 0);
    document_print(out, &d, title, paper, NULL);
    document_done(&d);
}
