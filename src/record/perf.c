/*
 * perf.c - the engine `perf`: samples by perf_event_open(2).
 *
 * A sample carries the kernel's call chain, the user's registers and a copy of the stack, which is
 * unwound at once from the ring. The rings of all CPUs are merged by time, so that a mapping is
 * known before the samples in it: a record is taken once all rings were looked at later than it.
 */
#include "model/meta.h"
#include "record/engine.h"
#include "record/perfevents.h"
#include "record/perfmerge.h"

#include <time.h>

/* A record may be younger in its time than in the ring, by as long as an interrupt takes. */
enum { LATE_NS = 2000000, KERNEL_PCS_MAX = 256 };

/* Less of a stack than this is worth a word: deep recursion may not fit. */
enum { STACK_ENOUGH = 32000 };

struct perf_run {
    struct engine_opts opts;
    struct engine_sink to;
    struct perfattr attr;
    struct perfevents events;
    struct engine_facts facts;
    uint64_t random;    /* state of the generator for periods */
    uint64_t lost_told; /* by records; the events themselves may know of more */
    uint64_t kernel_pcs[KERNEL_PCS_MAX];
};

static int perf_probe(const struct engine_opts *o, struct err *err)
{
    struct perfattr a;
    bool hidden;
    struct perfattr_opts want = {o->event, o->rate_hz, o->user_only};
    long limit = perfattr_sysctl("perf_event_max_sample_rate");
    if (limit > 0 && want.rate_hz > (double)limit)
        want.rate_hz = (double)limit;
    return perfattr_probe(&a, &want, &hidden, err);
}

__attribute__((format(printf, 2, 3))) static void add_note(struct perf_run *r, const char *fmt, ...)
{
    char *note = r->facts.note;
    size_t n = strlen(note), room = sizeof r->facts.note;
    va_list ap;
    if (n)
        n += (size_t)snprintf(note + n, room - n, "; ");
    va_start(ap, fmt);
    if (n < room)
        vsnprintf(note + n, room - n, fmt, ap);
    va_end(ap);
}

/* The kernel refuses rates above its limit: take the limit and say so. */
static double limited_rate(struct perf_run *r)
{
    long limit = perfattr_sysctl("perf_event_max_sample_rate");
    if (limit <= 0 || r->opts.rate_hz <= (double)limit)
        return r->opts.rate_hz;
    add_note(r, "the rate is %ld Hz, kernel.perf_event_max_sample_rate", limit);
    return (double)limit;
}

static int perf_open(const struct engine_opts *o, const struct engine_sink *to, void **ret,
                     struct err *err)
{
    struct perf_run *r = mem_new(struct perf_run);
    r->opts = *o;
    r->to = *to;
    struct perfattr_opts want = {o->event, limited_rate(r), o->user_only};
    if (perfattr_probe(&r->attr, &want, &r->facts.kernel_hidden, err) != 0) {
        free(r);
        return -1;
    }
    r->facts.event = r->attr.event;
    r->facts.kind = r->attr.kind;
    r->facts.unit = r->attr.unit;
    r->facts.rate_hz = r->attr.attr.freq ? want.rate_hz : 0;
    *ret = r;
    return 0;
}

static int perf_attach(void *run, int pid, struct err *err)
{
    struct perf_run *r = run;
    struct perfevents_opts o = {r->opts.running, r->facts.rate_hz, (size_t)r->opts.stack_bytes};
    if (perfevents_open(&r->events, &r->attr, pid, &o, err) != 0)
        return -1;
    if (r->events.stack_bytes < STACK_ENOUGH && r->events.stack_bytes < o.stack_bytes / 8 * 8)
        add_note(r,
                 "only %zu bytes of each stack are copied, for want of ring memory: lower the "
                 "rate, or raise 'ulimit -l'",
                 r->events.stack_bytes);
    if (perfevents_watch(&r->events, r->opts.epoll_fd) != 0)
        return err_set(err, EXIT_ERROR, "cannot wait for samples");
    return r->opts.running ? processes_scan(r->to.processes, pid, err) : 0;
}

/* --- records --- */

/*
 * ip | pid tid | time | cpu | period | [n, pcs] | abi [regs] | size [bytes, bytes copied]
 * The stack's bytes are there in full size, whatever was copied.
 */
