/*
 * scopes_take.c - what a record of the rings does. Any program may have written it.
 */
#include "model/spanstream.h"
#include "model/streamkind.h"
#include "record/scopes_inner.h"

#include <string.h>

/* --- names --- */

/* Events and beginnings may stand one below the deepest scope. */
enum { EVENT_DEPTH_MAX = SCOPES_DEPTH_MAX + 1 };

static struct scopes_path *path_find(struct scopes_ring *ring, uint32_t i)
{
    return i < ring->paths.n && ring->paths.at[i].depth ? &ring->paths.at[i] : NULL;
}

/* The same for what has a place among the levels, and which: those of SCOPES_MORE say it. */
static struct scopes_path *path_find_scope(struct scopes_ring *ring, uint32_t own,
                                           uint32_t *ret_depth)
{
    struct scopes_path *path = path_find(ring, own & ((1u << SCOPES_OWN_DEPTH) - 1));
    uint32_t said = own >> SCOPES_OWN_DEPTH;
    *ret_depth = path && !said ? path->depth : said;
    return path && *ret_depth <= SCOPES_DEPTH_MAX ? path : NULL;
}

/* A number is given once. HAS_NAME: it is no function's address. */
static void add_path(struct scopes *s, struct scopes_ring *ring, const struct record *rec,
                     const struct scopes_path *new, bool has_name)
{
    struct scopes_place place = {ring->pid, ring->tid, rec->own};
    while (ring->paths.n <= rec->own)
        *vec_push(&ring->paths) = (struct scopes_path){0};
    ring->paths.at[rec->own] = *new;
    scopes_keep(s, &place, new, (uint32_t)rec->payload[0], has_name);
}

static bool path_makes_sense(struct scopes_ring *ring, uint32_t id,
                             const struct scopes_path *parent)
{
    return id && id <= SCOPES_PATHS_MAX && !path_find(ring, id) &&
           !(parent && parent->depth >= EVENT_DEPTH_MAX);
}

/* An engine that samples knows what is mapped; else it is looked up, while the process lives. */
static void take_path_at(struct scopes *s, struct scopes_ring *ring, const struct record *rec)
{
    struct profile *p = s->opts.profile;
    const struct scopes_path *parent = path_find(ring, (uint32_t)rec->payload[0]);
    char text[24];
    struct err ignored;
    if (!path_makes_sense(ring, rec->own, parent)) {
        s->facts.bad++;
        return;
    }
    s->facts.functions++;
    snprintf(text, sizeof text, "[%llx]", (unsigned long long)rec->payload[1]);
    struct frame_id frame = processes_frame(s->opts.processes, ring->pid, rec->payload[1]);
    if (!profile_frame(p, frame)->mapping.i && !ring->scanned) {
        ring->scanned = processes_scan(s->opts.processes, ring->pid, &ignored) == 0;
        frame = processes_frame(s->opts.processes, ring->pid, rec->payload[1]);
    }
    if (!profile_frame(p, frame)->mapping.i)
        frame = profile_add_named_frame(p, text_of(text), FRAME_USER);
    struct scopes_path new = {
        .stack = stacks_push(&p->stacks, parent ? parent->stack : (struct stack_id){0}, frame),
        .name = profile_add_str(p, text_of(text)),
        .depth = parent ? parent->depth + 1 : 1,
    };
    add_path(s, ring, rec, &new, false);
}

static void take_maps(struct scopes *s, struct scopes_ring *ring, const struct record *rec)
{
    uint64_t n = rec->payload[0];
    if (n > (rec->words - 2u) * 8)
        s->facts.bad++;
    else
        processes_maps(s->opts.processes, ring->pid,
                       (struct text){(const char *)&rec->payload[1], n});
}

/* Where the parent is not known, a name stands at the root. */
static void take_path(struct scopes *s, struct scopes_ring *ring, const struct record *rec)
{
    struct profile *p = s->opts.profile;
    uint32_t id = rec->own, parent_id = (uint32_t)rec->payload[0];
    size_t n = rec->payload[0] >> 32;
    const struct scopes_path *parent = path_find(ring, parent_id);
    if (!path_makes_sense(ring, id, parent) || n > SCOPES_NAME_MAX || n > (rec->words - 2u) * 8) {
        s->facts.bad++;
        return;
    }
    struct text name = {(const char *)&rec->payload[1], n};
    struct stack_id above = parent ? parent->stack : (struct stack_id){0};
    if (!n)
        name = text_of("[no name]");
    struct scopes_path new = {
        .stack = stacks_push(&p->stacks, above, profile_add_named_frame(p, name, FRAME_USER)),
        .name = profile_add_str(p, name),
        .depth = parent ? parent->depth + 1 : 1,
    };
    add_path(s, ring, rec, &new, true);
}

