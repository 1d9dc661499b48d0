#include "record/locks_inner.h"

#include "record/timer_program.h"

#include <stdlib.h>

/* A ring holds a quarter of a million waits. */
enum { RINGS = 4096, RING_BYTES = 1 << 20 };

/* Records of a ring between two times that its room is handed back. */
enum { GIVE = 4096 };

/* Where a look brings this many, the next comes at once. */
enum { BUSY = 8192, STOP_POLLS = 256 };

/* --- start --- */

static int locks_open_memory(struct locks *l, struct err *err)
{
    struct rings_opts o = {.n_rings = RINGS, .ring_bytes = RING_BYTES, .tasks = CHANNEL_LOCKS};
    if (rings_open(&l->rings, &o, err) != 0 ||
        stackwalk_open(&l->stacks, l->opts.profile, l->rings.channel, err) != 0)
        return -1;
    l->rings.channel->params[STACKWALK_PARAM_TICKS] = l->ticks.counter;
    return 0;
}

int locks_open(const struct locks_opts *o, struct locks **ret, struct err *err)
{
    static const char cannot[] = "its locks cannot be recorded";
    if (preload_check(LOCKS_AGENT_FILE, err) != 0 ||
        timer_program_check(o->command[0], cannot, err) != 0)
        return -1;
    struct locks *l = mem_new(struct locks);
    *l = (struct locks){.opts = *o, .stacks = STACKWALK_NONE, .rings.memory.fd = -1};
    ticks_init(&l->ticks);
    if (locks_open_memory(l, err) != 0) {
        locks_close(l);
        return -1;
    }
    locks_add_streams(l);
    preload_begin(&l->preload, LOCKS_AGENT_FILE, PRELOAD_FIRST, LOCKS_ENV,
                  rings_address(&l->rings));
    *ret = l;
    return 0;
}

void locks_attach(struct locks *l)
{
    preload_end(&l->preload);
}

/* --- rings --- */

static size_t locks_take_ring(struct locks *l, struct ring_reader *rr);

/* After an exec: what the program before wrote belongs to what that had mapped. */
static void locks_take_older(struct locks *l, const struct ring_reader *new)
{
    if (l->draining)
        return;
    l->draining = true;
    for (size_t i = 0; i < l->rings.readers.n; i++) {
        struct ring_reader *rr = &l->rings.readers.at[i];
        if (rr != new && rr->pid == new->pid && rr->start_ns < new->start_ns)
            locks_take_ring(l, rr);
    }
    l->draining = false;
    rings_close_older(&l->rings, new->pid, new->start_ns);
}

static size_t locks_take_ring(struct locks *l, struct ring_reader *rr)
{
    const struct record *rec;
    size_t n = 0;
    while ((rec = ring_peek(rr))) {
        if (rec->kind == STACKWALK_START)
            locks_take_older(l, rr);
        locks_take(l, rr, rec);
        ring_take(rr);
        if (++n % GIVE == 0)
            ring_give(rr);
    }
    return n;
}

/* A thread that ends by itself closes its ring: it waits for nothing then. */
static void locks_take_open_waits(struct locks *l, bool all)
{
    for (size_t i = 0; i < l->rings.readers.n; i++) {
        const struct ring_reader *rr = &l->rings.readers.at[i];
        if ((all || rr->closed) && atomic_load(&rr->ring->state) == RING_LIVE)
            locks_take_open(l, rr);
    }
}

static size_t locks_take_rings(struct locks *l)
{
    size_t n = 0;
    if (rings_look(&l->rings))
        for (size_t i = 0; i < l->rings.readers.n; i++)
            n += locks_take_ring(l, &l->rings.readers.at[i]);
    locks_take_open_waits(l, false);
    rings_release(&l->rings);
    return n;
}

bool locks_poll(struct locks *l)
{
    if (l->stopped)
        return false;
    ticks_look(&l->ticks);
    bool busy = locks_take_rings(l) >= BUSY;
    locks_write_waits(l, false);
    return busy;
}

/* --- the end --- */

static void locks_describe(struct locks *l)
{
    struct profile *p = l->opts.profile;
    const int streams[] = {l->waits, l->holders, l->orders, l->holds, l->created};
    stackwalk_end(&l->stacks);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        struct stream *s = profile_stream(p, streams[i]);
        s->lost_known = s->unfinished_known = true;
        s->lost = i == 0 ? rings_lost(&l->rings) : 0;
    }
    for (int i = STACKWALK_END_WHOLE + 1; i < STACKWALK_ENDS; i++)
        if (l->unfinished[i])
            profile_set_unfinished(p, l->waits, stackwalk_end_name((enum stackwalk_end)i),
                                   l->unfinished[i]);
}

void locks_stop(struct locks *l)
{
    if (l->stopped)
        return;
    for (int i = 0; i < STOP_POLLS && locks_take_rings(l); i++)
        ; /* what still runs may write for ever */
    locks_take_open_waits(l, true);
    l->rings.channel->stop = 1;
    rings_wake(&l->rings);
    locks_write_waits(l, true);
    locks_describe(l);
    l->stopped = true;
}

const struct locks_facts *locks_facts(struct locks *l)
{
    l->facts.lost = rings_lost(&l->rings);
    l->facts.ringless = l->rings.channel->no_ring;
    return &l->facts;
}

void locks_close(struct locks *l)
{
    if (!l)
        return;
    preload_end(&l->preload);
    rings_close(&l->rings);
    stackwalk_close(&l->stacks);
    for (size_t i = 0; i < l->locks.n; i++)
        vec_done(&l->locks.at[i].releases);
    vec_done(&l->locks);
    vec_done(&l->pending);
    idmap_done(&l->by_address);
    vec_done(&l->made);
    idmap_done(&l->made_by_address);
    free(l);
}
