/*
 * heap.h - the inside of the heap agent, a library that tells of every block a program allocates.
 *
 *     heap.c         stands in for malloc and its relatives
 *     heap_thread.c  what is kept for each thread; writes records
 *     heap_walk.c    the stack of a call, by the recorder's unwind rules
 *     heap_images.c  where those rules are
 *     heap_sampled.c which blocks, where samples are enough
 *
 * This is somebody else's program: nothing here prints, ends it, takes a lock or uses its malloc.
 * Memory comes from mmap. What belongs to one process is wiped by the kernel when it forks, so that
 * a child starts anew, however it was made.
 *
 * A walk from a call needs few kinds of rules, so the agent has a small walk of its own. As soon as
 * it reaches a frame of the thread's last walk, it compares the return addresses further out with
 * what lies in their slots, and stops.
 *
 * A program tells what it has mapped when it begins and when a walk meets code that it does not
 * know (dlopen), and waits a bounded time for the rules. After dlclose it asks again. Frees of
 * blocks that a child inherited are counted as unknown and left out: the blocks are the parent's.
 *
 * Threads, walks and images serve the lock agent as well (locks.h), a library of its own with its
 * own channel.
 *
 * Samples are drawn by bytes: a block of z bytes with the probability 1 - exp(-z / mean). Frees
 * look into a filter of 64 KB first, so that those of other blocks cost a load.
 */
#pragma once
#include "channel.h"
#include "unwind/table.h"
#include "wire/heap.h"

#define HEAP_LIKELY(x) __builtin_expect(!!(x), 1)

enum {
    HEAP_DEPTH_MAX = 4096,
    HEAP_RULE_BITS = 10,
    HEAP_SEEN_BITS = 7,
    HEAP_SEEN_DEPTH = 40,
};

/* Which channel is ours: each agent's own. */
struct heap_task {
    const char *env;
    uint32_t bit; /* one of CHANNEL_* */
};
extern const struct heap_task heap_task;

/* Where a function of ours was called: the return address, and the caller's registers then. */
struct heap_call {
    uintptr_t pc, sp, fp;
};

/*
 * The frame of the function that is being compiled. On ARM x29 points to the caller's x29 and our
 * return address; the walk goes on by frame pointers.
 */
