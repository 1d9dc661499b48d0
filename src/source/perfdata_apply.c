#include "source/perfdata_apply.h"
#include "source/perfscript_header.h"

#include <sys/mman.h>

/* Newer than the headers of some machines. */
#define CONTEXT_USER_DEFERRED ((uint64_t)-640) /* a cookie follows, the frames come later */

void perfdata_apply_init(struct perfdata_apply *a, struct import *im, struct perfdata_events *es)
{
    *a = (struct perfdata_apply){.im = im, .events = es};
    a->processes = processes_new(im->profile);
    perfdata_chains_init(&a->chains);
    processes_comm(a->processes, 0, 0, "swapper", false); /* the idle task has no COMM record */
}

void perfdata_apply_done(struct perfdata_apply *a)
{
    processes_free(a->processes);
    perfdata_chains_done(&a->chains);
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

/* The part of MMAP2 that MMAP does not have: who the file is, and what may be done with it. */
static void take_mmap2_part(struct cursor *c, uint16_t misc, struct mmap_body *b)
{
    struct text who = cursor_bytes(c, 24);
    b->prot = perfdata_take_half(c);
    perfdata_take_half(c); /* flags */
    if (who.n && misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        uint8_t n = (uint8_t)who.at[0];
        b->build_id_bytes = n < 20 ? n : 20;
        b->build_id = (const uint8_t *)who.at + 4;
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
        return "a mapping makes no sense";
    bool kernel = (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER;
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
        return "a thread's name makes no sense";
    processes_comm(a->processes, (int)pid, (int)tid, comm, r->misc & PERF_RECORD_MISC_COMM_EXEC);
    return NULL;
}

static const char *apply_fork_or_exit(struct perfdata_apply *a, const struct perfdata_record *r)
{
    struct cursor c = cursor_of(r->body.at, r->body.n);
    uint32_t pid = perfdata_take_half(&c), parent_pid = perfdata_take_half(&c);
    uint32_t tid = perfdata_take_half(&c), parent_tid = perfdata_take_half(&c);
    if (c.bad)
        return "the birth or end of a thread makes no sense";
    if (r->type == PERF_RECORD_EXIT)
        processes_exit(a->processes, (int)pid, (int)tid);
    else if (pid == parent_pid || !(r->misc & PERF_RECORD_MISC_FORK_EXEC))
        processes_fork(a->processes, (int)pid, (int)tid, (int)parent_pid, (int)parent_tid);
    return NULL;
}

/* --- samples --- */

/* Two sample types for an event that has a sample. False when there are too many. */
static bool make_types(struct perfdata_apply *a, struct perfdata_event *e)
{
    struct profile *p = a->im->profile;
    if (e->weight >= 0)
        return true;
    if (p->n_types + 2 > PROFILE_MAX_TYPES)
        return false;
    autofree char *name = perfdata_event_name(e);
    const char *unit = perfdata_event_is_clock(e) ? "nanoseconds" : "count";
    e->samples = profile_add_type(p, name, "samples", "count");
    e->weight = profile_add_type(p, name, name, unit);
    p->types[e->weight].count_type = e->samples;
    if (p->default_type < 0)
        p->default_type = e->weight;
    return true;
}

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

/* The registers and the stack to unwind from. False when the sample has none. */
static bool set_regs(const struct perfdata_event *e, const struct perfdata_sample *s,
                     struct process_sample *ps)
{
    uint64_t values[64], mask = e->attr.sample_regs_user;
    if (!(e->attr.sample_type & PERF_SAMPLE_STACK_USER) || !s->regs || !mask)
        return false;
    memcpy(values, s->regs, 8 * (size_t)__builtin_popcountll(mask));
    if (s->regs_abi != PERF_SAMPLE_REGS_ABI_64 ||
        !unwind_regs_from_mask(0, mask, values, &ps->regs))
        return false;
    ps->stack = (struct unwind_stack){ps->regs.sp, (const uint8_t *)s->stack.at, s->stack.n};
    return true;
}

static struct stack_id stack_of(struct perfdata_apply *a, const struct perfdata_event *e,
                                const struct perfdata_sample *s, uint16_t misc)
{
    int mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
    struct process_sample ps = {.pid = (int)s->pid, .tid = (int)s->tid};
    a->kernel.n = a->user.n = 0;
    split_chain(a, s, mode == PERF_RECORD_MISC_KERNEL);
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
        a->unwound++;
        a->ends[end]++;
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
static void find_stack(struct perfdata_apply *a, const struct taken *t, struct sample *ret)
{
    struct perfdata_chain *known =
        t->ready ? perfdata_chains_look(&a->chains, t->chain, a->who.space) : NULL;
    ret->row = known ? &known->row : NULL;
    if (known && known->stack.i) {
        ret->stack = known->stack;
        return;
    }
    uint64_t deferred = a->deferred;
    ret->stack = stack_of(a, t->event, &t->sample, t->misc);
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

static int add_sample(struct perfdata_apply *a, const struct taken *t, struct err *err)
{
    const struct perfdata_sample *s = &t->sample;
    int samples = t->event->samples, weight = t->event->weight;
    struct sample sample = {.has_time = s->time != 0, .time_ns = s->time, .values = a->values};
    find_stack(a, t, &sample);
    if (!a->who.thread.i)
        a->who.thread = processes_thread(a->processes, (int)s->pid, (int)s->tid);
    sample.thread = a->who.thread;
    a->values[samples] = 1;
    a->values[weight] = (int64_t)s->period;
    int rc = profile_add_sample(a->im->profile, &sample, err);
    a->values[samples] = a->values[weight] = 0;
    return rc;
}

/* Take a sample apart and ask for its place among the known chains. NULL, or why it is useless. */
static const char *take_sample(struct perfdata_apply *a, const struct perfdata_record *r,
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
    ret->ready = s->n_chain && !(ret->event->attr.sample_type & PERF_SAMPLE_STACK_USER);
    if (!ret->ready)
        return NULL;
    uint64_t mode = r->misc & PERF_RECORD_MISC_CPUMODE_MASK;
    ret->chain = perfdata_chain_hash((struct text){s->chain, 8 * s->n_chain},
                                     s->ip * 0x9e3779b97f4a7c15u ^ mode);
    perfdata_chains_expect(&a->chains, ret->chain, a->who.space);
    return NULL;
}

/* WHY it is useless, if it is. */
static int apply_sample(struct perfdata_apply *a, const struct perfdata_record *r,
                        const struct taken *t, const char *why, struct err *err)
{
    const struct perfdata_sample *s = &t->sample;
    if (!why && !make_types(a, t->event))
        why = "too many events: 32 are possible";
    if (why)
        return import_skip_byte(a->im, r->offset, err, "%s", why);
    if (s->time && (!a->first_ns || s->time < a->first_ns))
        a->first_ns = s->time;
    if (s->time > a->last_ns)
        a->last_ns = s->time;
    set_who(a, s);
    struct err inner;
    if (add_sample(a, t, &inner) != 0)
        return err_set(err, inner.code, "byte %llu: %s", (unsigned long long)r->offset, inner.text);
    return 0;
}

/* --- all records --- */

/* LOST: id, count. LOST_SAMPLES: count. */
static const char *apply_lost(struct perfdata_apply *a, const struct perfdata_record *r)
{
    struct cursor c = cursor_of(r->body.at, r->body.n);
    if (r->type == PERF_RECORD_LOST)
        perfdata_take(&c);
    uint64_t n = perfdata_take(&c);
    if (c.bad || a->lost + n < n)
        return "a count of lost samples makes no sense";
    a->lost += n;
    return NULL;
}

static const char *apply_other(struct perfdata_apply *a, const struct perfdata_record *r)
{
    a->who.known = false;
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
        a->throttled++;
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
            why[i] = take_sample(a, &records[i], &taken[i]);
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

static void name_types(struct perfdata_apply *a)
{
    struct profile *p = a->im->profile;
    for (size_t i = 0; i < a->events->list.n; i++) {
        const struct perfdata_event *e = &a->events->list.at[i];
        if (e->weight < 0)
            continue;
        autofree char *name = perfdata_event_name(e);
        struct text bare = perfscript_event_name(text_of(name));
        struct str_id event = profile_add_str(p, text_of(name));
        p->types[e->samples].event = p->types[e->weight].event = event;
        p->types[e->weight].name = profile_add_str(p, bare.n ? bare : text_of(name));
    }
}

/* The event that is shown first tells how it all was measured. */
static void tell_event(struct perfdata_apply *a)
{
    struct profile *p = a->im->profile;
    for (size_t i = 0; i < a->events->list.n; i++) {
        const struct perfdata_event *e = &a->events->list.at[i];
        if (e->weight < 0 || e->weight != p->default_type)
            continue;
        const char *kind = perfdata_event_kind(e);
        if (kind)
            meta_set_str(&p->meta, META_KIND, kind);
        autofree char *name = perfdata_event_name(e);
        meta_set_str(&p->meta, META_EVENT, name);
        if (e->attr.freq && e->attr.sample_freq)
            meta_set_u64(&p->meta, META_RATE_HZ, e->attr.sample_freq);
    }
}

static void tell_unfinished(struct perfdata_apply *a)
{
    static const char *const keys[UNWIND_ENDS] = {
        [UNWIND_STACK_CUT] = "unfinished_stack_cut",   [UNWIND_NO_MAP] = "unfinished_no_mapping",
        [UNWIND_NO_RULE] = "unfinished_no_rule",       [UNWIND_NO_SENSE] = "unfinished_bad_rule",
        [UNWIND_DEEP] = "unfinished_too_deep",         [UNWIND_GUESSED] = "guessed_stacks",
        [UNWIND_ELSEWHERE] = "unfinished_other_stack",
    };
    struct meta *m = &a->im->profile->meta;
    if (!a->unwound)
        return;
    uint64_t bottom = a->ends[UNWIND_WHOLE] + a->ends[UNWIND_GUESSED];
    meta_set_u64(m, META_UNFINISHED, a->unwound - bottom);
    for (int i = 0; i < UNWIND_ENDS; i++)
        if (keys[i] && a->ends[i])
            meta_set_u64(m, keys[i], a->ends[i]);
}

void perfdata_apply_finish(struct perfdata_apply *a)
{
    struct meta *m = &a->im->profile->meta;
    name_types(a);
    tell_event(a);
    meta_set_u64(m, META_LOST, a->lost);
    if (a->throttled)
        meta_set_u64(m, META_THROTTLED, a->throttled);
    if (a->last_ns > a->first_ns)
        meta_set_u64(m, META_DURATION_NS, a->last_ns - a->first_ns);
    tell_unfinished(a);
    if (a->deferred)
        import_note(
            a->im,
            "%llu samples lack their user part: perf wrote it later, and that is not read yet",
            (unsigned long long)a->deferred);
}
