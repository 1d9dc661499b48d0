/*
 * perfswitch.h - what the kernel's records mean for waits: who runs, who left, who is born.
 *
 * Two kinds of records tell of one switch, the first right before the second:
 *
 *     a sample of context-switches, with the stack, where this user may see the kernel
 *     PERF_RECORD_SWITCH, or SWITCH_CPU_WIDE where a CPU is watched, which has a time, and a flag
 *         where the thread could have gone on
 *
 * All calls are fine, and do nothing, where waits are not asked for.
 */
#pragma once
#include "record/engine.h"

#include <linux/perf_event.h>

struct perfswitch {
    struct waits *waits; /* NULL = not asked for */
    struct processes *processes;
    bool stacks; /* there are samples of context-switches */
};

/* N threads of a process that runs, watched since START_NS. */
void perfswitch_attach(struct perfswitch *s, int pid, uint64_t start_ns, const int *tids, size_t n);

/* The same for all threads of the machine that are wanted. */
void perfswitch_attach_all(struct perfswitch *s, uint64_t start_ns);

/* How the walk of its stack ended. */
enum unwind_end perfswitch_leave(struct perfswitch *s, const struct engine_sample *sample);
void perfswitch_take(struct perfswitch *s, const struct perf_event_header *h, uint64_t at_ns);
void perfswitch_exec(struct perfswitch *s, int pid, int tid, uint64_t at_ns);
void perfswitch_fork(struct perfswitch *s, int pid, int tid, uint64_t at_ns);
void perfswitch_exit(struct perfswitch *s, int tid, uint64_t at_ns);
void perfswitch_lose(struct perfswitch *s, uint64_t n);
void perfswitch_stop(struct perfswitch *s, uint64_t end_ns);
