/*
 * perfring.h - the memory in which the kernel leaves records of one CPU.
 *
 * Records are read where they are; only one that goes around the end is copied. The kernel
 * overwrites nothing that was not released.
 *
 *     fd's mapping:  | control page | data, a power of two of pages                |
 *                                          ^ tail: ours      ^ head: the kernel's
 */
#pragma once
#include "base/buf.h"

#include <linux/perf_event.h>

struct perfring {
    struct perf_event_mmap_page *page;
    uint8_t *data;
    uint64_t size; /* of data, in bytes */
    uint64_t tail, head;
    bool full; /* it had no room for a small record when we looked: some may be lost after its last
                */
    bool hole; /* and that last one was released, the next not yet */
    struct buf whole; /* a record that goes around the end */
};

/* Map BYTES (a power of two) of FD. 0, or -1 with errno: EPERM is too much for this user. */
int perfring_map(struct perfring *r, int fd, size_t bytes);
void perfring_unmap(struct perfring *r); /* zeroed is fine */

/* See what the kernel wrote until now. */
void perfring_look(struct perfring *r);

/* The time of the next record, or UINT64_MAX if there is none. */
uint64_t perfring_time(const struct perfring *r);

/* The next record, which there must be; good until it is released. */
const struct perf_event_header *perfring_get(struct perfring *r);
void perfring_release(struct perfring *r);

/* Whether a record reports the birth of thread TID. */
bool perfring_has_fork(const struct perfring *r, int tid);
