/*
 * heap_take.c - what a record of a heap agent does. Any number in it may be nonsense.
 */
#include "record/heap_inner.h"

#include "model/meta.h"
#include "record/heap_own.h"

#include <math.h>

/* Whose figures are kept: a program could report any number. */
enum { BENCHMARKS_MAX = 4096 };

/* --- programs --- */

static struct heap_program *program_find(struct heap *h, int pid)
{
    for (size_t i = h->programs.n; i-- > 0;)
        if (h->programs.at[i].pid == pid)
            return h->programs.at[i].over ? NULL : &h->programs.at[i];
    return NULL;
}

void heap_program_end(struct heap *h, struct heap_program *p)
{
    struct heap_block b;
    size_t at = 0;
    while (heap_live_next(&p->live, &at, &b))
        heap_tally_leak(&h->tally, b.site, b.size_bytes);
    for (size_t i = 0; i < p->areas.at.n; i++)
        if (p->areas.at.at[i].told_bytes)
            heap_tally_leak(&h->tally, p->areas.at.at[i].site, p->areas.at.at[i].told_bytes);
    h->n_live -= p->live.n + p->areas.at.n;
    heap_live_done(&p->live);
    heap_areas_done(&p->areas);
    p->over = true;
    h->n_running--;
}

static struct heap_program *program_new(struct heap *h, int pid)
{
    struct heap_program *old = program_find(h, pid);
    uint64_t now_ns = ticks_ns(&h->clock, h->tally.now);
    h->n_running++;
    heap_end_gone(h, now_ns); /* what came after them never was beside what they held */
    if (old && !old->over) {
        heap_program_end(h, old);
        heap_tally_leaked(&h->tally, now_ns);
    }
    struct heap_program *p = vec_push(&h->programs);
    *p = (struct heap_program){.pid = pid, .rss_counter = -1};
    return p;
}

struct heap_program *heap_program_of(struct heap *h, struct heap_ring *ring)
{
    if (!ring->program) {
        struct heap_program *p = program_find(h, ring->pid);
        if (!p)
            p = program_new(h, ring->pid);
        ring->program = (uint32_t)(p - h->programs.at) + 1;
    }
    return &h->programs.at[ring->program - 1];
}

/* --- what is mapped --- */

static bool maps_have(struct text maps, const char *part)
{
    return maps.n && memmem(maps.at, maps.n, part, strlen(part));
}

