/*
 * perf_inner.h - one recording by the engine `perf`, and the records that its rings give.
 */
#pragma once
#include "record/engine.h"
#include "record/perfbirths.h"
#include "record/perfevents.h"
#include "record/perfsample.h"
#include "record/perfswitch.h"
#include "record/perfthin.h"
#include "record/stackfit.h"

/* A thread said that it ends, which takes a while yet: since Linux 6.16 its memory goes after that.
 */
struct ending {
    int pid, tid;
    uint64_t time_ns;
};

/* Threads that end may have numbers like these; a bound on what must be searched for one. */
enum { ENDING_MARKS = 1 << 12 };

struct perf_run {
    struct engine_opts opts;
    struct engine_sink to;
    struct perfattr attrs[PERFEVENTS_MAX]; /* behind those asked for: stacks of switches, wakeups */
    size_t n_events;
    struct perfswitch switches;
    struct perfthin thin;
    uint64_t n_switches, n_cut; /* stacks of switches; those that were cut */
    bool clocks;                /* one of them is a clock */
    bool rate_is_most;          /* the kernel allows no higher one */
    struct perfevents events;
    struct perffilter filter;
    bool filtered; /* clocks are of CPUs, and the filter says which samples are the program's */
    struct perfbirths births; /* where clocks are of threads */
    struct engine_facts facts[ENGINE_EVENTS_MAX];
    struct stackfit fit;
    VEC(struct ending) endings; /* from first_ending on, oldest first */
    size_t first_ending;
    uint16_t ending_marks[ENDING_MARKS]; /* how many of them have a number like this */
    uint64_t samples;
    int timer_fd; /* wakes the recorder for a turn, or to see early that stacks are cut */
    /* turns */
    bool turned;
    uint64_t turn_end_ns, next_turn_ns, next_turn_samples;
    uint64_t next_look_ns; /* at long waits without a stack */
    uint64_t random;       /* state of the generator for them */
    uint64_t lost_told;    /* by records; the events themselves may know of more */
    uint64_t kernel_pcs[PERFSAMPLE_PCS_MAX];
};

/* Take all records older than UNTIL_NS, in the order of time. */
void perf_take_until(struct perf_run *r, uint64_t until_ns);

/* Forget threads that ended long before AT_NS, and TID, whose number is another's from now on. */
void perf_settle_endings(struct perf_run *r, uint64_t at_ns, int tid);
