#include "view/lockstory.h"
#include "view/findings.h"

#include "base/units.h"
#include "view/document.h"

/* Stacks of each side of a lock, and functions of a stack, that are shown. */
enum { PLACES = 3, FUNCTIONS = 6 };

static void lockstory_cell_ns(struct document *d, uint64_t ns, double heat)
{
    char s[UNITS_MAX];
    document_cell(d, text_of(units_scaled(s, (double)ns, SCALED_NS)), heat);
}

static void lockstory_cell_count(struct document *d, uint64_t n)
{
    char s[UNITS_MAX];
    document_cell(d, text_of(units_count(s, n)), 0);
}

/* --- tables --- */

static const struct document_column lock_columns[] = {
    {"wait", .right = true},
    {"waits", .right = true},
    {"mean", .right = true, .spare = 1},
    {"longest", .right = true},
    {"held", .right = true, .spare = 3},
    {"threads", .right = true, .spare = 2},
    {"kind"},
    {"lock", .wide = true},
};

enum { LOCK_COLUMNS = sizeof lock_columns / sizeof *lock_columns };

/* The mean of the holds during which a wait began. */
static void cell_held(struct document *d, const struct lockstory_lock *l)
{
    if (l->holds)
        lockstory_cell_ns(d, l->held_ns / l->holds, 0);
    else
        document_cell(d, text_of(l->excludes ? "-" : ""), 0);
}

static void add_locks(struct document *d, const struct lockstory_view *v, bool excluding)
{
    const struct lockstory *s = v->story;
    size_t shown = 0, n = 0;
    for (size_t i = 0; i < s->locks.n; i++) {
        const struct lockstory_lock *l = &s->locks.at[i];
        if (l->excludes != excluding || !l->waits)
            continue;
        if (!n++) {
            document_heading(d, excluding ? "Locks" : "Conditions, semaphores, barriers");
            document_table(d, lock_columns, LOCK_COLUMNS);
        }
        if (shown == v->top)
            continue;
        shown++;
        lockstory_cell_ns(d, l->wait_ns, s->wait_ns ? (double)l->wait_ns / (double)s->wait_ns : 0);
        lockstory_cell_count(d, l->waits);
        lockstory_cell_ns(d, l->wait_ns / l->waits, 0);
        lockstory_cell_ns(d, l->longest_ns, 0);
        cell_held(d, l);
        lockstory_cell_count(d, l->threads.n);
        document_cell(d, profile_str(s->profile, l->kind), 0);
        document_cell(d, profile_str(s->profile, l->name), 0);
    }
    if (n)
        document_drop_empty(d);
    if (shown < n)
        document_text(d, "%zu more not shown.", n - shown);
}

/* "worker", or "worker and 3 more". */
static void cell_threads(struct document *d, const struct profile *p, const lockstory_threads *t)
{
    struct text first = t->n ? profile_str(p, p->threads.at[t->at[0].i].name) : text_of("");
    autofree char *s = t->n > 1 ? mem_printf("%.*s and %zu more", TEXT_ARG(first), t->n - 1)
                                : mem_printf("%.*s", TEXT_ARG(first));
    document_cell(d, text_of(s), 0);
}

static void add_places(struct document *d, const struct lockstory_view *v,
                       const struct lockstory_lock *l, bool holders)
{
    struct lockstory *s = v->story;
    const lockstory_places *places = holders ? &l->holders : &l->waiters;
    const char *held = l->excludes ? "held" : "woke";
    for (size_t i = 0; i < places->n && i < PLACES; i++) {
        const struct lockstory_place *p = &places->at[i];
        autofree char *path = lockstory_path(s, p->stack, FUNCTIONS);
        document_cell(d, text_of(holders ? held : "waited"), 0);
        lockstory_cell_ns(d, p->wait_ns, l->wait_ns ? (double)p->wait_ns / (double)l->wait_ns : 0);
        lockstory_cell_count(d, p->waits);
        lockstory_cell_ns(d, p->longest_ns, 0);
        cell_threads(d, s->profile, &p->threads);
        document_cell(d, text_of(path), 0);
    }
}

static void add_holds(struct document *d, struct lockstory *s, const struct lockstory_lock *l)
{
    char n[UNITS_MAX], time[2][UNITS_MAX];
    if (!l->holds)
        return;
    autofree char *path = lockstory_path(s, l->longest_held, 3);
    struct text thread = profile_str(s->profile, s->profile->threads.at[l->longest_holder.i].name);
    units_scaled(time[1], (double)l->longest_held_ns, SCALED_NS);
    if (l->holds == 1)
        document_text(d,
                      "1 hold was timed during which a wait began: it took %s and ended in %s "
                      "(thread %.*s).",
                      time[1], path, TEXT_ARG(thread));
    else
        document_text(
            d,
            "%s holds were timed during which a wait began: %s on average; the longest took %s "
            "and ended in %s (thread %.*s).",
            units_count(n, l->holds),
            units_scaled(time[0], (double)l->held_ns / (double)l->holds, SCALED_NS), time[1], path,
            TEXT_ARG(thread));
}