/* The allocator is glibc's unless a library brings another one. */
static bool is_glibc_malloc(struct text maps)
{
    static const char *const others[] = {"/libjemalloc", "/libtcmalloc", "/libmimalloc",
                                         "/libhoard",    "/libsnmalloc", "/libscudo",
                                         "/librpmalloc", "/libasan",     "/libtsan"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (maps_have(maps, others[i]))
            return false;
    return maps_have(maps, "/libc.so.6") || maps_have(maps, "/libc-2.");
}

/* Few names say what is to be said. */
static void note_own_malloc(struct heap *h, int pid, struct text maps)
{
    enum { NAMES_BYTES = 120 };
    autofree char *name = NULL;
    if (!heap_own_malloc(pid, maps, &name) || h->own_malloc.n > NAMES_BYTES ||
        strstr(buf_cstr(&h->own_malloc), name))
        return;
    buf_printf(&h->own_malloc, "%s%s", h->own_malloc.n ? ", " : "", name);
}

static void take_maps(struct heap *h, struct heap_ring *ring, const struct record *rec)
{
    if (rec->words < STACKWALK_MAPS_WORDS)
        return;
    h->facts.other_malloc |= !is_glibc_malloc(stackwalk_maps_text(rec));
    if (rec->kind == STACKWALK_START) {
        h->facts.programs++;
        heap_unseen_start(&h->unseen, ring->pid, h->threads.at[ring->thread].comm);
        note_own_malloc(h, ring->pid, stackwalk_maps_text(rec));
        program_new(h, ring->pid);
        ring->program = 0;
        rings_close_older(&h->rings, ring->pid, ring->start_ns);
    }
    stackwalk_take_maps(&h->stacks, ring->pid, rec);
    rings_wake(&h->rings);
}

static void take_fork(struct heap *h, struct heap_ring *ring, const struct record *rec)
{
    program_new(h, ring->pid)->forked = true;
    ring->program = 0;
    stackwalk_take_fork(&h->stacks, ring->pid, rec);
}

/* --- places --- */

static bool same_site(const struct heap_site_key *a, const struct heap_site_key *b)
{
    return a->node == b->node && a->thread == b->thread && a->scopes.i == b->scopes.i;
}

/* KEY has a thread, and a node or a stack; SITE is what it is where it is new. */
static uint32_t site_get(struct heap *h, const struct heap_site_key *key,
                         const struct heap_site *site)
{
    uint32_t hash = hash_pair(hash_pair(key->node, key->thread), key->scopes.i);
    for_each_match (&h->sites, hash, i)
        if (same_site(&h->site_keys.at[i], key))
            return i;
    uint32_t id = heap_tally_new_site(&h->tally, site);
    *vec_push(&h->site_keys) = *key;
    idmap_add(&h->sites, hash, id);
    return id;
}

uint32_t heap_site_of_stack(struct heap *h, const struct heap_site *site)
{
    struct heap_site_key key = {.node = site->stack.i, .thread = site->thread};
    return site_get(h, &key, site);
}

static uint32_t find_site(struct heap *h, struct heap_ring *ring, const struct heap_site_key *key)
{
    struct heap_site site = {.thread = key->thread, .scopes = key->scopes};
    site.stack = stackwalk_get(&h->stacks, ring->pid, key->node, &site.end);
    return site_get(h, key, &site);
}

uint32_t heap_site_of(struct heap *h, struct heap_ring *ring, uint32_t node)
{
    struct heap_site_key key = {node, ring->thread, ring->scopes};
    uint32_t slot = node ^ key.thread << 6 ^ key.scopes.i << 3;
    struct heap_late_site *late = &h->late_sites[slot % HEAP_LATE_SITES];
    if (!late->site_plus_1 || !same_site(&late->key, &key))
        *late = (struct heap_late_site){key, find_site(h, ring, &key) + 1};
    return late->site_plus_1 - 1;
}

/* The thread has reported the path's name before it reported the path. */
static void take_scope(struct heap *h, struct heap_ring *ring, const struct record *rec)
{
    struct scopes_place place = {ring->pid, ring->tid, rec->own};
    h->facts.scoped = true;
    ring->scopes = rec->own && h->opts.scopes_of ? h->opts.scopes_of(h->opts.arg, &place)
                                                 : (struct attrs_id){0};
    for (int i = 0; i < HEAP_NEAR_NODES; i++)
        ring->near[i].site_plus_1 = 0;
}

/* --- blocks --- */

static void tell_freed(struct heap *h, const struct heap_ring *ring, const struct heap_block *b,
                       bool temporary)
{
    uint64_t ticks = ring->ticks > b->ticks ? ring->ticks - b->ticks : 0;
    struct heap_free f = {.site = b->site,
                          .size_bytes = b->size_bytes,
                          .lifetime_ns = ticks_length_ns(&h->clock, ticks),
                          .temporary = temporary};
    heap_tally_free(&h->tally, &f);
}

void heap_take_block(struct heap *h, struct heap_ring *ring, const struct heap_block *block)
{
    struct heap_block old, new = *block;
    struct heap_program *p = heap_program_of(h, ring);
    new.size_bytes &= HEAP_POINTER_MASK;
    bool grown = ring->realloc_pending && ring->pending.size_bytes < new.size_bytes;
    ring->realloc_pending = false;
    if (!(new.address &HEAP_POINTER_MASK))
        return;
    if (h->n_live >= h->opts.blocks_max) {
        h->facts.no_room++;
        return;
    }
    if (heap_live_add(&p->live, &new, &old)) {
        h->n_live++;
    } else {
        h->facts.doubled++;
        tell_freed(h, ring, &old, false);
    }
    heap_tally_alloc(&h->tally, new.site, new.size_bytes);
    if (ring->locked)
        heap_tally_locked(&h->tally, new.site, new.size_bytes);
    if (grown)
        heap_tally_grown(&h->tally, new.site, new.size_bytes);
}

static void take_alloc(struct heap *h, struct heap_ring *ring, uint32_t node, uint64_t address,
                       uint64_t size_bytes)
{
    struct heap_block new = {.address = address,
                             .size_bytes = size_bytes,
                             .ticks = ring->ticks,
                             .site = heap_site_of(h, ring, node)};
    ring->pointer = address;
    ring->near[node % HEAP_NEAR_NODES] = (struct heap_near){node, new.site + 1};
    heap_take_block(h, ring, &new);
}

/* The block of a record of 8 bytes is N steps from that of the record before. */
static uint64_t take_step(struct heap_ring *ring, int64_t n)
{
    ring->pointer += (uint64_t)(n * (1 << HEAP_STEP_SHIFT));
    return ring->pointer;
}

static void take_again(struct heap *h, struct heap_ring *ring, const struct record *rec)
{
    struct heap_near *near = &ring->near[(rec->kind >> HEAP_KIND_NODE_SHIFT) % HEAP_NEAR_NODES];
    if (!near->site_plus_1)
        near->site_plus_1 = heap_site_of(h, ring, near->node) + 1;
    struct heap_block new = {.address = take_step(ring, (int32_t)rec->own >> HEAP_AGAIN_SIZE_BITS),
                             .size_bytes = rec->own & ((1u << HEAP_AGAIN_SIZE_BITS) - 1),
                             .ticks = ring->ticks,
                             .site = near->site_plus_1 - 1};
    heap_take_block(h, ring, &new);
}

static void take_small(struct heap *h, struct heap_ring *ring, uint32_t node, uint64_t word)
{
    take_alloc(h, ring, node, word >> HEAP_SIZE_BITS << 3, word & ((1u << HEAP_SIZE_BITS) - 1));
}

void heap_take_free(struct heap *h, struct heap_ring *ring, uint64_t word)
{
    struct heap_block b;
    uint64_t address = ring->pointer = word & HEAP_POINTER_MASK;
    struct heap_program *p = heap_program_of(h, ring);
    if (!heap_live_take(&p->live, address, &b)) {
        *(p->forked ? &h->facts.inherited : &h->facts.unknown) += 1;
        ring->realloc_pending = false;
        return;
    }
    h->n_live--;
    ring->realloc_pending = word >> HEAP_FREE_SHIFT & HEAP_FREE_REALLOC;
    if (ring->realloc_pending)
        ring->pending = b;
    bool temporary = word >> HEAP_FREE_SHIFT & HEAP_FREE_TEMPORARY;
    tell_freed(h, ring, &b, temporary);
}

static void take_free_near(struct heap *h, struct heap_ring *ring, uint32_t own)
{
    uint64_t address = take_step(ring, (int32_t)own >> HEAP_FREE_FLAG_BITS) & HEAP_POINTER_MASK;
    uint64_t flags = own & ((1u << HEAP_FREE_FLAG_BITS) - 1);
    heap_take_free(h, ring, address | flags << HEAP_FREE_SHIFT);
}

/* A realloc failed: as if the block had not been freed. */
static void take_kept(struct heap *h, struct heap_ring *ring)
{
    struct heap_block old;
    if (!ring->realloc_pending)
        return;
    ring->realloc_pending = false;
    h->n_live += heap_live_add(&heap_program_of(h, ring)->live, &ring->pending, &old);
    heap_tally_unfree(&h->tally, ring->pending.site, ring->pending.size_bytes);
}

/* --- benchmarks --- */

static void set_per_op(struct heap *h, const char *what, struct text name, uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value) || value < 0)
        return;
    autofree char *key = mem_printf("%s %.*s", what, TEXT_ARG(name));
    autofree char *number = mem_printf("%.9g", value);
    meta_set_str(&h->opts.profile->meta, key, number);
}

