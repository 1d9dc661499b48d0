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
    for (size_t i = 0; i < w->threads.n; i++)
        waits_forget_shares(&w->threads.at[i]);
    vec_done(&w->threads);
    vec_done(&w->unused);
    vec_done(&w->wakeups);
    idmap_done(&w->wakeup_map);
    free(w->place);
    free(w);
}

const struct waits_facts *waits_facts(const struct waits *w)
{
    return &w->facts;
}

struct waits_facts waits_facts_of_file(const struct waits *w)
{
    struct waits_facts f = w->facts;
    f.unknown_ends -= w->before.unknown_ends;
    f.runnable_ns -= w->before.runnable_ns;
    f.queued_ns -= w->before.queued_ns;
    f.queued_own_ns -= w->before.queued_own_ns;
    return f;
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

/* --- who has the CPU that a thread queues for --- */

static uint32_t cpu_of(uint32_t cpu)
{
    return cpu < WAITS_CPUS ? cpu : WAITS_NO_CPU;
}

static uint64_t own_ran_ns(const struct waits *w, uint32_t cpu, uint64_t now_ns)
{
    const struct waits_cpu *c = &w->cpus[cpu];
    return c->ran_ns + (c->since_ns && now_ns > c->since_ns ? now_ns - c->since_ns : 0);
}

static void cpu_is_left(struct waits *w, uint32_t cpu, uint64_t now_ns)
{
    w->cpus[cpu].ran_ns = own_ran_ns(w, cpu, now_ns);
    w->cpus[cpu].since_ns = 0;
}

/* It can run from now on, and is taken to queue where it ran last. */
static void begin_to_queue(const struct waits *w, struct waiter *t, uint64_t now_ns)
{
    t->own_ran_ns = own_ran_ns(w, t->cpu, now_ns);
}

/* One that came to another CPU may have queued anywhere: nothing is known of it. */
static void end_to_queue(struct waits *w, struct waiter *t, uint64_t came_ns, uint32_t cpu)
{
    uint64_t queued_ns = came_ns > t->since_ns ? came_ns - t->since_ns : 0;
    if (t->state != THREAD_RUNNABLE || cpu != t->cpu || cpu == WAITS_NO_CPU)
        return;
    uint64_t own_ns = own_ran_ns(w, cpu, came_ns) - t->own_ran_ns;
    w->facts.queued_ns += queued_ns;
    w->facts.queued_own_ns += own_ns < queued_ns ? own_ns : queued_ns;
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
    waits_forget_shares(t);
    waits_write_states(w, t);
    w->place[t->tid] = 0;
    *vec_push(&w->unused) = (uint32_t)(t - w->threads.at);
    t->tid = -1;
}

static void waiter_rename(struct waits *w, struct waiter *t, struct thread_id thread)
{
    if (t->thread.i == thread.i)
        return;
    waits_share_out(w, t, true);
    waits_write_states(w, t);
    t->thread = thread;
}

void waits_begin(struct waits *w, const struct waits_at *at, enum thread_state state)
{
    if (at->tid < 0 || at->tid >= WAITS_TIDS)
        return;
    struct waiter *t = waiter_find(w, at->tid);
    if (t && state == THREAD_RUNNING && !t->ended) {
        waiter_go(t, state, at->time_ns);
        waiter_rename(w, t, at->thread);
        return;
    }
    if (t) /* another had its number */
        waiter_forget(w, t);
    bool born = state == THREAD_RUNNABLE;
    *waiter_new(w, at->tid) = (struct waiter){.pid = at->pid,
                                              .tid = at->tid,
                                              .thread = at->thread,
                                              .state = state,
                                              .since_ns = at->time_ns,
                                              .written_ns = at->time_ns,
                                              .left_ns = at->time_ns,
                                              .cpu = WAITS_NO_CPU,
                                              .way = born ? LEFT_PREEMPTED : LEFT_BLOCKED,
                                              .start_seen = born,
                                              .has_stack = born,
                                              .stack = w->birth};
}

void waits_found(struct waits *w, const struct waits_at *at, const struct waits_look *look)
{
    waits_begin(w, at, THREAD_UNKNOWN);
    struct waiter *t = waiter_find(w, at->tid);
    if (!t)
        return;
    t->untold = true;
    t->look = *look;
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
    if (has_run) {
        t->state = THREAD_RUNNING;
    } else if (time_ns >= t->look.time_ns) {
        t->state = t->look.state;
        t->has_stack = t->look.stack.i != 0;
        t->stack = t->look.stack;
    }
}

/*
 * A thread that nobody reported: its birth was lost, or it came while we attached. NULL where it
 * has ended: events of CPUs see it leave for the last time after that.
 */
static struct waiter *waiter_get(struct waits *w, const struct waits_at *at)
{
    struct waiter *t = waiter_find(w, at->tid);
    if (!t) {
        waits_begin(w, at, THREAD_UNKNOWN);
        t = waiter_find(w, at->tid);
    }
    if (t && t->ended)
        return NULL;
    if (t)
        waiter_rename(w, t, at->thread);
    return t;
}

/* --- looks at long waits --- */

/*
 * Stacks come in turns, and a wait of seconds may begin in a pause between two: it is too much time
 * to share out over others. Such threads are looked at, as those that wait when we come.
 */
bool waits_next_unseen(const struct waits *w, uint64_t from_ns, size_t *pos, struct waits_at *ret)
{
    while (*pos < w->threads.n) {
        const struct waiter *t = &w->threads.at[(*pos)++];
        if (t->tid >= 0 && !t->ended && t->state == THREAD_BLOCKED && waits_is_unseen(w, t) &&
            t->left_ns < from_ns && t->look.time_ns < t->left_ns) {
            *ret = (struct waits_at){.pid = t->pid, .tid = t->tid, .thread = t->thread};
            return true;
        }
    }
    return false;
}

void waits_looked(struct waits *w, int tid, const struct waits_look *look)
{
    struct waiter *t = waiter_find(w, tid);
    if (t && !t->untold)
        t->look = *look;
}

/* A wait that lasts at TIME_NS: whether the look was at this one. */
static void waiter_recall_look(struct waiter *t, uint64_t time_ns)
{
    if (t->untold || t->has_stack || !t->start_seen || t->way != LEFT_BLOCKED || !t->look.stack.i ||
        t->look.time_ns < t->left_ns || t->look.time_ns > time_ns)
        return;
    t->has_stack = true;
    t->stack = t->look.stack;
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
    if (!t || w->holes)
        return;
    w->facts.ends[end]++;
    t->has_stack = true;
    t->stack = stack;
    t->leaves_ns = at->time_ns;
    t->woken = false;
}

/* A thread that left at OUT_NS: since when. */
static uint64_t waiter_left_ns(const struct waiter *t, uint64_t out_ns)
{
    uint64_t ns = t->leaves_ns;
    return ns && ns >= t->since_ns && ns < out_ns ? ns : out_ns;
}

static void waiter_leave(struct waiter *t, enum thread_state next, uint64_t out_ns)
{
    waiter_go(t, next, waiter_left_ns(t, out_ns));
    t->left_ns = t->since_ns;
    if (t->woken && t->leaves_ns && next == THREAD_BLOCKED) /* before its record was written */
        waiter_go(t, THREAD_RUNNABLE, t->woken_ns);
    else
        t->woken = false;
    t->leaves_ns = 0;
}

uint64_t waits_out(struct waits *w, const struct waits_at *at, bool preempted)
{
    struct waiter *t = waiter_get(w, at);
    if (!t || w->holes)
        return at->time_ns;
    if (is_late(t, at)) { /* its wait is over, for we know not how long */
        w->facts.unknown_ends++;
        return at->time_ns;
    }
    waiter_settle(t, at->time_ns, true);
    if (is_waiting_state(t->state)) { /* it must have run meanwhile */
        w->facts.unknown_ends++;
        t->state = THREAD_UNKNOWN;
    }
    cpu_is_left(w, t->cpu = cpu_of(at->cpu), at->time_ns);
    waiter_leave(t, preempted ? THREAD_RUNNABLE : THREAD_BLOCKED, at->time_ns);
    begin_to_queue(w, t, t->since_ns);
    t->start_seen = true;
    t->way = preempted ? LEFT_PREEMPTED : LEFT_BLOCKED;
    return t->left_ns;
}

void waits_in(struct waits *w, const struct waits_at *at)
{
    struct waiter *t = waiter_get(w, at);
    if (!t || w->holes || is_late(t, at))
        return;
    waiter_settle(t, at->time_ns, false);
    uint64_t came_ns = at->came_ns && at->came_ns >= t->since_ns ? at->came_ns : at->time_ns;
    end_to_queue(w, t, came_ns, cpu_of(at->cpu));
    if (is_waiting_state(t->state)) {
        waiter_recall_look(t, came_ns);
        waits_write_wait(w, t, came_ns, WAIT_WHOLE);
    } else if (t->state == THREAD_RUNNING) {
        t->state = THREAD_UNKNOWN; /* it must have left meanwhile */
    }
    waiter_go(t, THREAD_RUNNING, came_ns);
    w->cpus[t->cpu = cpu_of(at->cpu)].since_ns = came_ns;
    t->has_stack = t->woken = false;
    t->leaves_ns = 0;
}

/* --- wakers --- */

static bool is_blocked(const struct waiter *t)
{
    return t->state == THREAD_BLOCKED || (t->state == THREAD_RUNNING && t->leaves_ns && !t->woken);
}

/* A wake before the thread has left its CPU is of no wait: it goes on, or has left as preempted. */
bool waits_wants_wake(struct waits *w, struct waits_wake *wake)
{
    struct waiter *t = waiter_find(w, wake->tid);
    if (!t || w->holes || t->untold || wake->time_ns < t->left_ns || wake->time_ns < t->leaves_ns)
        return false;
    bool better = t->woken && wake->known > t->waker_known;
    if (!is_blocked(t) && !better)
        return false;
    if (t->state == THREAD_BLOCKED)
        waiter_recall_look(t, wake->time_ns);
    wake->stack = t->has_stack ? t->stack : (struct stack_id){0};
    return true;
}

void waits_wake(struct waits *w, const struct waits_wake *wake)
{
    struct waiter *t = waiter_find(w, wake->tid);
    if (!t)
        return;
    if (t->state == THREAD_BLOCKED) {
        waiter_go(t, THREAD_RUNNABLE, wake->time_ns);
        begin_to_queue(w, t, t->since_ns);
    }
    if (!t->woken)
        t->woken_ns = wake->time_ns;
    t->woken = true;
    t->waker_known = wake->known;
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
    if (!t || t->ended)
        return;
    waiter_settle(t, at->time_ns, true);
    if (is_waiting_state(t->state)) {
        w->facts.unknown_ends++;
        t->state = THREAD_UNKNOWN;
    }
    if (t->state == THREAD_RUNNING)
        cpu_is_left(w, t->cpu, at->time_ns);
    waiter_go(t, THREAD_UNKNOWN, at->time_ns);
    waits_share_out(w, t, true);
    waits_forget_shares(t);
    waits_write_states(w, t);
    t->ended = 1;
}

void waits_lose(struct waits *w, uint64_t n)
{
    w->facts.lost += n;
    memset(w->cpus, 0, sizeof w->cpus);
    for (size_t i = 0; i < w->threads.n; i++) {
        struct waiter *t = &w->threads.at[i];
        if (t->tid < 0)
            continue;
        if (t->ended) { /* so may be the birth of another with its number */
            waiter_forget(w, t);
            continue;
        }
        w->facts.unknown_ends += is_waiting_state(t->state);
        t->state = THREAD_UNKNOWN;
        t->has_stack = t->untold = t->woken = false;
        t->leaves_ns = 0;
    }
}

void waits_begin_hole(struct waits *w)
{
    waits_lose(w, 0);
    w->holes++;
}

void waits_end_hole(struct waits *w)
{
    waits_lose(w, 0);
    w->holes--;
}

void waits_set_lost(struct waits *w, uint64_t n)
{
    w->facts.lost = n;
}

static void waiter_flush(struct waits *w, struct waiter *t)
{
    enum { FLUSHES_KEPT = 2 };
    if (t->ended && t->ended++ >= FLUSHES_KEPT) {
        waiter_forget(w, t);
    } else if (!t->ended) {
        waits_share_out(w, t, false);
        waits_forget_old_shares(t);
        waits_write_states(w, t);
    }
}

void waits_flush(struct waits *w)
{
    for (size_t i = 0; i < w->threads.n; i++)
        if (w->threads.at[i].tid >= 0)
            waiter_flush(w, &w->threads.at[i]);
    waits_write_wakeups(w);
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
        if (!t->ended) {
            waiter_settle(t, end_ns, false);
            if (is_waiting_state(t->state)) {
                waiter_recall_look(t, end_ns);
                waits_write_wait(w, t, end_ns, WAIT_NO_END);
            }
            waiter_go(t, THREAD_UNKNOWN, end_ns);
        }
        waiter_forget(w, t);
    }
    waits_flush(w);
}
