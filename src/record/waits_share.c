/*
 * waits_share.c - waits without a stack of their own, shared out over the stacks of those around.
 *
 * Each such wait is timed, and it is known how its thread left. So it goes to the waits of the same
 * thread that are most like it: left the same way, as long as it within a factor of four, and as
 * near in time as there are. A burst of page faults does not lengthen the one wait for a lock after
 * it. What is shared out is whole waits, each with the mean time of its like: time never goes where
 * no wait goes.
 */
#include "record/waits_inner.h"

/* More of them do not wait for a stack that may never come. */
enum { UNSEEN_MOST = 64 };

bool waits_is_unseen(const struct waits *w, const struct waiter *t)
{
    return w->thin_from_ns && !t->has_stack && t->left_ns >= w->thin_from_ns;
}

static struct waits_like like_of(const struct waiter *t, uint64_t ns)
{
    return (struct waits_like){(uint32_t)(t->left_ns / WAITS_SLOT_NS), (uint8_t)t->way,
                               (uint8_t)((63 - __builtin_clzll(ns | 1)) / 2)};
}

static bool is_like(struct waits_like a, struct waits_like b)
{
    return a.slot == b.slot && a.way == b.way && a.length == b.length;
}

void waits_add_unseen(struct waiter *t, uint64_t ns)
{
    struct waits_like like = like_of(t, ns);
    size_t i = t->unseen.n;
    while (i && t->unseen.at[i - 1].like.slot == like.slot &&
           !is_like(t->unseen.at[i - 1].like, like))
        i--;
    if (!i || t->unseen.at[i - 1].like.slot != like.slot) {
        *vec_push(&t->unseen) = (struct waits_unseen){.like = like, .first_ns = t->left_ns};
        i = t->unseen.n;
    }
    t->unseen.at[i - 1].n++;
    t->unseen.at[i - 1].ns += (int64_t)ns;
}

void waits_add_share(struct waiter *t, const int64_t *values)
{
    struct waits_like like = like_of(t, (uint64_t)(values[WAIT_BLOCKED] + values[WAIT_RUNNABLE]));
    size_t i = t->shares.n;
    while (i && t->shares.at[i - 1].like.slot == like.slot &&
           !(is_like(t->shares.at[i - 1].like, like) && t->shares.at[i - 1].stack.i == t->stack.i))
        i--;
    if (!i || t->shares.at[i - 1].like.slot != like.slot) {
        *vec_push(&t->shares) = (struct waits_share){.like = like, .stack = t->stack};
        i = t->shares.n;
    }
    struct waits_share *s = &t->shares.at[i - 1];
    s->n++;
    s->blocked_ns += values[WAIT_BLOCKED];
    s->runnable_ns += values[WAIT_RUNNABLE];
}

/* How much two differ: length first, then time. UINT64_MAX = they left in different ways. */
static uint64_t unlike(struct waits_like a, struct waits_like b)
{
    uint32_t slots = a.slot > b.slot ? a.slot - b.slot : b.slot - a.slot;
    uint32_t lengths = (uint32_t)abs(a.length - b.length);
    return a.way != b.way ? UINT64_MAX : (uint64_t)lengths << 32 | slots;
}

/* The shares nearest to LIKE, and how many waits these are together; 0 = there are none. */
static uint64_t count_nearest(const struct waiter *t, struct waits_like like, uint64_t *ret_unlike)
{
    uint64_t n = 0;
    *ret_unlike = UINT64_MAX;
    for (size_t i = 0; i < t->shares.n; i++) {
        uint64_t is = unlike(t->shares.at[i].like, like);
        if (is == UINT64_MAX || is > *ret_unlike)
            continue;
        n = (is < *ret_unlike ? 0 : n) + (uint64_t)t->shares.at[i].n;
        *ret_unlike = is;
    }
    return n;
}

/* One row of several waits. */
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
    if (profile_add_row(w->profile, w->streams.waits, &row, &ignored) != 0)
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

/* N of them, which took NS, were at the stack of S. */
static void write_share(struct waits *w, struct waiter *t, const struct waits_unseen *u,
                        const struct waits_share *s, int64_t n, int64_t ns)
{
    double seen_ns = (double)(s->blocked_ns + s->runnable_ns);
    double runnable = seen_ns > 0 ? (double)s->runnable_ns / seen_ns : 0;
    int64_t values[WAIT_COLUMNS] = {[WAIT_COUNT] = n};
    values[WAIT_RUNNABLE] =
        u->like.way == LEFT_PREEMPTED ? ns : move_to_runnable(t, (int64_t)(runnable * (double)ns));
    values[WAIT_BLOCKED] = ns - values[WAIT_RUNNABLE];
    write_summed(w, t, s->stack, values, u->first_ns);
}

/* Where in 0 to 1 the counting begins: in turn, so that no stack gets all the odd ones. */
static double odd_start(const struct waits_unseen *u)
{
    return (double)(u->like.slot * UINT32_C(2654435769)) / 0x1p32;
}

static void share_unseen(struct waits *w, struct waiter *t, const struct waits_unseen *u,
                         uint64_t nearest, uint64_t n_near)
{
    int64_t left_n = (int64_t)u->n, left_ns = u->ns;
    double passed = odd_start(u), each = (double)u->n / (double)n_near;
    for (size_t i = 0; i < t->shares.n && left_n; i++) {
        const struct waits_share *s = &t->shares.at[i];
        if (unlike(s->like, u->like) != nearest)
            continue;
        int64_t before = (int64_t)passed;
        n_near -= (uint64_t)s->n;
        passed += each * (double)s->n;
        int64_t n = n_near ? (int64_t)passed - before : left_n;
        n = n < left_n ? n : left_n;
        if (!n)
            continue;
        int64_t ns = n == left_n ? left_ns : (int64_t)((double)u->ns / (double)u->n * (double)n);
        write_share(w, t, u, s, n, ns);
        left_n -= n;
        left_ns -= ns;
    }
}

static void write_stackless(struct waits *w, struct waiter *t, const struct waits_unseen *u)
{
    int64_t values[WAIT_COLUMNS] = {[WAIT_COUNT] = (int64_t)u->n};
    values[u->like.way == LEFT_PREEMPTED ? WAIT_RUNNABLE : WAIT_BLOCKED] = u->ns;
    w->facts.stackless += u->n;
    write_summed(w, t, w->no_stack, values, u->first_ns);
}

void waits_share_out(struct waits *w, struct waiter *t, bool last)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->unseen.n; i++) {
        uint64_t nearest, n_near = count_nearest(t, t->unseen.at[i].like, &nearest);
        if (n_near)
            share_unseen(w, t, &t->unseen.at[i], nearest, n_near);
        else if (last || kept >= UNSEEN_MOST)
            write_stackless(w, t, &t->unseen.at[i]);
        else
            t->unseen.at[kept++] = t->unseen.at[i];
    }
    t->unseen.n = kept;
}

/* A thread may wait without a stack for longer than from one flush to the next. */
void waits_forget_old_shares(struct waiter *t)
{
    size_t young = t->shares.n - t->old_shares;
    if (young && t->old_shares)
        memmove(t->shares.at, t->shares.at + t->old_shares, young * sizeof *t->shares.at);
    t->old_shares = t->shares.n = young ? young : t->shares.n;
}

void waits_forget_shares(struct waiter *t)
{
    vec_done(&t->unseen);
    vec_done(&t->shares);
    t->old_shares = 0;
}
