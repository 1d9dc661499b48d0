/*
 * stackwalk.h - stacks that agents walk inside a program: records that come first in their rings,
 * and two more pieces of shared memory. The heap's agent and that of locks each have their own.
 *
 * Records (see channel.h for the header; `own` is its third field):
 *
 *     START        own root       time, ticket, bytes, lines of /proc/self/maps with code
 *     MAPS         own root       the same, after more was mapped
 *     FORK         own root       time, pid of the parent
 *
 * Stacks are nodes of a trie that all processes share: a node is a return address and the node of
 * its caller. Roots (STACKWALK_ROOT) keep the processes apart.
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

/* In the list of channel.params. */
enum {
    STACKWALK_PARAM_TRIE_FD,
    STACKWALK_PARAM_TRIE_INODE,
    STACKWALK_PARAM_IMAGES_FD,
    STACKWALK_PARAM_IMAGES_INODE,
    STACKWALK_PARAM_TICKS, /* 1: times are ticks of the processor's counter, else nanoseconds */
    STACKWALK_PARAMS,
};

enum stackwalk_record { STACKWALK_START = 1, STACKWALK_MAPS, STACKWALK_FORK, STACKWALK_RECORDS };

/* --- stacks --- */

#define STACKWALK_TRIE_MAGIC UINT64_C(0x3165697274766c6b)
#define STACKWALK_ROOT (UINT64_C(1) << 63) /* in pc */

/* Small numbers in place of an address, at the root: why a stack ends too early. */
enum stackwalk_end {
    STACKWALK_END_WHOLE,
    STACKWALK_END_NO_MAP,
    STACKWALK_END_NO_RULE,
    STACKWALK_END_NO_SENSE,
    STACKWALK_END_DEEP,
    STACKWALK_END_HANDLER, /* a signal handler that allocates while the agent was at work */
    STACKWALK_ENDS,
};

struct stackwalk_node {
    uint64_t pc;
    uint32_t parent; /* smaller than its own id; 0 for roots */
    uint32_t unused;
};

struct stackwalk_trie {
    uint64_t magic, size_bytes;
    uint32_t n_max, table_bits;
    _Atomic uint32_t n;    /* nodes; 0 is nobody */
    _Atomic uint64_t lost; /* stacks that found no room */
};

static inline uint64_t stackwalk_trie_nodes_end(uint64_t n_max)
{
    return CHANNEL_PAGE + n_max * sizeof(struct stackwalk_node);
}

static inline uint64_t stackwalk_trie_size(uint64_t n_max, uint32_t table_bits)
{
    return stackwalk_trie_nodes_end(n_max) + (UINT64_C(4) << table_bits);
}

static inline struct stackwalk_node *stackwalk_trie_node(struct stackwalk_trie *t, uint32_t i)
{
    return (struct stackwalk_node *)(void *)((char *)t + CHANNEL_PAGE) + i;
}

static inline _Atomic uint32_t *stackwalk_trie_table(struct stackwalk_trie *t, uint64_t n_max)
{
    return (_Atomic uint32_t *)(void *)((char *)t + stackwalk_trie_nodes_end(n_max));
}

static inline uint64_t stackwalk_trie_hash(uint32_t parent, uint64_t pc)
{
    uint64_t x = (pc ^ (uint64_t)parent << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* --- unwind rules --- */

#define STACKWALK_IMAGES_MAGIC UINT64_C(0x31676d69766c656b)

struct stackwalk_module {
    int32_t pid;
    uint32_t n_rows;     /* 0: no rules */
    uint64_t start, end; /* addresses; end 0: the answer to ticket `start` is whole */
    uint64_t base;       /* address of a row's pc 0 */
    uint64_t rows;       /* offset of the first row in the images, in bytes */
    uint32_t has_file, unused;
};

struct stackwalk_images {
    uint64_t magic, size_bytes;
    uint32_t n_max; /* modules */
    _Atomic uint32_t n;
    _Atomic uint32_t full; /* nobody is answered any more */
};

static inline uint64_t stackwalk_images_rows_start(uint64_t n_max)
{
    uint64_t n = CHANNEL_PAGE + n_max * sizeof(struct stackwalk_module);
    return (n + CHANNEL_PAGE - 1) / CHANNEL_PAGE * CHANNEL_PAGE;
}

static inline const struct stackwalk_module *
stackwalk_images_module(const struct stackwalk_images *m, uint32_t i)
{
    return (const struct stackwalk_module *)(const void *)((const char *)m + CHANNEL_PAGE) + i;
}
