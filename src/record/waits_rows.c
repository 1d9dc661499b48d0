/*
 * waits_rows.c - rows of waits, of states and of wakeups.
 */
#include "record/waits_inner.h"

void waits_write_states(struct waits *w, struct waiter *t)
{
    struct err ignored;
    struct row row = {.stack = w->no_stack,
                      .thread = t->thread,
                      .has_time = true,
                      .time_ns = t->written_ns,
                      .duration_ns = t->since_ns - t->written_ns,
                      .values = t->in_state_ns};
    if (t->since_ns == t->written_ns)
        return;
    profile_add_row(w->profile, w->streams.states, &row, &ignored);
    w->facts.runnable_ns += (uint64_t)t->in_state_ns[THREAD_RUNNABLE];
    memset(t->in_state_ns, 0, sizeof t->in_state_ns);
    t->written_ns = t->since_ns;
}

/* --- wakeups --- */

static struct waits_wakeup *wakeup_of(struct waits *w, const struct waiter *t)
{
    uint32_t slot = (uint32_t)(t->since_ns / WAITS_SLOT_NS);
    uint32_t hash = hash_pair(hash_pair(t->woken_stack.i, t->thread.i), slot);
    for_each_match (&w->wakeup_map, hash, i) {
        struct waits_wakeup *old = &w->wakeups.at[i];
        if (old->stack.i == t->woken_stack.i && old->thread.i == t->thread.i &&
            old->time_ns / WAITS_SLOT_NS == t->since_ns / WAITS_SLOT_NS)
            return old;
    }
    idmap_add(&w->wakeup_map, hash, (uint32_t)w->wakeups.n);
    struct waits_wakeup *new = vec_push(&w->wakeups);
    *new = (struct waits_wakeup){t->thread, t->woken_stack, t->since_ns, 0, 0};
    return new;
}

static void add_wakeup(struct waits *w, const struct waiter *t, int64_t blocked_ns)
{
    if (!t->woken || !t->woken_stack.i || w->streams.wakes < 0)
        return;
    struct waits_wakeup *k = wakeup_of(w, t);
    k->n++;
    k->waited_ns += blocked_ns;
    w->facts.woken++;
}

void waits_write_wakeups(struct waits *w)
{
    struct err ignored;
    for (size_t i = 0; i < w->wakeups.n; i++) {
        const struct waits_wakeup *k = &w->wakeups.at[i];
        int64_t values[WAKE_COLUMNS] = {[WAKE_COUNT] = k->n, [WAKE_WAITED] = k->waited_ns};
        struct row row = {.stack = k->stack,
                          .thread = k->thread,
                          .has_time = true,
                          .time_ns = k->time_ns,
                          .values = values};
        profile_add_row(w->profile, w->streams.wakes, &row, &ignored);
    }
    w->wakeups.n = 0;
    idmap_done(&w->wakeup_map);
}

/* --- waits --- */

static struct stack_id stack_of_wait(const struct waits *w, const struct waiter *t,
                                     enum wait_part *part)
{
    if (t->has_stack)
        return t->stack;
    if (!t->near_stack.i)
        return w->no_stack;
    *part = *part == WAIT_WHOLE ? WAIT_NEAR : *part;
    return t->near_stack;
}

void waits_write_wait(struct waits *w, struct waiter *t, uint64_t end_ns, enum wait_part part)
{
    struct err ignored;
    int64_t values[WAIT_COLUMNS] = {[WAIT_COUNT] = 1};
    uint64_t ns = end_ns > t->left_ns ? end_ns - t->left_ns : 0;
    uint64_t since_ns = end_ns > t->since_ns ? end_ns - t->since_ns : 0; /* of the last state */
    if (waits_is_unseen(
            w, t)) { /* a wake that was seen by chance parts it no better than the others */
        if (t->way == LEFT_BLOCKED)
            t->state = THREAD_BLOCKED;
        waits_add_unseen(t, ns);
        return;
    }
    values[WAIT_RUNNABLE] = t->state == THREAD_RUNNABLE ? (int64_t)since_ns : 0;
    values[WAIT_BLOCKED] = (int64_t)ns - values[WAIT_RUNNABLE];
    part = t->start_seen ? part : WAIT_NO_START;
    struct row row = {.stack = stack_of_wait(w, t, &part),
                      .thread = t->thread,
                      .attrs = w->parts[part],
                      .has_time = true,
                      .time_ns = t->left_ns,
                      .duration_ns = ns,
                      .values = values};
    if (profile_add_row(w->profile, w->streams.waits, &row, &ignored) != 0)
        return;
    w->facts.waits++;
    w->facts.stackless += !t->has_stack;
    w->facts.open += part == WAIT_NO_END;
    add_wakeup(w, t, values[WAIT_BLOCKED]);
    if (w->thin_from_ns && t->has_stack)
        waits_add_share(t, values);
}