/* --- attributes --- */

static void scopes_add_attr(struct scopes *s, struct attrs_id *set, struct str_id key,
                            const uint64_t *at, size_t bytes)
{
    struct profile *p = s->opts.profile;
    struct attr a = {.key = key};
    unsigned kind = (unsigned)(at[0] >> 32) & 0xff;
    char real[32];
    double x;
    if (kind == SCOPES_INTEGER) {
        a.is_number = true;
        a.number = (int64_t)at[1];
    } else if (kind == SCOPES_REAL) {
        memcpy(&x, &at[1], sizeof x);
        snprintf(real, sizeof real, "%.6g", x);
        a.text = profile_add_str(p, text_of(real));
    } else {
        a.text = profile_add_str(p, (struct text){(const char *)&at[1], bytes});
    }
    *set = attrs_add(&p->attrs, *set, &a);
}

static void take_attrs(struct scopes *s, struct scopes_ring *ring, const struct record *rec)
{
    uint32_t depth;
    const struct scopes_path *path = path_find_scope(ring, rec->own, &depth);
    bool more = path && ring->levels[depth].attrs_start == rec->payload[0];
    struct attrs_id set = more ? ring->levels[depth].attrs : (struct attrs_id){0};
    const uint64_t *at = rec->payload + 1, *end = rec->payload + rec->words - 1;
    for (int n = 0; at + 1 <= end; n++) {
        const struct scopes_path *key = path_find(ring, (uint32_t)at[0]);
        unsigned kind = (unsigned)(at[0] >> 32) & 0xff;
        size_t bytes = at[0] >> 40, words = kind == SCOPES_TEXT ? 1 + (bytes + 7) / 8 : 2;
        if (!key || !kind || kind > SCOPES_TEXT || bytes > SCOPES_TEXT_MAX ||
            words > (size_t)(end - at) || n == SCOPES_ATTRS_MAX) {
            s->facts.bad++;
            break;
        }
        scopes_add_attr(s, &set, key->name, at, bytes);
        at += words;
    }
    if (!path) {
        s->facts.bad++;
        return;
    }
    ring->levels[depth].attrs_start = rec->payload[0];
    ring->levels[depth].attrs = set;
}

/* --- ids, for a collector --- */

/*
 * Spans come when they end, those inside before those around them. So a scope that is still open
 * gets its id when the first one inside of it ends.
 */
static uint64_t level_id(struct scopes *s, struct scopes_level *level, const struct otlp_context *c)
{
    if (!level->span_id)
        level->span_id =
            c->has_span ? c->span : otlp_id(s->opts.profile->clock.wall_ns, ++s->n_ids, 4);
    return level->span_id;
}

/* The trace is that of the nearest scope around it that names one, else the outermost's own. */
static void set_ids(struct scopes *s, struct scopes_ring *ring, uint32_t depth,
                    struct otlp_span *to)
{
    const struct profile *p = s->opts.profile;
    bool traced = false;
    for (uint32_t at = depth; at; at--) {
        struct scopes_level *level = &ring->levels[at];
        struct otlp_context c;
        otlp_context_of(p, level->attrs, &c);
        uint64_t id = level_id(s, level, &c);
        if (at == depth) {
            to->span = id;
            to->parent = c.parent;
        } else if (at == depth - 1 && !to->parent) {
            to->parent = id;
        }
        if (!traced && c.has_trace) {
            to->trace_high = c.trace_high;
            to->trace_low = c.trace_low;
            traced = true;
        }
    }
    if (!traced) {
        to->trace_high = otlp_id(p->clock.wall_ns, ring->levels[1].span_id, 1);
        to->trace_low = otlp_id(p->clock.wall_ns, ring->levels[1].span_id, 2);
    }
}

/* DEPTH 0: it crosses threads. */
static void scopes_send(struct scopes *s, struct scopes_ring *ring, uint32_t depth,
                        struct str_id name, const struct row *row)
{
    struct otlp_span span = {.thread = row->thread,
                             .attrs = row->attrs,
                             .start_ns = row->time_ns,
                             .duration_ns = row->duration_ns};
    if (depth) {
        set_ids(s, ring, depth, &span);
    } else {
        uint64_t of = s->opts.profile->clock.wall_ns, id = ++s->n_ids;
        span.span = otlp_id(of, id, 4);
        span.trace_high = otlp_id(of, span.span, 1);
        span.trace_low = otlp_id(of, span.span, 2);
    }
    spansend_add(s->opts.send, name, &span);
}