#define HEAP_CALL                                                                   \
    ((struct heap_call){(uintptr_t)__builtin_return_address(0),                     \
                        (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(void *), \
                        *(uintptr_t *)__builtin_frame_address(0)})

/* A return address, and where it lies. */
struct heap_link {
    uint64_t slot, pc;
};

/* What else is known of a frame. */
struct heap_frame {
    uint64_t sp, fp;
    uint32_t node;
    bool needs_fp; /* the walk from here on depends on fp */
};

/*
 * The frames of a walk, outermost first, so that what callers did stays where it is. What every
 * walk compares lies together: fifteen callers in four lines of a processor's cache.
 */
struct heap_frames {
    uint32_t n;
    struct heap_link link[HEAP_DEPTH_MAX];
    struct heap_frame of[HEAP_DEPTH_MAX];
};

/*
 * A stack that came up before. Loops allocate at the same few places, with the same stack pointer
 * each: then only the return addresses are compared. Filled when a call comes for the second time.
 */
struct heap_seen {
    uint64_t pc, sp, fp, caller;  /* caller: the return address of the function that called us */
    uint32_t generation, node, n; /* n: links; 0 = not filled */
    bool needs_fp;
    struct heap_link link[HEAP_SEEN_DEPTH]; /* of the callers, outermost first */
};

/* The rule for one address. */
struct heap_rule {
    uint64_t pc;
    uint32_t generation; /* of the modules */
    struct unwind_row row;
};

struct heap_modules;

struct heap_thread {
    _Atomic uint32_t taken; /* by a thread */
    bool ready;             /* wiped by fork */
    volatile bool walking;  /* seen by handlers of signals */
    struct ring_writer writer;
    uint64_t last_ticks;    /* of the record before */
    uint32_t stamp_left;    /* records that may have the time of the one before */
    uint32_t stamp_records; /* from one reading of the clock to the next */
    const void *last;       /* block that this thread allocated */
    uint64_t blocks, bytes; /* that it has allocated so far */
    uintptr_t stack_low, stack_end;
    const struct heap_modules *modules;
    uint64_t next_sample; /* bytes to go */
    uint64_t random;
    struct heap_rule rules[1 << HEAP_RULE_BITS];
    uint32_t generation; /* of what was seen: another after the stack or the modules changed */
    uint32_t last_seen;
    struct heap_seen seen[1 << HEAP_SEEN_BITS];
    struct heap_frames frames; /* of the last walk */
    struct heap_frames fresh;  /* of this one, innermost first, until they are known */
};

/* What belongs to this process; wiped by fork. */
struct heap_process {
    _Atomic uint32_t state; /* enum heap_state */
    int32_t pid;
    uint32_t root;              /* node of the trie */
    _Atomic uint32_t n_threads; /* that have had a ring */
    _Atomic uint32_t announcing;
    _Atomic uint64_t quiet_until_ns; /* until then no address is worth an announcement */
    uint64_t quiet_ns;
};

enum heap_state { HEAP_NEW, HEAP_BEGINNING, HEAP_ON, HEAP_OFF };

extern struct heap_process *heap_process; /* NULL: no recorder was found */

/* Thread of the caller, ready to write; NULL when there is nothing to tell. */
struct heap_thread *heap_thread_get(void);

/* The node of the stack of CALL. */
uint32_t heap_thread_stack_of(struct heap_thread *t, const struct heap_call *call);

/* Tell. The stack is that of CALL. Errno stays as it was. */
void heap_tell_alloc(void *p, size_t size, const struct heap_call *call);
bool heap_tell_free(void *p, uint64_t flags); /* false: nobody had told of it */
void heap_tell_kept(void *p);

/* A record of this thread's, to be filled and committed; NULL when recording is over. */
struct record *heap_reserve(struct heap_thread *t, uint16_t kind, uint16_t words);
uint64_t heap_ticks(void);

/*
 * Reading the clock costs as much as an allocation. As long as a process has one thread, the order
 * of its records is their order in the ring, and one reading in so many is enough where records
 * come close together: within so many ticks each, on average.
 */
enum { HEAP_STAMP_EVERY = 16, HEAP_STAMP_TICKS = 512 };

/* --- heap_walk.c --- */

/* Find the trie; false when there is none. */
bool heap_walk_init(void);
uint32_t heap_trie_add(uint32_t parent, uint64_t pc);
uint32_t heap_walk(struct heap_thread *t, const struct heap_call *at);
void heap_walk_forget(struct heap_thread *t); /* earlier walks */

/* --- heap_images.c --- */

/* A file with code that this process has mapped. */
struct heap_code {
    uint64_t start, end, base;
    const struct unwind_row *rows;
    uint32_t n_rows;
    bool has_file;
};

struct heap_modules {
    uint32_t generation, n;
    struct heap_code at[]; /* by start */
};

bool heap_images_init(void);

/* The newest; NULL while nothing is known. */
const struct heap_modules *heap_modules(void);
const struct heap_code *heap_modules_find(const struct heap_modules *m, uint64_t pc);

/* Tell what is mapped, and wait a bounded time for the rules. KIND is START or MAPS. */
void heap_announce(struct heap_thread *t, enum heap_kind kind);

/* PC is in no module: announce again, if it is time to. True when more is known now. */
bool heap_learn(struct heap_thread *t, uint64_t pc);

/* Something was unmapped: what is known may be wrong. */
void heap_forget_modules(void);

/* --- heap_sampled.c --- */

extern uint64_t heap_sample_bytes; /* on average; 0: every block */

bool heap_sampled_init(uint64_t mean_bytes);

/* Draw the bytes up to the thread's next sample. */
void heap_sampled_draw(struct heap_thread *t);

/* Whether a block of SIZE bytes is a sample. */
static inline bool heap_sampled(struct heap_thread *t, size_t size)
{
    if (HEAP_LIKELY(size < t->next_sample)) {
        t->next_sample -= size;
        return false;
    }
    heap_sampled_draw(t);
    return true;
}

/* Remember a sample; false when there is no room. */
bool heap_sampled_add(void *p);

/* Whether P is a sample; it is forgotten. */
bool heap_sampled_take(void *p);
