#include "scopes.h"

#include <string.h>
#include <sys/prctl.h>

/* --- writing --- */

/* Room for a record, or NULL: counted. */
static inline struct record *scopes_reserve(struct scopes_thread *t, enum scopes_kind kind,
                                            uint32_t own, uint16_t words)
{
    struct record *r = ring_reserve(&t->writer, (uint16_t)kind, words);
    if (!SCOPES_LIKELY(r)) {
        scopes_lose(t);
        return NULL;
    }
    r->own = own;
    return r;
}

static inline void scopes_tell(struct scopes_thread *t, enum scopes_kind kind, uint32_t own,
                               uint64_t time, uint64_t value)
{
    struct record *r = scopes_reserve(t, kind, own, 3);
    if (!SCOPES_LIKELY(r))
        return;
    r->payload[0] = time;
    r->payload[1] = value;
    ring_commit(&t->writer);
}

void scopes_tell_heap(struct scopes_thread *t, uint32_t depth)
{
    const struct inscope_open *o = &t->open[depth];
    scopes_tell(t, SCOPES_HEAP, scopes_own(o->path, depth), t->heap->blocks - o->blocks,
                t->heap->bytes - o->bytes);
}

void scopes_tell_pushed(struct scopes_thread *t, uint32_t depth, uint64_t end)
{
    const struct inscope_open *o = &t->open[depth];
    bool with = o->has_attrs & SCOPES_HAS_ATTRS;
    scopes_end_heap(t, depth);
    scopes_tell(t, with ? SCOPES_SPAN_WITH : SCOPES_SPAN, scopes_own(o->path, depth),
                t->pushed[depth], end - t->pushed[depth]);
}

/* --- names --- */

static _Atomic uint32_t n_sites;

