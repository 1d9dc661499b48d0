/*
 * heap_probe.c - the heap of a process that runs already: samples that programs in the kernel take
 * at its allocator.
 *
 * An allocation comes in two records of one thread: the stack where it was asked for, then the
 * address. Frees of samples follow. Rings of all CPUs are joined by time, as those of perf.c.
 */
#include "record/heap_inner.h"

#include "base/clock.h"
#include "model/meta.h"
#include "record/heapbpf.h"
#include "record/perfmerge.h"

/* A record may be younger in its time than in its ring. */
enum { LATE_NS = 2000000 };

/* Of each stack; few programs need more, and a ring holds the fewer samples the more it is. */
enum { STACK_MOST_BYTES = 32768 };

/*
 * Stops may cost the program so much of a second, every second: more is not for production, and the
 * probes are taken away. STOP_NS is for machines where nothing could be measured.
 */
#define COST_MAX 0.25
enum { STOP_NS = 5000 };
#define LOOK_NS UINT64_C(1000000000)

/* What a thread asked for and has not got yet; its place is known. */
struct asked {
    struct heap_ring ring; /* as if the thread had one */
    uint32_t site;
    uint64_t size_bytes;
    bool waits;
};

struct heap_probes {
    struct allocator allocator;
    struct heapbpf bpf;
    struct heapbpf_opts opts;
    VEC(struct asked) threads;
    struct idmap by_tid;
    uint64_t ends[UNWIND_ENDS];
    uint64_t lost;             /* as the rings say; the programs know of those that had a stack */
    uint64_t start_ns, end_ns; /* of the probes; end 0 = they are there */
    uint64_t looked_ns, last_stops; /* when they were counted last */
};

int heap_probes_open(struct heap *h, struct err *err)
{
    struct heap_probes *p = h->probes = mem_new(struct heap_probes);
    h->clock = (struct ticks){.ns_per_tick = 1}; /* the kernel's records have nanoseconds */
    h->facts.probed = true;
    if (allocator_find(&p->allocator, h->opts.pid, err) != 0)
        return -1;
    size_t stack = h->opts.stack_bytes;
    p->opts = (struct heapbpf_opts){h->opts.pid, &p->allocator, h->opts.sample_bytes,
                                    stack && stack < STACK_MOST_BYTES ? stack : STACK_MOST_BYTES};
    if (heapbpf_open(&p->bpf, &p->opts, err) != 0)
        return -1;
    h->facts.stop_ns = p->bpf.stop_ns > 0 ? p->bpf.stop_ns : STOP_NS;
    return 0;
}

int heap_probes_attach(struct heap *h, struct err *err)
{
    struct heap_probes *p = h->probes;
    if (processes_scan(h->opts.processes, h->opts.pid, err) != 0)
        return -1;
    p->start_ns = p->looked_ns = clock_kernel_ns();
    meta_set_str(&h->opts.profile->meta, META_HEAP_SINCE, "attach");
    h->facts.programs = 1;
    return heapbpf_attach(&p->bpf, &p->opts, err);
}

static struct asked *thread_of(struct heap *h, const struct heapbpf_record *r)
{
    struct heap_probes *p = h->probes;
    uint32_t hash = hash_pair((uint32_t)r->pid, (uint32_t)r->tid);
    for_each_match (&p->by_tid, hash, i)
        if (p->threads.at[i].ring.pid == r->pid && p->threads.at[i].ring.tid == r->tid)
            return &p->threads.at[i];
    struct asked *new = vec_push(&p->threads);
    *new = (struct asked){
        .ring = {.pid = r->pid, .tid = r->tid, .thread = heap_thread_get(h, r->pid, r->tid, "")}};
    idmap_add(&p->by_tid, hash, (uint32_t)p->threads.n - 1);
    return new;
}

/* The stack of the caller: at the first instruction, its address is where the stack ends. */
static struct stack_id stack_of(struct heap *h, const struct heapbpf_record *r,
                                enum unwind_end *ret_end)
{
    struct process_sample s = {.pid = r->pid, .tid = r->tid};
    uint64_t caller = 0;
    if (r->regs)
        unwind_regs_from_perf(r->regs, &s.regs);
    if (r->stack_bytes > sizeof caller) {
        memcpy(&caller, r->stack, sizeof caller);
        s.regs.pc = caller - 1; /* inside of the call */
        s.regs.sp += sizeof caller;
        s.stack = (struct unwind_stack){s.regs.sp, r->stack + sizeof caller,
                                        r->stack_bytes - sizeof caller,
                                        r->stack_bytes < h->probes->opts.stack_bytes / 8 * 8};
    }
    return processes_stack(h->opts.processes, &s, ret_end);
}