/* --- spans --- */

static int scopes_stream(struct scopes *s)
{
    struct profile *p = s->opts.profile;
    if (s->stream < 0) {
        s->stream = stream_kind_add(p, STREAM_SCOPES, BY_TRACE);
        profile_add_value(p, s->stream, "spans", UNIT_COUNT);
        profile_add_value(p, s->stream, "self", UNIT_TIME);
        if (s->opts.blocks)
            spanstream_add_blocks(p, s->stream);
    }
    return s->stream;
}

static void scopes_add_span(struct scopes *s, struct str_id name, const struct row *row)
{
    struct err ignored;
    if (scopes_stream(s) < 0 || profile_add_row(s->opts.profile, s->stream, row, &ignored) != 0) {
        s->facts.bad++;
        return;
    }
    s->facts.spans++;
    if (s->opts.live)
        scopelive_add(s->opts.live, s->opts.profile, name, row);
}

/* What was spent in the scopes inside has come before. */
static uint64_t take_self(struct scopes_ring *ring, uint32_t depth, uint64_t ticks)
{
    struct scopes_level *inside = &ring->levels[depth + 1];
    uint64_t self = inside->children_ticks < ticks ? ticks - inside->children_ticks : 0;
    inside->children_ticks = 0;
    ring->levels[depth].children_ticks += ticks;
    return self;
}

static void take_heap(struct scopes *s, struct scopes_ring *ring, const struct record *rec)
{
    uint32_t depth;
    const struct scopes_path *path = path_find_scope(ring, rec->own, &depth);
    if (!path || (rec->payload[0] | rec->payload[1]) > (uint64_t)INT64_MAX >> 20) {
        s->facts.bad++;
        return;
    }
    ring->levels[depth].told = (struct scopes_blocks){rec->payload[0], rec->payload[1]};
}

/* Blocks of the span itself, without those of the scopes inside, which have come before. */
static struct scopes_blocks take_self_blocks(struct scopes_ring *ring, uint32_t depth)
{
    struct scopes_level *level = &ring->levels[depth], *inside = &ring->levels[depth + 1];
    struct scopes_blocks all = level->told, in = inside->children;
    level->told = inside->children = (struct scopes_blocks){0};
    level->children.blocks += all.blocks;
    level->children.bytes += all.bytes;
    return (struct scopes_blocks){all.blocks > in.blocks ? all.blocks - in.blocks : 0,
                                  all.bytes > in.bytes ? all.bytes - in.bytes : 0};
}

static void take_span(struct scopes *s, struct scopes_ring *ring, const struct record *rec)
{
    uint32_t depth;
    const struct scopes_path *path = path_find_scope(ring, rec->own, &depth);
    uint64_t start = rec->payload[0], length = rec->payload[1];
    if (!path || length > (uint64_t)INT64_MAX / 4) {
        s->facts.bad++;
        return;
    }
    uint64_t length_ns = ticks_length_ns(&s->ticks, length);
    uint64_t self_ns = ticks_length_ns(&s->ticks, take_self(ring, depth, length));
    struct scopes_blocks own = take_self_blocks(ring, depth);
    int64_t values[] = {1, (int64_t)(self_ns < length_ns ? self_ns : length_ns),
                        (int64_t)own.blocks, (int64_t)own.bytes};
    struct scopes_level *level = &ring->levels[depth];
    bool with = rec->kind == SCOPES_SPAN_WITH && level->attrs_start == start;
    struct row row = {.stack = path->stack,
                      .thread = ring->thread,
                      .attrs = with ? level->attrs : (struct attrs_id){0},
                      .has_time = true,
                      .time_ns = ticks_ns(&s->ticks, start),
                      .duration_ns = length_ns,
                      .values = values};
    scopes_add_span(s, path->name, &row);
    if (s->opts.send)
        scopes_send(s, ring, depth, path->name, &row);
    level->span_id = level->attrs_start = 0;
    level->attrs = (struct attrs_id){0};
}

/* --- events --- */

