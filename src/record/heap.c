#include "record/heap_inner.h"

#include "base/clock.h"
#include "model/meta.h"
#include "record/heap_own.h"
#include "record/timer_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

/* A ring stays in a processor's cache, and holds what a thread reports in a few milliseconds. */
enum { RINGS = 4096, RING_BYTES = 1 << 20 };

/*
 * Where a look brings fewer records than this, the next can wait: a recorder that takes every
 * record as it comes interrupts the program all the time.
 */
enum { WORTH_A_LOOK = 4096 };

/* Records between two looks at the rings, and looks between two turns of the recorder's loop. */
enum { BATCH = 16384, BATCHES = 64, GIVE = 1024, STOP_POLLS = 64 };

#define CENSUS_NS (UINT64_C(1000000) * HEAP_SLICE_MS)

/* --- rings, joined by time --- */

/* A thread may have several rings one after the other: at its end libc tidies up. */
uint32_t heap_thread_get(struct heap *h, int pid, int tid, const char *comm)
{
    uint32_t hash = hash_pair((uint32_t)pid, (uint32_t)tid);
    for_each_match (&h->thread_map, hash, i) {
        const struct heap_thread *t = &h->threads.at[i];
        if (t->pid == pid && t->tid == tid && strcmp(t->comm, comm) == 0)
            return i;
    }
    struct heap_thread *new = vec_push(&h->threads);
    *new = (struct heap_thread){.pid = pid, .tid = tid};
    snprintf(new->comm, sizeof new->comm, "%s", comm);
    idmap_add(&h->thread_map, hash, (uint32_t)h->threads.n - 1);
    return (uint32_t)h->threads.n - 1;
}

static struct thread_id thread_id(void *heap, uint32_t thread)
{
    struct heap *h = heap;
    struct heap_thread *t = &h->threads.at[thread];
    if (!t->id.i)
        t->id = *t->comm ? processes_thread_called(h->opts.processes, t->pid, t->tid, t->comm)
                         : processes_thread(h->opts.processes, t->pid, t->tid);
    return t->id;
}

static struct heap_ring *ring_of(struct heap *h, const struct ring_reader *rr)
{
    while (h->by_ring.n <= rr->index)
        *vec_push(&h->by_ring) = (struct heap_ring){0};
    struct heap_ring *ring = &h->by_ring.at[rr->index];
    if (ring->start_ns == rr->start_ns && ring->tid == rr->tid && ring->pid == rr->pid)
        return ring;
    *ring = (struct heap_ring){.start_ns = rr->start_ns,
                               .pid = rr->pid,
                               .tid = rr->tid,
                               .thread = heap_thread_get(h, rr->pid, rr->tid, rr->comm)};
    return ring;
}

/* When the next record of a ring was written; UINT64_MAX when there is none. */
static uint64_t next_ticks(struct ring_reader *rr, const struct heap_ring *ring)
{
    const struct record *rec = ring_peek(rr);
    if (!rec)
        return UINT64_MAX;
    unsigned kind = rec->kind & HEAP_KIND_MASK; /* most are of these two */
    return kind == HEAP_AGAIN || kind == HEAP_FREE_NEAR ? ring->stamp
                                                        : heap_record_ticks(ring, rec);
}

struct turn {
    uint64_t ticks;
    uint32_t reader;
};

typedef VEC(struct turn) turns;

/* Let the first of the heap sink to where it belongs. */
static void sink(turns *t, size_t i)
{
    for (;;) {
        size_t least = i, left = 2 * i + 1;
        for (size_t k = left; k < left + 2 && k < t->n; k++)
            if (t->at[k].ticks < t->at[least].ticks)
                least = k;
        if (least == i)
            return;
        struct turn swapped = t->at[i];
        t->at[i] = t->at[least];
        t->at[least] = swapped;
        i = least;
    }
}

/* When somebody else is next. */
static uint64_t second_ticks(const turns *t)
{
    uint64_t a = t->n > 1 ? t->at[1].ticks : UINT64_MAX, b = t->n > 2 ? t->at[2].ticks : UINT64_MAX;
    return a < b ? a : b;
}

