/*
 * stackwalk.h - stacks of calls, walked inside of a program, and the rings that report them: what
 * the heap's agent (heap.h) and that of locks (locks.h) share. Each has a copy and a channel of its
 * own.
 *
 *     stackwalk.c         the stack of a call, by the recorder's unwind rules
 *     stackwalk_images.c  where those rules are
 *     stackwalk_thread.c  what is kept for each thread; room for records
 *
 * This is somebody else's program: nothing here prints, ends it, takes a lock or uses its malloc.
 * Memory comes from mmap. The kernel wipes the memory of one process when it forks, so that a
 * child starts afresh, however it was made.
 *
 * A walk from a call needs few kinds of rules, so the agents have a small walk of their own. As
 * soon as it reaches a frame of the thread's last walk, it compares the return addresses further
 * out with what lies in their slots, and stops.
 *
 * A program says what it has mapped when it begins and when a walk meets code that it does not
 * know (dlopen), and waits a bounded time for the rules. After dlclose it asks again.
 */
#pragma once
#include "channel.h"
#include "proc.h"
#include "unwind/table.h"
#include "wire/counter.h"
#include "wire/stackwalk.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)

enum {
    STACKWALK_DEPTH_MAX = 4096,
    STACKWALK_RULE_BITS = 10,
    STACKWALK_SEEN_BITS = 7,
    STACKWALK_SEEN_DEPTH = 40,
};

/* Which channel is ours, and what the agent does beside: each agent has one. */
struct stackwalk_task {
    const char *env;
    uint32_t bit;                /* one of CHANNEL_* */
    bool (*process_begin)(void); /* the channel was found; may be NULL. False: leave it */
    void (*thread_begin)(void);  /* this thread has a ring, maybe in the child of a fork */
};
extern const struct stackwalk_task stackwalk_task;

/* Where a function of ours was called: the return address, and the caller's registers then. */
struct stackwalk_call {
    uintptr_t pc, sp, fp;
};

/*
 * The frame of the function that is being compiled. On ARM x29 points to the caller's x29 and our
 * return address; the walk goes on by frame pointers.
 */
