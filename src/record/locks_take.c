/*
 * locks_take.c - what a record of a lock agent does. Any number in it may be nonsense.
 */
#include "model/streamkind.h"
#include "record/locks_inner.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_names[LOCKS_KINDS] = {
    [LOCKS_MUTEX] = "mutex",         [LOCKS_READ] = "rwlock, read",
    [LOCKS_WRITE] = "rwlock, write", [LOCKS_CONDITION] = "condition",
    [LOCKS_SEMAPHORE] = "semaphore", [LOCKS_BARRIER] = "barrier",
};

void locks_add_streams(struct locks *l)
{
    struct profile *p = l->opts.profile;
    const struct {
        int *stream;
        enum stream_kind kind;
        const char *count, *time;
    } list[] = {
        {&l->waits, STREAM_LOCKS, "lock-waits", "lock-wait"},
        {&l->holders, STREAM_LOCK_HOLDERS, "lock-blocks", "lock-blocked"},
        {&l->orders, STREAM_LOCK_ORDER, "lock-orders", NULL},
        {&l->holds, STREAM_LOCK_HOLDS, "lock-holds", "lock-held"},
        {&l->created, STREAM_LOCK_CREATED, "locks-created", NULL},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        *list[i].stream = stream_kind_add(p, list[i].kind, BY_TRACE);
        profile_add_value(p, *list[i].stream, list[i].count, UNIT_COUNT);
        if (list[i].time)
            profile_add_value(p, *list[i].stream, list[i].time, UNIT_TIME);
    }
}

/* --- locks --- */

/* What the symbols of the file call it that is mapped next below; data comes behind code. */
static char *symbol_of(struct locks *l, int pid, uint64_t address)
{
    const struct profile *p = l->opts.profile;
    struct unwind_code code, below = {0};
    for (size_t i = 0; processes_code(l->stacks.spaces, pid, i, &code); i++)
        if (code.start <= address && code.start >= below.start)
            below = code;
    if (!l->opts.name || !below.table)
        return NULL;
    struct frame_id frame = processes_frame(l->stacks.spaces, pid, below.start);
    struct mapping m = p->mappings.at[profile_frame(p, frame)->mapping.i];
    autofree char *path = mem_printf("%.*s", TEXT_ARG(profile_str(p, m.path)));
    struct locks_place place = {
        .path = processes_locate(l->stacks.spaces, path, profile_str(p, m.build_id)),
        .build_id = profile_str(p, m.build_id),
        .address = address - below.bias};
    return l->opts.name(l->opts.name_arg, &place);
}

static struct str_id name_of(struct locks *l, int pid, uint64_t address)
{
    if (l->locks.n >= LOCKS_MAX)
        return profile_add_str(l->opts.profile, text_of(LOCKS_MORE));
    autofree char *name = symbol_of(l, pid, address);
    if (!name)
        name = mem_printf("0x%llx", (unsigned long long)address);
    return profile_add_str(l->opts.profile, text_of(name));
}

/* One for all that find no place of their own. */
static uint32_t locks_find_lock(struct locks *l, int pid, uint64_t address)
{
    if (l->locks.n > LOCKS_MAX)
        pid = 0, address = 0;
    uint32_t hash = hash_pair((uint32_t)pid, hash_u64(address));
    for_each_match (&l->by_address, hash, i)
        if (l->locks.at[i].address == address && l->locks.at[i].pid == pid)
            return i;
    if (l->locks.n == LOCKS_MAX && address)
        return locks_find_lock(l, 0, 0);
    struct locks_lock new = {.address = address, .pid = pid, .name = name_of(l, pid, address)};
    *vec_push(&l->locks) = new;
    idmap_add(&l->by_address, hash, (uint32_t)l->locks.n - 1);
    return (uint32_t)l->locks.n - 1;
}

static struct attrs_id add_text(struct profile *p, struct attrs_id to, const char *key,
                                struct str_id text)
{
    struct attr a = {.key = profile_add_str(p, text_of(key)), .text = text};
    return attrs_add(&p->attrs, to, &a);
}

