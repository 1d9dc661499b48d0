/*
 * perfevents.h - the open events of a recording, a ring for each CPU.
 *
 * An event that children inherit counts on one CPU only, so every thread needs one for each CPU.
 * All events of a CPU write to the same ring.
 */
#pragma once
#include "record/perfattr.h"
#include "record/perfring.h"

struct perfevents {
    VEC(int) fds;
    VEC(struct perfring) rings;
    VEC(int) cpus;
    VEC(int) tids;
    size_t stack_bytes, ring_bytes;
};

struct perfevents_opts {
    bool running;       /* the process has threads already; else it waits to exec */
    double rate_hz;     /* that records may come at, on a CPU */
    size_t stack_bytes; /* to copy at most */
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

/* What all events counted, and how many samples found no room. */
void perfevents_read(const struct perfevents *e, const struct perfattr *a, uint64_t *ret_counted,
                     uint64_t *ret_lost);
/* Sample a clock every PERIOD_NS from now on. Threads that were inherited keep theirs. */
void perfevents_set_period(const struct perfevents *e, uint64_t period_ns);
void perfevents_disable(const struct perfevents *e);