static void take_per_op(struct heap *h, const struct record *rec)
{
    struct text name = {(const char *)&rec->payload[3], rec->own};
    if (!name.n || name.n > HEAP_NAME_BYTES || name.n > (rec->words - 4u) * 8 ||
        h->n_benchmarks >= BENCHMARKS_MAX)
        return;
    for (size_t i = 0; i < name.n; i++)
        if (name.at[i] < ' ' || name.at[i] > '~')
            return;
    h->n_benchmarks++;
    set_per_op(h, META_ALLOCS_PER_OP, name, rec->payload[1]);
    set_per_op(h, META_BYTES_PER_OP, name, rec->payload[2]);
}

/* --- records --- */

/* Words of each kind at least. */
static const uint8_t record_words[] = {
    [STACKWALK_START] = STACKWALK_MAPS_WORDS,
    [STACKWALK_MAPS] = STACKWALK_MAPS_WORDS,
    [STACKWALK_FORK] = 3,
    [HEAP_ALLOC] = 3,
    [HEAP_ALLOC_LARGE] = 4,
    [HEAP_FREE] = 2,
    [HEAP_FREE_LATE] = 3,
    [HEAP_KEPT] = 2,
    [HEAP_ALLOC_SAME] = 2,
    [HEAP_MAP] = 4,
    [HEAP_UNMAP] = 4,
    [HEAP_REMAP] = 4,
    [HEAP_PER_OP] = 4,
    [HEAP_SCOPE] = 1,
    [HEAP_AGAIN] = 1,
    [HEAP_FREE_NEAR] = 1,
};

