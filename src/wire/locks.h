/*
 * locks.h - what agents report about a program's locks: records of the rings of task CHANNEL_LOCKS.
 *
 * The memory beside the rings, its parameters and the kinds START, MAPS and FORK are those of
 * wire/stackwalk.h: stacks are nodes of a trie, walked inside the program. The channel is one of
 * its own, so that the heap can be recorded at once. `own` is the node of a stack.
 *
 *     WAIT       start, duration, lock, holder       a thread had to wait: 40 bytes
 *     RELEASE    time, lock, held                    a thread let go of what another waits for, and
 *                                                    had held it for so long (0 = not known)
 *     CREATE     time, lock                          a lock was made
 *     ORDER      time, lock held, lock taken         the first time that one was taken inside the
 *                                                    other, by a call that may block
 *     NAME       time, lock, bytes, text             what the program calls it
 *
 * A wait that has not ended stands in the head of its thread's ring (ring.waiting), so that it is
 * known when the program ends first: by a deadlock, or because it is killed.
 *
 * A lock is its address, with its kind in the highest byte. A holder is a thread id, 0 where not
 * known. Times are ticks.
 */
#pragma once
#include "wire/stackwalk.h"

/* Where the channel is: "PID FD INODE"; see CHANNEL_ENV. */
#define LOCKS_ENV "KELVIN_LOCKS"
#define LOCKS_AGENT_FILE "libkelvin-locks.so"

/* Beyond wire/stackwalk.h's START, MAPS and FORK. */
enum locks_record {
    LOCKS_WAIT = 32,
    LOCKS_RELEASE,
    LOCKS_ORDER,
    LOCKS_NAME,
    LOCKS_CREATE,
};

/* Words of ring.waiting. */
enum locks_waiting {
    LOCKS_WAITING_START, /* ticks; 0 = the thread waits for nothing */
    LOCKS_WAITING_LOCK,
    LOCKS_WAITING_WHERE, /* the holder, and in the lower half the node of a stack */
};

/* What kind of lock, in the order of locks_kind_name(). */
enum locks_kind {
    LOCKS_MUTEX,
    LOCKS_READ,  /* a read-write lock, by a reader */
    LOCKS_WRITE, /* by a writer */
    LOCKS_CONDITION,
    LOCKS_SEMAPHORE,
    LOCKS_BARRIER,
    LOCKS_KINDS,
};

enum { LOCKS_KIND_SHIFT = 56, LOCKS_NAME_MAX = 256 };

#define LOCKS_ADDRESS_MASK ((UINT64_C(1) << LOCKS_KIND_SHIFT) - 1)