static void take_asked(struct heap *h, struct asked *t, const struct heapbpf_record *r)
{
    enum unwind_end end;
    struct heap_site site = {.thread = t->ring.thread, .stack = stack_of(h, r, &end)};
    h->probes->ends[end]++;
    t->site = heap_site_of_stack(h, &site);
    t->size_bytes = r->value;
    t->waits = true;
}

static void take_got(struct heap *h, struct asked *t, const struct heapbpf_record *r)
{
    struct heap_block b = {.address = r->value & HEAP_POINTER_MASK,
                           .size_bytes = t->size_bytes,
                           .ticks = t->ring.ticks,
                           .site = t->site};
    if (!t->waits)
        return; /* its stack was lost */
    t->waits = false;
    if (r->kind == HEAPBPF_BLOCK)
        heap_take_block(h, &t->ring, &b);
    h->facts.no_room += r->kind == HEAPBPF_NO_ROOM;
}

static void take_probe_record(struct heap *h, const struct perf_event_header *head)
{
    struct heapbpf_record r;
    if (head->type == PERF_RECORD_LOST)
        h->probes->lost += ((const uint64_t *)(head + 1))[1];
    if (!heapbpf_read(head, &r) || !r.time_ns)
        return;
    struct asked *t = thread_of(h, &r);
    heap_take_time(h, &t->ring, r.time_ns);
    if (r.kind == HEAPBPF_ALLOC)
        take_asked(h, t, &r);
    else if (r.kind == HEAPBPF_FREE)
        heap_take_free(h, &t->ring, r.value & HEAP_POINTER_MASK);
    else
        take_got(h, t, &r);
}

/* Probes are taken away one after the other, which lasts: those of frees see more than the rest. */
static void take_probe_records(struct heap *h, uint64_t until_ns)
{
    struct heapbpf *b = &h->probes->bpf;
    uint64_t end_ns = h->probes->end_ns;
    until_ns = end_ns && end_ns < until_ns ? end_ns : until_ns;
    for (size_t i = 0; i < b->rings.n; i++)
        perfring_look(&b->rings.at[i]);
    for (struct perfring *next; (next = perfmerge_next(b->rings.at, b->rings.n, until_ns));
         perfring_release(next))
        take_probe_record(h, perfring_get(next));
}

static uint64_t count_stops(struct heap *h)
{
    struct heapbpf_counts n;
    heapbpf_count(&h->probes->bpf, &n);
    return h->facts.stops = 2 * n.calls + n.frees;
}

static void detach_probes(struct heap *h, uint64_t now_ns)
{
    if (h->probes->end_ns || !h->probes->start_ns)
        return;
    heapbpf_detach(&h->probes->bpf);
    h->probes->end_ns = now_ns;
    h->facts.probed_s = (double)(now_ns - h->probes->start_ns) / CLOCK_SECOND_NS;
}

/* Whether the program is stopped too often, over a second. */
static void look_at_cost(struct heap *h, uint64_t now_ns)
{
    struct heap_probes *p = h->probes;
    if (p->end_ns || now_ns - p->looked_ns < LOOK_NS)
        return;
    uint64_t stops = count_stops(h);
    double cost_ns = (double)(stops - p->last_stops) * h->facts.stop_ns;
    h->facts.too_many = cost_ns > COST_MAX * (double)(now_ns - p->looked_ns);
    p->last_stops = stops;
    p->looked_ns = now_ns;
    if (!h->facts.too_many)
        return;
    detach_probes(h, now_ns);
    autofree char *text = mem_printf("%.1f", h->facts.probed_s);
    meta_set_str(&h->opts.profile->meta, META_HEAP_END_S, text);
}

void heap_probes_poll(struct heap *h, uint64_t now_ns)
{
    take_probe_records(h, now_ns - LATE_NS);
    look_at_cost(h, now_ns);
}

void heap_probes_stop(struct heap *h)
{
    struct heapbpf_counts n;
    detach_probes(h, clock_kernel_ns());
    take_probe_records(h, UINT64_MAX);
    count_stops(h);
    heapbpf_count(&h->probes->bpf, &n);
    h->facts.lost = (n.lost > h->probes->lost ? n.lost : h->probes->lost) + h->facts.no_room;
    for (int i = 0; i < UNWIND_ENDS; i++)
        if (h->probes->ends[i] && !unwind_end_is_bottom((enum unwind_end)i))
            profile_set_unfinished(h->opts.profile, h->tally.stream,
                                   unwind_end_name((enum unwind_end)i), h->probes->ends[i]);
}

void heap_probes_close(struct heap *h)
{
    struct heap_probes *p = h->probes;
    if (!p)
        return;
    heapbpf_close(&p->bpf);
    allocator_done(&p->allocator);
    idmap_done(&p->by_tid);
    vec_done(&p->threads);
    free(p);
    h->probes = NULL;
}