/* Take from the ring whose turn it is, until another's record is older. Returns how many. */
static size_t heap_take_turn(struct heap *h, turns *t, uint64_t until)
{
    struct turn *first = &t->at[0];
    struct ring_reader *rr = &h->rings.readers.at[first->reader];
    struct heap_ring *ring = ring_of(h, rr);
    uint64_t second = second_ticks(t);
    size_t n = 0;
    do {
        const struct record *rec = ring_peek(rr);
        if (rec)
            heap_take(h, ring, rec, first->ticks);
        ring_take(rr);
        first->ticks = next_ticks(rr, ring);
        if (++n % GIVE == 0)
            ring_give(rr);
    } while (first->ticks <= second && first->ticks < until && n < BATCH);
    if (first->ticks >= until)
        *first = t->at[--t->n];
    sink(t, 0);
    return n;
}

/*
 * What lies behind the end of a ring as it was at the last look was written after that look. So a
 * record without a time of its own is never older than that, however long its thread slept.
 */
static void heap_see_end(struct heap_ring *ring, const struct ring_reader *rr, uint64_t now)
{
    if (rr->tail < ring->seen_bytes)
        return;
    ring->not_before = ring->seen_ticks;
    ring->seen_bytes = rr->head;
    ring->seen_ticks = now;
}

static void heap_see_ends(struct heap *h, uint64_t now)
{
    for (size_t i = 0; i < h->rings.readers.n; i++)
        heap_see_end(ring_of(h, &h->rings.readers.at[i]), &h->rings.readers.at[i], now);
    h->looked_at = now;
}

/* Whether something that a process wrote was not taken yet. */
static bool has_records(const struct heap *h, int pid)
{
    for (size_t i = 0; i < h->rings.readers.n; i++) {
        const struct ring_reader *rr = &h->rings.readers.at[i];
        if (rr->pid == pid && rr->tail != atomic_load(&rr->ring->head))
            return true;
    }
    return false;
}

/* Before a look: what they wrote is all there then. */
static void see_gone(struct heap *h)
{
    for (size_t i = 0; i < h->programs.n && h->n_running > 1; i++) {
        struct heap_program *p = &h->programs.at[i];
        p->gone = !p->over && kill(p->pid, 0) != 0 && errno == ESRCH;
    }
}

/* The last one ends with the recording: what it held is what was held at the end. */
void heap_end_gone(struct heap *h, uint64_t time_ns)
{
    for (size_t i = 0; i < h->programs.n; i++) {
        struct heap_program *p = &h->programs.at[i];
        if (p->gone && !p->over && h->n_running > 1 && !has_records(h, p->pid))
            heap_program_end(h, p);
    }
    heap_tally_leaked(&h->tally, time_ns);
}

/*
 * All that was written before now, in the order of time. What a record depends on was handed over
 * before it was written, so it is seen as well: nothing is freed here before it was allocated.
 */
static size_t take_batch(struct heap *h)
{
    turns t = {0};
    size_t n = 0;
    see_gone(h);
    uint64_t until = ticks_now(&h->clock);
    bool any = rings_look(&h->rings);
    heap_see_ends(h, until);
    if (!any) {
        heap_end_gone(h, ticks_ns(&h->clock, until));
        rings_release(&h->rings);
        return 0;
    }
    for (uint32_t i = 0; i < h->rings.readers.n; i++) {
        struct ring_reader *rr = &h->rings.readers.at[i];
        uint64_t ticks = next_ticks(rr, ring_of(h, rr));
        if (ticks < until)
            *vec_push(&t) = (struct turn){ticks, i};
    }
    for (size_t i = t.n / 2 + 1; i-- > 0 && t.n;)
        sink(&t, i);
    while (t.n && n < BATCH)
        n += heap_take_turn(h, &t, until);
    vec_done(&t);
    heap_end_gone(h, ticks_ns(&h->clock, until));
    rings_release(&h->rings);
    if (n >= GIVE)
        rings_wake(&h->rings);
    return n;
}

