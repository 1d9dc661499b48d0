/*
 * waitinsight_hand.c - threads that wait for each other, by no lock of pthreads.
 *
 * PostgreSQL's backends sleep in epoll_wait until another one releases the lock of a row. What they
 * wait for looks like work from a client. It is most often a lock if those who wait and those who
 * end the waits do both: a thread that hands out work never waits for it itself. Only pools whose
 * threads hand work to each other look the same; of Go's it is known that they are idle.
 */
#include "analysis/restack.h"
#include "analysis/waitinsight.h"
#include "base/units.h"

enum { NO_NAME = 0, HAND_DEPTH = 64, HAND_MOST = 256, HAND_LEAST_NS = 10000000, HAND_THREADS = 2 };
#define HAND_LEAST 0.1 /* of the wall time of all threads */

/* Waits for one reason that ended when a thread was in one function. */
struct hand {
    enum wait_reason reason;
    uint32_t ends; /* name of the function */
    int64_t ns;
    uint64_t n;
};

/* Functions of a part of a stack, innermost first. */
struct hand_path {
    size_t n;
    uint32_t name[HAND_DEPTH];
    bool own[HAND_DEPTH]; /* the program's */
};

/* The name of a function as a number: those of wakers have other labels than the same of waiters.
 */
static uint32_t name_in(const struct waitsum *w, struct frame_id id, size_t i)
{
    uint32_t label = labels_get(&w->labels, w->selection->profile, id, i);
    return label == LABEL_NONE ? NO_NAME : w->labels.at.at[label].text;
}

static void handing_path_of(const struct waitsum *w, struct stack_id stack, struct stack_id bottom,
                            struct hand_path *ret)
{
    const struct profile *p = w->selection->profile;
    ret->n = 0;
    for (; stack.i && stack.i != bottom.i; stack = p->stacks.nodes.at[stack.i].parent) {
        struct frame_id id = p->stacks.nodes.at[stack.i].frame;
        const struct frame *f = profile_frame(p, id);
        for (size_t i = labels_count(f); i-- > 0 && ret->n < HAND_DEPTH;) {
            uint32_t number = name_in(w, id, i);
            struct text name = intern_get(&w->labels.texts, number);
            ret->name[ret->n] = number;
            ret->own[ret->n++] = f->kind != FRAME_KERNEL && f->n_lines && !waitsum_is_libc(p, f) &&
                                 !selection_hides(w->selection, id, i) &&
                                 !waitsum_is_runtime(name) && !restack_is_start(name) &&
                                 !text_starts(name, "runtime."); /* Go's */
        }
    }
}

static bool path_has(const struct hand_path *path, uint32_t name)
{
    for (size_t i = 0; i < path->n; i++)
        if (path->name[i] == name)
            return true;
    return false;
}

/* The innermost function by which WAKER ends waits; a helper that waits as well is none. */
static uint32_t first_own(const struct hand_path *waker, const struct hand_path *waiter)
{
    for (size_t i = 0; i < waker->n; i++)
        if (waker->own[i] && !path_has(waiter, waker->name[i]))
            return waker->name[i];
    return NO_NAME;
}

/* Both parts of a stack of wakeups; false where no thread of a known stack ended the wait. */
static bool hand_paths(const struct waitsum *w, struct stack_id stack, struct hand_path *waiter,
                       struct hand_path *waker)
{
    const struct profile *p = w->selection->profile;
    struct stack_id waits, named = stack;
    waitstream_waker_of(p, stack, &waits);
    while (named.i && p->stacks.nodes.at[named.i].parent.i != waits.i)
        named = p->stacks.nodes.at[named.i].parent;
    handing_path_of(w, waits, (struct stack_id){0}, waiter);
    handing_path_of(w, stack, named, waker);
    return waits.i && waker->n;
}

/* Locks of pthreads, ends of threads and the clock have reasons of their own. */
static bool may_be_a_lock(enum wait_reason r)
{
    return r == WAIT_FUTEX || r == WAIT_CONDITION || r == WAIT_POLL || r == WAIT_PIPE ||
           r == WAIT_SOCKET || r == WAIT_MESSAGE || r == WAIT_SIGNAL;
}

static bool hand_is(const struct waitsum *w, const struct waitsum_stack *s, const struct hand *h,
                    struct hand_path *waiter, struct hand_path *waker)
{
    return s->reason == h->reason && hand_paths(w, s->stack, waiter, waker) &&
           first_own(waker, waiter) == h->ends;
}

/* The function that ended the most time; all that it ended is in RET. */
static bool hand_find(const struct waitsum *w, struct hand *ret)
{
    VEC(struct hand) list = {0};
    struct hand_path waiter, waker;
    *ret = (struct hand){0};
    for (size_t i = 0; i < w->wakers.n; i++) {
        const struct waitsum_stack *s = &w->wakers.at[i];
        if (!may_be_a_lock(s->reason) || !hand_paths(w, s->stack, &waiter, &waker))
            continue;
        struct hand new = {s->reason, first_own(&waker, &waiter), 0, 0}, *h = NULL;
        for (size_t k = 0; !h && k < list.n; k++)
            h = list.at[k].reason == new.reason &&list.at[k].ends == new.ends ? &list.at[k] : NULL;
        if (!h && list.n == HAND_MOST) /* the longest waits come first */
            continue;
        if (!h)
            *(h = vec_push(&list)) = new;
        h->ns = waitsum_add_ns(h->ns, s->sum.ns);
        h->n += s->sum.n;
        if (h->ends != NO_NAME && h->ns > ret->ns)
            *ret = *h;
    }
    vec_done(&list);
    return ret->ns > 0;
}

