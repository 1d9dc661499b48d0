/*
 * perf_records.c - what the rings of the engine `perf` give: samples, and what happens to
 * processes.
 */
#include "record/perf_inner.h"
#include "record/perfmerge.h"
#include "record/stackhole.h"

#include <sys/syscall.h>
#include <unistd.h>

/* Where more than one stack of a context switch in so many is cut, the most is copied. */
enum { SWITCH_CUTS = 100 };

/* --- samples --- */

/*
 * Learn from a sample how much of the stacks must be copied. Where the kernel found no more than a
 * part to copy, more would not help.
 */
static void learn_fit(struct perf_run *r, const struct engine_sample *s, uint64_t copied,
                      enum unwind_end end)
{
    size_t part = r->events.part_bytes;
    struct process_sample at = s->at;
    if (copied < part) {
        if (r->fit.part || stackfit_asks(&r->fit))
            stackfit_add(&r->fit, true);
    } else if (copied == part) {
        stackfit_add(&r->fit, end != UNWIND_STACK_CUT);
    } else if (stackfit_asks(&r->fit)) {
        at.stack.n = part;
        at.stack.ends = false;
        stackfit_add(&r->fit, processes_walk(r->to.processes, &at) != UNWIND_STACK_CUT);
    }
}

/* Of a clock for threads that are born. */
static void read_births_sample(struct perf_run *r, const struct perf_event_header *h,
                               struct perfsample *ret)
{
    const struct perfbirths *b = &r->births;
    perfsample_read(ret, h, &b->attr.attr, r->kernel_pcs);
    ret->s.event = b->event;
    ret->s.period = birthclock_weight(&b->clock, ret->s.period, ret->age_ns);
    ret->further = true;
}

static void read_sample(struct perf_run *r, const struct perf_event_header *h,
                        struct perfsample *ret)
{
    if (perfbirths_has(&r->births, perfsample_id(h))) {
        read_births_sample(r, h, ret);
        return;
    }
    uint32_t event = perfevents_event(&r->events, perfsample_id(h));
    perfsample_read(ret, h, &r->attrs[event].attr, r->kernel_pcs);
    ret->s.event = event;
    ret->s.period /= perfevents_clocks(&r->events, event);
}

static void learn_end(const struct perf_run *r, const struct engine_sample *s, enum unwind_end end)
{
    if (end == UNWIND_ABSENT)
        stackhole_fill(s->at.pid, &s->at.stack, r->events.stack_bytes);
}

static void learn_switch(struct perf_run *r, enum unwind_end end)
{
    r->n_switches++;
    r->n_cut += end == UNWIND_STACK_CUT;
    if (r->n_cut && r->n_cut * SWITCH_CUTS > r->n_switches && r->n_switches >= SWITCH_CUTS / 4)
        perfevents_grow(&r->events);
}

/* Whether a sample is to be kept: idle CPUs and others' processes are not. */
static bool is_wanted(struct perf_run *r, const struct engine_sample *s)
{
    const struct engine_machine *m = r->opts.machine;
    if (!m)
        return !r->filtered || !r->attrs[s->event].clock ||
               perffilter_take(&r->filter, s->at.pid, s->at.tid);
    if (s->at.pid == 0 && !s->at.regs.pc &&
        (!m->tick || m->tick(m->tick_arg, s->at.kernel_pcs, s->at.n_kernel_pcs) == TICK_IDLE))
        return false;
    return processes_wants(r->to.processes, s->at.pid);
}

static void perf_take_sample(struct perf_run *r, const struct perf_event_header *h)
{
    struct perfsample whole;
    read_sample(r, h, &whole);
    struct engine_sample s = whole.s;
    if (s.event == r->n_events) {
        enum unwind_end end = perfswitch_leave(&r->switches, &s);
        learn_end(r, &s, end);
        learn_switch(r, end);
        return;
    }
    if (s.event > r->n_events) {
        perfswitch_wake(&r->switches, &s, whole.raw, whole.n_raw);
        return;
    }
    if (!is_wanted(r, &s))
        return;
    if (s.event == r->births.event && !perfbirths_wants(&r->births, whole.further, s.at.tid))
        return;
    r->facts[s.event].uneven |= whole.further;
    enum unwind_end end = r->to.sample(r->to.to, &s);
    learn_end(r, &s, end);
    r->samples++;
    r->facts[s.event].sampled += s.period;
    if (r->attrs[s.event].clock) {
        r->births.clock.samples++;
        r->facts[s.event].sampled_ns += s.period;
    }
    if (r->events.part_bytes && s.at.stack.n)
        learn_fit(r, &s, s.at.stack.n, end);
}

