/*
 * waits_inner.h - what waits.c (who waits) and waits_rows.c (what becomes of it) share.
 */
#pragma once
#include "base/idmap.h"
#include "record/waits.h"

/* Waits of a thread that have no stack of their own because stacks come in turns. */
struct waits_unseen {
    uint64_t n, first_ns;
    int64_t ns;
};

/* How a thread left its CPU. */
enum waits_way { LEFT_BLOCKED, LEFT_PREEMPTED, LEFT_WAYS };

/* One thread that is watched. */
struct waiter {
    int pid, tid;
    struct thread_id thread;
    enum thread_state state;
    uint64_t since_ns;                  /* that it is in that state */
    uint64_t written_ns;                /* up to here there are rows of its states */
    int64_t in_state_ns[THREAD_STATES]; /* since then, up to since_ns */
    bool untold;                        /* no record was of it yet: its state is that of a look */
    enum thread_state looked;
    uint64_t looked_ns;
    bool start_seen; /* of the wait, if it waits */
    bool has_stack;
    struct stack_id stack; /* where it left, or is about to */
    uint64_t left_ns;      /* when its wait began */
    enum waits_way way;
    bool woken, woken_full;      /* since then; by somebody whose functions are known */
    struct stack_id woken_stack; /* with the waker's functions; empty = not known */
    struct stack_id near_stack;  /* of its last CPU sample; empty = none */
    struct waits_unseen unseen[LEFT_WAYS];
};

/* The waits of a thread at one stack since the last flush. */
struct waits_share {
    uint32_t waiter;
    uint8_t way;
    struct stack_id stack;
    int64_t n, blocked_ns, runnable_ns;
};

/* What ended waits since the last flush, by thread and stack. */
struct waits_wakeup {
    struct thread_id thread;
    struct stack_id stack;
    uint64_t time_ns;
    int64_t n, waited_ns;
};

struct waits {
    struct profile *profile;
    struct waitstream streams;
    struct waits_facts facts;
    struct waits_facts before; /* those of earlier files among them */
    bool expects_wakes;
    struct stack_id no_stack, birth;
    struct attrs_id parts[WAIT_PARTS];
    VEC(struct waiter) threads;
    VEC(uint32_t) unused;  /* places in threads */
    uint32_t *place;       /* by tid: index in threads + 1; 0 = not watched */
    uint64_t thin_from_ns; /* from then on stacks come in turns; 0 = they do not */
    VEC(struct waits_share) shares;
    struct idmap share_map;
    VEC(struct waits_wakeup) wakeups;
    struct idmap wakeup_map;
};

/* A wait of T ends, or what was seen of it. */
void waits_write_wait(struct waits *w, struct waiter *t, uint64_t end_ns, enum wait_part part);

void waits_write_states(struct waits *w, struct waiter *t);

/* Share out what T waited without a stack. LAST: there will be no more stacks of it. */
void waits_share_out(struct waits *w, struct waiter *t, bool last);

/* Another thread may get the place of T. */
void waits_forget_shares(struct waits *w, const struct waiter *t);

/* Write the wakeups, and forget the shares: all threads are done. */
void waits_write_sums(struct waits *w);
