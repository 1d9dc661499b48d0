/*
 * lockstory_insight.c - what stands out about a program's locks, with its evidence.
 *
 * How to add one: write a function that says something only where the numbers carry it, and name it
 * in lockstory_find_insights().
 */
#include "analysis/lockstory.h"

#include "base/buf.h"
#include "base/units.h"

#include <string.h>

static void lockstory_say(struct lockstory *s, const char *title, struct buf *text,
                          const char *advice)
{
    findings_add(&s->insights, &s->arena, title, text, advice);
}

/* --- orders --- */

/* More are not looked at: each is searched for a way back. */
enum { ORDERS_MAX = 4096, CYCLES_MAX = 16 };

/* A path of orders from the lock that order FIRST takes back to the one it holds, by breadth. */
static bool find_way_back(const struct lockstory *s, uint32_t first, uint32_t *came_from,
                          uint32_t *ret_last)
{
    size_t n = s->orders.n;
    autofree uint32_t *queue = mem_calloc(n + 1, sizeof *queue);
    size_t head = 0, tail = 0;
    memset(came_from, 0xff, n * sizeof *came_from);
    queue[tail++] = first;
    came_from[first] = first;
    while (head < tail) {
        uint32_t at = queue[head++];
        const struct lockstory_order *o = &s->orders.at[at];
        if (o->lock.i == s->orders.at[first].held.i) {
            *ret_last = at;
            return true;
        }
        for (uint32_t i = 0; i < n; i++) {
            const struct lockstory_order *next = &s->orders.at[i];
            if (came_from[i] == UINT32_MAX && next->held.i == o->lock.i &&
                next->process.i == o->process.i) {
                came_from[i] = at;
                queue[tail++] = i;
            }
        }
    }
    return false;
}

/* Whether a cycle that is known goes over an order, perhaps of another thread. */
static bool is_in_cycle(const struct lockstory *s, uint32_t order)
{
    const struct lockstory_order *o = &s->orders.at[order];
    for (size_t i = 0; i < s->cycles.n; i++)
        for (size_t k = 0; k < s->cycles.at[i].orders.n; k++) {
            const struct lockstory_order *in = &s->orders.at[s->cycles.at[i].orders.at[k]];
            if (in->held.i == o->held.i && in->lock.i == o->lock.i && in->process.i == o->process.i)
                return true;
        }
    return false;
}

/* Whether one thread alone went all of a cycle: it does not wait for itself. */
static bool is_of_one_thread(const struct lockstory *s, uint32_t first, uint32_t last,
                             const uint32_t *came_from)
{
    const struct thread *threads = s->profile->threads.at;
    int32_t tid = threads[s->orders.at[first].thread.i].tid; /* whatever its name was */
    for (uint32_t at = last; at != first; at = came_from[at])
        if (threads[s->orders.at[at].thread.i].tid != tid)
            return false;
    return true;
}

static void add_cycle(struct lockstory *s, uint32_t first, uint32_t last, const uint32_t *came_from)
{
    struct lockstory_cycle *c = vec_push(&s->cycles);
    *c = (struct lockstory_cycle){0};
    for (uint32_t at = last;; at = came_from[at]) {
        *vec_push(&c->orders) = at;
        if (at == first)
            break;
    }
    for (size_t i = 0, k = c->orders.n - 1; i < k; i++, k--) {
        uint32_t swapped = c->orders.at[i];
        c->orders.at[i] = c->orders.at[k];
        c->orders.at[k] = swapped;
    }
}

void lockstory_find_cycles(struct lockstory *s)
{
    size_t n = s->orders.n < ORDERS_MAX ? s->orders.n : 0;
    autofree uint32_t *came_from = mem_calloc(n + 1, sizeof *came_from);
    uint32_t last;
    for (uint32_t i = 0; i < n && s->cycles.n < CYCLES_MAX; i++)
        if (!is_in_cycle(s, i) && find_way_back(s, i, came_from, &last) &&
            !is_of_one_thread(s, i, last, came_from))
            add_cycle(s, i, last, came_from);
}

/* Threads wait for each of its locks, and nobody came to let one go. */
static bool is_deadlock(const struct lockstory *s, const struct lockstory_cycle *c)
{
    for (size_t i = 0; i < c->orders.n; i++) {
        const struct lockstory_order *o = &s->orders.at[c->orders.at[i]];
        bool open = false;
        for (size_t k = 0; k < s->locks.n; k++)
            open |= s->locks.at[k].name.i == o->lock.i && s->locks.at[k].open;
        if (!open)
            return false;
    }
    return true;
}

static void say_cycle(struct lockstory *s, const struct lockstory_cycle *c)
{
    const struct profile *p = s->profile;
    struct buf b = {0};
    bool address = false;
    for (size_t i = 0; i < c->orders.n; i++) {
        const struct lockstory_order *o = &s->orders.at[c->orders.at[i]];
        autofree char *path = lockstory_path(s, o->stack, 3);
        struct text held = profile_str(p, o->held);
        buf_printf(&b, "%s%.*s was taken while %.*s was held, in %s", i ? "; " : "",
                   TEXT_ARG(profile_str(p, o->lock)), TEXT_ARG(held), path);
        address |= lockstory_is_address(held);
    }
    if (address)
        buf_printf(&b, " (several locks may have had the same address, one after the other)");
    bool stuck = is_deadlock(s, c);
    if (stuck)
        buf_printf(&b, "; threads still waited for each of them when the recording ended");
    lockstory_say(s, stuck ? "deadlock" : "lock-order inversion", &b,
                  "Threads that do this at the same time wait for each other forever. Take these "
                  "locks in one order everywhere, or all at once (std::scoped_lock).");
}