static struct attrs_id attrs_of_lock(struct locks *l, uint32_t lock, unsigned kind)
{
    struct profile *p = l->opts.profile;
    struct locks_lock *k = &l->locks.at[lock];
    if (!k->attrs[kind].i) {
        k->attrs[kind] = add_text(p, (struct attrs_id){0}, "lock", k->name);
        k->attrs[kind] =
            add_text(p, k->attrs[kind], "kind", profile_add_str(p, text_of(kind_names[kind])));
    }
    return k->attrs[kind];
}

/* --- records --- */

static struct stack_id locks_stack(struct locks *l, const struct ring_reader *rr, uint32_t node)
{
    uint8_t end = STACKWALK_END_WHOLE;
    struct stack_id stack = stackwalk_get(&l->stacks, rr->pid, node, &end);
    if (end && end < STACKWALK_ENDS)
        l->unfinished[end]++;
    return stack;
}

static struct thread_id locks_thread(struct locks *l, const struct ring_reader *rr)
{
    return processes_thread_called(l->opts.processes, rr->pid, rr->tid, rr->comm);
}

/* The kind of a lock's word; LOCKS_KINDS where it makes no sense. */
static unsigned kind_of(struct locks *l, uint64_t word)
{
    unsigned kind = (unsigned)(word >> LOCKS_KIND_SHIFT);
    if (kind < LOCKS_KINDS && word & LOCKS_ADDRESS_MASK)
        return kind;
    l->facts.bad++;
    return LOCKS_KINDS;
}

static void locks_take_wait(struct locks *l, const struct ring_reader *rr, const struct record *rec)
{
    unsigned kind = kind_of(l, rec->payload[2]);
    if (kind == LOCKS_KINDS)
        return;
    uint32_t lock = locks_find_lock(l, rr->pid, rec->payload[2] & LOCKS_ADDRESS_MASK);
    if (rec->payload[1] > (uint64_t)INT64_MAX / 4) {
        l->facts.bad++;
        return;
    }
    struct locks_pending new = {.stack = locks_stack(l, rr, rec->own),
                                .thread = locks_thread(l, rr),
                                .start = rec->payload[0],
                                .length = rec->payload[1],
                                .lock = lock,
                                .holder = (uint32_t)rec->payload[3],
                                .pid = rr->pid,
                                .kind = (uint8_t)kind};
    *vec_push(&l->pending) = new;
}

void locks_take_open(struct locks *l, const struct ring_reader *rr)
{
    struct ring *ring = rr->ring;
    uint64_t start = atomic_exchange(&ring->waiting[LOCKS_WAITING_START], 0);
    uint64_t word = atomic_load(&ring->waiting[LOCKS_WAITING_LOCK]);
    uint64_t where = atomic_load(&ring->waiting[LOCKS_WAITING_WHERE]);
    unsigned kind = start ? kind_of(l, word) : LOCKS_KINDS;
    if (kind == LOCKS_KINDS)
        return;
    struct locks_pending new = {.stack = locks_stack(l, rr, (uint32_t)where),
                                .thread = locks_thread(l, rr),
                                .start = start,
                                .lock = locks_find_lock(l, rr->pid, word & LOCKS_ADDRESS_MASK),
                                .holder = (uint32_t)(where >> 32),
                                .pid = rr->pid,
                                .kind = (uint8_t)kind,
                                .open = true};
    uint64_t now = ticks_now(&l->ticks);
    if (now < start) {
        l->facts.bad++;
        return;
    }
    new.length = now - start;
    *vec_push(&l->pending) = new;
}

/* How long the thread that lets go had the lock, where it says so. */
static void write_hold(struct locks *l, const struct locks_release *r, uint64_t word, uint64_t held)
{
    struct err ignored;
    uint32_t lock = locks_find_lock(l, r->pid, word & LOCKS_ADDRESS_MASK);
    uint64_t held_ns = ticks_length_ns(&l->ticks, held);
    int64_t values[2] = {1, (int64_t)held_ns};
    struct row row = {.stack = r->stack,
                      .thread = r->thread,
                      .attrs = attrs_of_lock(l, lock, (unsigned)(word >> LOCKS_KIND_SHIFT)),
                      .has_time = true,
                      .time_ns = ticks_ns(&l->ticks, r->ticks - held),
                      .duration_ns = held_ns,
                      .values = values};
    if (profile_add_row(l->opts.profile, l->holds, &row, &ignored) != 0)
        l->facts.bad++;
}

