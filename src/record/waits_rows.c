/*
 * waits_rows.c - rows of waits, of states and of wakeups; and waits that are shared out.
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
    memset(t->in_state_ns, 0, sizeof t->in_state_ns);
    t->written_ns = t->since_ns;
}

/* --- wakeups --- */

static struct waits_wakeup *wakeup_of(struct waits *w, const struct waiter *t)
{
    uint32_t hash = hash_pair(t->woken_stack.i, t->thread.i);
    for_each_match (&w->wakeup_map, hash, i) {
        struct waits_wakeup *old = &w->wakeups.at[i];
        if (old->stack.i == t->woken_stack.i && old->thread.i == t->thread.i)
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

void waits_write_sums(struct waits *w)
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
    w->wakeups.n = w->shares.n = 0;
    idmap_done(&w->wakeup_map);
    idmap_done(&w->share_map);
}

/* --- waits --- */

static struct waits_share *share_of(struct waits *w, uint32_t waiter, const struct waiter *t)
{
    uint32_t hash = hash_pair(t->stack.i, waiter * LEFT_WAYS + t->way);
    for_each_match (&w->share_map, hash, i) {
        struct waits_share *old = &w->shares.at[i];
        if (old->waiter == waiter && old->stack.i == t->stack.i && old->way == t->way)
            return old;
    }
    idmap_add(&w->share_map, hash, (uint32_t)w->shares.n);
    struct waits_share *new = vec_push(&w->shares);
    *new = (struct waits_share){.waiter = waiter, .way = (uint8_t)t->way, .stack = t->stack};
    return new;
}

static void add_wait_share(struct waits *w, const struct waiter *t, const int64_t *values)
{
    struct waits_share *s = share_of(w, (uint32_t)(t - w->threads.at), t);
    s->n++;
    s->blocked_ns += values[WAIT_BLOCKED];
    s->runnable_ns += values[WAIT_RUNNABLE];
}

static bool is_thinned(const struct waits *w, const struct waiter *t)
{
    return w->thin_from_ns && !t->has_stack && t->left_ns >= w->thin_from_ns;
}

static void add_unseen(struct waiter *t, uint64_t ns)
{
    struct waits_unseen *u = &t->unseen[t->way];
    if (!u->n++)
        u->first_ns = t->left_ns;
    u->ns += (int64_t)ns;
}

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
    if (is_thinned(w, t)) { /* a wake that was seen by chance parts it no better than the others */
        if (t->way == LEFT_BLOCKED)
            t->state = THREAD_BLOCKED;
        add_unseen(t, ns);
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
        add_wait_share(w, t, values);
}

/* --- waits that are shared out --- */

/* The part of WHOLE that goes with PART of ALL, of what is left: the last one gets the rest. */
static int64_t take_part(int64_t *whole, double part, double *all)
{
    double share = *all > 0 && part < *all ? part / *all : 1;
    int64_t is = (int64_t)(share * (double)*whole);
    *whole -= is;
    *all -= part;
    return is;
}

/* One row of N waits of NS in all; RUNNABLE_NS of it. */
static void write_summed(struct waits *w, struct waiter *t, struct stack_id stack,
                         const int64_t *values, uint64_t time_ns)
{
    struct err ignored;
    struct row row = {.stack = stack,
                      .thread = t->thread,
                      .attrs = w->parts[WAIT_SUMMED],
                      .has_time = true,
                      .time_ns = time_ns,
                      .values = values};
    bool empty = !values[WAIT_COUNT] && !values[WAIT_BLOCKED] && !values[WAIT_RUNNABLE];
    if (empty || profile_add_row(w->profile, w->streams.waits, &row, &ignored) != 0)
        return;
    w->facts.waits += (uint64_t)values[WAIT_COUNT];
    w->facts.summed += (uint64_t)values[WAIT_COUNT];
}

/* Time that counted as blocked, and was the wait for a CPU after a wake. */
static int64_t move_to_runnable(struct waiter *t, int64_t ns)
{
    int64_t *blocked = &t->in_state_ns[THREAD_BLOCKED];
    int64_t is = ns < *blocked ? ns : *blocked;
    *blocked -= is;
    t->in_state_ns[THREAD_RUNNABLE] += is;
    return is;
}

struct share_sums {
    double n, ns;
};

static struct share_sums sum_shares(const struct waits *w, uint32_t waiter, int way)
{
    struct share_sums sum = {0};
    for (size_t i = 0; i < w->shares.n; i++) {
        const struct waits_share *s = &w->shares.at[i];
        if (s->waiter != waiter || s->way != way)
            continue;
        sum.n += (double)s->n;
        sum.ns += (double)(s->blocked_ns + s->runnable_ns);
    }
    return sum;
}

static void share_way(struct waits *w, struct waiter *t, int way)
{
    struct waits_unseen *u = &t->unseen[way];
    uint32_t waiter = (uint32_t)(t - w->threads.at);
    struct share_sums sum = sum_shares(w, waiter, way);
    int64_t n = (int64_t)u->n, ns = u->ns;
    for (size_t i = 0; i < w->shares.n; i++) {
        const struct waits_share *s = &w->shares.at[i];
        double all_ns = (double)(s->blocked_ns + s->runnable_ns);
        int64_t values[WAIT_COLUMNS];
        if (s->waiter != waiter || s->way != way)
            continue;
        values[WAIT_COUNT] = take_part(&n, (double)s->n, &sum.n);
        int64_t part_ns = take_part(&ns, all_ns, &sum.ns);
        double runnable = all_ns > 0 ? (double)s->runnable_ns / all_ns : 0;
        values[WAIT_RUNNABLE] = way == LEFT_PREEMPTED
                                    ? part_ns
                                    : move_to_runnable(t, (int64_t)(runnable * (double)part_ns));
        values[WAIT_BLOCKED] = part_ns - values[WAIT_RUNNABLE];
        write_summed(w, t, s->stack, values, u->first_ns);
    }
    *u = (struct waits_unseen){0};
}

void waits_share_out(struct waits *w, struct waiter *t, bool last)
{
    for (int way = 0; way < LEFT_WAYS; way++) {
        const struct waits_unseen *u = &t->unseen[way];
        if (!u->n)
            continue;
        if (sum_shares(w, (uint32_t)(t - w->threads.at), way).n > 0) {
            share_way(w, t, way);
        } else if (last) {
            int64_t values[WAIT_COLUMNS] = {[WAIT_COUNT] = (int64_t)u->n};
            values[way == LEFT_PREEMPTED ? WAIT_RUNNABLE : WAIT_BLOCKED] = u->ns;
            w->facts.stackless += u->n;
            write_summed(w, t, w->no_stack, values, u->first_ns);
            t->unseen[way] = (struct waits_unseen){0};
        }
    }
}

void waits_forget_shares(struct waits *w, const struct waiter *t)
{
    for (size_t i = 0; i < w->shares.n; i++)
        if (w->shares.at[i].waiter == (uint32_t)(t - w->threads.at))
            w->shares.at[i].waiter = UINT32_MAX;
}
