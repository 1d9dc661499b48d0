#include "record/scopes_inner.h"

#include "base/buf.h"
#include "base/clock.h"

#include <assert.h>
#include <sys/socket.h>

/* The variable that include/kelvin.h looks at. */
#define SCOPES_ENV "KELVIN_SCOPES"

/* Records of a ring between two times that its room is handed back. */
enum { GIVE = 4096 };

/* Where a look brings this many, the next comes at once. */
enum { BUSY = 8192, STOP_POLLS = 256 };

/* Before anything was reported, and afterwards. */
enum { POLL_IDLE_MS = 20, POLL_MS = 4 };

/* Counters get a point that often at most. */
#define POINTS_NS 10000000u

/* Where the counter was further from the clock than that, it is said. */
#define OFF_MAX_NS 1e6

/* --- start --- */

static void set_environment(struct scopes *s, char *library)
{
    const char *before = getenv(SCOPES_ENV);
    autofree char *address = rings_address(&s->rings);
    autofree char *value = mem_printf("%s %s", address, library);
    s->env_before = before ? mem_strdup(before) : NULL;
    s->env_set = setenv(SCOPES_ENV, value, 1) == 0;
}

static int make_command_rings(struct scopes *s, char *library, struct err *err)
{
    struct rings_opts ro = {
        .n_rings = SCOPES_RINGS, .ring_bytes = SCOPES_RING_BYTES, .tasks = CHANNEL_SCOPES};
    if (rings_open(&s->rings, &ro, err) != 0)
        return -1;
    s->rings.channel->params[SCOPES_PARAM_TICKS] = s->ticks.counter;
    set_environment(s, library);
    if (!s->opts.functions)
        return 0;
    double least = (double)s->opts.least_ns / s->ticks.ns_per_tick;
    s->rings.channel->params[SCOPES_PARAM_LEAST] = (uint64_t)least;
    if (preload_check(SCOPES_AGENT_FILE, err) != 0)
        return -1;
    preload_begin(&s->preload, SCOPES_AGENT_FILE, PRELOAD_LAST, SCOPES_FUNCTIONS_ENV,
                  mem_strdup(s->opts.functions));
    return 0;
}

int scopes_open(const struct scopes_opts *o, struct scopes **ret, struct err *err)
{
    autofree char *library = preload_find(SCOPES_AGENT_FILE);
    bool none = false;
    *ret = NULL;
    if (!library)
        return 0;
    struct scopes *s = mem_new(struct scopes);
    *s = (struct scopes){
        .opts = *o, .stream = -1, .events = -1, .rings.memory.fd = -1, .self_fd = -1};
    ticks_init(&s->ticks);
    int rc = o->pid ? scopes_find_own(s, library, &none, err) : make_command_rings(s, library, err);
    if (rc != 0 || none) {
        scopes_close(s);
        return rc;
    }
    *ret = s;
    return 0;
}

static void restore_environment(struct scopes *s)
{
    preload_end(&s->preload);
    if (!s->env_set)
        return;
    if (s->env_before)
        setenv(SCOPES_ENV, s->env_before, 1);
    else
        unsetenv(SCOPES_ENV);
    s->env_set = false;
}

void scopes_attach(struct scopes *s)
{
    restore_environment(s);
    if (s->self_fd >= 0)
        send(s->self_fd, "", 1, MSG_NOSIGNAL);
}

/* --- rings --- */

static void ring_reset(struct scopes_ring *ring, const struct ring_reader *rr)
{
    vec_done(&ring->paths);
    *ring = (struct scopes_ring){.start_ns = rr->start_ns, .pid = rr->pid, .tid = rr->tid};
}

/* How far the counter was off while nobody used it is of no interest. */
static void first_seen(struct scopes *s)
{
    s->seen = true;
    ticks_look(&s->ticks);
    s->ticks.off_ns = 0;
}

/* A thread that runs another program by now has a new ring: nobody writes to the one before. */
static void scopes_close_older(struct scopes *s, const struct ring_reader *rr)
{
    for (size_t i = 0; i < s->rings.readers.n; i++) {
        const struct ring_reader *other = &s->rings.readers.at[i];
        if (other->pid == rr->pid && other->tid == rr->tid && other != rr)
            atomic_store(other->start_ns < rr->start_ns ? &other->ring->state : &rr->ring->state,
                         RING_CLOSED);
    }
}