/* Threads write into rings of their own: what comes now may be older than the last. */
static void locks_take_release(struct locks *l, const struct ring_reader *rr,
                               const struct record *rec)
{
    uint64_t held = rec->payload[2];
    if (kind_of(l, rec->payload[1]) == LOCKS_KINDS)
        return;
    if (held > rec->payload[0] || held > (uint64_t)INT64_MAX / 4) {
        l->facts.bad++;
        return;
    }
    struct locks_release new = {.ticks = rec->payload[0],
                                .stack = locks_stack(l, rr, rec->own),
                                .thread = locks_thread(l, rr),
                                .pid = rr->pid};
    if (held)
        write_hold(l, &new, rec->payload[1], held);
    uint32_t lock = locks_find_lock(l, rr->pid, rec->payload[1] & LOCKS_ADDRESS_MASK);
    struct locks_lock *k = &l->locks.at[lock];
    if (k->releases.n == LOCKS_RELEASES_MAX) {
        size_t half = LOCKS_RELEASES_MAX / 2;
        memmove(k->releases.at, k->releases.at + half, half * sizeof *k->releases.at);
        k->releases.n = half;
    }
    vec_push(&k->releases);
    size_t i = k->releases.n - 1;
    for (; i && k->releases.at[i - 1].ticks > new.ticks; i--)
        k->releases.at[i] = k->releases.at[i - 1];
    k->releases.at[i] = new;
}

static void locks_take_order(struct locks *l, const struct ring_reader *rr,
                             const struct record *rec)
{
    static const int64_t one[] = {1};
    struct profile *p = l->opts.profile;
    struct err ignored;
    unsigned held_kind = kind_of(l, rec->payload[1]), kind = kind_of(l, rec->payload[2]);
    if (held_kind == LOCKS_KINDS || kind == LOCKS_KINDS)
        return;
    uint32_t held = locks_find_lock(l, rr->pid, rec->payload[1] & LOCKS_ADDRESS_MASK);
    uint32_t lock = locks_find_lock(l, rr->pid, rec->payload[2] & LOCKS_ADDRESS_MASK);
    struct row row = {.stack = locks_stack(l, rr, rec->own),
                      .thread = locks_thread(l, rr),
                      .attrs =
                          add_text(p, attrs_of_lock(l, lock, kind), "held", l->locks.at[held].name),
                      .has_time = true,
                      .time_ns = ticks_ns(&l->ticks, rec->payload[0]),
                      .values = one};
    if (profile_add_row(p, l->orders, &row, &ignored) != 0)
        l->facts.bad++;
}

/* Its name is found when somebody waits for it: most are never waited for. */
static void locks_take_create(struct locks *l, const struct ring_reader *rr,
                              const struct record *rec)
{
    if (kind_of(l, rec->payload[1]) == LOCKS_KINDS)
        return;
    uint64_t address = rec->payload[1] & LOCKS_ADDRESS_MASK;
    uint32_t hash = hash_pair((uint32_t)rr->pid, hash_u64(address));
    struct locks_made made = {address, rr->pid, locks_stack(l, rr, rec->own), locks_thread(l, rr)};
    for_each_match (&l->made_by_address, hash, i)
        if (l->made.at[i].address == address && l->made.at[i].pid == rr->pid) {
            l->made.at[i] = made;
            return;
        }
    if (l->made.n >= LOCKS_MADE_MAX)
        return;
    idmap_add(&l->made_by_address, hash, (uint32_t)l->made.n);
    *vec_push(&l->made) = made;
}

