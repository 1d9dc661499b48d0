/*
 * lockstory.h - which locks a program waited for: how often and how long, who waited, who held
 * them, and what stands out. From the streams of record/locks.h.
 *
 * A place is a whole stack. A place has the name of its innermost function that does more than
 * lock for others: the caller of std::mutex::lock and std::unique_lock.
 *
 * A holder is the thread that had the lock when a wait began. Where a lock is handed on while a
 * thread waits, all of that wait is put down to the first.
 */
#pragma once
#include "analysis/finding.h"
#include "analysis/label.h"
#include "base/arena.h"

enum { LOCKSTORY_THREADS_MAX = 256 }; /* that are told apart in a list */

typedef VEC(struct thread_id) lockstory_threads;

/* A stack that waited, or that others waited for. */
struct lockstory_place {
    struct stack_id stack;
    uint64_t waits, wait_ns, longest_ns;
    lockstory_threads threads;
};

typedef VEC(struct lockstory_place) lockstory_places;

struct lockstory_lock {
    struct str_id name, kind;
    bool excludes; /* a mutex or read-write lock: others wait for a signal, which may be idleness */
    uint64_t waits, wait_ns, longest_ns;
    uint64_t open;                     /* of the waits: they had not ended at the end */
    struct str_id keeper;              /* the thread that an open wait waits for; 0 = not known */
    uint64_t waited_ns;                /* during which at least one thread waited */
    uint64_t first_ns;                 /* when the first wait began */
    struct stack_id first;             /* and where */
    lockstory_places waiters, holders; /* longest first */
    lockstory_threads threads;         /* that waited */
    uint64_t held_known;               /* waits whose holder is known */
    uint64_t holds, held_ns, longest_held_ns; /* of holds that others waited for */
    struct stack_id longest_held;             /* where the longest ended */
    struct thread_id longest_holder;
    struct stack_id created; /* where it was made; 0 = not known */
};

/* Where a lock was first taken while another was held, by the first two threads that did. */
struct lockstory_order {
    struct str_id held, lock;
    struct process_id process;
    struct stack_id stack;
    struct thread_id thread;
};

/* Orders that lead from a lock back to itself: held, lock = held of the next, ... */
struct lockstory_cycle {
    VEC(uint32_t) orders; /* indices */
};

/* Of locks that exclude others, or of conditions, semaphores and barriers. */
struct lockstory_total {
    uint64_t n, waits, wait_ns;
};

struct lockstory {
    const struct profile *profile;
    const struct stream *waits_stream;
    uint64_t start_ns, end_ns; /* of all rows that have a time */
    uint64_t waits, wait_ns;
    struct lockstory_total locks_total, signals_total; /* those two parts of them */
    uint64_t retaken,
        retaken_ns; /* by the kernel: for the mutex, at the end of a condition's wait */
    uint64_t open;  /* of the waits: they had not ended when the program or the recording did */
    uint64_t blocked_waits;           /* by the kernel: times off a CPU inside calls that lock */
    uint64_t futex_waits, futex_ns;   /* that the kernel saw and no function of pthreads explains */
    VEC(struct lockstory_lock) locks; /* longest wait in total first */
    VEC(struct lockstory_order) orders;
    VEC(struct lockstory_cycle) cycles;
    struct findings insights;
    struct labels labels;
    struct arena arena;
};

/* Fails when P has no stream of locks. */
int lockstory_build(struct lockstory *s, const struct profile *p, struct err *err);
void lockstory_done(struct lockstory *s);

/* The functions of a stack, the innermost that does more than lock first; free it. MAX = how many.
 */
char *lockstory_path(struct lockstory *s, struct stack_id stack, size_t max);

/*
 * How often a thread woke inside a call that locks, found the lock taken again, and waited once
 * more: at least so often, as other calls get the lock before they leave their CPU.
 */
uint64_t lockstory_woken_in_vain(const struct lockstory *s);

/* Whether a lock has no name but its address, which several locks may have one after the other. */
bool lockstory_is_address(struct text name);

/* Called by lockstory_build(). */
void lockstory_find_cycles(struct lockstory *s);
void lockstory_find_insights(struct lockstory *s);
