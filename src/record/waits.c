#include "record/waits_inner.h"

/* The kernel's PID_MAX_LIMIT. */
enum { WAITS_TIDS = 1 << 22 };

struct waits *waits_new(struct profile *p)
{
    struct waits *w = mem_new(struct waits);
    w->profile = p;
    w->place = mem_calloc(WAITS_TIDS, sizeof *w->place);
    return w;
}

int waits_start(struct waits *w, struct err *err)
{
    if (!waitstream_add(w->profile, &w->streams) ||
        (w->expects_wakes && !waitstream_add_wakes(w->profile, &w->streams)))
        return err_set(err, EXIT_ERROR, "too many streams for waits");
    w->no_stack = waitstream_no_stack(w->profile);
    w->birth = waitstream_birth(w->profile);
    for (int i = 0; i < WAIT_PARTS; i++)
        w->parts[i] = waitstream_part(w->profile, (enum wait_part)i);
    return 0;
}

void waits_expect_wakes(struct waits *w)
{
    w->expects_wakes = true;
}

void waits_free(struct waits *w)
{
    if (!w)
        return;
    vec_done(&w->threads);
    vec_done(&w->unused);
    vec_done(&w->shares);
    vec_done(&w->wakeups);
    idmap_done(&w->share_map);
    idmap_done(&w->wakeup_map);
    free(w->place);
    free(w);
}

const struct waits_facts *waits_facts(const struct waits *w)
{
    return &w->facts;
}

uint64_t waits_unknown_ends(const struct waits *w)
{
    return w->facts.unknown_ends - w->before.unknown_ends;
}

/* --- threads --- */

static struct waiter *waiter_find(struct waits *w, int tid)
{
    uint32_t place = tid >= 0 && tid < WAITS_TIDS ? w->place[tid] : 0;
    return place ? &w->threads.at[place - 1] : NULL;
}

static struct waiter *waiter_new(struct waits *w, int tid)
{
    uint32_t i = w->unused.n ? w->unused.at[--w->unused.n] : (uint32_t)w->threads.n;
    if (i == w->threads.n)
        vec_push(&w->threads);
    w->place[tid] = i + 1;
    return &w->threads.at[i];
}

/* Clocks of CPUs may differ by a hair: time does not go back. */
static void waiter_go(struct waiter *t, enum thread_state next, uint64_t time_ns)
{
    if (time_ns > t->since_ns) {
        t->in_state_ns[t->state] += (int64_t)(time_ns - t->since_ns);
        t->since_ns = time_ns;
    }
    t->state = next;
}

static void waiter_forget(struct waits *w, struct waiter *t)
{
    waits_share_out(w, t, true);
    waits_forget_shares(w, t);
    waits_write_states(w, t);
    w->place[t->tid] = 0;
    *vec_push(&w->unused) = (uint32_t)(t - w->threads.at);
    t->tid = -1;
}

void waits_begin(struct waits *w, const struct waits_at *at, enum thread_state state)
{
    if (at->tid < 0 || at->tid >= WAITS_TIDS)
        return;
    struct waiter *t = waiter_find(w, at->tid);
    if (t && state == THREAD_RUNNING) {
        waiter_go(t, state, at->time_ns);
        return;
    }
    if (t) /* another had its number, and its end was lost */
        waiter_forget(w, t);
    bool born = state == THREAD_RUNNABLE;
    *waiter_new(w, at->tid) = (struct waiter){.pid = at->pid,
                                              .tid = at->tid,
                                              .thread = at->thread,
                                              .state = state,
                                              .since_ns = at->time_ns,
                                              .written_ns = at->time_ns,
                                              .left_ns = at->time_ns,
                                              .way = born ? LEFT_PREEMPTED : LEFT_BLOCKED,
                                              .start_seen = born,
                                              .has_stack = born,
                                              .stack = w->birth};
}

void waits_found(struct waits *w, const struct waits_at *at, enum thread_state state,
                 uint64_t looked_ns)
{
    waits_begin(w, at, THREAD_UNKNOWN);
    struct waiter *t = waiter_find(w, at->tid);
    if (!t)
        return;
    t->untold = true;
    t->looked = state;
    t->looked_ns = looked_ns;
}

/*
 * The first record of a thread that was there before: who leaves has run, who was seen waiting has
 * waited, of others nobody knows.
 */
static void waiter_settle(struct waiter *t, uint64_t time_ns, bool has_run)
{
    if (!t->untold)
        return;
    t->untold = false;
    if (has_run)
        t->state = THREAD_RUNNING;
    else if (time_ns >= t->looked_ns)
        t->state = t->looked;
}

/* A thread that nobody told of: its birth was lost, or it came while we attached. */
static struct waiter *waiter_get(struct waits *w, const struct waits_at *at)
{
    struct waiter *t = waiter_find(w, at->tid);
    if (!t) {
        waits_begin(w, at, THREAD_UNKNOWN);
        t = waiter_find(w, at->tid);
    }
    if (t && t->thread.i != at->thread.i) { /* it has another name now */
        waits_share_out(w, t, true);
        waits_write_states(w, t);
        t->thread = at->thread;
    }
    return t;
}

/* --- waits --- */

static bool is_waiting_state(enum thread_state s)
{
    return s == THREAD_RUNNABLE || s == THREAD_BLOCKED;
}

/*
 * A CPU of a virtual machine may stand still between reading the clock and writing the record,
 * which then comes after younger ones of other CPUs.
 */
static bool is_late(const struct waiter *t, const struct waits_at *at)
{
    return at->time_ns < t->since_ns;
}

void waits_leave(struct waits *w, const struct waits_at *at, struct stack_id stack,
                 enum unwind_end end)
{
    struct waiter *t = waiter_get(w, at);
    if (!t)
        return;
    w->facts.ends[end]++;
    t->has_stack = true;
    t->stack = stack;
}