static void locks_take_name(struct locks *l, const struct ring_reader *rr, const struct record *rec)
{
    size_t room = (size_t)(rec->words - 4) * 8, n = rec->payload[2];
    uint64_t address = rec->payload[1] & LOCKS_ADDRESS_MASK;
    if (!address || !n || n > room || n > LOCKS_NAME_MAX) {
        l->facts.bad++;
        return;
    }
    struct text name = {(const char *)&rec->payload[3], n};
    uint32_t lock = locks_find_lock(l, rr->pid, address);
    struct locks_lock *k = &l->locks.at[lock];
    if (!k->address)
        return;
    k->name = profile_add_str(l->opts.profile, name);
    memset(k->attrs, 0, sizeof k->attrs);
}

static void locks_take_start(struct locks *l, const struct ring_reader *rr,
                             const struct record *rec)
{
    l->facts.programs += rec->kind == STACKWALK_START;
    stackwalk_take_maps(&l->stacks, rr->pid, rec);
    rings_wake(&l->rings);
}

static void locks_take_fork(struct locks *l, const struct ring_reader *rr, const struct record *rec)
{
    stackwalk_take_fork(&l->stacks, rr->pid, rec);
}

static const struct {
    uint16_t words; /* at least */
    void (*take)(struct locks *l, const struct ring_reader *rr, const struct record *rec);
} takers[] = {
    [STACKWALK_START] = {STACKWALK_MAPS_WORDS, locks_take_start},
    [STACKWALK_MAPS] = {STACKWALK_MAPS_WORDS, locks_take_start},
    [STACKWALK_FORK] = {3, locks_take_fork},
    [LOCKS_WAIT] = {5, locks_take_wait},
    [LOCKS_RELEASE] = {4, locks_take_release},
    [LOCKS_ORDER] = {4, locks_take_order},
    [LOCKS_NAME] = {5, locks_take_name},
    [LOCKS_CREATE] = {3, locks_take_create},
};

void locks_take(struct locks *l, const struct ring_reader *rr, const struct record *rec)
{
    uint16_t kind = rec->kind;
    if (kind >= sizeof takers / sizeof *takers || !takers[kind].take ||
        rec->words < takers[kind].words)
        l->facts.bad++;
    else
        takers[kind].take(l, rr, rec);
}

/* --- rows --- */

/* The first that let go after the wait began: the lock was its own then. */
static const struct locks_release *release_find(const struct locks_lock *k,
                                                const struct locks_pending *w)
{
    size_t from = 0, to = k->releases.n;
    while (from < to) {
        size_t half = from + (to - from) / 2;
        if (k->releases.at[half].ticks < w->start)
            from = half + 1;
        else
            to = half;
    }
    bool inside = from < k->releases.n && k->releases.at[from].ticks - w->start <= w->length;
    return inside ? &k->releases.at[from] : NULL;
}

/* A thread that is known to the recorder; the id in a mutex may be that of another process. */
static struct thread_id thread_find(const struct locks *l, const struct locks_pending *w)
{
    const struct profile *p = l->opts.profile;
    for (uint32_t i = (uint32_t)p->threads.n; w->holder && i-- > 1;)
        if (p->threads.at[i].tid == (int32_t)w->holder)
            return (struct thread_id){i};
    /* A thread that never ran while it was looked at may still keep a lock for ever. */
    if (w->open && w->holder && processes_name(l->opts.processes, (int)w->holder).i)
        return processes_thread(l->opts.processes, w->pid, (int)w->holder);
    return (struct thread_id){0};
}

/* Where a lock was made, the first time that somebody waits for it. */
static void write_created(struct locks *l, uint32_t lock, unsigned kind)
{
    static const int64_t one[] = {1};
    const struct locks_lock *k = &l->locks.at[lock];
    struct err ignored;
    for_each_match (&l->made_by_address, hash_pair((uint32_t)k->pid, hash_u64(k->address)), i) {
        const struct locks_made *m = &l->made.at[i];
        if (m->address != k->address || m->pid != k->pid)
            continue;
        struct row row = {.stack = m->stack,
                          .thread = m->thread,
                          .attrs = attrs_of_lock(l, lock, kind),
                          .values = one};
        row.has_time = true;
        row.time_ns = l->opts.profile->clock.monotonic_ns;
        profile_add_row(l->opts.profile, l->created, &row, &ignored);
    }
}