struct mmap2_body {
    uint32_t pid, tid;
    uint64_t start, bytes, offset;
    uint8_t build_id_bytes, unused[3], build_id[20]; /* or the numbers of the file */
    uint32_t prot, flags;
    char path[];
};

static void take_mmap2(struct perf_run *r, const struct perf_event_header *h)
{
    const struct mmap2_body *b = (const void *)(h + 1);
    bool has_id = h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID;
    processes_mmap(r->to.processes, &(struct process_map){
                                        .pid = (int)b->pid,
                                        .start = b->start,
                                        .end = b->start + b->bytes,
                                        .offset = b->offset,
                                        .path = b->path,
                                        .build_id = has_id ? b->build_id : NULL,
                                        .build_id_bytes = b->build_id_bytes,
                                    });
}

/* --- ends --- */

/* Nobody else gets the number of a thread so soon. */
#define ENDING_NS UINT64_C(2000000000)

static uint16_t *ending_mark(struct perf_run *r, int tid)
{
    return &r->ending_marks[(unsigned)tid % ENDING_MARKS];
}

static void end_thread(struct perf_run *r, struct ending *e)
{
    if (e->tid < 0)
        return;
    --*ending_mark(r, e->tid);
    processes_set_time(r->to.processes, e->time_ns);
    processes_exit(r->to.processes, e->pid, e->tid);
    if (r->filtered)
        perffilter_remove(&r->filter, e->tid);
    e->tid = -1;
}

/*
 * When a program becomes another user by exec (setuid), the kernel takes its events away and says
 * that the thread has ended. It runs on, and clocks of CPUs see it. Nobody will tell of its real
 * end, so this asks again after a while.
 */
static void end_or_wait(struct perf_run *r, struct ending *e, uint64_t at_ns)
{
    struct ending later = {e->pid, e->tid, at_ns};
    bool runs = r->filtered && at_ns != UINT64_MAX && e->tid >= 0 &&
                syscall(SYS_tgkill, e->pid, e->tid, 0) == 0;
    if (!runs) {
        end_thread(r, e);
        return;
    }
    e->tid = -1;
    *vec_push(&r->endings) = later;
}

void perf_settle_endings(struct perf_run *r, uint64_t at_ns, int tid)
{
    for (; r->first_ending < r->endings.n &&
           r->endings.at[r->first_ending].time_ns + ENDING_NS < at_ns;
         r->first_ending++)
        end_or_wait(r, &r->endings.at[r->first_ending], at_ns);
    bool searched = tid >= 0 && *ending_mark(r, tid); /* forks are frequent, such numbers rare */
    for (size_t i = r->first_ending; searched && i < r->endings.n; i++)
        if (r->endings.at[i].tid == tid)
            end_thread(r, &r->endings.at[i]);
    if (r->first_ending &&
        r->first_ending >= r->endings.n - r->first_ending) { /* most are settled */
        r->endings.n -= r->first_ending;
        memmove(r->endings.at, r->endings.at + r->first_ending,
                r->endings.n * sizeof *r->endings.at);
        r->first_ending = 0;
    }
}

/* A clock of a thread ends with it, one of a CPU sees the rest. */
static void take_exit_record(struct perf_run *r, const uint32_t *ids, uint64_t at_ns)
{
    perfswitch_exit(&r->switches, (int)ids[2], at_ns);
    perfbirths_ended(&r->births, (int)ids[2]);
    r->facts->ended_threads++;
    r->facts->ended_processes += ids[0] == ids[2];
    uint16_t *mark = ending_mark(r, (int)ids[2]);
    if ((r->filtered || r->opts.machine) && *mark < UINT16_MAX) {
        *vec_push(&r->endings) = (struct ending){(int)ids[0], (int)ids[2], at_ns};
        ++*mark;
    } else
        processes_exit(r->to.processes, (int)ids[0], (int)ids[2]);
}

/* --- all of them --- */

