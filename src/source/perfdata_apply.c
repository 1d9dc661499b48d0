#include "source/perfdata_apply.h"

#include <sys/mman.h>

/* Newer than the headers of some machines. */
#define CONTEXT_USER_DEFERRED ((uint64_t)-640) /* a cookie follows, the frames come later */

void perfdata_apply_init(struct perfdata_apply *a, struct import *im, struct perfdata_events *es)
{
    *a = (struct perfdata_apply){.im = im, .events = es, .streams = {.im = im, .events = es}};
    a->processes = processes_new(im->profile);
    perfdata_chains_init(&a->chains);
    processes_comm(a->processes, 0, 0, "swapper", false); /* the idle task has no COMM record */
}

void perfdata_apply_done(struct perfdata_apply *a)
{
    processes_free(a->processes);
    perfdata_chains_done(&a->chains);
    perfdata_streams_done(&a->streams);
    vec_done(&a->kernel);
    vec_done(&a->user);
}

/* --- what happens to processes --- */

/* A text that ends with its NUL or with the record; NULL when it is empty or not ended. */
static const char *string_of(struct cursor *c)
{
    struct text t = cursor_bytes(c, cursor_left(c));
    return t.n && memchr(t.at, '\0', t.n) ? t.at : NULL;
}

struct mmap_body {
    uint32_t pid;
    uint64_t start, bytes, offset;
    uint8_t build_id_bytes;
    const uint8_t *build_id;
    uint32_t prot;
};

/*
 * WHO is a build-id where the record says so: its size, three zeros, up to 20 bytes. Linux 6.18
 * says so of records without one, too, while another recorder on the machine asks for build-ids.
 * Such a record has the file's device and inode:
 *
 *     u8 size     u8 0     u16 0      u8 build_id[20]
 *     u32 major                       u32 minor, u64 inode, u64 generation
 *
 * A minor number is small, so the bytes behind its first are zeros: of 16 million build-ids one has
 * the same, and is done without.
 */
static bool has_build_id(const uint8_t *who)
{
    static const uint8_t zeros[3];
    return who[0] > 0 && who[0] <= 20 && memcmp(who + 1, zeros, 3) == 0 &&
           memcmp(who + 5, zeros, 3) != 0;
}

/* The part of MMAP2 that MMAP does not have: who the file is, and what may be done with it. */
static void take_mmap2_part(struct cursor *c, uint16_t misc, struct mmap_body *b)
{
    struct text who = cursor_bytes(c, 24);
    b->prot = perfdata_take_half(c);
    perfdata_take_half(c); /* flags */
    const uint8_t *id = (const uint8_t *)who.at;
    if (who.n && misc & PERF_RECORD_MISC_MMAP_BUILD_ID && has_build_id(id)) {
        b->build_id_bytes = id[0];
        b->build_id = id + 4;
    }
}