/* 0 while it lives, and where that is not known. */
static uint64_t process_end_of(const struct locks *l, const struct locks_pending *w)
{
    const struct profile *p = l->opts.profile;
    return p->processes.at[p->threads.at[w->thread.i].process.i].end_ns;
}

/*
 * A wait that goes on until now ends with its process. Of that the recorder hears later than of
 * rings that nobody holds any more, so it is asked when the wait is written.
 */
static uint64_t wait_length_ns(struct locks *l, const struct locks_pending *w)
{
    uint64_t length_ns = ticks_length_ns(&l->ticks, w->length);
    uint64_t start_ns = ticks_ns(&l->ticks, w->start), end_ns = process_end_of(l, w);
    bool ended = w->open && end_ns > start_ns && end_ns - start_ns < length_ns;
    return ended ? end_ns - start_ns : length_ns;
}

static void write_wait(struct locks *l, const struct locks_pending *w)
{
    struct profile *p = l->opts.profile;
    struct locks_lock *k = &l->locks.at[w->lock];
    const struct locks_release *release = release_find(k, w);
    struct thread_id holder = release ? release->thread : thread_find(l, w);
    uint64_t length_ns = wait_length_ns(l, w);
    int64_t values[2] = {1, (int64_t)length_ns};
    struct attrs_id attrs = attrs_of_lock(l, w->lock, w->kind);
    struct row row = {.stack = w->stack,
                      .thread = w->thread,
                      .attrs = attrs,
                      .has_time = true,
                      .time_ns = ticks_ns(&l->ticks, w->start),
                      .duration_ns = length_ns,
                      .values = values};
    struct err ignored;
    if (holder.i)
        row.attrs = add_text(p, attrs, "holder", p->threads.at[holder.i].name);
    if (w->open)
        row.attrs = add_text(p, row.attrs, "ended", profile_add_str(p, text_of("no")));
    if (profile_add_row(p, l->waits, &row, &ignored) != 0) {
        l->facts.bad++;
        return;
    }
    l->facts.waits++;
    l->facts.wait_ns += length_ns;
    bool signal = w->kind >= LOCKS_CONDITION;
    l->facts.signal_waits += signal;
    l->facts.signal_ns += signal ? length_ns : 0;
    l->facts.open += w->open;
    if (!k->waited_for) {
        l->facts.locks++;
        l->facts.signals += signal;
        write_created(l, w->lock, w->kind);
    }
    k->waited_for = true;
    if (!release)
        return;
    row.stack = release->stack;
    row.thread = release->thread;
    row.attrs = attrs;
    profile_add_row(p, l->holders, &row, &ignored);
}

/*
 * The thread that let go may be held up before it says so: waking the next is when the kernel likes
 * to take its CPU away. Looked for ever less often, and not for ever.
 */
static bool wait_is_due(struct locks *l, struct locks_pending *w, uint64_t now)
{
    if (w->open && !process_end_of(l, w))
        return false;
    w->looks += w->looks < UINT16_MAX;
    uint64_t end = w->start + w->length;
    if (now > end && ticks_length_ns(&l->ticks, now - end) > LOCKS_PATIENCE_NS)
        return true;
    bool look = w->looks >= LOCKS_LOOKS && !(w->looks & (w->looks - 1));
    return look && release_find(&l->locks.at[w->lock], w);
}

void locks_write_waits(struct locks *l, bool all)
{
    size_t kept = 0, n = l->pending.n;
    uint64_t now = ticks_now(&l->ticks);
    for (size_t i = 0; i < n; i++) {
        struct locks_pending *w = &l->pending.at[i];
        if (all || n - i > LOCKS_PENDING_MAX || wait_is_due(l, w, now))
            write_wait(l, w);
        else
            l->pending.at[kept++] = *w;
    }
    l->pending.n = kept;
}