/* The outermost of the N innermost functions of A that is the program's, below what A and B share.
 */
static uint32_t outermost_own(const struct hand_path *a, size_t n, const struct hand_path *b)
{
    uint32_t best = NO_NAME;
    size_t n_a = a->n, n_b = b->n;
    while (n_a && n_b && a->name[n_a - 1] == b->name[n_b - 1])
        n_a--, n_b--;
    for (size_t i = 0; i < n && i < n_a; i++)
        best = a->own[i] ? a->name[i] : best;
    return best;
}

static size_t common_of(const struct hand_path *a, const struct hand_path *b, size_t most)
{
    size_t n = 0;
    while (n < most && n < a->n && n < b->n && a->name[n] == b->name[n])
        n++;
    return n;
}

/* What all who wait are in, and all who end it; false where that is one function: a barrier. */
static bool name_hand(const struct waitsum *w, const struct hand *h, uint32_t ret[2])
{
    struct hand_path first[2], next[2];
    size_t common[2] = {0, 0};
    first[0].n = first[1].n = 0;
    for (size_t i = 0; i < w->wakers.n; i++) {
        if (!hand_is(w, &w->wakers.at[i], h, &next[0], &next[1]))
            continue;
        for (int k = 0; k < 2; k++)
            common[k] = first[0].n ? common_of(&first[k], &next[k], common[k]) : next[k].n;
        if (!first[0].n)
            memcpy(first, next, sizeof first);
    }
    ret[0] = outermost_own(&first[0], common[0], &first[1]);
    ret[1] = outermost_own(&first[1], common[1], &first[0]);
    return ret[0] != NO_NAME && ret[1] != NO_NAME && ret[0] != ret[1];
}

/* Marks by stack: the function is on it. */
static uint8_t *stacks_with(const struct waitsum *w, uint32_t name)
{
    const struct profile *p = w->selection->profile;
    uint8_t *has = mem_calloc(p->stacks.nodes.n, 1);
    for (uint32_t id = 1; id < p->stacks.nodes.n; id++) {
        const struct stack_node *node = &p->stacks.nodes.at[id];
        const struct frame *f = profile_frame(p, node->frame);
        has[id] = has[node->parent.i];
        for (size_t i = 0; i < labels_count(f) && f->kind != FRAME_KERNEL; i++)
            has[id] |= !selection_hides(w->selection, node->frame, i) &&
                       name_in(w, node->frame, i) == name;
    }
    return has;
}

/* Threads whose waits H ended. */
static void mark_waiters(const struct waitsum *w, const struct hand *h, const struct rows *wakes,
                         uint8_t *is)
{
    enum { UNASKED, YES, NO };
    const struct profile *p = w->selection->profile;
    struct hand_path waiter, waker;
    autofree uint8_t *known = mem_calloc(p->stacks.nodes.n, 1);
    for (size_t i = 0; i < wakes->n; i++) {
        struct waitsum_stack s = {.stack = wakes->stack[i]};
        uint8_t *of = &known[s.stack.i];
        if (*of == UNASKED) {
            s.reason = waitreason_of_stack(p, s.stack);
            *of = hand_is(w, &s, h, &waiter, &waker) ? YES : NO;
        }
        if (*of == YES)
            is[wakes->thread[i].i] = 1;
    }
}

/* How many of the threads whose waits H ended were seen to end some themselves. */
static size_t count_both(const struct waitsum *w, const struct hand *h)
{
    const struct profile *p = w->selection->profile;
    struct waitstream streams;
    if (!waitstream_find(p, &streams) || streams.wakes < 0)
        return 0;
    autofree uint8_t *has = stacks_with(w, h->ends);
    autofree uint8_t *waits = mem_calloc(p->threads.n, 1);
    size_t n = 0;
    mark_waiters(w, h, &profile_stream(p, streams.wakes)->rows, waits);
    for (int k = 0; k < (int)p->streams.n; k++) {
        const struct rows *r = &profile_stream(p, k)->rows;
        for (size_t i = 0; k != streams.wakes && r->thread && r->stack && i < r->n; i++)
            if (has[r->stack[i].i] && waits[r->thread[i].i]) {
                waits[r->thread[i].i] = 0; /* counted */
                n++;
            }
    }
    return n;
}

bool waitinsight_each_other(const struct waitsum *w, struct waitinsight *ret)
{
    char n[2][UNITS_MAX];
    struct hand h;
    uint32_t names[2];
    if (!hand_find(w, &h) || h.ns < HAND_LEAST_NS ||
        (double)h.ns < HAND_LEAST * (double)w->wall_ns || !name_hand(w, &h, names) ||
        count_both(w, &h) < HAND_THREADS)
        return false;
    ret->id = "wait-for-each-other";
    ret->ns = h.ns;
    ret->advice = "If this is a lock of the program's own: what a thread does before it calls the "
                  "second function is what the others wait for. Do less of it, or let fewer "
                  "threads need it at once. If threads of a pool hand each other work, they were "
                  "idle.";
    snprintf(ret->evidence, sizeof ret->evidence,
             "%s of thread time (%.0f%%) goes to %s waits (%s) in %.*s that end when another of "
             "these threads calls %.*s",
             units_scaled(n[0], (double)h.ns, SCALED_NS), 100 * (double)h.ns / (double)w->wall_ns,
             units_count(n[1], h.n), waitreason_name(h.reason),
             TEXT_ARG(intern_get(&w->labels.texts, names[0])),
             TEXT_ARG(intern_get(&w->labels.texts, names[1])));
    return true;
}
