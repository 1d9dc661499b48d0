/*
 * perf.c - the engine `perf`: samples by perf_event_open(2).
 *
 * A sample carries the kernel's call chain, the user's registers and a copy of the stack, which is
 * unwound at once from the ring. The rings of all CPUs are merged by time, so that a mapping is
 * known before the samples in it: a record is taken once all rings were looked at later than it.
 */
#include "base/clock.h"
#include "model/meta.h"
#include "record/engine.h"
#include "record/perfevents.h"
#include "record/perfmerge.h"
#include "record/stackfit.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

/* A record may be younger in its time than in the ring, by as long as an interrupt takes. */
enum { LATE_NS = 2000000, KERNEL_PCS_MAX = 256 };

/* Less of a stack than this is worth a word: deep recursion may not fit. */
enum { STACK_ENOUGH = 32000 };

/* What is copied of a stack where that will do: most programs never need more. */
enum { PART_BYTES = 16384 };

struct perf_run {
    struct engine_opts opts;
    struct engine_sink to;
    struct perfattr attr;
    struct perfevents events;
    struct engine_facts facts;
    struct stackfit fit;
    uint64_t samples;
    int timer_fd; /* wakes the recorder for a turn, or to see early that stacks are cut */
    /* turns */
    bool turned;
    uint64_t turn_end_ns, next_turn_ns, next_turn_samples;
    uint64_t random;    /* state of the generator for them */
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
    r->facts.obtained = r->attr.obtained;
    r->facts.dimension = r->attr.clock ? DIM_TIME : DIM_COUNT;
    r->facts.rate_hz = r->attr.attr.freq || r->attr.clock ? want.rate_hz : 0;
    r->timer_fd = -1;
    r->random = clock_monotonic_ns();
    stackfit_init(&r->fit);
    *ret = r;
    return 0;
}

/* Events that count each time cannot change from one set to another: some would be missed. */
static size_t part_bytes(const struct perf_run *r)
{
    return r->attr.attr.sample_period == 1 || r->opts.stack_bytes <= PART_BYTES ? 0 : PART_BYTES;
}

static int watch(struct perf_run *r, struct err *err)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = -1};
    r->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (r->timer_fd < 0 || perfevents_watch(&r->events, r->opts.epoll_fd) != 0 ||
        epoll_ctl(r->opts.epoll_fd, EPOLL_CTL_ADD, r->timer_fd, &ev) != 0)
        return err_set(err, EXIT_ERROR, "cannot wait for samples");
    return 0;
}

static int perf_attach(void *run, int pid, struct err *err)
{
    struct perf_run *r = run;
    struct perfevents_opts o = {r->opts.running, r->facts.rate_hz, (size_t)r->opts.stack_bytes,
                                part_bytes(r)};
    if (perfevents_open(&r->events, &r->attr, pid, &o, err) != 0)
        return -1;
    if (r->events.stack_bytes < STACK_ENOUGH && r->events.stack_bytes < o.stack_bytes / 8 * 8)
        add_note(r,
                 "only %zu bytes of each stack are copied, for want of ring memory: lower the "
                 "rate, or raise 'ulimit -l'",
                 r->events.stack_bytes);
    if (watch(r, err) != 0)
        return -1;
    return r->opts.running ? processes_scan(r->to.processes, pid, err) : 0;
}

/* --- records --- */

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
        stackfit_add(&r->fit, processes_walk(r->to.processes, &at) != UNWIND_STACK_CUT);
    }
}

/*
 * ip | pid tid | time | cpu | period | [n, pcs] | abi [regs] | size [bytes, bytes copied]
 * The stack's bytes are there in full size, whatever was copied.
 */
static void read_sample(struct perf_run *r, const struct perf_event_header *h,
                        struct engine_sample *ret)
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
    *ret = s;
}

