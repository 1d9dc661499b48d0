/*
 * locks_inner.h - what locks.c and locks_take.c share.
 */
#pragma once
#include "base/idmap.h"
#include "record/locks.h"
#include "record/preload.h"
#include "record/stackwalk.h"
#include "record/ticks.h"
#include "wire/locks.h"

/* The thread that released a lock, and when. */
struct locks_release {
    uint64_t ticks;
    struct stack_id stack;
    struct thread_id thread;
    int pid;
};

/* Where a lock was made. */
struct locks_made {
    uint64_t address;
    int pid;
    struct stack_id stack;
    struct thread_id thread;
};

/* A lock of a process. */
struct locks_lock {
    uint64_t address;
    int pid;
    bool waited_for;
    struct str_id name;
    struct attrs_id attrs[LOCKS_KINDS]; /* lock and kind; 0 = not asked for yet */
    VEC(struct locks_release) releases; /* by time, the newest last */
};

/* A wait until its holder was seen. */
struct locks_pending {
    struct stack_id stack;
    struct thread_id thread;
    uint64_t start, length; /* ticks */
    uint32_t lock, holder;  /* holder: thread id or 0 */
    int pid;
    uint16_t looks;
    uint8_t kind;
    bool open; /* it never ended: LENGTH is that until its process or the recording did */
};

enum {
    LOCKS_MADE_MAX = 1 << 16,     /* that are remembered */
    LOCKS_MAX = 1 << 16,          /* locks with a name of their own */
    LOCKS_RELEASES_MAX = 1 << 12, /* of a lock: half of them are forgotten then */
    LOCKS_LOOKS = 4,              /* that a wait is kept for at least: a power of two */
    LOCKS_PENDING_MAX = 1 << 16,  /* waits whose holder is not known yet */
};

/* After that no thread will report a release. */
#define LOCKS_PATIENCE_NS UINT64_C(1000000000)

/* Locks beyond LOCKS_MAX share this name. */
#define LOCKS_MORE "[more locks]"

struct locks {
    struct locks_opts opts;
    struct locks_facts facts;
    struct rings rings;
    struct stackwalk stacks;
    struct ticks ticks;
    struct preload preload;
    bool stopped, draining;
    int waits, holders, orders, holds, created; /* streams of the profile */
    uint64_t unfinished[STACKWALK_ENDS];
    VEC(struct locks_lock) locks;
    struct idmap by_address;
    VEC(struct locks_made) made;
    struct idmap made_by_address;
    VEC(struct locks_pending) pending;
};

void locks_add_streams(struct locks *l);

/* Take one record of a ring. */
void locks_take(struct locks *l, const struct ring_reader *rr, const struct record *rec);

/* Take the wait of a thread that will not say how it ended, if it waits. */
void locks_take_open(struct locks *l, const struct ring_reader *rr);

/* Write the waits whose holder is known or will not be, or ALL. */
void locks_write_waits(struct locks *l, bool all);