static struct scopes_ring *scopes_ring_of(struct scopes *s, const struct ring_reader *rr)
{
    while (s->by_ring.n <= rr->index)
        *vec_push(&s->by_ring) = NULL;
    struct scopes_ring *ring = s->by_ring.at[rr->index];
    if (!ring)
        ring = s->by_ring.at[rr->index] = mem_new(struct scopes_ring);
    if (ring->start_ns != rr->start_ns || ring->tid != rr->tid || ring->pid != rr->pid) {
        ring_reset(ring, rr);
        scopes_close_older(s, rr);
        s->facts.threads++;
        if (!s->seen)
            first_seen(s);
    }
    return ring;
}

static size_t take_ring(struct scopes *s, struct ring_reader *rr)
{
    struct scopes_ring *ring = scopes_ring_of(s, rr);
    const struct record *rec;
    size_t n = 0;
    if (ring_peek(rr))
        ring->thread = processes_thread_called(s->opts.processes, rr->pid, rr->tid, rr->comm);
    while ((rec = ring_peek(rr))) {
        scopes_take(s, ring, rec);
        ring_take(rr);
        if (++n % GIVE == 0)
            ring_give(rr);
    }
    return n;
}

static size_t take_rings(struct scopes *s)
{
    size_t n = 0;
    if (rings_look(&s->rings))
        for (size_t i = 0; i < s->rings.readers.n; i++)
            n += take_ring(s, &s->rings.readers.at[i]);
    rings_release(&s->rings);
    return n;
}

bool scopes_poll(struct scopes *s)
{
    if (s->opts.pid && !s->rings.channel)
        scopes_await_own(s);
    if (s->stopped || !s->rings.channel)
        return false;
    if (s->seen)
        ticks_look(&s->ticks);
    bool busy = take_rings(s) >= BUSY;
    uint64_t now_ns = clock_kernel_ns();
    if (now_ns - s->last_points_ns >= POINTS_NS) {
        s->last_points_ns = now_ns;
        scopes_write_points(s, now_ns);
    }
    return busy;
}

int scopes_poll_ms(const struct scopes *s)
{
    return s->seen ? POLL_MS : POLL_IDLE_MS;
}

size_t scopes_waiting(const struct scopes *s)
{
    return s->stream < 0 ? 0 : profile_stream(s->opts.profile, s->stream)->rows.n;
}

bool scopes_are_used(const struct scopes *s)
{
    return s->seen;
}

void scopes_move(struct scopes *s, struct profile *p)
{
    assert(!s->seen);
    s->opts.profile = p;
}

/* --- the end --- */

void scopes_describe(struct scopes *s)
{
    const int streams[] = {s->stream, s->events};
    for (int i = 0; i < 2; i++) {
        if (streams[i] < 0)
            continue;
        struct stream *stream = profile_stream(s->opts.profile, streams[i]);
        stream->lost_known = stream->unfinished_known = true;
        stream->lost = i == 0 ? rings_lost(&s->rings) - s->lost_before : 0;
    }
}

void scopes_start_over(struct scopes *s)
{
    struct profile *p = s->opts.profile;
    const int streams[] = {s->stream, s->events};
    for (int i = 0; i < 2; i++) {
        if (streams[i] < 0)
            continue;
        struct stream *stream = profile_stream(p, streams[i]);
        stream->rows.forgotten = stream->rows.n = 0;
        for (int k = 0; k < stream->n_types; k++)
            stream->types[k].total = 0;
    }
    for (size_t i = 0; i < s->counters.n; i++)
        if (s->counters.at[i].index >= 0)
            p->counters.at[s->counters.at[i].index].points.n = 0;
    s->lost_before = rings_lost(&s->rings);
}

/* "3 scopes never ended, 1 end without a beginning"; nothing where all went well. */
static void note_trouble(struct scopes *s)
{
    const struct scopes_facts *f = scopes_facts(s);
    const struct {
        uint64_t n;
        const char *one, *many;
    } list[] = {
        {f->lost, "record lost for want of room", "records lost for want of room"},
        {f->ringless, "thread found no ring", "threads found no ring"},
        {f->abandoned, "scope never ended", "scopes never ended"},
        {f->unbalanced, "end without a beginning", "ends without a beginning"},
        {f->deep, "scope nested too deeply", "scopes nested too deeply"},
        {f->nameless, "scope under '" SCOPES_MORE "': too many names in a thread",
         "scopes under '" SCOPES_MORE "': too many names in a thread"},
        {f->reentered, "scope of a signal handler left out", "scopes of signal handlers left out"},
        {f->forgotten, "open span forgotten", "open spans forgotten"},
        {f->uncounted, "count left out: too many counters", "counts left out: too many counters"},
        {f->bad, "record made no sense", "records made no sense"},
    };
    autobuf struct buf b = {0};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].n)
            buf_printf(&b, "%s%llu %s", b.n ? ", " : "", (unsigned long long)list[i].n,
                       list[i].n == 1 ? list[i].one : list[i].many);
    if (s->seen && s->ticks.off_ns > OFF_MAX_NS)
        buf_printf(&b, "%sthe processor's counter and the clock differed by up to %.1f ms",
                   b.n ? ", " : "", s->ticks.off_ns / 1e6);
    if (b.n)
        meta_set_str(&s->opts.profile->meta, META_SCOPES_NOTE, buf_cstr(&b));
}