static void take_sample(struct perf_run *r, const struct perf_event_header *h)
{
    struct engine_sample s;
    read_sample(r, h, &s);
    enum unwind_end end = r->to.sample(r->to.to, &s);
    r->samples++;
    if (r->attr.clock)
        r->facts.sampled_ns += s.period;
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

/* --- turns --- */

/*
 * However odd the period is, some program has the same. Every few dozen samples a clock is
 * therefore turned off for a random moment, which the other set looks at meanwhile: it goes on with
 * what was left of its period, at another place in the program's rhythm, and nothing is lost. Where
 * stacks need all that can be copied there is no other set that would do; then the moment is
 * not seen at all, and is short and rare.
 */
enum { TURN_SAMPLES = 16, TURN_SAMPLES_BLIND = 128, TURN_NS = 3000000, TURN_NS_BLIND = 1000000 };

/* Turning thousands of threads takes a while. It may take so much of the time. */
enum { TURN_COST = 200 };

/* While samples come, look after so long whether stacks are cut. */
enum { LOOK_NS = 20000000 };

static uint64_t random_below(struct perf_run *r, uint64_t n)
{
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    return (r->random >> 33) % n;
}

static void wake_after(struct perf_run *r, uint64_t ns)
{
    struct itimerspec when = {.it_value = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)}};
    timerfd_settime(r->timer_fd, 0, &when, NULL);
}

static void choose_set(struct perf_run *r)
{
    int usual = r->fit.part ? SET_PART : SET_WHOLE;
    int other = r->fit.part ? SET_WHOLE : SET_NONE;
    uint64_t before_ns = clock_monotonic_ns();
    perfevents_sample(&r->events, r->turned ? other : usual);
    uint64_t after_ns = clock_monotonic_ns();
    uint64_t rest_ns = TURN_COST * (after_ns - before_ns);
    if (after_ns + rest_ns > r->next_turn_ns)
        r->next_turn_ns = after_ns + rest_ns;
}

static void begin_turn(struct perf_run *r, uint64_t at_ns)
{
    uint64_t ns = 1 + random_below(r, r->fit.part ? TURN_NS : TURN_NS_BLIND);
    r->turned = true;
    r->turn_end_ns = at_ns + ns;
    wake_after(r, ns);
}

static void end_turn(struct perf_run *r)
{
    uint64_t n = r->fit.part ? TURN_SAMPLES : TURN_SAMPLES_BLIND;
    r->turned = false;
    r->next_turn_samples = r->samples + n + random_below(r, n);
}

static void take_turn(struct perf_run *r)
{
    uint64_t at_ns = clock_monotonic_ns();
    if (r->turned && at_ns >= r->turn_end_ns)
        end_turn(r);
    else if (r->attr.clock && !r->turned && r->samples >= r->next_turn_samples &&
             at_ns >= r->next_turn_ns)
        begin_turn(r, at_ns);
    choose_set(r);
}

static int perf_poll(void *run, struct err *err)
{
    struct perf_run *r = run;
    uint64_t before = r->samples, ignored;
    (void)err;
    while (read(r->timer_fd, &ignored, sizeof ignored) > 0)
        continue;
    take_until(r, clock_monotonic_ns() - LATE_NS);
    take_turn(r);
    if (r->samples > before && !r->turned)
        wake_after(r, LOOK_NS / 2 + random_below(r, LOOK_NS));
    return 0;
}

/* What became of the CPU time, and of samples that found no room. */
static void read_counts(struct perf_run *r)
{
    uint64_t counted[SETS] = {0}, lost[SETS] = {0};
    for (int set = 0; set < SETS; set++)
        perfevents_read(&r->events, &r->attr, (enum perfset)set, &counted[set], &lost[set]);
    r->facts.cpu_used_ns = counted[SET_WATCH];
    r->facts.counted = r->attr.clock ? counted[SET_WATCH] : counted[SET_WHOLE] + counted[SET_PART];
    uint64_t all = lost[SET_WHOLE] + lost[SET_PART];
    r->facts.lost = all > r->facts.lost ? all : r->facts.lost;
}

static void perf_stop(void *run)
{
    struct perf_run *r = run;
    perfevents_disable(&r->events);
    take_until(r, UINT64_MAX);
    read_counts(r);
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
    if (r->timer_fd >= 0)
        close(r->timer_fd);
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
