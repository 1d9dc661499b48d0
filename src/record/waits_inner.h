/*
 * waits_inner.h - what waits.c (who waits) and waits_rows.c (what becomes of it) share.
 */
#pragma once
#include "base/idmap.h"
#include "record/waits.h"

/* How a thread left its CPU. */
enum waits_way { LEFT_BLOCKED, LEFT_PREEMPTED };

/* Waits that are alike: how the thread left, about when, and for about how long. */
struct waits_like {
    uint32_t slot; /* of the clock */
    uint8_t way, length;
};

/* Waits of a thread that have no stack of their own because stacks come in turns. */
struct waits_unseen {
    struct waits_like like;
    uint64_t n, first_ns;
    int64_t ns;
};

/* And those at one stack, since the last flush but one. */
struct waits_share {
    struct waits_like like;
    struct stack_id stack;
    int64_t n, blocked_ns, runnable_ns;
};

/* One thread that is watched. */
struct waiter {
    int pid, tid;
    struct thread_id thread;
    enum thread_state state;
    uint64_t since_ns;                  /* that it is in that state */
    uint64_t written_ns;                /* up to here there are rows of its states */
    int64_t in_state_ns[THREAD_STATES]; /* since then, up to since_ns */
    int ended;   /* it is no more; counts flushes from 1 on, so that late records find it */
    bool untold; /* no record was of it yet: its state is that of a look */
    struct waits_look look;
    bool start_seen; /* of the wait, if it waits */
    bool has_stack;
    struct stack_id stack; /* where it left, or is about to */
    uint64_t leaves_ns;    /* it runs, and left at this time: its record is to come; 0 = no */
    uint64_t left_ns;      /* when its wait began */
    enum waits_way way;
    bool woken; /* since then */
    enum waker_known waker_known;
    uint64_t woken_ns;
    struct stack_id woken_stack;     /* with the waker's functions; empty = not known */
    uint32_t cpu;                    /* where it ran last */
    uint64_t own_ran_ns;             /* how long ours had run there when it began to queue */
    struct stack_id near_stack;      /* of its last CPU sample; empty = none */
    VEC(struct waits_unseen) unseen; /* in the order of time, as are the shares */
    VEC(struct waits_share) shares;
    size_t old_shares; /* the first of them: from before the last flush */
};

/* Waits and wakeups that are summed up are of so much time. */
#define WAITS_SLOT_NS UINT64_C(100000000)

/* Wakers since the last flush, by thread and stack. */
struct waits_wakeup {
    struct thread_id thread;
    struct stack_id stack;
    uint64_t time_ns;
    int64_t n, waited_ns;
};

/* How long threads of the recording ran there. */
struct waits_cpu {
    uint64_t ran_ns, since_ns; /* since when one runs; 0 = none does */
};

struct waits {
    struct profile *profile;
    struct waitstream streams;
    struct waits_facts facts;
    struct waits_facts before; /* those of earlier files among them */
    bool expects_wakes;
    size_t holes; /* that we are in */
    struct stack_id no_stack, birth;
    struct attrs_id parts[WAIT_PARTS];
    VEC(struct waiter) threads;
    VEC(uint32_t) unused;                  /* places in threads */
    uint32_t *place;                       /* by tid: index in threads + 1; 0 = not watched */
    struct waits_cpu cpus[WAITS_CPUS + 1]; /* the last is of none */
    uint64_t thin_from_ns;                 /* from then on stacks come in turns; 0 = they do not */
    VEC(struct waits_wakeup) wakeups;
    struct idmap wakeup_map;
};

/* A wait of T ends, or what was seen of it. */
void waits_write_wait(struct waits *w, struct waiter *t, uint64_t end_ns, enum wait_part part);

void waits_write_states(struct waits *w, struct waiter *t);

/* Write the wakeups. */
void waits_write_wakeups(struct waits *w);

/* --- waits_share.c --- */

/* Whether the wait of T has no stack because it was not its turn. */
bool waits_is_unseen(const struct waits *w, const struct waiter *t);

/* Such a wait of NS; and one that has a stack. */
void waits_add_unseen(struct waiter *t, uint64_t ns);
void waits_add_share(struct waiter *t, const int64_t *values);

/* Share out what T waited without a stack. LAST: there will be no more stacks of it. */
void waits_share_out(struct waits *w, struct waiter *t, bool last);

/* At a flush: those of the time before the last one, once there are younger ones. */
void waits_forget_old_shares(struct waiter *t);
void waits_forget_shares(struct waiter *t);