uint64_t heap_record_ticks(const struct heap_ring *ring, const struct record *rec)
{
    unsigned kind = rec->kind & HEAP_KIND_MASK;
    if (kind >= HEAP_KINDS || rec->words < record_words[kind])
        return 0;
    if (kind == HEAP_AGAIN || kind == HEAP_FREE_NEAR || kind == HEAP_ALLOC_SAME ||
        kind == HEAP_SCOPE)
        return ring->stamp;
    if (kind == HEAP_FREE)
        return ring->stamp + rec->own;
    return rec->payload[kind == HEAP_FREE_LATE ? 1 : 0];
}

/* Records further apart than this all have a time of their own: see HEAP_STAMP_TICKS. */
enum { CLOSE_TICKS = 512 };

/* STAMP is the first reading of the clock after records without one. */
static void count_vague(struct heap *h, const struct heap_ring *ring, uint64_t stamp)
{
    uint64_t latest = stamp < ring->taken_at ? stamp : ring->taken_at;
    if (ring->same_stamp && latest > ring->ticks && latest - ring->ticks > h->vague)
        h->vague = latest - ring->ticks;
}

/*
 * Threads read the clock only now and then where records come close together (lib/heap_owner.h).
 * Records in between are as far apart as they were before, which is enough for lifetimes, and never
 * before the last look at the ring: a thread may have slept since it read the clock.
 */
void heap_take_time(struct heap *h, struct heap_ring *ring, uint64_t stamp)
{
    if (stamp == ring->stamp) {
        uint64_t about = stamp + ++ring->same_stamp * ring->per_record;
        ring->ticks = about > ring->not_before ? about : ring->not_before;
    } else {
        count_vague(h, ring, stamp);
        uint64_t each = (stamp - ring->stamp) / (ring->same_stamp + 1);
        ring->per_record = each < CLOSE_TICKS ? each : 0;
        ring->same_stamp = 0;
        ring->ticks = ring->stamp = stamp;
    }
    ring->taken_at = h->looked_at;
    h->tally.now = ring->ticks;
    if (ring->ticks < h->slice_ticks)
        return;
    heap_tally_time(&h->tally, ticks_ns(&h->clock, ring->ticks));
    h->slice_ticks = ticks_at(&h->clock, heap_tally_slice_end(&h->tally));
}

void heap_take(struct heap *h, struct heap_ring *ring, const struct record *rec, uint64_t ticks)
{
    if (rec->kind == HEAP_SCOPE) /* may come before any time is known */
        take_scope(h, ring, rec);
    if (!ticks || rec->kind == HEAP_SCOPE)
        return;
    heap_take_time(h, ring, ticks);
    ring->locked = rec->kind & HEAP_KIND_LOCKED;
    switch (rec->kind & HEAP_KIND_MASK) {
    case HEAP_AGAIN:
        take_again(h, ring, rec);
        break;
    case HEAP_FREE_NEAR:
        take_free_near(h, ring, rec->own);
        break;
    case STACKWALK_START:
    case STACKWALK_MAPS:
        take_maps(h, ring, rec);
        break;
    case STACKWALK_FORK:
        take_fork(h, ring, rec);
        break;
    case HEAP_ALLOC:
        take_small(h, ring, rec->own, rec->payload[1]);
        break;
    case HEAP_ALLOC_SAME:
        take_small(h, ring, rec->own, rec->payload[0]);
        break;
    case HEAP_ALLOC_LARGE:
        take_alloc(h, ring, rec->own, rec->payload[1], rec->payload[2]);
        break;
    case HEAP_FREE:
    case HEAP_FREE_LATE:
        heap_take_free(h, ring, rec->payload[0]);
        break;
    case HEAP_KEPT:
        take_kept(h, ring);
        break;
    case HEAP_MAP:
        heap_take_map(h, ring, rec);
        break;
    case HEAP_UNMAP:
        heap_take_unmap(h, ring, rec);
        break;
    case HEAP_REMAP:
        heap_take_remap(h, ring, rec);
        break;
    case HEAP_PER_OP:
        take_per_op(h, rec);
        break;
    }
}
