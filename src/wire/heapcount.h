/*
 * heapcount.h - how many blocks a command and all it starts allocate, and nothing else: a page of
 * shared memory to which every thread adds. There is no reader, so the agent that stands in for
 * malloc costs little, and the counts of a program that is killed are there anyway.
 */
#pragma once
#include <stdatomic.h>
#include <stdint.h>

/* Where the page is: "PID FD INODE"; see CHANNEL_ENV. */
#define HEAPCOUNT_ENV "KELVIN_HEAP_COUNT"
#define HEAPCOUNT_MAGIC UINT64_C(0x31746e63766c656b)

enum { HEAPCOUNT_BYTES = 4096, HEAPCOUNT_SLOTS = 63 };

/* A line of a processor's cache, for one thread; more threads than slots share. */
struct heapcount_slot {
    _Atomic uint64_t blocks, bytes;
    uint64_t unused[6];
};

struct heapcount_page {
    uint64_t magic;
    _Atomic uint32_t programs; /* that an agent got into */
    _Atomic uint32_t next;     /* slot */
    uint64_t unused[6];
    struct heapcount_slot slots[HEAPCOUNT_SLOTS];
};
