/*
 * heap.h - what agents tell of a program's heap: records of the rings of task CHANNEL_HEAP, and two
 * more pieces of shared memory.
 *
 * Records (see channel.h for the header; `own` is its third field). Pointers are below 2^48.
 *
 *     START        own root       time, ticket, bytes, lines of /proc/self/maps with code
 *     MAPS         own root       the same, after more was mapped
 *     FORK         own root       time, pid of the parent
 *     ALLOC        own node       time, pointer / 8 << 19 | size      most blocks: 24 bytes
 *     ALLOC_SAME   own node       pointer / 8 << 19 | size            the time of the record before
 *     ALLOC_LARGE  own node       time, pointer, size
 *     FREE         own delta      pointer | flags << 48     delta: ticks since the record before
 *     FREE_LATE    own 0          pointer | flags << 48, time
 *     KEPT         own 0          time: the block freed last by this thread is still there, because
 *                                 realloc could not move it
 *
 * A free is told before it happens and an allocation after it has happened, so for each address the
 * times are in the order of what happened, whichever threads took part.
 *
 * Stacks are nodes of a trie that all processes share: a node is a return address and the node of
 * its caller. Roots (HEAP_ROOT) keep the processes apart.
 *
 *     0         page            nodes_end
 *     | trie    | node 0 ...    | table: ids of nodes, by hash, linear probing
 *
 * Images are unwind rules as rows, which the recorder prepares and programs only read: modules are
 * what one process has mapped, in the order in which processes asked. After the modules of a
 * process comes one with `end` 0, whose `start` is the ticket of the request.
 *
 *     0         page              rows_start
 *     | images  | module 0 ...    | rows of file 0, of file 1 ...
 */
#pragma once
#include "wire/channel.h"

/* Task CHANNEL_HEAP in the list of channel.params. */
enum {
    HEAP_PARAM_TRIE_FD,
    HEAP_PARAM_TRIE_INODE,
    HEAP_PARAM_IMAGES_FD,
    HEAP_PARAM_IMAGES_INODE,
    HEAP_PARAM_TICKS,        /* 1: times are ticks of the processor's counter, else nanoseconds */
    HEAP_PARAM_SAMPLE_BYTES, /* 0: every block */
};

#define HEAP_AGENT_FILE "libkelvin-heap.so"

enum heap_kind {
    HEAP_START = 1,
    HEAP_MAPS,
    HEAP_FORK,
    HEAP_ALLOC,
    HEAP_ALLOC_LARGE,
    HEAP_FREE,
    HEAP_FREE_LATE,
    HEAP_KEPT,
    HEAP_ALLOC_SAME,
    HEAP_KINDS,
};

enum {
    HEAP_SIZE_BITS = 19, /* of a size beside its pointer */
    HEAP_FREE_SHIFT = 48,
};

/* Flags of a free. */
enum {
    HEAP_FREE_REALLOC = 1,   /* the next allocation of this thread takes its place */
    HEAP_FREE_TEMPORARY = 2, /* it was the thread's last allocation */
};

/* A pool's block may be where the block begins that the pool lies in: it has a place of its own. */
#define HEAP_POOL_BIT (UINT64_C(1) << 47)

#define HEAP_POINTER_MASK ((UINT64_C(1) << HEAP_FREE_SHIFT) - 1)

/* --- stacks --- */

#define HEAP_TRIE_MAGIC UINT64_C(0x3165697274766c6b)
#define HEAP_ROOT (UINT64_C(1) << 63) /* in pc */

/* Small numbers in place of an address, at the root: why a stack ends too early. */
enum heap_end {
    HEAP_END_WHOLE,
    HEAP_END_NO_MAP,
    HEAP_END_NO_RULE,
    HEAP_END_NO_SENSE,
    HEAP_END_DEEP,
    HEAP_END_HANDLER, /* a signal handler that allocates while the agent was at work */
    HEAP_ENDS,
};

struct heap_node {
    uint64_t pc;
    uint32_t parent; /* smaller than its own id; 0 for roots */
    uint32_t unused;
};

struct heap_trie {
    uint64_t magic, size_bytes;
    uint32_t n_max, table_bits;
    _Atomic uint32_t n;    /* nodes; 0 is nobody */
    _Atomic uint64_t lost; /* stacks that found no room */
};

static inline uint64_t heap_trie_nodes_end(uint64_t n_max)
{
    return CHANNEL_PAGE + n_max * sizeof(struct heap_node);
}

static inline uint64_t heap_trie_size(uint64_t n_max, uint32_t table_bits)
{
    return heap_trie_nodes_end(n_max) + (UINT64_C(4) << table_bits);
}

static inline struct heap_node *heap_trie_node(struct heap_trie *t, uint32_t i)
{
    return (struct heap_node *)(void *)((char *)t + CHANNEL_PAGE) + i;
}

static inline _Atomic uint32_t *heap_trie_table(struct heap_trie *t, uint64_t n_max)
{
    return (_Atomic uint32_t *)(void *)((char *)t + heap_trie_nodes_end(n_max));
}

static inline uint64_t heap_trie_hash(uint32_t parent, uint64_t pc)
{
    uint64_t x = (pc ^ (uint64_t)parent << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* --- unwind rules --- */

#define HEAP_IMAGES_MAGIC UINT64_C(0x31676d69766c656b)

struct heap_module {
    int32_t pid;
    uint32_t n_rows;     /* 0: no rules */
    uint64_t start, end; /* addresses; end 0: the answer to ticket `start` is whole */
    uint64_t base;       /* address of a row's pc 0 */
    uint64_t rows;       /* offset of the first row in the images, in bytes */
    uint32_t has_file, unused;
};

struct heap_images {
    uint64_t magic, size_bytes;
    uint32_t n_max; /* modules */
    _Atomic uint32_t n;
    _Atomic uint32_t full; /* nobody is answered any more */
};

static inline uint64_t heap_images_rows_start(uint64_t n_max)
{
    uint64_t n = CHANNEL_PAGE + n_max * sizeof(struct heap_module);
    return (n + CHANNEL_PAGE - 1) / CHANNEL_PAGE * CHANNEL_PAGE;
}

static inline const struct heap_module *heap_images_module(const struct heap_images *m, uint32_t i)
{
    return (const struct heap_module *)(const void *)((const char *)m + CHANNEL_PAGE) + i;
}
