/*
 * waitsum.h - the waits of a recording summed up: by reason, by thread, by stack.
 *
 * States of threads come from the stream that covers their whole life, so that running, runnable,
 * blocked and unknown add up to the wall time of each. Reasons and stacks come from the waits that
 * were selected. Of a range of time, only what is inside counts, of waits and of states. A thread
 * is a process and a number, whatever it is called in the course of time; its last name is shown.
 */
#pragma once
#include "analysis/label.h"
#include "analysis/selection.h"
#include "analysis/waitreason.h"
#include "base/trie.h"
#include "model/waitstream.h"

struct wait_sum {
    uint64_t n;
    int64_t ns, max_ns;
};

struct waitsum_thread {
    struct process_id process;
    int32_t pid, tid;
    struct str_id name;
    int64_t wall_ns, state_ns[THREAD_STATES];
    uint64_t waits;
    int64_t reason_ns[WAIT_REASONS]; /* of the waits in which it was blocked */
    int64_t after_ns[WAIT_REASONS];  /* and of the time from the wake to the CPU after these */
    uint64_t reason_waits[WAIT_REASONS];
    struct selection_moments edge[2]; /* where rows of its states reach out of the range */
    int n_edges;
    int64_t edge_ns; /* of them, not known to be waits */
};

/* Waits at one path of the program's functions, for one reason. */
struct waitsum_stack {
    struct stack_id
        stack;     /* one of them; what libc calls inside and the kernel's part may differ */
    bool runnable; /* it had no CPU; else it was blocked, for a reason */
    enum wait_reason reason;
    struct wait_sum sum;
};

typedef VEC(struct waitsum_stack) waitsum_stacks;

struct waitsum {
    const struct selection *selection;
    bool has_states; /* else what was selected is no whole threads: no wall time, no wakers */
    uint64_t n_waits;
    struct wait_sum by_reason[WAIT_REASONS];
    struct wait_sum runnable;
    uint64_t n_open, n_begun; /* waits of which the end, or the start, was not seen */
    uint64_t n_cut;           /* others that reach out of the range of time */
    uint64_t n_stackless;
    int64_t wall_ns, state_ns[THREAD_STATES]; /* of all threads */
    VEC(struct waitsum_thread) threads;       /* longest off-CPU first; who never woke last */
    waitsum_stacks stacks;                    /* longest first */
    waitsum_stacks wakers; /* who ended waits: stacks of waitstream.h's wakeups */
    struct wait_sum woken; /* all of those; max_ns is of means */
    uint64_t n_summed;     /* waits whose stacks are shared out */
    uint64_t n_near;       /* waits with the stack of a CPU sample */
    struct labels labels;
};

/*
 * Sum up S, a selection of the stream of waits, and STATES, the same threads and moments of the
 * stream of states; NULL where S selects by stack. Fails where the profile has no such streams.
 */
int waitsum_build(struct waitsum *w, const struct selection *s, const struct selection *states,
                  struct err *err);
void waitsum_done(struct waitsum *w);

/* The part of a wait that is inside of some moments. A row of several waits is where it begins. */
struct wait_inside {
    int64_t blocked_ns, runnable_ns;
    bool cut;
};
struct wait_inside waitsum_inside(const struct rows *rows, const struct waitstream *streams,
                                  size_t row, struct selection_moments moments);

/* That of the value that is selected, of a row of waits or of walljoin.h. */
int64_t waitsum_value_inside(const struct selection *s, const struct waitstream *streams,
                             size_t row);

/* The reason of most of a thread's blocked time; WAIT_REASONS where it was never blocked. */
enum wait_reason waitsum_main_reason(const struct waitsum_thread *t);

/* Whether the recorder saw who woke threads: then blocked time ends with the wake. */
bool waitsum_has_wakers(const struct waitsum *w);

/* Whether a frame is of the C library, in whose functions programs wait. */
bool waitsum_is_libc(const struct profile *p, const struct frame *f);

/* Whether a name says little of the program: it has none, or is of the library of C++ or Rust. */
bool waitsum_is_runtime(struct text name);

/* Sums of columns may pass what one column cannot: files come from anywhere. */
static inline int64_t waitsum_add_ns(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Whether it was blocked all the time: there is nothing to say of it. */
static inline bool waitsum_never_woke(const struct waitsum_thread *t)
{
    return !t->state_ns[THREAD_RUNNING] && !t->state_ns[THREAD_RUNNABLE];
}

static inline int64_t waitsum_off_cpu_ns(const struct waitsum_thread *t)
{
    return waitsum_add_ns(t->state_ns[THREAD_RUNNABLE], t->state_ns[THREAD_BLOCKED]);
}