void scopes_stop(struct scopes *s)
{
    if (s->stopped)
        return;
    scopes_leave_own(s);
    s->stopped = true;
    if (!s->rings.channel)
        return;
    if (s->seen)
        ticks_look(&s->ticks);
    for (int i = 0; i < STOP_POLLS && take_rings(s); i++)
        ; /* what still runs may write for ever */
    s->rings.channel->stop = 1;
    scopes_write_points(s, clock_kernel_ns());
    scopes_describe(s);
    note_trouble(s);
    if (s->seen && s->ticks.counter)
        meta_set_u64(&s->opts.profile->meta, META_SCOPES_OFF_NS, (uint64_t)s->ticks.off_ns);
    if (s->opts.pid)
        rings_empty(&s->rings);
}

int scopes_self_fd(const struct scopes *s)
{
    return s->self_fd;
}

bool scopes_self_ends(const struct scopes *s)
{
    char byte;
    return recv(s->self_fd, &byte, 1, MSG_DONTWAIT) == 1;
}

bool scopes_number(const struct scopes *s, size_t i, struct scopes_number *ret)
{
    if (i >= s->counters.n)
        return false;
    const struct scopes_counter *c = &s->counters.at[i];
    *ret = (struct scopes_number){.name = c->name,
                                  .pid = s->opts.profile->processes.at[c->process.i].pid,
                                  .is_gauge = c->is_gauge,
                                  .value = c->value};
    return true;
}

bool scopes_thread_now(const struct scopes *s, size_t i, struct scopes_thread_now *ret)
{
    if (!s->rings.channel || i >= s->rings.readers.n)
        return false;
    const struct ring_reader *rr = &s->rings.readers.at[i];
    *ret = (struct scopes_thread_now){
        .pid = rr->pid,
        .tid = rr->tid,
        .name = rr->comm,
        .start_ns = rr->start_ns,
        .open = atomic_load_explicit(&rr->ring->open, memory_order_relaxed)};
    return true;
}

uint64_t scopes_lost(const struct scopes *s)
{
    return rings_lost(&s->rings);
}

const struct scopes_facts *scopes_facts(struct scopes *s)
{
    if (!s->rings.channel)
        return &s->facts;
    const _Atomic uint64_t *params = s->rings.channel->params;
    s->facts.lost = rings_lost(&s->rings) - s->lost_before;
    s->facts.ringless = s->rings.channel->no_ring;
    s->facts.abandoned = params[SCOPES_PARAM_ABANDONED] + rings_cut_off(&s->rings);
    s->facts.unbalanced = params[SCOPES_PARAM_UNBALANCED] + scopes_half_open(s, false);
    if (!s->opts.pid || s->opts.self) /* else the program goes on, and may end them yet */
        s->facts.abandoned += scopes_half_open(s, true);
    s->facts.deep = params[SCOPES_PARAM_DEEP];
    s->facts.nameless = params[SCOPES_PARAM_NAMELESS];
    s->facts.reentered = params[SCOPES_PARAM_REENTERED];
    return &s->facts;
}

void scopes_close(struct scopes *s)
{
    if (!s)
        return;
    restore_environment(s);
    scopes_leave_own(s);
    rings_close(&s->rings);
    /* self_fd is closed when we end: then all is written, and said. */
    for (size_t i = 0; i < s->by_ring.n; i++) {
        if (s->by_ring.at[i])
            vec_done(&s->by_ring.at[i]->paths);
        free(s->by_ring.at[i]);
    }
    vec_done(&s->by_ring);
    vec_done(&s->counters);
    vec_done(&s->kept);
    idmap_done(&s->places);
    free(s->halves);
    free(s->env_before);
    free(s);
}
