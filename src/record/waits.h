/*
 * waits.h - from records of context switches to waits and states of threads (waitstream.h).
 *
 *     leave     the stack of a thread that is about to leave its CPU; comes right before
 *     out       it left: preempted (it could go on) or blocked
 *     wake      somebody lets it go on: from here on it could run
 *     in        it runs again: the wait is over and becomes a row
 *
 * A duration is the time between leave and in, blocked until the wake and runnable after it. Where
 * wakes cannot be seen, all of it counts as blocked. From leave to out the kernel copies the stack,
 * which may take longer than a short wait: a program's CPU clock stands still meanwhile, and a
 * thread may be woken. Without a stack a duration begins with out.
 *
 * Where switches come too fast, the engine takes stacks in turns only (waits_thin). Of the others
 * number and time are counted by thread, and shared out over the stacks of the same thread's
 * waits around them: rows of the part WAIT_SUMMED.
 *
 * Where there are no stacks of switches at all, a wait gets the stack of the last CPU sample of its
 * thread, and an attribute that says so.
 *
 * Where records were lost, a thread that waits may have run meanwhile. Its wait then has an unknown
 * end, which is counted and not made up, and its time up to the next record is of unknown state. A
 * wait that lasts when the recording ends is a row of the part that was seen, with an attribute.
 *
 * All is reported in the order of time.
 */
#pragma once
#include "model/waitstream.h"
#include "unwind/walk.h"

struct waits;

struct waits_facts {
    uint64_t waits;             /* rows */
    uint64_t unknown_ends;      /* waits whose end was lost */
    uint64_t open;              /* rows of waits that had not ended */
    uint64_t stackless;         /* rows without a stack */
    uint64_t summed;            /* waits in rows that stand for several */
    uint64_t woken;             /* waits whose waker is known */
    uint64_t runnable_ns;       /* threads could run and had no CPU: what all states add up to */
    uint64_t queued_ns;         /* of that, where their CPU is known */
    uint64_t queued_own_ns;     /* of that, another thread of the recording ran there */
    uint64_t lost;              /* records of switches, or stacks, that found no room */
    uint64_t ends[UNWIND_ENDS]; /* of stacks, by how they ended */
};

/* CPUs of which it is known who ran there. */
enum { WAITS_CPUS = 1024, WAITS_NO_CPU = WAITS_CPUS };

/* A thread at a moment. */
struct waits_at {
    int pid, tid;
    uint64_t time_ns;
    struct thread_id thread; /* what the profile calls it now */
    uint64_t came_ns;        /* of one that runs: since when it has the CPU; 0 = time_ns */
    uint32_t cpu;            /* WAITS_NO_CPU = not known */
};

struct waits *waits_new(struct profile *p);
void waits_free(struct waits *w); /* NULL is fine */

/* Add the streams, before anything is reported. */
int waits_start(struct waits *w, struct err *err);

/* A thread begins to be watched, in STATE. One that runs (exec) may have been watched before. */
void waits_begin(struct waits *w, const struct waits_at *at, enum thread_state state);

/* What /proc showed about a thread. */
struct waits_look {
    enum thread_state state;
    uint64_t time_ns;
    struct stack_id stack; /* where it waits; empty = not known */
};

/*
 * A thread that is there already begins to be watched. Records that come later, of the time before
 * that look, know better.
 */
void waits_found(struct waits *w, const struct waits_at *at, const struct waits_look *look);

void waits_leave(struct waits *w, const struct waits_at *at, struct stack_id stack,
                 enum unwind_end end);

/* Returns when it left: before its record, by as long as its stack was copied. */
uint64_t waits_out(struct waits *w, const struct waits_at *at, bool preempted);
void waits_in(struct waits *w, const struct waits_at *at);

/* Wakers will be reported. Before waits_start(). */
void waits_expect_wakes(struct waits *w);

/* How much is known of who wakes: of several samples of one wake the one that knows most counts. */
enum waker_known {
    WAKER_INTERRUPT, /* nothing but that it was an interrupt, as far as this sample says */
    WAKER_NAMED,
    WAKER_WALKED, /* its functions, too */
};

/* Somebody lets a thread go on. */
struct waits_wake {
    int tid;
    uint64_t time_ns;
    enum waker_known known;
    struct stack_id
        stack; /* where the thread waits; then with the waker's behind it. 0 = unknown */
};

/*
 * Whether W is worth reporting: its thread is blocked and no waker is known yet, or one about
 * which less is known. Sets its stack to where the thread waits.
 */
bool waits_wants_wake(struct waits *w, struct waits_wake *wake);
void waits_wake(struct waits *w, const struct waits_wake *wake);

/* From FROM_NS on not all waits have stacks. */
void waits_thin(struct waits *w, uint64_t from_ns);

/*
 * Waits without a stack that last, since before FROM_NS, and were not looked at yet: the
 * next thread from place *POS on, which is moved behind it. False where there are no more.
 */
bool waits_next_unseen(const struct waits *w, uint64_t from_ns, size_t *pos, struct waits_at *ret);

/*
 * What /proc showed about a thread: the wait that lasted then has that stack, if it turns out to
 * have no other.
 */
void waits_looked(struct waits *w, int tid, const struct waits_look *look);

/* No switch has a stack: a CPU sample of the thread stands in for it. */
void waits_near(struct waits *w, int tid, struct stack_id stack);

/* The thread ends, by its own hand: it runs. */
void waits_end(struct waits *w, const struct waits_at *at);

/* Records were lost: the states of threads since their last record are unknown. */
void waits_lose(struct waits *w, uint64_t n);

/*
 * In a hole records of some CPU are missing, and how many is not known yet. Whatever records of
 * other CPUs say meanwhile, threads may have done more. Holes of several CPUs may overlap.
 */
void waits_begin_hole(struct waits *w);
void waits_end_hole(struct waits *w);

/* How many were lost in all, where that is known better. */
void waits_set_lost(struct waits *w, uint64_t n);

/* Write the states of threads up to the last change of each. */
void waits_flush(struct waits *w);

/*
 * The next file begins, after a flush: its rows and counts are its own. A wait that lasts belongs
 * to the file in which it ends.
 */
void waits_start_over(struct waits *w);

/* Recording ends: close what is open. */
void waits_stop(struct waits *w, uint64_t end_ns);

const struct waits_facts *waits_facts(const struct waits *w);

/* Of the present file. */
struct waits_facts waits_facts_of_file(const struct waits *w);