/* --- start --- */

static int memory_open(struct heap *h, struct err *err)
{
    struct rings_opts o = {.n_rings = RINGS, .ring_bytes = RING_BYTES, .tasks = CHANNEL_HEAP};
    if (rings_open(&h->rings, &o, err) != 0 ||
        stackwalk_open(&h->stacks, h->opts.profile, h->rings.channel, err) != 0)
        return -1;
    _Atomic uint64_t *params = h->rings.channel->params;
    params[STACKWALK_PARAM_TICKS] = h->clock.counter;
    params[HEAP_PARAM_SAMPLE_BYTES] = h->opts.sample_bytes;
    params[HEAP_PARAM_MAPS] = h->opts.maps;
    params[HEAP_PARAM_NEAR] = 1;
    return 0;
}

/* In half of this machine's memory. */
static uint64_t blocks_that_fit(void)
{
    uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES), page = (uint64_t)sysconf(_SC_PAGESIZE);
    return pages * page / 2 / HEAP_LIVE_BYTES;
}

/* An agent gets into the command. */
static int open_agents(struct heap *h, struct err *err)
{
    const char *command = h->opts.command[0];
    struct timer_static is = timer_program_static(command);
    const char *cannot = is.is_static ? "link libkelvin-heap.a into it (doc/heap.md)"
                                      : "its allocations cannot be recorded";
    if (preload_check(HEAP_AGENT_FILE, err) != 0 || heap_own_check(command, err) != 0 ||
        (!is.has_heap && timer_program_check(command, cannot, err) != 0))
        return -1;
    ticks_init(&h->clock);
    return memory_open(h, err);
}

int heap_open(const struct heap_opts *o, struct heap **ret, struct err *err)
{
    struct heap *h = mem_new(struct heap);
    h->opts = *o;
    if (!h->opts.blocks_max)
        h->opts.blocks_max = blocks_that_fit();
    h->stacks = STACKWALK_NONE;
    h->rings.memory.fd = -1;
    if ((o->command ? open_agents(h, err) : heap_probes_open(h, err)) != 0) {
        heap_close(h);
        return -1;
    }
    heap_tally_init(
        &h->tally, o->profile,
        &(struct heap_tally_opts){o->sample_bytes, .no_temporary = !o->command, .locks = o->locks});
    h->tally.thread_of = thread_id;
    h->tally.arg = h;
    h->facts.stream = h->tally.stream;
    if (o->command)
        preload_begin(&h->preload, HEAP_AGENT_FILE, PRELOAD_FIRST, CHANNEL_ENV,
                      rings_address(&h->rings));
    *ret = h;
    return 0;
}

int heap_attach(struct heap *h, struct err *err)
{
    if (h->probes)
        return heap_probes_attach(h, err);
    preload_end(&h->preload);
    return 0;
}

static void note_exec(void *heap, int pid, const char *comm)
{
    struct heap *h = heap;
    heap_unseen_exec(&h->unseen, pid, comm);
}

void heap_watch_execs(struct heap *h)
{
    processes_on_exec(h->opts.processes, note_exec, h);
}

/* --- beside the blocks --- */