static const char *apply_mmap(struct perfdata_apply *a, const struct perfdata_record *r)
{
    struct cursor c = cursor_of(r->body.at, r->body.n);
    struct mmap_body b = {.prot = PROT_EXEC};
    b.pid = perfdata_take_half(&c);
    perfdata_take_half(&c); /* tid */
    b.start = perfdata_take(&c);
    b.bytes = perfdata_take(&c);
    b.offset = perfdata_take(&c);
    if (r->type == PERF_RECORD_MMAP2)
        take_mmap2_part(&c, r->misc, &b);
    const char *path = string_of(&c);
    if (c.bad || !path || b.start + b.bytes < b.start)
        return "a mapping is invalid";
    bool kernel = (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER;
    /* The core of the kernel: its name ends in the symbol whose address the offset is. */
    if (kernel && strcmp(path, "[kernel.kallsyms]_text") == 0)
        processes_kernel(a->processes, b.start, b.start + b.bytes, b.offset);
    if (kernel || r->misc & PERF_RECORD_MISC_MMAP_DATA || !(b.prot & PROT_EXEC) || !b.bytes)
        return NULL;
    struct process_map m = {
        .pid = (int)b.pid,
        .start = b.start,
        .end = b.start + b.bytes,
        .offset = b.offset,
        .path = path,
        .build_id = b.build_id,
        .build_id_bytes = b.build_id_bytes,
    };
    processes_mmap(a->processes, &m);
    return NULL;
}

static const char *apply_comm(struct perfdata_apply *a, const struct perfdata_record *r)
{
    struct cursor c = cursor_of(r->body.at, r->body.n);
    uint32_t pid = perfdata_take_half(&c), tid = perfdata_take_half(&c);
    const char *comm = string_of(&c);
    if (c.bad || !comm)
        return "a thread's name is invalid";
    processes_comm(a->processes, (int)pid, (int)tid, comm, r->misc & PERF_RECORD_MISC_COMM_EXEC);
    return NULL;
}

static const char *apply_fork_or_exit(struct perfdata_apply *a, const struct perfdata_record *r)
{
    struct cursor c = cursor_of(r->body.at, r->body.n);
    uint32_t pid = perfdata_take_half(&c), parent_pid = perfdata_take_half(&c);
    uint32_t tid = perfdata_take_half(&c), parent_tid = perfdata_take_half(&c);
    if (c.bad)
        return "the start or end of a thread is invalid";
    if (r->type == PERF_RECORD_EXIT)
        processes_exit(a->processes, (int)pid, (int)tid);
    else if (pid == parent_pid || !(r->misc & PERF_RECORD_MISC_FORK_EXEC))
        processes_fork(a->processes, (int)pid, (int)tid, (int)parent_pid, (int)parent_tid);
    return NULL;
}

/* --- samples --- */

/* Sort the chain's addresses by the marks between them. No mark: where the sample was taken. */
static void split_chain(struct perfdata_apply *a, const struct perfdata_sample *s, bool in_kernel)
{
    enum { KERNEL, USER, OTHER } context = in_kernel ? KERNEL : USER;
    for (size_t i = 0; i < s->n_chain; i++) {
        uint64_t pc = perfdata_word(s->chain + 8 * i);
        if (pc == CONTEXT_USER_DEFERRED) {
            a->deferred++;
            i++;
        } else if (pc >= (uint64_t)PERF_CONTEXT_MAX) {
            context = pc == (uint64_t)PERF_CONTEXT_KERNEL ? KERNEL
                      : pc == (uint64_t)PERF_CONTEXT_USER ? USER
                                                          : OTHER;
        } else if (context == KERNEL) {
            *vec_push(&a->kernel) = pc;
        } else if (context == USER) {
            *vec_push(&a->user) = pc;
        }
    }
}

/*
 * The CPU's own call stack, last call first, replaces callers by frame pointers. It has the calls
 * themselves, not where they return to, which is what a chain has: hence the 1. It knows the
 * innermost function only by where that starts; the sample knows better.
 */
static void add_calls(struct perfdata_apply *a, const struct perfdata_sample *s, bool in_user)
{
    uint64_t leaf = in_user && s->ip ? s->ip : a->user.n ? a->user.at[0] : 0;
    if (!s->n_calls)
        return;
    a->user.n = 0;
    *vec_push(&a->user) = leaf ? leaf : perfdata_word(s->calls + 8);
    for (size_t i = 0; i < s->n_calls; i++) {
        uint64_t from = perfdata_word(s->calls + 24 * i);
        if (from == 0 || from >= (uint64_t)PERF_CONTEXT_MAX)
            break;
        *vec_push(&a->user) = from + 1;
    }
}

/* The registers and the stack to unwind from. False when the sample has none. */
static bool set_regs(const struct perfdata_event *e, const struct perfdata_sample *s,
                     struct process_sample *ps)
{
    uint64_t values[64], mask = e->attr.sample_regs_user;
    if (!(e->attr.sample_type & PERF_SAMPLE_STACK_USER) || !s->regs || !mask)
        return false;
    memcpy(values, s->regs, 8 * (size_t)__builtin_popcountll(mask));
    ps->machine = unwind_machine_of_mask(mask);
    if (s->regs_abi != PERF_SAMPLE_REGS_ABI_64 ||
        !unwind_regs_from_mask(ps->machine, mask, values, &ps->regs))
        return false;
    ps->stack = (struct unwind_stack){ps->regs.sp, (const uint8_t *)s->stack.at, s->stack.n, false};
    return true;
}

static struct stack_id perfdata_stack_of(struct perfdata_apply *a, struct perfdata_event *e,
                                         const struct perfdata_sample *s, uint16_t misc)
{
    int mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
    struct process_sample ps = {.pid = (int)s->pid, .tid = (int)s->tid};
    a->kernel.n = a->user.n = 0;
    split_chain(a, s, mode == PERF_RECORD_MISC_KERNEL);
    add_calls(a, s, mode == PERF_RECORD_MISC_USER);
    bool unwind = set_regs(e, s, &ps);
    if (!a->kernel.n && mode == PERF_RECORD_MISC_KERNEL && s->ip)
        *vec_push(&a->kernel) = s->ip;
    if (!a->user.n && !unwind && mode == PERF_RECORD_MISC_USER && s->ip)
        *vec_push(&a->user) = s->ip;
    ps.kernel_pcs = a->kernel.at;
    ps.n_kernel_pcs = a->kernel.n;
    if (!unwind) {
        ps.user_pcs = a->user.at;
        ps.n_user_pcs = a->user.n;
    }
    enum unwind_end end;
    struct stack_id id = processes_stack(a->processes, &ps, &end);
    if (unwind) {
        a->unwound = true;
        e->unwound++;
        e->ends[end]++;
    }
    return id;
}

/* A sample taken apart. */
struct taken {
    struct perfdata_event *event;
    struct perfdata_sample sample;
    uint16_t misc;
    bool ready;          /* its chain is complete, nothing is to be unwound */
    XXH128_hash_t chain; /* if ready */
};

/* The same, but ready chains that came before are known; not those that must be counted. */
static void find_stack(struct perfdata_apply *a, const struct taken *t, struct row *ret)
{
    struct perfdata_chain *known =
        t->ready ? perfdata_chains_look(&a->chains, t->chain, a->who.space) : NULL;
    ret->hint = known ? &known->row : NULL;
    if (known && known->stack.i) {
        ret->stack = known->stack;
        return;
    }
    uint64_t deferred = a->deferred;
    ret->stack = perfdata_stack_of(a, t->event, &t->sample, t->misc);
    if (known && a->deferred == deferred)
        known->stack = ret->stack;
}

static void set_who(struct perfdata_apply *a, const struct perfdata_sample *s)
{
    if (a->who.known && a->who.tid == s->tid && a->who.pid == s->pid)
        return;
    a->who = (struct perfdata_who){
        .known = true,
        .pid = s->pid,
        .tid = s->tid,
        .space = processes_space(a->processes, (int)s->pid),
    };
}

static int perfdata_add_row(struct perfdata_apply *a, struct perfdata_event *e, struct row *row,
                            uint64_t weight, struct err *err)
{
    int64_t values[PERFDATA_COLUMNS] = {
        [PERFDATA_SAMPLES] = 1, [PERFDATA_WEIGHT] = (int64_t)weight};
    row->values = values;
    int rc = profile_add_row(a->im->profile, e->stream, row, err);
    row->values = NULL;
    return rc;
}

/* Ids of the kernel are small: counters of time have others of their own. */
#define ENABLED_OF(id) ((id) | 1ull << 63)
#define RUNNING_OF(id) ((id) | 1ull << 62)

/* How long a counter was to count, and did. */
static void add_times(struct perfdata_apply *a, const struct perfdata_sample *s, uint64_t id,
                      struct perfdata_event *e, uint32_t tid)
{
    if (!s->enabled_ns)
        return;
    e->enabled_ns += perfdata_streams_step(&a->streams, ENABLED_OF(id), tid, s->enabled_ns);
    e->running_ns += perfdata_streams_step(&a->streams, RUNNING_OF(id), tid, s->running_ns);
}

/* The counters that were read with the sample, those of a group: each did a step of its own. */
static int add_steps(struct perfdata_apply *a, const struct taken *t, struct row *row,
                     struct err *err)
{
    const struct perfdata_sample *s = &t->sample;
    uint32_t tid = t->event->attr.inherit ? s->tid : 0;
    for (size_t i = 0; i < s->n_read; i++) {
        const char *at = s->read + i * s->read_bytes;
        uint64_t id = perfdata_word(at + s->id_at);
        struct perfdata_event *e = perfdata_events_find(a->events, id);
        uint64_t step = e ? perfdata_streams_step(&a->streams, id, tid, perfdata_word(at)) : 0;
        bool adds = step && step <= INT64_MAX && perfdata_stream_of(&a->streams, e) >= 0;
        if (e)
            add_times(a, s, id, e, tid);
        if (adds && perfdata_add_row(a, e, row, step, err) != 0)
            return -1;
        row->hint = NULL; /* the place belongs to the first one's stream */
    }
    return 0;
}

static int perfdata_add_sample(struct perfdata_apply *a, const struct taken *t, struct err *err)
{
    const struct perfdata_sample *s = &t->sample;
    struct row row = {.has_time = s->time != 0, .time_ns = s->time};
    find_stack(a, t, &row);
    if (!a->who.thread.i)
        a->who.thread = processes_thread(a->processes, (int)s->pid, (int)s->tid);
    row.thread = a->who.thread;
    return s->id_at ? add_steps(a, t, &row, err)
                    : perfdata_add_row(a, t->event, &row, s->period, err);
}

/* Take a sample apart and ask for its place among the known chains. NULL, or why it is useless. */
static const char *perfdata_take_sample(struct perfdata_apply *a, const struct perfdata_record *r,
                                        struct taken *ret)
{
    ret->event = perfdata_record_event(a->events, r);
    ret->misc = r->misc;
    ret->ready = false;
    if (!ret->event)
        return "a sample of an event that nobody described";
    const struct perfdata_sample *s = &ret->sample;
    const char *why = perfdata_sample_parse(ret->event, r->body, &ret->sample);
    if (why)
        return why;
    if (s->period > INT64_MAX)
        return "a sample stands for more than 63 bits can hold";
    ret->ready =
        s->n_chain && !s->n_calls && !(ret->event->attr.sample_type & PERF_SAMPLE_STACK_USER);
    if (!ret->ready)
        return NULL;
    uint64_t mode = r->misc & PERF_RECORD_MISC_CPUMODE_MASK;
    uint64_t event = (uint64_t)(ret->event - a->events->list.at) << 8;
    ret->chain = perfdata_chain_hash((struct text){s->chain, 8 * s->n_chain},
                                     s->ip * 0x9e3779b97f4a7c15u ^ mode ^ event);
    perfdata_chains_expect(&a->chains, ret->chain, a->who.space);
    return NULL;
}

/* WHY it is useless, if it is. */
static int apply_sample(struct perfdata_apply *a, const struct perfdata_record *r,
                        const struct taken *t, const char *why, struct err *err)
{
    const struct perfdata_sample *s = &t->sample;
    if (!why && t->event->stream < 0 && perfdata_stream_of(&a->streams, t->event) < 0)
        why = "too many events: 256 are possible";
    if (why)
        return import_skip_byte(a->im, r->offset, err, "%s", why);
    if (s->time && (!a->first_ns || s->time < a->first_ns))
        a->first_ns = s->time;
    if (s->time > a->last_ns)
        a->last_ns = s->time;
    set_who(a, s);
    struct err inner;
    if (perfdata_add_sample(a, t, &inner) != 0)
        return err_set(err, inner.code, "byte %llu: %s", (unsigned long long)r->offset, inner.text);
    return 0;
}

/* --- all records --- */

/* The event of an id; one that nobody described counts as the first. */
static struct perfdata_event *event_of(struct perfdata_apply *a, uint64_t id)
{
    struct perfdata_event *e = perfdata_events_find(a->events, id);
    return e || !a->events->list.n ? e : a->events->list.at;
}

/* LOST: id, count. LOST_SAMPLES: count, and whose it is at the end like in every record. */
static const char *apply_lost(struct perfdata_apply *a, const struct perfdata_record *r)
{
    struct cursor c = cursor_of(r->body.at, r->body.n);
    bool samples = r->type == PERF_RECORD_LOST_SAMPLES;
    struct perfdata_event *e =
        samples ? perfdata_record_event(a->events, r) : event_of(a, perfdata_take(&c));
    uint64_t n = perfdata_take(&c);
    if (!e)
        e = event_of(a, 0);
    if (c.bad || !e || e->lost + n < n)
        return "a count of lost samples is invalid";
    e->lost += n;
    return NULL;
}

/* time, id, stream */
static void apply_throttle(struct perfdata_apply *a, const struct perfdata_record *r)
{
    struct cursor c = cursor_of(r->body.at, r->body.n);
    perfdata_take(&c);
    struct perfdata_event *e = event_of(a, perfdata_take(&c));
    if (e)
        e->throttled++;
}

static const char *apply_other(struct perfdata_apply *a, const struct perfdata_record *r)
{
    a->who.known = false;
    processes_set_time(a->processes, r->time);
    switch (r->type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        return apply_mmap(a, r);
    case PERF_RECORD_COMM:
        return apply_comm(a, r);
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        return apply_fork_or_exit(a, r);
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
        return apply_lost(a, r);
    case PERF_RECORD_THROTTLE:
        apply_throttle(a, r);
    }
    return NULL;
}

int perfdata_apply(struct perfdata_apply *a, const struct perfdata_record *records, size_t n,
                   struct err *err)
{
    struct taken taken[PERFDATA_APPLY_MAX];
    const char *why[PERFDATA_APPLY_MAX];
    for (size_t i = 0; i < n; i++)
        if (records[i].type == PERF_RECORD_SAMPLE)
            why[i] = perfdata_take_sample(a, &records[i], &taken[i]);
    for (size_t i = 0; i < n; i++) {
        const struct perfdata_record *r = &records[i];
        if (r->type == PERF_RECORD_SAMPLE) {
            if (apply_sample(a, r, &taken[i], why[i], err) != 0)
                return -1;
        } else if ((why[i] = apply_other(a, r)) &&
                   import_skip_byte(a->im, r->offset, err, "%s", why[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

/* --- the end --- */

int perfdata_apply_finish(struct perfdata_apply *a, struct err *err)
{
    struct meta *m = &a->im->profile->meta;
    if (a->last_ns > a->first_ns)
        meta_set_u64(m, META_DURATION_NS, a->last_ns - a->first_ns);
    if (a->deferred)
        import_note(a->im,
                    "samples without their user part, which perf wrote later and kelvin does not "
                    "read: %llu",
                    (unsigned long long)a->deferred);
    return perfdata_streams_finish(&a->streams, err);
}