void waits_out(struct waits *w, const struct waits_at *at, bool preempted)
{
    struct waiter *t = waiter_get(w, at);
    if (!t)
        return;
    if (is_late(t, at)) { /* its wait is over, for we know not how long */
        w->facts.unknown_ends++;
        return;
    }
    waiter_settle(t, at->time_ns, true);
    if (is_waiting_state(t->state)) { /* it must have run meanwhile */
        w->facts.unknown_ends++;
        t->state = THREAD_UNKNOWN;
    }
    waiter_go(t, preempted ? THREAD_RUNNABLE : THREAD_BLOCKED, at->time_ns);
    t->start_seen = true;
    t->left_ns = t->since_ns;
    t->way = preempted ? LEFT_PREEMPTED : LEFT_BLOCKED;
    t->woken = false;
}

void waits_in(struct waits *w, const struct waits_at *at)
{
    struct waiter *t = waiter_get(w, at);
    if (!t || is_late(t, at))
        return;
    waiter_settle(t, at->time_ns, false);
    if (is_waiting_state(t->state))
        waits_write_wait(w, t, at->time_ns, WAIT_WHOLE);
    else if (t->state == THREAD_RUNNING)
        t->state = THREAD_UNKNOWN; /* it must have left meanwhile */
    waiter_go(t, THREAD_RUNNING, at->time_ns);
    t->has_stack = t->woken = false;
}

/* --- wakers --- */

/* A wake before the thread has left its CPU is of no wait: it goes on, or has left as preempted. */
bool waits_wants_wake(struct waits *w, struct waits_wake *wake)
{
    const struct waiter *t = waiter_find(w, wake->tid);
    if (!t || t->untold || wake->time_ns < t->left_ns)
        return false;
    bool better = t->woken && wake->full && !t->woken_full;
    if (t->state != THREAD_BLOCKED && !better)
        return false;
    wake->stack = t->has_stack ? t->stack : (struct stack_id){0};
    return true;
}

void waits_wake(struct waits *w, const struct waits_wake *wake)
{
    struct waiter *t = waiter_find(w, wake->tid);
    if (!t)
        return;
    if (t->state == THREAD_BLOCKED)
        waiter_go(t, THREAD_RUNNABLE, wake->time_ns);
    t->woken = true;
    t->woken_full = wake->full;
    t->woken_stack = wake->stack;
}

void waits_thin(struct waits *w, uint64_t from_ns)
{
    if (!w->thin_from_ns)
        w->thin_from_ns = from_ns;
}

void waits_near(struct waits *w, int tid, struct stack_id stack)
{
    struct waiter *t = waiter_find(w, tid);
    if (t)
        t->near_stack = stack;
}

/* --- ends --- */

void waits_end(struct waits *w, const struct waits_at *at)
{
    struct waiter *t = waiter_find(w, at->tid);
    if (!t)
        return;
    waiter_settle(t, at->time_ns, true);
    if (is_waiting_state(t->state)) {
        w->facts.unknown_ends++;
        t->state = THREAD_UNKNOWN;
    }
    waiter_go(t, THREAD_UNKNOWN, at->time_ns);
    waiter_forget(w, t);
}

void waits_lose(struct waits *w, uint64_t n)
{
    w->facts.lost += n;
    for (size_t i = 0; i < w->threads.n; i++) {
        struct waiter *t = &w->threads.at[i];
        if (t->tid < 0)
            continue;
        w->facts.unknown_ends += is_waiting_state(t->state);
        t->state = THREAD_UNKNOWN;
        t->has_stack = t->untold = t->woken = false;
    }
}

void waits_set_lost(struct waits *w, uint64_t n)
{
    w->facts.lost = n;
}

void waits_flush(struct waits *w)
{
    for (size_t i = 0; i < w->threads.n; i++)
        if (w->threads.at[i].tid >= 0) {
            waits_share_out(w, &w->threads.at[i], false);
            waits_write_states(w, &w->threads.at[i]);
        }
    waits_write_sums(w);
    const int streams[] = {w->streams.waits, w->streams.states, w->streams.wakes};
    for (int i = 0; i < 3 && streams[i] >= 0; i++) {
        struct stream *s = profile_stream(w->profile, streams[i]);
        s->lost_known = s->unfinished_known = true;
        s->lost = w->facts.lost - w->before.lost;
    }
    const uint64_t *ends = w->facts.ends, *before = w->before.ends;
    profile_stream(w->profile, w->streams.waits)->guessed =
        ends[UNWIND_GUESSED] - before[UNWIND_GUESSED];
    for (int k = 0; k < UNWIND_ENDS; k++)
        if (ends[k] > before[k] && !unwind_end_is_bottom((enum unwind_end)k))
            profile_set_unfinished(w->profile, w->streams.waits,
                                   unwind_end_name((enum unwind_end)k), ends[k] - before[k]);
}

void waits_start_over(struct waits *w)
{
    const int streams[] = {w->streams.waits, w->streams.states, w->streams.wakes};
    for (int i = 0; i < 3 && streams[i] >= 0; i++)
        stream_clear(profile_stream(w->profile, streams[i]));
    w->before = w->facts;
}

void waits_stop(struct waits *w, uint64_t end_ns)
{
    for (size_t i = 0; i < w->threads.n; i++) {
        struct waiter *t = &w->threads.at[i];
        if (t->tid < 0)
            continue;
        waiter_settle(t, end_ns, false);
        if (is_waiting_state(t->state))
            waits_write_wait(w, t, end_ns, WAIT_NO_END);
        waiter_go(t, THREAD_UNKNOWN, end_ns);
        waiter_forget(w, t);
    }
    waits_flush(w);
}
