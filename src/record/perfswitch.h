/*
 * perfswitch.h - what the kernel's records mean for waits: who runs, who left, who is born.
 *
 * Two kinds of records report one switch, the first right before the second:
 *
 *     a sample of context-switches, with the stack, where this user may see the kernel
 *     PERF_RECORD_SWITCH, or SWITCH_CPU_WIDE where a CPU is watched, which has a time, and a flag
 *         where the thread could have gone on
 *
 * A third is written by whoever wakes a thread: a sample of the tracepoint sched:sched_waking,
 * which has the number of the thread that is woken in its raw data. Threads of the program that
 * wake have one with their stack. Interrupts and other processes wake as well: events of CPUs,
 * small and without a stack, report all wakes of the machine. Of two samples of one wake the one
 * with the stack counts. Where the machine is recorded, events of CPUs have stacks, and there is
 * one of these. A last event is of wakes in soft interrupts alone, with the kernel's call chain:
 * who sends over the loopback interface wakes that way (sender.h), and others do not. Where the
 * machine is recorded it has no stack: that is in the sample of the same wake that comes after it.
 *
 * All calls are fine, and do nothing, where waits are not asked for.
 */
#pragma once
#include "record/engine.h"
#include "record/perfattr.h"
#include "record/sender.h"

#include <linux/perf_event.h>

enum { WAKERS_KNOWN = 256, SWITCH_CPUS_KNOWN = 256, SENT_KNOWN = 64 };

struct perfswitch {
    struct waits *waits; /* NULL = not asked for */
    struct processes *processes;
    bool stacks;     /* there are samples of context-switches */
    size_t wakers;   /* events of wakeups */
    size_t woken_at; /* in their raw data: which thread is woken */
    struct sender sender;
    struct switch_sent { /* by thread that sends: whom it woke last */
        int tid, woken;
        uint64_t time_ns;
    } sent[SENT_KNOWN];
    struct switch_left { /* by CPU: who left it last */
        uint32_t cpu;
        int tid;
        uint64_t left_ns, out_ns; /* when, and when its record was written; 0 = nobody */
    } left[SWITCH_CPUS_KNOWN];
    struct waker_name { /* by thread: its name as a frame */
        int tid;
        struct str_id name; /* 0 = as /proc said */
        struct frame_id frame;
    } known[WAKERS_KNOWN];
};

/*
 * Ask for wakeups as well, in A: with stacks, then those of CPUs (not for a MACHINE), then those of
 * soft interrupts. Returns how many there are, or 0 where that cannot be had: ERR says what would
 * help. Not in a pid namespace, where the kernel's numbers in raw data are not ours.
 */
size_t perfswitch_open_wakers(struct perfswitch *s, struct perfattr a[3], bool machine,
                              struct err *err);

/* A sample of a wakeup, with N bytes of RAW data. */
void perfswitch_wake(struct perfswitch *s, const struct engine_sample *sample, const uint8_t *raw,
                     size_t n);

/* N threads of a process that runs, watched since START_NS. */
void perfswitch_attach(struct perfswitch *s, int pid, uint64_t start_ns, const int *tids, size_t n);

/* The same for all threads of the machine that are wanted. */
void perfswitch_attach_all(struct perfswitch *s, uint64_t start_ns);

/*
 * Threads that wait without a stack since before FROM_NS, where stacks come in turns: look at some
 * of them. USER: at the program's functions too.
 */
void perfswitch_look_again(struct perfswitch *s, uint64_t from_ns, bool user);

/* How the walk of its stack ended. */
enum unwind_end perfswitch_leave(struct perfswitch *s, const struct engine_sample *sample);
void perfswitch_take(struct perfswitch *s, const struct perf_event_header *h, uint64_t at_ns);
void perfswitch_exec(struct perfswitch *s, int pid, int tid, uint64_t at_ns);
void perfswitch_fork(struct perfswitch *s, int pid, int tid, uint64_t at_ns);
void perfswitch_exit(struct perfswitch *s, int tid, uint64_t at_ns);
void perfswitch_lose(struct perfswitch *s, uint64_t n);

/* From here to there records of one more CPU may be missing. */
void perfswitch_begin_hole(struct perfswitch *s);
void perfswitch_end_hole(struct perfswitch *s);
void perfswitch_stop(struct perfswitch *s, uint64_t end_ns);