/* --- waits without an end --- */

static bool is_in_deadlock(const struct lockstory *s, const struct lockstory_lock *l)
{
    for (size_t i = 0; i < s->cycles.n; i++)
        for (size_t k = 0; k < s->cycles.at[i].orders.n && is_deadlock(s, &s->cycles.at[i]); k++)
            if (s->orders.at[s->cycles.at[i].orders.at[k]].lock.i == l->name.i)
                return true;
    return false;
}

/* A lock that nobody let go of. (Workers that wait for a signal at the end are idle.) */
static void say_stuck(struct lockstory *s, const struct lockstory_lock *l)
{
    char n[UNITS_MAX], time[UNITS_MAX];
    struct buf b = {0};
    if (!l->excludes || !l->open || is_in_deadlock(s, l))
        return;
    autofree char *path = lockstory_path(s, l->waiters.at[0].stack, 3);
    buf_printf(&b, "%s thread%s still waited for %.*s at the end of the program or the recording",
               units_count(n, l->open), l->open == 1 ? "" : "s",
               TEXT_ARG(profile_str(s->profile, l->name)));
    if (l->keeper.i)
        buf_printf(&b, ", which thread %.*s held", TEXT_ARG(profile_str(s->profile, l->keeper)));
    buf_printf(&b, "; the longest wait took %s; most of the waiting is in %s",
               units_scaled(time, (double)l->longest_ns, SCALED_NS), path);
    lockstory_say(s, "never let go", &b,
                  "A holder that ended or returned without unlocking, or that waits itself, keeps "
                  "the lock forever. If the program was stopped on purpose, ignore this.");
}

/* --- convoys --- */

/*
 * Fewer waits may be chance, unless each is long: three threads that wait for a second each are a
 * queue. A lock that is rarely waited for is no bottleneck.
 */
enum { CONVOY_WAITS = 20, CONVOY_THREADS = 3 };
#define CONVOY_LONG_NS 10e6
#define CONVOY_SHARE 0.2
#define CONVOY_AT_ONCE 1.2

/* Nothing that could be moved out of it is as short. */
#define SHORT_HOLD_NS 5e3

static bool convoy_is_chance(const struct lockstory_lock *l)
{
    return l->waits < CONVOY_WAITS && (double)l->wait_ns < CONVOY_LONG_NS * (double)l->waits;
}

static void say_convoy(struct lockstory *s, const struct lockstory_lock *l)
{
    double all_ns = (double)(s->end_ns - s->start_ns);
    double share = all_ns > 0 ? (double)l->waited_ns / all_ns : 0;
    double at_once = l->waited_ns ? (double)l->wait_ns / (double)l->waited_ns : 0;
    char n[UNITS_MAX], time[UNITS_MAX], mean[UNITS_MAX];
    struct buf b = {0};
    if (!l->excludes || convoy_is_chance(l) || l->threads.n < CONVOY_THREADS ||
        share < CONVOY_SHARE || at_once < CONVOY_AT_ONCE)
        return;
    buf_printf(&b,
               "%zu threads queued for %.*s during %.0f%% of the recording, %.1f at a time: %s in "
               "total, %s per wait on average",
               l->threads.n, TEXT_ARG(profile_str(s->profile, l->name)), 100 * share, at_once,
               units_scaled(time, (double)l->wait_ns, SCALED_NS),
               units_scaled(mean, (double)l->wait_ns / (double)l->waits, SCALED_NS));
    if (l->holders.n) {
        autofree char *path = lockstory_path(s, l->holders.at[0].stack, 2);
        buf_printf(&b, "; %.0f%% of that while it was held by %s",
                   100 * (double)l->holders.at[0].wait_ns / (double)l->wait_ns, path);
    }
    if (l->holds == 1)
        buf_printf(&b, "; the one hold that was timed took %s",
                   units_scaled(time, (double)l->held_ns, SCALED_NS));
    else if (l->holds)
        buf_printf(&b, "; the %s holds that were timed took %s on average, %s at most",
                   units_count(n, l->holds),
                   units_scaled(mean, (double)l->held_ns / (double)l->holds, SCALED_NS),
                   units_scaled(time, (double)l->longest_held_ns, SCALED_NS));
    bool is_short = l->holds && (double)l->held_ns < SHORT_HOLD_NS * (double)l->holds;
    lockstory_say(s, "lock convoy", &b,
                  is_short
                      ? "The lock is held briefly and taken too often: take it once for "
                        "several pieces of work, or give each thread data of its own and "
                        "join them at the end."
                      : "Hold the lock for a shorter time: move I/O, allocation and waiting out of "
                        "it. Or split it, so that threads need different ones.");
}

void lockstory_find_insights(struct lockstory *s)
{
    for (size_t i = 0; i < s->cycles.n; i++)
        say_cycle(s, &s->cycles.at[i]);
    for (size_t i = 0; i < s->locks.n; i++)
        say_stuck(s, &s->locks.at[i]);
    for (size_t i = 0; i < s->locks.n; i++)
        say_convoy(s, &s->locks.at[i]);
}
