/*
 * perfevents.h - the open events of a recording, a ring for each CPU.
 *
 * An event that children inherit counts on one CPU only, so every thread needs each for each CPU.
 * All events of a CPU write to the same ring. One of the sets that sample is on at a time: turning
 * a clock off keeps what is left of its period, so that going from one set to another and back
 * loses nothing, however little a thread runs. (Setting a new period begins it anew.)
 */
#pragma once
#include "record/perfattr.h"
#include "record/perfring.h"

enum perfset {
    SET_WATCH, /* counts CPU time and tells of births, names and mappings; always on, no samples */
    SET_WHOLE, /* samples with all of the stack that may be copied */
    SET_PART,  /* samples with a part of the stack */
    SETS,
    SET_NONE = -1
};

struct perfevents {
    VEC(int) fds[SETS];
    VEC(struct perfring) rings;
    VEC(int) cpus;
    VEC(int) tids;
    size_t stack_bytes, ring_bytes, part_bytes; /* part_bytes: 0 = there is no SET_PART */
    int on;                                     /* the set that samples now, or SET_NONE */
};

struct perfevents_opts {
    bool running;       /* the process has threads already; else it waits to exec */
    double rate_hz;     /* that records may come at, on a CPU */
    size_t stack_bytes; /* to copy at most */
    size_t part_bytes;  /* of SET_PART; 0 = without it */
};

/*
 * Open A for process PID. Rings become smaller until they fit what this user may lock, and so does
 * the copy of the stack: see e->stack_bytes.
 */
int perfevents_open(struct perfevents *e, struct perfattr *a, int pid,
                    const struct perfevents_opts *o, struct err *err);
void perfevents_close(struct perfevents *e); /* zeroed is fine */

/* Wake EPOLL_FD when a ring fills. */
int perfevents_watch(const struct perfevents *e, int epoll_fd);

/* What the events of SET counted, and how many samples found no room. */
void perfevents_read(const struct perfevents *e, const struct perfattr *a, enum perfset set,
                     uint64_t *ret_counted, uint64_t *ret_lost);

/* Sample with SET from now on, or with SET_NONE. */
void perfevents_sample(struct perfevents *e, int set);
void perfevents_disable(struct perfevents *e);