/* A line of /proc/PID/status in bytes; 0 = it is not there. */
static int64_t status_bytes(const char *status, const char *key)
{
    const char *at = strstr(status, key);
    return at ? (int64_t)strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

/*
 * What the program itself has in memory; -1 when the process is over. What it shares with us, the
 * table of stacks above all, is not its own: that may well be more than all of its heap.
 */
static int64_t read_rss(const struct heap *h, int pid)
{
    char path[40], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    if (strstr(text, "\nState:\tZ") && strstr(text, "\nThreads:\t1\n"))
        return -1; /* it only waits for its parent */
    int64_t ours = shared_used_bytes(&h->rings.memory) + shared_used_bytes(&h->stacks.trie) +
                   shared_used_bytes(&h->stacks.images.memory);
    int64_t shared = status_bytes(text, "\nRssShmem:");
    return status_bytes(text, "\nVmRSS:") - (ours < shared ? ours : shared);
}

static void add_rss(struct heap *h, struct heap_program *p, uint64_t now_ns, int64_t bytes)
{
    struct profile *to = h->opts.profile;
    if (p->rss_counter < 0) {
        struct thread_id main = processes_thread(h->opts.processes, p->pid, p->pid);
        p->rss_counter =
            heapstream_add_counter(to, HEAP_COUNTER_RSS, to->threads.at[main.i].process);
    }
    if (p->rss_counter >= 0 && bytes > 0)
        profile_add_point(to, p->rss_counter, now_ns, bytes);
}

/* Who lives, and how much memory it has. */
static void census(struct heap *h)
{
    uint64_t now_ns = clock_kernel_ns();
    if (now_ns - h->last_census_ns < CENSUS_NS)
        return;
    h->last_census_ns = now_ns;
    for (size_t i = 0; i < h->programs.n; i++) {
        struct heap_program *p = &h->programs.at[i];
        if (p->over)
            continue;
        int64_t rss = read_rss(h, p->pid);
        if (rss < 0 && !h->probes)
            p->gone = true;
        else if (rss >= 0 && p->censuses++) /* by the second the engine has heard of it */
            add_rss(h, p, now_ns, rss);
    }
    if (h->probes)
        return;
    heap_end_gone(h, now_ns);
    heap_unseen_look(&h->unseen, h->rings.memory.inode);
}

bool heap_poll(struct heap *h)
{
    bool more = true;
    if (h->stopped)
        return false;
    ticks_look(&h->clock);
    for (int i = 0; i < BATCHES && more && !h->probes; i++)
        more = take_batch(h) >= WORTH_A_LOOK;
    if (h->probes)
        heap_probes_poll(h, clock_kernel_ns());
    census(h);
    return more && !h->probes;
}

/* --- the end --- */

static void describe_stacks(struct heap *h)
{
    struct stream *s = profile_stream(h->opts.profile, h->tally.stream);
    stackwalk_end(&h->stacks);
    for (int i = STACKWALK_END_WHOLE + 1; i < STACKWALK_ENDS; i++)
        if (h->tally.unfinished[i])
            profile_set_unfinished(h->opts.profile, h->tally.stream,
                                   stackwalk_end_name((enum stackwalk_end)i),
                                   h->tally.unfinished[i]);
    s->unfinished_known = s->lost_known = true;
    s->lost = h->facts.lost;
}

static void tell_number(struct heap *h, const char *key, uint64_t n)
{
    autofree char *number = mem_printf("%llu", (unsigned long long)n);
    if (n)
        meta_set_str(&h->opts.profile->meta, key, number);
}

/* How many processes the programs ran in, and who runs on. */
static void count_processes(struct heap *h)
{
    for (size_t i = 0; i < h->programs.n; i++) {
        bool again = false;
        for (size_t k = 0; k < i && !again; k++)
            again = h->programs.at[k].pid == h->programs.at[i].pid;
        h->facts.processes += !again;
        h->facts.running +=
            !h->programs.at[i].over && !h->probes && read_rss(h, h->programs.at[i].pid) >= 0;
    }
}

static void tell_programs(struct heap *h)
{
    struct meta *m = &h->opts.profile->meta;
    autofree char *n = mem_printf("%llu", (unsigned long long)h->facts.programs);
    meta_set_str(m, META_HEAP_PROGRAMS, n);
    tell_number(h, META_HEAP_PROCESSES, h->facts.processes);
    tell_number(h, META_HEAP_RUNNING, h->facts.running);
    tell_number(h, META_HEAP_SAMPLE_BYTES, h->opts.sample_bytes);
    if (h->own_malloc.n)
        meta_set_str(m, META_HEAP_OWN_MALLOC, buf_cstr(&h->own_malloc));
    if (*h->facts.unseen)
        meta_set_str(m, META_HEAP_UNSEEN, h->facts.unseen);
}

static void name_unseen(struct heap *h)
{
    autobuf struct buf names = {0};
    if (!h->probes)
        heap_unseen_print(&h->unseen, &names);
    snprintf(h->facts.unseen, sizeof h->facts.unseen, "%s", buf_cstr(&names));
}

static void stop_agents(struct heap *h)
{
    for (int i = 0; i < STOP_POLLS * BATCHES && take_batch(h); i++)
        ; /* what still runs may write for ever */
    h->rings.channel->stop = 1;
    rings_wake(&h->rings);
    h->facts.lost = rings_lost(&h->rings) + h->facts.no_room;
    h->facts.waits = rings_waits(&h->rings);
}

void heap_stop(struct heap *h, uint64_t end_ns)
{
    if (h->stopped)
        return;
    if (h->probes)
        heap_probes_stop(h);
    else
        stop_agents(h);
    heap_tally_last_point(&h->tally, end_ns);
    count_processes(h);
    name_unseen(h);
    for (size_t i = 0; i < h->programs.n; i++)
        if (!h->programs.at[i].over)
            heap_program_end(h, &h->programs.at[i]);
    h->tally.peak_ns = ticks_ns(&h->clock, h->tally.peak_at);
    heap_tally_end(&h->tally, end_ns);
    describe_stacks(h);
    tell_programs(h);
    tell_number(h, META_UNKNOWN_FREES, h->facts.unknown);
    tell_number(h, META_INHERITED_FREES, h->facts.inherited);
    tell_number(h, META_MISSED_FREES, h->facts.doubled);
    h->facts.vague_ns = ticks_length_ns(&h->clock, h->vague);
    if (h->facts.vague_ns > HEAP_VAGUE_NS) {
        autofree char *s = mem_printf("%.2f", (double)h->facts.vague_ns / CLOCK_SECOND_NS);
        meta_set_str(&h->opts.profile->meta, META_HEAP_VAGUE_S, s);
    }
    if (h->facts.programs && !h->facts.other_malloc)
        meta_set_str(&h->opts.profile->meta, META_HEAP_MALLOC, "glibc");
    if (h->facts.scoped)
        meta_set_str(&h->opts.profile->meta, META_HEAP_SCOPED, "1");
    h->stopped = true;
}

const struct heap_facts *heap_facts(struct heap *h)
{
    const int64_t *total = h->tally.total, unit = h->tally.block_unit;
    h->facts.allocations = total[HEAP_ALLOCATIONS] / unit;
    h->facts.allocated = total[HEAP_ALLOCATED];
    h->facts.frees = total[HEAP_FREES] / unit;
    h->facts.freed = total[HEAP_FREED];
    h->facts.temporary = total[HEAP_TEMPORARY] / unit;
    h->facts.samples = h->opts.sample_bytes ? total[HEAP_SAMPLES] : 0;
    h->facts.sample_bytes = h->opts.sample_bytes;
    snprintf(h->facts.own_malloc, sizeof h->facts.own_malloc, "%s", buf_cstr(&h->own_malloc));
    h->facts.leaked = total[HEAP_LEAKED];
    h->facts.peak = h->tally.peak_bytes;
    h->facts.peak_ns = h->tally.peak_ns;
    return &h->facts;
}

void heap_close(struct heap *h)
{
    if (!h)
        return;
    preload_end(&h->preload);
    heap_probes_close(h);
    for (size_t i = 0; i < h->programs.n; i++)
        heap_live_done(&h->programs.at[i].live), heap_areas_done(&h->programs.at[i].areas);
    rings_close(&h->rings);
    stackwalk_close(&h->stacks);
    heap_tally_done(&h->tally);
    buf_done(&h->own_malloc);
    heap_unseen_done(&h->unseen);
    idmap_done(&h->sites);
    idmap_done(&h->thread_map);
    vec_done(&h->threads);
    vec_done(&h->programs);
    vec_done(&h->by_ring);
    vec_done(&h->site_keys);
    free(h);
}
