/*
 * perfevents.h - the open events of a recording, a ring for each CPU.
 *
 * An event that children inherit counts on one CPU only, so every thread needs one of each per CPU.
 * All events of a CPU write to the same ring. One of the sets that sample is on at a time: turning
 * a clock off keeps what is left of its period, so that going from one set to another and back
 * loses nothing, however little a thread runs. (Setting a new period begins it anew.)
 *
 * For each thread on each CPU one event counts CPU time and reports births, names and mappings. Two
 * clocks sample, one of which is on. They belong to the CPUs where rights allow (perffilter.h says
 * why), else to the threads, too.
 *
 * Against lock-step with the program, the other clock takes over after a few samples for a
 * random moment, after which the usual one is at another place in the program's rhythm. The period
 * itself is close to no simple fraction of a round one, which gives a tenth more samples than were
 * asked for.
 *
 * That is not enough for a loop that spins until a clock says so: an interrupt at its end makes it
 * start anew right after the interrupt, and the next samples come at the same places as the last
 * time (seen: 5% for 10.4% of loops of 0.5 ms). So the clock of a CPU is really six, which share
 * the rate and have different periods: what one brings in step, the others do not find so. Together
 * they are as many as were asked for.
 *
 * The clock of a thread begins with a whole period on each CPU, and the kernel offers no other
 * start. So a thread that lives shorter than a period is not seen, and the first samples of threads
 * that were born alike are at like places. Where that matters perfbirths.h has further clocks. The
 * counted CPU time shows how much was missed (quality_sampled()).
 */
#pragma once
#include "record/perfattr.h"
#include "record/perffilter.h"
#include "record/perfring.h"

/* How much of the stack samples carry. */
enum perfcopy { COPY_NONE = -1, COPY_WHOLE, COPY_PART, COPIES };

/* The first set counts CPU time and reports births, names and mappings: always on, no samples. */
enum { PERFEVENTS_MAX = 12, SET_WATCH = 0, SETS = 1 + COPIES * PERFEVENTS_MAX };

struct perfid {
    uint64_t id; /* as samples have it */
    uint32_t event;
};

struct perfevents {
    VEC(int) fds[SETS]; /* then for each event one set for each copy */
    VEC(struct perfid) ids;
    const struct perfattr *attrs; /* n_events of them, the caller's */
    size_t n_events;
    VEC(struct perfring) rings;
    VEC(int) cpus;
    VEC(int) tids;
    const struct perffilter *filter; /* of clocks of CPUs; NULL = clocks are of threads */
    size_t stack_bytes, ring_bytes, part_bytes; /* part_bytes: 0 = there is no COPY_PART */
    enum perfcopy on;                           /* what samples now */
    bool switches;                              /* the first set reports context switches, too */
    bool machine;                               /* all events are of CPUs, whoever runs there */
    bool ungrouped;                             /* not all counters fit into one group */
    uint32_t foreign;                           /* the event of samples that have no id of ours */
    bool grown;                                 /* events that began with less copy all they may */
};

struct perfevents_opts {
    bool running;                    /* the process has threads already; else it waits to exec */
    double rate_hz;                  /* that records may come at, on a CPU */
    size_t stack_bytes;              /* to copy at most */
    size_t part_bytes;               /* of COPY_PART; 0 = without it */
    const struct perffilter *filter; /* for clocks of CPUs; NULL = clocks of threads */
    bool switches;                   /* report context switches as well */
    bool machine;                    /* all that runs, not one process */
    const int *cpus;                 /* of a machine: n_cpus of them; none = all */
    size_t n_cpus;
};

/* Whether this user may have events of CPUs for all that runs there. Fails with what would help. */
int perfevents_probe_machine(const struct perfattr *a, struct err *err);

/* Whether this user may have clocks of CPUs, with the filter F. */
bool perfevents_may_filter(const struct perfattr *a, const struct perffilter *f);

/*
 * Open the N events A for process PID, or for the machine. Rings become smaller until they fit what
 * this user may lock, and so does the copy of the stack: see e->stack_bytes.
 */
int perfevents_open(struct perfevents *e, struct perfattr *a, size_t n, int pid,
                    const struct perfevents_opts *o, struct err *err);
void perfevents_close(struct perfevents *e); /* zeroed is fine */

/* Wake EPOLL_FD when a ring fills. */
int perfevents_watch(const struct perfevents *e, int epoll_fd);

/* What the events of SET counted, for how long, and how many samples found no room: sums. */
struct perfattr_counts perfevents_read(const struct perfevents *e, int set);

/* The set of EVENT that samples with COPY. */
int perfevents_set(size_t event, enum perfcopy copy);

/* The event that a sample with ID belongs to. An id that is not ours is of a software event. */
uint32_t perfevents_event(const struct perfevents *e, uint64_t id);

/* The clocks of a CPU that share the rate of EVENT: a sample stands for its period, over these. */
size_t perfevents_clocks(const struct perfevents *e, size_t event);
uint64_t perfevents_period(uint64_t period_ns, size_t n_clocks, size_t clock); /* of one of them */

/* Sample with COPY from now on. COPY_NONE: clocks are off for a while, other events are not. */
void perfevents_sample(struct perfevents *e, enum perfcopy copy);
void perfevents_disable(struct perfevents *e);

/* An event that is no clock: off for a while, and on again. */
void perfevents_switch(struct perfevents *e, size_t event, bool on);

/*
 * Events that began with a small copy of the stack (perfattr.stack_first) copy all they may from
 * now on. The new ones are on before the old ones are off: one sample may come twice, none is
 * missed.
 */
void perfevents_grow(struct perfevents *e);