#define STACKWALK_CALL                                                                   \
    ((struct stackwalk_call){(uintptr_t)__builtin_return_address(0),                     \
                             (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(void *), \
                             *(uintptr_t *)__builtin_frame_address(0)})

/* A return address, and where it lies. */
struct stackwalk_link {
    uint64_t slot, pc;
};

/* What else is known of a frame. */
struct stackwalk_frame {
    uint64_t sp, fp;
    uint32_t node;
    bool needs_fp; /* the walk from here on depends on fp */
};

/*
 * The frames of a walk, outermost first, so that what callers did stays where it is. What every
 * walk compares lies together: fifteen callers in four lines of a processor's cache.
 */
struct stackwalk_frames {
    uint32_t n;
    struct stackwalk_link link[STACKWALK_DEPTH_MAX];
    struct stackwalk_frame of[STACKWALK_DEPTH_MAX];
};

/*
 * A stack that came up before. Loops allocate at the same few places, with the same stack pointer
 * each: then only the return addresses are compared. Filled when a call comes for the second time.
 */
struct stackwalk_seen {
    uint64_t pc, sp, fp, caller;  /* caller: the return address of the function that called us */
    uint32_t generation, node, n; /* n: links, in whole fours; 0 = not filled */
    bool needs_fp;
    struct stackwalk_seen *next; /* what came after it the last time: the first to look at */
    struct stackwalk_link link[STACKWALK_SEEN_DEPTH]; /* of the callers, outermost first */
};

/* The rule for one address. */
struct stackwalk_rule {
    uint64_t pc;
    uint32_t generation; /* of the modules */
    struct unwind_row row;
};

struct stackwalk_modules;

struct stackwalk_thread {
    _Atomic uint32_t taken; /* by a thread */
    bool ready;             /* wiped by fork */
    volatile bool walking;  /* seen by handlers of signals */
    struct ring_writer writer;
    uint64_t last_ticks; /* of the record before */
    uintptr_t stack_low, stack_end;
    const struct stackwalk_modules *modules;
    struct stackwalk_rule rules[1 << STACKWALK_RULE_BITS];
    uint32_t generation; /* of what was seen: another after the stack or the modules changed */
    struct stackwalk_seen *last_seen;
    struct stackwalk_seen seen[1 << STACKWALK_SEEN_BITS];
    struct stackwalk_frames frames; /* of the last walk */
    struct stackwalk_frames fresh;  /* of this one, innermost first, until they are known */
};

/* What belongs to this process; wiped by fork. */
struct stackwalk_process {
    _Atomic uint32_t state; /* enum stackwalk_state */
    int32_t pid;
    uint32_t root;              /* node of the trie */
    _Atomic uint32_t n_threads; /* that have had a ring */
    _Atomic uint32_t announcing;
    _Atomic uint64_t quiet_until_ns; /* until then no address is worth an announcement */
    uint64_t quiet_ns;
};

enum stackwalk_state { STACKWALK_NEW, STACKWALK_BEGINNING, STACKWALK_ON, STACKWALK_OFF };

extern struct stackwalk_process *stackwalk_process; /* NULL: no recorder was found */

/* Thread of the caller, ready to write; NULL when there is nothing to report. */
static inline struct stackwalk_thread *stackwalk_thread_get(void);
struct stackwalk_thread *stackwalk_thread_begin(void);
void stackwalk_thread_end(struct stackwalk_thread *t);

extern bool stackwalk_has_counter;
extern __thread bool stackwalk_ended; /* the last destructor has run: libc tidies up */
extern __thread struct stackwalk_thread *stackwalk_mine;

static inline uint64_t stackwalk_ticks(void)
{
    return LIKELY(stackwalk_has_counter) ? counter_read() : proc_now_ns();
}

static inline struct stackwalk_thread *stackwalk_thread_get(void)
{
    struct stackwalk_thread *t = stackwalk_mine;
    return LIKELY(t && t->ready) ? t : stackwalk_thread_begin();
}

/* A record of this thread's, to be filled and committed; NULL when recording is over. */
struct record *stackwalk_reserve_patiently(struct stackwalk_thread *t, uint16_t kind,
                                           uint16_t words);

static inline struct record *stackwalk_reserve(struct stackwalk_thread *t, uint16_t kind,
                                               uint16_t words)
{
    struct record *r = ring_reserve(&t->writer, kind, words);
    if (LIKELY(r))
        return r;
    ring_abandon(&t->writer);
    return stackwalk_reserve_patiently(t, kind, words);
}

/* The record is whole. After the last destructor of a thread, its ring would stay open. */
static inline void stackwalk_commit(struct stackwalk_thread *t)
{
    ring_commit(&t->writer);
    if (__builtin_expect(stackwalk_ended, 0))
        stackwalk_thread_end(t);
}

/* --- stackwalk.c --- */

extern _Atomic(struct stackwalk_modules *) stackwalk_newest;

/* The newest; NULL while nothing is known. */
static inline const struct stackwalk_modules *stackwalk_modules(void)
{
    return atomic_load_explicit(&stackwalk_newest, memory_order_acquire);
}

/* Whether N return addresses, in whole fours, lie where they lay. */
static inline bool stackwalk_links_hold(const struct stackwalk_link *l, uint32_t n)
{
    const struct stackwalk_link *end = l + n;
    for (; l != end; l += 4)
        if ((*(const uint64_t *)l[0].slot ^ l[0].pc) | (*(const uint64_t *)l[1].slot ^ l[1].pc) |
            (*(const uint64_t *)l[2].slot ^ l[2].pc) | (*(const uint64_t *)l[3].slot ^ l[3].pc))
            return false;
    return true;
}

static inline bool stackwalk_seen_is_call(const struct stackwalk_thread *t,
                                          const struct stackwalk_seen *s,
                                          const struct stackwalk_call *at)
{
    return s->pc == at->pc && s->sp == at->sp && s->generation == t->generation;
}

static inline bool stackwalk_seen_is_stack(const struct stackwalk_seen *s,
                                           const struct stackwalk_call *at)
{
    return s->n && (!s->needs_fp || s->fp == at->fp) && stackwalk_links_hold(s->link, s->n);
}

/*
 * The node of the stack of AT, if it is the one that followed that of the last walk the last time;
 * else 0. What was seen in this generation lies on the stack that the thread has now.
 */
static inline uint32_t stackwalk_expected(struct stackwalk_thread *t,
                                          const struct stackwalk_call *at)
{
    struct stackwalk_seen *s = t->last_seen->next;
    uint32_t node = 0;
    if (t->walking)
        return 0;
    t->walking = true;
    if (LIKELY(stackwalk_seen_is_call(t, s, at) && t->modules == stackwalk_modules()) &&
        LIKELY(stackwalk_seen_is_stack(s, at))) {
        t->last_seen = s;
        node = s->node;
    }
    t->walking = false;
    return node;
}

/* Find the trie; false when there is none. */
bool stackwalk_init(void);
uint32_t stackwalk_trie_add(uint32_t parent, uint64_t pc);
/* The node of the stack of AT. */
uint32_t stackwalk(struct stackwalk_thread *t, const struct stackwalk_call *at);
void stackwalk_forget(struct stackwalk_thread *t); /* earlier walks */

/* --- stackwalk_images.c --- */

/* A file with code that this process has mapped. */
struct stackwalk_code {
    uint64_t start, end, base;
    const struct unwind_row *rows;
    uint32_t n_rows;
    bool has_file;
};

struct stackwalk_modules {
    uint32_t generation, n;
    struct stackwalk_code at[]; /* by start */
};

bool stackwalk_images_init(void);

const struct stackwalk_code *stackwalk_modules_find(const struct stackwalk_modules *m, uint64_t pc);

/* Report what is mapped, and wait a bounded time for the rules. KIND is START or MAPS. */
void stackwalk_announce(struct stackwalk_thread *t, enum stackwalk_record kind);

/* PC is in no module: announce again, if it is time to. True when more is known now. */
bool stackwalk_learn(struct stackwalk_thread *t, uint64_t pc);

/* Something was unmapped: what is known may be wrong. */
void stackwalk_forget_modules(void);