static void take_sample(struct perf_run *r, const struct perf_event_header *h)
{
    const uint64_t *at = (const uint64_t *)(h + 1),
                   *end = (const void *)((const char *)h + h->size);
    const uint32_t *ids = (const void *)(at + 1);
    struct engine_sample s = {
        .time_ns = at[2], .period = at[4], .at = {.pid = (int)ids[0], .tid = (int)ids[1]}};
    at += 5;
    if (r->attr.attr.sample_type & PERF_SAMPLE_CALLCHAIN) {
        uint64_t n = *at++;
        for (uint64_t i = 0; i < n && s.at.n_kernel_pcs < KERNEL_PCS_MAX; i++)
            if (at[i] < (uint64_t)-4095) /* else a mark between contexts */
                r->kernel_pcs[s.at.n_kernel_pcs++] = at[i];
        s.at.kernel_pcs = r->kernel_pcs;
        at += n;
    }
    uint64_t abi = *at++;
    if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
        if (abi == PERF_SAMPLE_REGS_ABI_64)
            unwind_regs_from_perf(at, &s.at.regs);
        at += __builtin_popcountll(r->attr.attr.sample_regs_user);
    }
    uint64_t size = at < end ? *at++ : 0;
    if (size && at + size / 8 < end)
        s.at.stack = (struct unwind_stack){s.at.regs.sp, (const uint8_t *)at, at[size / 8]};
    r->to.sample(r->to.to, &s);
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

static void take_record(struct perf_run *r, const struct perf_event_header *h)
{
    struct processes *ps = r->to.processes;
    const uint32_t *w = (const void *)(h + 1);
    switch (h->type) {
    case PERF_RECORD_SAMPLE:
        take_sample(r, h);
        break;
    case PERF_RECORD_MMAP2:
        take_mmap2(r, h);
        break;
    case PERF_RECORD_COMM: /* pid tid comm */
        processes_comm(ps, (int)w[0], (int)w[1], (const char *)(w + 2),
                       h->misc & PERF_RECORD_MISC_COMM_EXEC);
        break;
    case PERF_RECORD_FORK: /* pid ppid tid ptid */
        processes_fork(ps, (int)w[0], (int)w[2], (int)w[1], (int)w[3]);
        break;
    case PERF_RECORD_EXIT:
        processes_exit(ps, (int)w[0], (int)w[2]);
        break;
    case PERF_RECORD_LOST: /* id lost */
        r->lost_told += ((const uint64_t *)w)[1];
        break;
    case PERF_RECORD_LOST_SAMPLES:
        r->lost_told += ((const uint64_t *)w)[0];
        break;
    case PERF_RECORD_THROTTLE:
        r->facts.throttled++;
        break;
    }
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Take all records older than UNTIL_NS, in the order of time. */
static void take_until(struct perf_run *r, uint64_t until_ns)
{
    struct perfevents *e = &r->events;
    for (size_t i = 0; i < e->rings.n; i++)
        perfring_look(&e->rings.at[i]);
    for (struct perfring *next; (next = perfmerge_next(e->rings.at, e->rings.n, until_ns));
         perfring_release(next))
        take_record(r, perfring_get(next));
    r->facts.lost = r->lost_told > r->facts.lost ? r->lost_told : r->facts.lost;
}

/*
 * A program with a rhythm near ours would be looked at in the same places again and again (seen: a
 * part of 10.4 % in a loop of 1 ms read as 8.3 %). So the clock's period varies by up to 15 %
 * either way with every poll. A thread keeps the period of the moment it was made, as the kernel
 * lets only the event that was opened be changed.
 */
static void vary_period(struct perf_run *r)
{
    if (!r->attr.clock || r->facts.rate_hz <= 0)
        return;
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    double factor = 0.85 + 0.3 * (double)(r->random >> 40) / (double)(1 << 24);
    perfevents_set_period(&r->events, (uint64_t)(factor * 1e9 / r->facts.rate_hz));
}

static int perf_poll(void *run, struct err *err)
{
    (void)err;
    take_until(run, now_ns() - LATE_NS);
    vary_period(run);
    return 0;
}

static void perf_stop(void *run)
{
    struct perf_run *r = run;
    uint64_t lost;
    perfevents_disable(&r->events);
    take_until(r, UINT64_MAX);
    perfevents_read(&r->events, &r->attr, &r->facts.counted, &lost);
    r->facts.lost = lost > r->facts.lost ? lost : r->facts.lost;
    perfevents_close(&r->events);
}

static const struct engine_facts *perf_facts(void *run)
{
    return &((struct perf_run *)run)->facts;
}

static void perf_close(void *run)
{
    struct perf_run *r = run;
    if (!r)
        return;
    perfevents_close(&r->events);
    free(r);
}

const struct engine engine_perf = {
    .name = "perf",
    .title = "perf_event_open",
    .poll_ms = 100,
    .probe = perf_probe,
    .open = perf_open,
    .attach = perf_attach,
    .poll = perf_poll,
    .facts = perf_facts,
    .stop = perf_stop,
    .close = perf_close,
};