/* Two threads that come at the same time agree on the first number. */
static uint32_t site_number(struct kelvin_site *site)
{
    uint32_t none = 0, id = atomic_fetch_add(&n_sites, 1) + 1;
    __atomic_compare_exchange_n(&site->id, &none, id, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return none ? none : id;
}

static inline uint32_t site_id(struct kelvin_site *site)
{
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    return SCOPES_LIKELY(id) ? id : site_number(site);
}

static uint64_t hash_of(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < SCOPES_NAME_MAX && text[i]; i++)
        h = (h ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
    return (h ^ h >> 31) | UINT64_C(1) << 63;
}

/* --- scopes --- */

/* Scopes below the stack pointer were left by a longjmp. */
static void scopes_abandon(struct scopes_thread *t, uintptr_t sp)
{
    uint32_t before = t->depth;
    while (t->depth && t->open[t->depth].at < sp)
        t->depth--;
    scopes_trouble(SCOPES_PARAM_ABANDONED, before - t->depth);
}

/*
 * False: it is not recorded. Always inlined: the frame has to be the one that the program called,
 * or what a longjmp left just below it would seem to be open.
 */
__attribute__((always_inline)) static inline bool
scopes_push(struct scopes_thread *t, struct kelvin_scope *s, uint64_t name, const char *text)
{
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    if (!SCOPES_LIKELY(!t->depth || t->open[t->depth].at >= sp))
        scopes_abandon(t, sp);
    if (!SCOPES_LIKELY(t->depth < SCOPES_DEPTH_MAX)) {
        scopes_trouble(SCOPES_PARAM_DEEP, 1);
        return false;
    }
    uint32_t path = scopes_path(t, t->open[t->depth].path, name, text);
    if (!SCOPES_LIKELY(path))
        return false;
    s->path = scopes_pack(t, path);
    s->depth = t->depth + 1;
    t->open[s->depth].at = (uintptr_t)s;
    t->open[s->depth].path = path;
    t->open[s->depth].has_attrs = 0;
    scopes_note_heap(t, &t->open[s->depth]);
    atomic_signal_fence(memory_order_seq_cst);
    t->depth = s->depth;
    scopes_show_depth(t);
    return true;
}

static void scopes_begin(struct kelvin_scope *s, struct kelvin_site *site)
{
    struct scopes_thread *t = scopes_thread_get();
    if (SCOPES_LIKELY(t) && SCOPES_LIKELY(scopes_push(t, s, site_id(site), site->name)))
        s->start = scopes_ticks();
}

static void scopes_begin_named(struct kelvin_scope *s, const char *name)
{
    struct scopes_thread *t = scopes_thread_get();
    name = name ? name : "";
    if (t && scopes_push(t, s, hash_of(name), name))
        s->start = scopes_ticks();
}

static void scopes_end(struct kelvin_scope *s)
{
    uint64_t now = scopes_ticks();
    struct scopes_thread *t = scopes_mine;
    if (!SCOPES_LIKELY(t && scopes_is_of_now(s) && s->depth <= t->depth &&
                       t->open[s->depth].at == (uintptr_t)s)) {
        scopes_trouble(SCOPES_PARAM_UNBALANCED, scopes_is_of_now(s));
        return;
    }
    if (!SCOPES_LIKELY(s->depth == t->depth))
        scopes_trouble(SCOPES_PARAM_ABANDONED, t->depth - s->depth);
    bool with = t->open[s->depth].has_attrs;
    uint32_t own = scopes_own((uint16_t)s->path, s->depth);
    t->depth = s->depth - 1;
    scopes_show_depth(t);
    scopes_end_heap(t, s->depth);
    scopes_tell(t, with ? SCOPES_SPAN_WITH : SCOPES_SPAN, own, s->start, now - s->start);
}

/* --- attributes --- */

static size_t attr_bytes(const struct kelvin_attr *a)
{
    bool is_text = a->value.kind == SCOPES_TEXT && a->value.is.text;
    return is_text ? strnlen(a->value.is.text, SCOPES_TEXT_MAX) : 0;
}

static uint16_t attr_words(const struct kelvin_attr *a, size_t bytes)
{
    return a->value.kind == SCOPES_TEXT ? (uint16_t)(1 + (bytes + 7) / 8) : 2;
}

static uint64_t *put_attr(uint64_t *to, const struct kelvin_attr *a, uint32_t key, size_t bytes)
{
    to[0] = key | (uint64_t)a->value.kind << 32 | (uint64_t)bytes << 40;
    if (a->value.kind == SCOPES_TEXT)
        memcpy(to + 1, bytes ? a->value.is.text : "", bytes);
    else
        to[1] = (uint64_t)a->value.is.integer;
    return to + attr_words(a, bytes);
}

/* Texts may be gone when the scope ends, so they are reported when it begins. */
bool scopes_tell_attrs(struct scopes_thread *t, const struct kelvin_scope *s, int n,
                       const struct kelvin_attr *attrs)
{
    uint32_t keys[SCOPES_ATTRS_MAX];
    size_t bytes[SCOPES_ATTRS_MAX];
    uint16_t words = 2;
    for (int i = 0; i < n; i++) {
        keys[i] = scopes_path(t, 0, hash_of(attrs[i].key), attrs[i].key);
        bytes[i] = attr_bytes(&attrs[i]); /* once: another thread may change the text */
        words = (uint16_t)(words + attr_words(&attrs[i], bytes[i]));
        if (!keys[i])
            return false;
    }
    uint32_t own = scopes_own((uint16_t)s->path, s->depth);
    struct record *r = scopes_reserve(t, SCOPES_ATTRS, own, words);
    if (!r)
        return false;
    uint64_t *at = r->payload;
    *at++ = s->start;
    for (int i = 0; i < n; i++)
        at = put_attr(at, &attrs[i], keys[i], bytes[i]);
    ring_commit(&t->writer);
    return true;
}

static void scopes_begin_with(struct kelvin_scope *s, struct kelvin_site *site, int n,
                              const struct kelvin_attr *attrs)
{
    struct scopes_thread *t = scopes_thread_get();
    if (!t || !scopes_push(t, s, site_id(site), site->name))
        return;
    n = n < SCOPES_ATTRS_MAX ? n : SCOPES_ATTRS_MAX;
    s->start = scopes_ticks();
    t->open[s->depth].has_attrs = scopes_tell_attrs(t, s, n, attrs);
}

/* --- numbers and events --- */

static void scopes_count(struct kelvin_site *site, int64_t n)
{
    struct scopes_thread *t = scopes_thread_get();
    uint32_t path = t ? scopes_path(t, 0, site_id(site), site->name) : 0;
    if (path)
        scopes_tell(t, SCOPES_COUNT, path, scopes_ticks(), (uint64_t)n);
}

static void scopes_gauge(struct kelvin_site *site, int64_t value)
{
    struct scopes_thread *t = scopes_thread_get();
    uint32_t path = t ? scopes_path(t, 0, site_id(site), site->name) : 0;
    if (path)
        scopes_tell(t, SCOPES_GAUGE, path, scopes_ticks(), (uint64_t)value);
}

static void scopes_event(struct kelvin_site *site)
{
    struct scopes_thread *t = scopes_thread_get();
    uint32_t parent = t ? t->open[t->depth].path : 0;
    uint32_t path = t ? scopes_path(t, parent, site_id(site), site->name) : 0;
    if (path)
        scopes_tell(t, SCOPES_EVENT, path, scopes_ticks(), 0);
}

/* --- spans that cross threads --- */

/* Different in all threads that write at the same time: a ring has one thread. */
static kelvin_span scopes_span_begin(const char *name)
{
    struct scopes_thread *t = scopes_thread_get();
    uint32_t parent = t ? t->open[t->depth].path : 0;
    name = name ? name : "";
    uint32_t path = t ? scopes_path(t, parent, hash_of(name), name) : 0;
    if (!path)
        return 0;
    uint64_t ring = (uint64_t)(t->writer.ring - channel_ring(channel, 0)) + 1;
    uint64_t now = scopes_ticks();
    kelvin_span id = ring << 48 | (now & 0xffffff) << 24 | (++t->n_spans & 0xffffff);
    scopes_tell(t, SCOPES_BEGIN, path, now, id);
    return id;
}

static void scopes_span_end(kelvin_span span)
{
    struct scopes_thread *t = scopes_thread_get();
    if (t)
        scopes_tell(t, SCOPES_END, 0, scopes_ticks(), span);
}

static void scopes_thread_name(const char *name)
{
    if (name)
        prctl(PR_SET_NAME, name);
}

/* --- for languages whose scopes have no place on the stack --- */

/* Begin a scope in this thread; 1 when it is recorded, and kelvin_pop() must follow. */
int kelvin_push(const char *name);
void kelvin_pop(void);
void kelvin_count(const char *name, int64_t n);
void kelvin_gauge(const char *name, int64_t value);

SCOPES_EXPORT int kelvin_push(const char *name)
{
    struct scopes_thread *t = channel ? scopes_thread_get() : NULL;
    struct kelvin_scope s;
    name = name ? name : "";
    if (!t || !scopes_push(t, &s, hash_of(name), name))
        return 0;
    t->open[s.depth].at = INSCOPE_PUSHED;
    t->pushed[s.depth] = scopes_ticks();
    return 1;
}

/* The innermost that was pushed; what is inside of it and has not ended never will. */
SCOPES_EXPORT void kelvin_pop(void)
{
    if (!channel)
        return;
    uint64_t now = scopes_ticks();
    struct scopes_thread *t = scopes_mine;
    uint32_t depth = t && t->epoch == scopes_epoch ? t->depth : 0;
    while (depth && t->open[depth].at != INSCOPE_PUSHED)
        depth--;
    if (!depth) {
        scopes_trouble(SCOPES_PARAM_UNBALANCED, 1);
        return;
    }
    scopes_trouble(SCOPES_PARAM_ABANDONED, t->depth - depth);
    t->depth = depth - 1;
    scopes_show_depth(t);
    scopes_tell_pushed(t, depth, now);
}

static void tell_named(enum scopes_kind kind, const char *name, int64_t value)
{
    struct scopes_thread *t = channel ? scopes_thread_get() : NULL;
    name = name ? name : "";
    uint32_t path = t ? scopes_path(t, 0, hash_of(name), name) : 0;
    if (path)
        scopes_tell(t, kind, path, scopes_ticks(), (uint64_t)value);
}

SCOPES_EXPORT void kelvin_count(const char *name, int64_t n)
{
    tell_named(SCOPES_COUNT, name, n);
}

SCOPES_EXPORT void kelvin_gauge(const char *name, int64_t value)
{
    tell_named(SCOPES_GAUGE, name, value);
}

/* --- what kelvin.h looks for --- */

const struct kelvin_hooks scopes_hooks = {
    .version = KELVIN_HOOKS_VERSION,
    .begin = scopes_begin,
    .begin_with = scopes_begin_with,
    .begin_named = scopes_begin_named,
    .end = scopes_end,
    .count = scopes_count,
    .gauge = scopes_gauge,
    .event = scopes_event,
    .span_begin = scopes_span_begin,
    .span_end = scopes_span_end,
    .thread_name = scopes_thread_name,
    .trace_take = scopes_trace_take,
    .trace_give = scopes_trace_give,
};

const struct kelvin_hooks *kelvin_get_hooks(void);

SCOPES_EXPORT const struct kelvin_hooks *kelvin_get_hooks(void)
{
    return channel && !atomic_load(&channel->stop) ? &scopes_hooks : NULL;
}
