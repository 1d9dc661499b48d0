/*
 * heap.h - what agents report about a program's heap: records of the rings of task CHANNEL_HEAP,
 * after those of wire/stackwalk.h, which has the stacks.
 *
 * Pointers are below 2^48.
 *
 *     ALLOC        own node       time, pointer / 8 << 19 | size      most blocks: 24 bytes
 *     ALLOC_SAME   own node       pointer / 8 << 19 | size            the time of the record before
 *     ALLOC_LARGE  own node       time, pointer, size
 *     AGAIN        own step << 14 | size      8 bytes: a block near that of the record before, and
 *                                             of a stack that came before (below)
 *     FREE         own delta      pointer | flags << 48     delta: ticks since the record before
 *     FREE_NEAR    own step << 2 | flags      8 bytes: near the block of the record before
 *     FREE_LATE    own 0          pointer | flags << 48, time
 *     KEPT         own 0          time: the block freed last by this thread is still there, because
 *                                 realloc could not move it
 *     MAP          own node       time, pointer, size     anonymous memory, where it is asked for
 *     UNMAP        own 0          time, pointer, size     any of it: a part, or more than one map
 *     REMAP        own node       time, pointer, size     what this thread unmapped last is there
 *                                                         now; node 0: it is where it was
 *     PER_OP       own bytes      time, allocations, bytes (doubles), name: what an iteration of
 *                                 the benchmark of that name allocates
 *     SCOPE        own path       from now on blocks of this thread are allocated in that path of
 *                                 its ring of scopes (wire/scopes.h); 0: in no scope
 *
 * Most records are of 8 bytes. They have the time of the record before. `step` is signed, the way
 * from the block of the record before (of this ring, of the kinds above KEPT) in units of 16 bytes.
 * A stack is one of those that ALLOC, ALLOC_SAME or ALLOC_LARGE of this ring had: of node n it is
 * the last one with the same n % HEAP_NEAR_NODES, which stands in the upper byte of the kind.
 *
 * A free is reported before it happens and an allocation after it has happened, so for each address
 * the times are in the order of what happened, whichever threads took part.
 */
#pragma once
#include "wire/stackwalk.h"

/* Of task CHANNEL_HEAP. */
enum {
    HEAP_PARAM_SAMPLE_BYTES =
        STACKWALK_PARAMS, /* from one to the next on average; 0: every block */
    HEAP_PARAM_MAPS,      /* 1: anonymous maps as well */
    HEAP_PARAM_NEAR,      /* 1: the recorder knows of records of 8 bytes */
};

#define HEAP_AGENT_FILE "libkelvin-heap.so"

/* A program that libkelvin-heap.a is linked into has a note of this owner. */
#define HEAP_NOTE_OWNER "kelvin-heap"

enum heap_kind {
    HEAP_ALLOC = STACKWALK_RECORDS,
    HEAP_ALLOC_LARGE,
    HEAP_FREE,
    HEAP_FREE_LATE,
    HEAP_KEPT,
    HEAP_ALLOC_SAME,
    HEAP_MAP,
    HEAP_UNMAP,
    HEAP_REMAP,
    HEAP_PER_OP,
    HEAP_SCOPE,
    HEAP_AGAIN,
    HEAP_FREE_NEAR,
    HEAP_KINDS,
};

/* Of a record's kind: what else stands in it. */
enum {
    HEAP_KIND_MASK = 0xff,
    HEAP_KIND_NODE_SHIFT = 8,  /* of HEAP_AGAIN */
    HEAP_KIND_LOCKED = 0x8000, /* of any allocation: its thread held a lock */
};

/* Records of 8 bytes. */
enum {
    HEAP_NEAR_NODES = 64,
    HEAP_AGAIN_SIZE_BITS = 14,
    HEAP_AGAIN_STEP_BITS = 32 - HEAP_AGAIN_SIZE_BITS,
    HEAP_FREE_FLAG_BITS = 2,
    HEAP_FREE_STEP_BITS = 32 - HEAP_FREE_FLAG_BITS,
    HEAP_STEP_SHIFT = 4,
};

enum {
    HEAP_SIZE_BITS = 19, /* of a size beside its pointer */
    HEAP_FREE_SHIFT = 48,
};

/* Of the name in HEAP_PER_OP. */
enum { HEAP_NAME_BYTES = 200 };

/* Flags of a free. */
enum {
    HEAP_FREE_REALLOC = 1,   /* the next allocation of this thread takes its place */
    HEAP_FREE_TEMPORARY = 2, /* it was the thread's last allocation */
};

/* A pool's block may be where the block begins that the pool lies in: it has a place of its own. */
#define HEAP_POOL_BIT (UINT64_C(1) << 47)

#define HEAP_POINTER_MASK ((UINT64_C(1) << HEAP_FREE_SHIFT) - 1)