static void add_lock(struct document *d, const struct lockstory_view *v,
                     const struct lockstory_lock *l)
{
    static const struct document_column columns[] = {{"who"},
                                                     {"wait", .right = true},
                                                     {"waits", .right = true},
                                                     {"longest", .right = true},
                                                     {"thread"},
                                                     {"call stack", .wide = true}};
    const struct profile *p = v->story->profile;
    autofree char *title = mem_printf("%.*s (%.*s)", TEXT_ARG(profile_str(p, l->name)),
                                      TEXT_ARG(profile_str(p, l->kind)));
    autofree char *first = lockstory_path(v->story, l->first, 2);
    document_heading(d, title);
    document_table(d, columns, 6);
    add_places(d, v, l, false);
    add_places(d, v, l, true);
    add_holds(d, v->story, l);
    if (l->created.i) {
        autofree char *created = lockstory_path(v->story, l->created, 2);
        document_text(d, "Created in %s.", created);
    }
    if (lockstory_is_address(profile_str(p, l->name)) && l->waiters.n > 1)
        document_text(d, "First waited for in %s.", first);
    if (l->excludes && l->held_known < l->waits)
        document_text(d, "The holder's stack is known for %.0f%% of the waits.",
                      100 * (double)l->held_known / (double)l->waits);
}

/* --- all of it --- */

static void lockstory_add_total(struct document *d, const struct lockstory_total *t,
                                const char *of_what, const char *remark)
{
    char n[2][UNITS_MAX], time[UNITS_MAX];
    document_text(d, "%s wait%s for %s %s: %s in total, all threads together%s.",
                  units_count(n[0], t->waits), t->waits == 1 ? "" : "s", units_count(n[1], t->n),
                  of_what, units_scaled(time, (double)t->wait_ns, SCALED_NS), remark);
}

/* A pool without work waits too: what may be idleness is not added to waits for locks. */
static void lockstory_add_totals(struct document *d, const struct lockstory *s)
{
    char n[UNITS_MAX], again[UNITS_MAX], time[UNITS_MAX];
    if (s->locks_total.waits)
        lockstory_add_total(d, &s->locks_total, s->locks_total.n == 1 ? "lock" : "locks", "");
    else
        document_text(d, "No call that locks a mutex or read-write lock had to wait.");
    uint64_t vain = lockstory_woken_in_vain(s);
    if (vain)
        document_text(d,
                      "The kernel saw %s wait%s inside these calls: at least %s time%s a thread "
                      "woke, found the lock taken again and waited once more.",
                      units_count(n, s->blocked_waits), s->blocked_waits == 1 ? "" : "s",
                      units_count(again, vain), vain == 1 ? "" : "s");
    if (s->signals_total.waits)
        lockstory_add_total(d, &s->signals_total,
                            s->signals_total.n == 1 ? "condition, semaphore or barrier"
                                                    : "conditions, semaphores or barriers",
                            ". Threads may just have been idle");
    if (s->retaken)
        document_text(
            d,
            "At the end of waits for a condition, threads waited %s time%s for its mutex, "
            "which another thread held: %s in total. Where a signal ended the "
            "wait, signalling after the unlock avoids most of that. After a timeout only a mutex "
            "that is held for less time does.",
            units_count(n, s->retaken), s->retaken == 1 ? "" : "s",
            units_scaled(time, (double)s->retaken_ns, SCALED_NS));
}

static void lockstory_add_head(struct document *d, const struct lockstory_view *v)
{
    const struct lockstory *s = v->story;
    char n[2][UNITS_MAX], time[UNITS_MAX];
    lockstory_add_totals(d, s);
    if (s->open)
        document_text(
            d,
            "%s of the waits had not ended when the program or the recording did: their time "
            "counts until then.",
            units_count(n[0], s->open));
    if (s->futex_waits)
        document_text(
            d,
            "The kernel also saw %s wait%s for futexes outside of pthreads, %s in total: locks or "
            "queues of the program, of its runtime (Rust, Go), of C11, or inside the C library "
            "(malloc, streams). Which one it was and who held it is unknown.",
            units_count(n[0], s->futex_waits), s->futex_waits == 1 ? "" : "s",
            units_scaled(time, (double)s->futex_ns, SCALED_NS));
    if (s->waits_stream->lost)
        document_text(d, "%s lost: counts and times are too low.",
                      units_many(n[0], s->waits_stream->lost, "record was", "records were"));
}

static void lockstory_fill(struct document *d, const struct lockstory_view *v)
{
    const struct lockstory *s = v->story;
    size_t shown = 0;
    lockstory_add_head(d, v);
    findings_show(d, &s->insights);
    add_locks(d, v, true);
    add_locks(d, v, false);
    for (size_t i = 0; i < s->locks.n && shown < v->top; i++) {
        if (!s->locks.at[i].waits)
            continue;
        add_lock(d, v, &s->locks.at[i]);
        shown++;
    }
    if (s->locks_total.waits)
        document_text(
            d, "Held: the thread that had the lock when the wait began, with the stack at which it "
               "released the lock. Of the holds during which a wait began, only those soon after "
               "another wait are timed.");
    if (s->signals_total.waits && !s->retaken)
        document_text(d, "A wait for a condition ends when the thread has its mutex again.");
    document_text(d, "Only waits through pthreads are seen, not locks that a program or its "
                     "runtime builds from futexes.");
}

static char *title_of_locks(const struct lockstory_view *v)
{
    const char *command = meta_find(&v->story->profile->meta, META_COMMAND);
    return mem_printf("Locks of %s", command ? command : v->subject);
}

void lockstory_print(FILE *out, const struct lockstory_view *v, const struct document_paper *paper)
{
    struct document d = {0};
    autofree char *title = title_of_locks(v);
    lockstory_fill(&d, v);
    document_print(out, &d, title, paper, NULL);
    document_done(&d);
}