/* A thread that calls exec takes the number of its process's first thread. */
static void take_comm_record(struct perf_run *r, const struct perf_event_header *h, uint64_t at_ns)
{
    const uint32_t *w = (const void *)(h + 1);
    bool exec = h->misc & PERF_RECORD_MISC_COMM_EXEC;
    if (exec)
        perf_settle_endings(r, 0, (int)w[1]);
    processes_set_time(r->to.processes, at_ns);
    processes_comm(r->to.processes, (int)w[0], (int)w[1], (const char *)(w + 2), exec);
    if (r->filtered && exec)
        perffilter_add(&r->filter, (int)w[0], (int)w[1]);
    if (exec)
        perfswitch_exec(&r->switches, (int)w[0], (int)w[1], at_ns);
}

static void take_fork_record(struct perf_run *r, const uint32_t *ids, uint64_t at_ns)
{
    perf_settle_endings(r, 0, (int)ids[2]);
    processes_set_time(r->to.processes, at_ns);
    processes_fork(r->to.processes, (int)ids[0], (int)ids[2], (int)ids[1], (int)ids[3]);
    if (r->filtered)
        perffilter_add(&r->filter, (int)ids[0], (int)ids[2]);
    perfswitch_fork(&r->switches, (int)ids[0], (int)ids[2], at_ns);
    perfbirths_born(&r->births, (int)ids[2], at_ns);
}

static void take_lost(struct perf_run *r, uint64_t n)
{
    r->lost_told += n;
    processes_set_lossy(r->to.processes);
    perfswitch_lose(&r->switches, n);
}

/*
 * Records of births, names and maps begin with the number of a process. It is 0 for all that run
 * outside of our PID namespace, as it is for the idle task, which has no such records.
 */
static bool is_of_outside(const struct perf_event_header *h)
{
    bool of_process = h->type == PERF_RECORD_MMAP2 || h->type == PERF_RECORD_COMM ||
                      h->type == PERF_RECORD_FORK || h->type == PERF_RECORD_EXIT;
    return of_process && *(const uint32_t *)(h + 1) == 0;
}

static void take_record(struct perf_run *r, const struct perf_event_header *h, uint64_t at_ns)
{
    const uint32_t *w = (const void *)(h + 1);
    if (is_of_outside(h))
        return;
    switch (h->type) {
    case PERF_RECORD_SAMPLE:
        perf_take_sample(r, h);
        break;
    case PERF_RECORD_MMAP2:
        take_mmap2(r, h);
        break;
    case PERF_RECORD_COMM: /* pid tid comm */
        take_comm_record(r, h, at_ns);
        break;
    case PERF_RECORD_FORK: /* pid ppid tid ptid */
        take_fork_record(r, w, at_ns);
        break;
    case PERF_RECORD_EXIT:
        take_exit_record(r, w, at_ns);
        break;
    case PERF_RECORD_LOST: /* id lost */
        take_lost(r, ((const uint64_t *)w)[1]);
        break;
    case PERF_RECORD_LOST_SAMPLES:
        take_lost(r, ((const uint64_t *)w)[0]);
        break;
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
        perfswitch_take(&r->switches, h, at_ns);
        break;
    case PERF_RECORD_THROTTLE:
        r->facts[0].throttled++;
        break;
    }
}

/*
 * The kernel tells of lost records once it has room again, which may be after we took what other
 * CPUs wrote meanwhile. So a ring that was full has a hole from its last record to its next one.
 */
static void end_hole(struct perf_run *r, struct perfring *ring)
{
    if (ring->hole)
        perfswitch_end_hole(&r->switches);
    ring->hole = false;
}

static void begin_hole(struct perf_run *r, struct perfring *ring)
{
    ring->hole = ring->full && ring->tail == ring->head;
    if (ring->hole)
        perfswitch_begin_hole(&r->switches);
}

void perf_take_until(struct perf_run *r, uint64_t until_ns)
{
    struct perfevents *e = &r->events;
    for (size_t i = 0; i < e->rings.n; i++)
        perfring_look(&e->rings.at[i]);
    for (struct perfring *next; (next = perfmerge_next(e->rings.at, e->rings.n, until_ns));) {
        uint64_t at_ns = perfring_time(next);
        end_hole(r, next);
        perf_settle_endings(r, at_ns, -1);
        processes_set_time(r->to.processes, at_ns);
        take_record(r, perfring_get(next), at_ns);
        perfring_release(next);
        begin_hole(r, next);
    }
    if (r->lost_told > r->facts[0].lost)
        r->facts[0].lost = r->lost_told;
}