static void take_event(struct scopes *s, struct scopes_ring *ring, const struct record *rec)
{
    static const int64_t one[] = {1};
    const struct scopes_path *path = path_find(ring, rec->own);
    struct profile *p = s->opts.profile;
    struct err ignored;
    if (s->events < 0) {
        s->events = stream_kind_add(p, STREAM_MOMENTS, BY_TRACE);
        profile_add_value(p, s->events, "events", UNIT_COUNT);
    }
    struct row row = {.stack = path ? path->stack : (struct stack_id){0},
                      .thread = ring->thread,
                      .has_time = true,
                      .time_ns = ticks_ns(&s->ticks, rec->payload[0]),
                      .values = one};
    if (!path || s->events < 0 || profile_add_row(p, s->events, &row, &ignored) != 0)
        s->facts.bad++;
    else
        s->facts.events++;
}

/* --- spans that cross threads --- */

/* The place of an id, or a free one; the oldest of a few where there is none. */
static struct scopes_half *half_get(struct scopes *s, uint64_t id)
{
    enum { LOOK = 16 };
    uint64_t at = (id * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    struct scopes_half *oldest = NULL, *room = NULL;
    if (!s->halves)
        s->halves = mem_calloc(SCOPES_HALVES, sizeof *s->halves);
    for (int i = 0; i < LOOK; i++) {
        struct scopes_half *h = &s->halves[(at + (uint64_t)i) % SCOPES_HALVES];
        if (h->state && h->id == id)
            return h;
        if (!h->state)
            room = room ? room : h;
        else if (!oldest || h->ticks < oldest->ticks)
            oldest = h;
    }
    if (!room)
        s->facts.forgotten++;
    room = room ? room : oldest;
    *room = (struct scopes_half){.id = id};
    return room;
}

/* It may end in another thread, and overlap with whatever. */
static struct attrs_id async_attrs(struct profile *p)
{
    struct attr a = {.key = profile_add_str(p, text_of("async")), .is_number = true, .number = 1};
    return attrs_add(&p->attrs, (struct attrs_id){0}, &a);
}

static void join_halves(struct scopes *s, struct scopes_half *h, uint64_t start, uint64_t end)
{
    static const int64_t values[4] = {1}; /* no self time: it may wait, or overlap */
    uint64_t length = end > start ? end - start : 0;
    struct row row = {.stack = h->stack,
                      .thread = h->thread,
                      .attrs = async_attrs(s->opts.profile),
                      .has_time = true,
                      .time_ns = ticks_ns(&s->ticks, start),
                      .duration_ns = ticks_length_ns(&s->ticks, length),
                      .values = values};
    scopes_add_span(s, h->name, &row);
    if (s->opts.send)
        scopes_send(s, NULL, 0, h->name, &row);
    h->state = 0;
}

static void take_half(struct scopes *s, struct scopes_ring *ring, const struct record *rec)
{
    const struct scopes_path *path = path_find(ring, rec->own);
    bool begins = rec->kind == SCOPES_BEGIN;
    uint64_t ticks = rec->payload[0];
    if (begins && !path) {
        s->facts.bad++;
        return;
    }
    struct scopes_half *h = half_get(s, rec->payload[1]);
    if (begins) {
        h->stack = path->stack;
        h->name = path->name;
        h->thread = ring->thread;
    }
    if (h->state == (begins ? 2 : 1)) {
        join_halves(s, h, begins ? ticks : h->ticks, begins ? h->ticks : ticks);
        return;
    }
    h->state = begins ? 1 : 2;
    h->ticks = ticks;
}

uint64_t scopes_half_open(const struct scopes *s, bool begun)
{
    uint64_t n = 0;
    for (size_t i = 0; s->halves && i < SCOPES_HALVES; i++)
        n += s->halves[i].state == (begun ? 1 : 2);
    return n;
}

/* --- counters --- */

static struct scopes_counter *counter_get(struct scopes *s, struct scopes_ring *ring,
                                          struct scopes_path *path, bool is_gauge)
{
    struct profile *p = s->opts.profile;
    struct process_id process = p->threads.at[ring->thread.i].process;
    if (path->counter)
        return &s->counters.at[path->counter - 1];
    size_t i = 0;
    while (i < s->counters.n &&
           (s->counters.at[i].name.i != path->name.i || s->counters.at[i].process.i != process.i))
        i++;
    if (i == s->counters.n) {
        if (i == SCOPES_COUNTERS_MAX)
            return NULL;
        autofree char *name = mem_printf("%.*s", TEXT_ARG(profile_str(p, path->name)));
        int index = profile_add_counter(p, name, is_gauge ? "" : UNIT_COUNT, process);
        *vec_push(&s->counters) = (struct scopes_counter){
            .name = path->name, .process = process, .is_gauge = is_gauge, .index = index};
    }
    path->counter = (uint32_t)i + 1;
    return &s->counters.at[i];
}

/* What a gauge was between two points must not be lost, as its minimum and maximum are shown. */
static void gauge_note(struct scopes_counter *c, int64_t value, uint64_t ticks)
{
    struct scopes_value is = {value, ticks};
    c->low = !c->ranged || value < c->low.value ? is : c->low;
    c->high = !c->ranged || value > c->high.value ? is : c->high;
    c->ranged = true;
}

static void scopes_take_number(struct scopes *s, struct scopes_ring *ring, const struct record *rec)
{
    bool is_gauge = rec->kind == SCOPES_GAUGE;
    struct scopes_path *path = path_find(ring, rec->own);
    struct scopes_counter *c = path ? counter_get(s, ring, path, is_gauge) : NULL;
    int64_t value = (int64_t)rec->payload[1], sum;
    if (!c) {
        *(path ? &s->facts.uncounted : &s->facts.bad) += 1;
        return;
    }
    s->facts.counts++;
    if (is_gauge)
        gauge_note(c, value, rec->payload[0]);
    if (is_gauge && rec->payload[0] < c->ticks)
        return; /* another thread's is newer */
    if (!is_gauge && __builtin_add_overflow(c->value, value, &sum)) {
        s->facts.bad++;
        return;
    }
    c->value = is_gauge ? value : sum;
    c->ticks = rec->payload[0];
    c->changed = true;
}

/* Points are in order: not before the last one, not after NOW_NS. */
static void gauge_write_point(struct scopes *s, const struct scopes_counter *c,
                              const struct scopes_value *v, uint64_t now_ns)
{
    const struct counter *to = &s->opts.profile->counters.at[c->index];
    const struct counter_point *last = to->points.n ? &to->points.at[to->points.n - 1] : NULL;
    uint64_t ns = ticks_ns(&s->ticks, v->ticks);
    if (v->value == c->value || (last && v->value == last->value))
        return;
    ns = last && ns < last->time_ns ? last->time_ns : ns;
    profile_add_point(s->opts.profile, c->index, ns < now_ns ? ns : now_ns, v->value);
}

static void gauge_write_range(struct scopes *s, struct scopes_counter *c, uint64_t now_ns)
{
    bool low_first = c->low.ticks < c->high.ticks;
    gauge_write_point(s, c, low_first ? &c->low : &c->high, now_ns);
    gauge_write_point(s, c, low_first ? &c->high : &c->low, now_ns);
    c->ranged = false;
}

void scopes_write_points(struct scopes *s, uint64_t now_ns)
{
    for (size_t i = 0; i < s->counters.n; i++) {
        struct scopes_counter *c = &s->counters.at[i];
        if (c->ranged && c->index >= 0)
            gauge_write_range(s, c, now_ns);
        if (c->changed && c->index >= 0)
            profile_add_point(s->opts.profile, c->index, now_ns, c->value);
        c->changed = false;
    }
}

/* --- all of them --- */

static const struct {
    uint16_t words; /* at least */
    void (*take)(struct scopes *s, struct scopes_ring *ring, const struct record *rec);
} takers[] = {
    [SCOPES_PATH] = {2, take_path},
    [SCOPES_SPAN] = {3, take_span},
    [SCOPES_SPAN_WITH] = {3, take_span},
    [SCOPES_ATTRS] = {2, take_attrs},
    [SCOPES_COUNT] = {3, scopes_take_number},
    [SCOPES_GAUGE] = {3, scopes_take_number},
    [SCOPES_EVENT] = {3, take_event},
    [SCOPES_BEGIN] = {3, take_half},
    [SCOPES_END] = {3, take_half},
    [SCOPES_PATH_AT] = {3, take_path_at},
    [SCOPES_MAPS] = {2, take_maps},
    [SCOPES_HEAP] = {3, take_heap},
};

void scopes_take(struct scopes *s, struct scopes_ring *ring, const struct record *rec)
{
    uint16_t kind = rec->kind;
    if (kind == 0 || kind >= sizeof takers / sizeof *takers || rec->words < takers[kind].words)
        s->facts.bad++;
    else
        takers[kind].take(s, ring, rec);
}
