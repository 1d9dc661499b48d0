#include "model/profile.h"
#include "base/buf.h"
#include "model/packed.h"
#include "model/stream_inner.h"

#include <xxhash.h>

struct profile *profile_new(void)
{
    struct profile *p = mem_new(struct profile);
    intern_init(&p->strings);
    stacks_init(&p->stacks);
    attrs_init(&p->attrs);
    p->default_value.stream = -1;
    profile_add_mapping(p, &(struct mapping){0});
    profile_add_function(p, &(struct function){0});
    *vec_push(&p->processes) = (struct process){.pid = THREAD_NO_ID};
    profile_add_thread(p, &(struct thread_key){.pid = THREAD_NO_ID, .tid = THREAD_NO_ID});
    return p;
}

void profile_free(struct profile *p)
{
    if (!p)
        return;
    intern_done(&p->strings);
    stacks_done(&p->stacks);
    vec_done(&p->standins);
    meta_done(&p->meta);
    vec_done(&p->mappings);
    vec_done(&p->functions);
    vec_done(&p->lines);
    vec_done(&p->frames);
    vec_done(&p->processes);
    vec_done(&p->threads);
    attrs_done(&p->attrs);
    for (size_t i = 0; i < p->streams.n; i++)
        stream_free(p->streams.at[i]);
    vec_done(&p->streams);
    for (size_t i = 0; i < p->counters.n; i++)
        vec_done(&p->counters.at[i].points);
    vec_done(&p->counters);
    packed_forget(p);
    idmap_done(&p->mapping_map);
    idmap_done(&p->function_map);
    idmap_done(&p->frame_map);
    idmap_done(&p->process_map);
    idmap_done(&p->thread_map);
    free(p);
}

/* A text that is too long, as its front and a number that differs where the rest does. */
static struct str_id profile_add_front(struct profile *p, struct text t)
{
    size_t n = PROFILE_MAX_STR_BYTES - 20;
    while (n > PROFILE_MAX_STR_BYTES - 24 && (t.at[n] & 0xc0) == 0x80) /* inside a character */
        n--;
    autofree char *front =
        mem_printf("%.*s..%016llx", (int)n, t.at, (unsigned long long)XXH3_64bits(t.at, t.n));
    return (struct str_id){intern_add(&p->strings, text_of(front))};
}

struct str_id profile_add_str(struct profile *p, struct text t)
{
    if (t.n > PROFILE_MAX_STR_BYTES)
        return profile_add_front(p, t);
    return (struct str_id){intern_add(&p->strings, t)};
}

/*
 * Mappings, functions and threads are plain structs without padding that holds rubbish (all are
 * built from designated initialisers), compared field by field through their hash key.
 */
struct mapping_id profile_add_mapping(struct profile *p, const struct mapping *m)
{
    uint64_t key[] = {m->path.i, m->build_id.i, m->start, m->end, m->offset};
    uint32_t hash = (uint32_t)XXH3_64bits_withSeed(key, sizeof key, hash_seeds[0]);
    for_each_match (&p->mapping_map, hash, id) {
        const struct mapping *o = &p->mappings.at[id];
        if (o->path.i == m->path.i && o->build_id.i == m->build_id.i && o->start == m->start &&
            o->end == m->end && o->offset == m->offset)
            return (struct mapping_id){id};
    }
    uint32_t id = (uint32_t)p->mappings.n;
    *vec_push(&p->mappings) = *m;
    idmap_add(&p->mapping_map, hash, id);
    return (struct mapping_id){id};
}

struct function_id profile_add_function(struct profile *p, const struct function *f)
{
    uint32_t hash =
        hash_pair(hash_pair(f->name.i, f->system_name.i), hash_pair(f->file.i, f->line));
    for_each_match (&p->function_map, hash, id) {
        const struct function *o = &p->functions.at[id];
        if (o->name.i == f->name.i && o->system_name.i == f->system_name.i &&
            o->file.i == f->file.i && o->line == f->line)
            return (struct function_id){id};
    }
    uint32_t id = (uint32_t)p->functions.n;
    *vec_push(&p->functions) = *f;
    idmap_add(&p->function_map, hash, id);
    return (struct function_id){id};
}

struct process_id profile_add_process(struct profile *p, const struct process *process)
{
    uint32_t id = (uint32_t)p->processes.n;
    *vec_push(&p->processes) = *process;
    idmap_add(&p->process_map, hash_pair((uint32_t)process->pid, 0), id);
    return (struct process_id){id};
}

struct process_id profile_find_process(const struct profile *p, int32_t pid)
{
    uint32_t newest = 0;
    for_each_match (&p->process_map, hash_pair((uint32_t)pid, 0), id)
        if (p->processes.at[id].pid == pid && id > newest)
            newest = id;
    return (struct process_id){newest};
}

static struct process_id process_of(struct profile *p, int32_t pid)
{
    struct process_id id = profile_find_process(p, pid);
    if (id.i || pid == THREAD_NO_ID)
        return id;
    return profile_add_process(p, &(struct process){.pid = pid});
}

struct thread_id profile_add_thread_of(struct profile *p, const struct thread *t)
{
    uint32_t hash = hash_pair(hash_pair(t->process.i, (uint32_t)t->tid), t->name.i);
    for_each_match (&p->thread_map, hash, id) {
        const struct thread *o = &p->threads.at[id];
        if (o->process.i == t->process.i && o->tid == t->tid && o->name.i == t->name.i)
            return (struct thread_id){id};
    }
    uint32_t id = (uint32_t)p->threads.n;
    *vec_push(&p->threads) = *t;
    idmap_add(&p->thread_map, hash, id);
    return (struct thread_id){id};
}

struct thread_id profile_add_thread(struct profile *p, const struct thread_key *key)
{
    struct thread t = {process_of(p, key->pid), key->name, key->tid};
    return profile_add_thread_of(p, &t);
}

static uint32_t hash_frame(const struct frame_key *k)
{
    uint32_t h = hash_pair((uint32_t)k->pc, (uint32_t)(k->pc >> 32));
    h = hash_pair(h, hash_pair(k->mapping.i, k->kind));
    for (size_t i = 0; i < k->n_lines; i++) {
        const struct line *l = &k->lines[i];
        h = hash_pair(h, hash_pair(l->function.i, hash_pair(l->line, l->column)));
    }
    return h;
}

static bool same_frame(const struct profile *p, const struct frame *f, const struct frame_key *k)
{
    if (f->pc != k->pc || f->mapping.i != k->mapping.i || f->kind != k->kind ||
        f->n_lines != k->n_lines)
        return false;
    const struct line *lines = profile_lines(p, f);
    for (size_t i = 0; i < k->n_lines; i++)
        if (lines[i].function.i != k->lines[i].function.i || lines[i].line != k->lines[i].line ||
            lines[i].column != k->lines[i].column)
            return false;
    return true;
}

struct frame_id profile_reserve_frame(struct profile *p)
{
    struct frame_id id = {(uint32_t)p->frames.n};
    *vec_push(&p->frames) = (struct frame){0};
    return id;
}

void profile_set_frame(struct profile *p, struct frame_id id, const struct frame_key *key)
{
    struct frame *f = &p->frames.at[id.i];
    f->pc = key->pc;
    f->mapping = key->mapping;
    f->kind = (uint8_t)key->kind;
    f->n_lines = (uint16_t)key->n_lines;
    f->first_line = (uint32_t)p->lines.n;
    if (!key->n_lines)
        return;
    vec_reserve(&p->lines, key->n_lines);
    memcpy(p->lines.at + p->lines.n, key->lines, key->n_lines * sizeof *key->lines);
    p->lines.n += key->n_lines;
}

struct frame_id profile_add_frame(struct profile *p, const struct frame_key *key)
{
    uint32_t hash = hash_frame(key);
    for_each_match (&p->frame_map, hash, id) {
        if (same_frame(p, &p->frames.at[id], key))
            return (struct frame_id){id};
    }
    struct frame_id id = profile_reserve_frame(p);
    profile_set_frame(p, id, key);
    idmap_add(&p->frame_map, hash, id.i);
    return id;
}

struct frame_id profile_add_named_frame(struct profile *p, struct text name, enum frame_kind kind)
{
    struct function f = {.name = profile_add_str(p, name)};
    struct line line = {.function = profile_add_function(p, &f)};
    return profile_add_frame(p, &(struct frame_key){.kind = kind, .lines = &line, .n_lines = 1});
}

bool profile_name_is_place(struct text name)
{
    return name.n && name.at[0] == '[' && name.at[name.n - 1] == ']' &&
           memmem(name.at, name.n, "+0x", 3);
}

struct text profile_module_name(const struct profile *p, struct mapping_id id)
{
    struct text path = profile_str(p, p->mappings.at[id.i].path);
    const char *slash = path.n ? memrchr(path.at, '/', path.n) : NULL;
    if (!slash)
        return path;
    size_t skip = (size_t)(slash + 1 - path.at);
    return (struct text){path.at + skip, path.n - skip};
}

bool profile_is_runtime(const struct profile *p, struct mapping_id id)
{
    static const char *const names[] = {"libc.so",   "libm.so",      "libm-2",      "libc-2",
                                        "libmvec",   "libpthread",   "ld-linux",    "ld-2",
                                        "libgcc_s.", "libstdc++.so", "libc++.so.1", "ld-musl"};
    struct text module = profile_module_name(p, id);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (text_starts(module, names[i]))
            return true;
    return false;
}

/* --- choosing a column --- */

static bool event_is(const struct profile *p, const struct stream *s, const char *event)
{
    return text_is(profile_str(p, s->event), event);
}

static bool value_fits(const struct profile *p, const struct value_type *t, const char *value)
{
    if (!value)
        return true;
    if (strcmp(value, "weight") == 0)
        return t->role != ROLE_SAMPLES;
    return text_is(profile_str(p, t->name), value) ||
           (t->role == ROLE_SAMPLES && strcmp(value, VALUE_SAMPLES) == 0);
}

/* The first column of a stream that fits; without a wish, weight goes before samples. */
static int pick_of_stream(const struct profile *p, const struct stream *s, const char *value)
{
    int found = -1;
    for (int i = 0; i < s->n_types; i++) {
        if (!value_fits(p, &s->types[i], value))
            continue;
        if (found < 0 || (!value && s->types[found].role == ROLE_SAMPLES))
            found = i;
    }
    return found;
}

static bool any_stream_is(const struct profile *p, const char *event)
{
    for (size_t i = 0; i < p->streams.n; i++)
        if (event_is(p, p->streams.at[i], event))
            return true;
    return false;
}

/* "samples, peak": the names of the events, or of the values of EVENT (NULL = of all), each once:
 * as many as an error's text has room for. */
static void list_choices(const struct profile *p, bool events, const char *event, struct buf *b)
{
    enum { ROOM = 160 };
    struct intern seen;
    intern_init(&seen);
    bool more = false;
    for (size_t i = 0; i < p->streams.n && !more; i++) {
        const struct stream *s = p->streams.at[i];
        if (event && !event_is(p, s, event))
            continue;
        for (int k = 0; k < (events ? 1 : s->n_types) && !more; k++) {
            struct text name = profile_str(p, events ? s->event : s->types[k].name);
            if (!name.n || intern_find(&seen, name) != IDMAP_NONE)
                continue;
            intern_add(&seen, name);
            more = b->n && b->n + name.n > ROOM;
            struct text shown = more ? text_of("...") : name;
            buf_printf(b, "%s%.*s", b->n ? ", " : "", TEXT_ARG(shown));
        }
    }
    intern_done(&seen);
}

/* Without EVENT the default stream's columns go first, then the others in their order. */
static bool find_value(const struct profile *p, const char *event, const char *value,
                       struct value_ref *ret)
{
    int first = p->default_value.stream;
    if (!event && first >= 0) {
        int type = pick_of_stream(p, p->streams.at[first], value);
        *ret = (struct value_ref){first, type};
        if (type >= 0)
            return true;
    }
    for (int i = 0; i < (int)p->streams.n; i++) {
        if (event && !event_is(p, p->streams.at[i], event))
            continue;
        int type = pick_of_stream(p, p->streams.at[i], value);
        *ret = (struct value_ref){i, type};
        if (type >= 0)
            return true;
    }
    return false;
}

int profile_pick_value(const struct profile *p, const char *event, const char *value,
                       struct value_ref *ret, struct err *err)
{
    bool is_event = !event || any_stream_is(p, event);
    if (!event && !value && p->default_value.stream >= 0) {
        *ret = p->default_value;
        return 0;
    }
    if (!is_event && !value ? find_value(p, NULL, event, ret) : find_value(p, event, value, ret))
        return 0;
    autobuf struct buf list = {0};
    list_choices(p, !is_event, is_event ? event : NULL, &list);
    return err_set(err, EXIT_ERROR, "no %s '%s' in this profile; it has: %s",
                   is_event ? "value" : "event",
                   !is_event ? event
                   : value   ? value
                             : "",
                   buf_cstr(&list));
}

bool profile_value_chooses(const struct profile *p, const char *value, const struct stream *s)
{
    bool here = false;
    for (int i = 0; i < (int)p->streams.n; i++) {
        if (profile_find_column(p, i, value) < 0)
            continue;
        if (profile_stream(p, i) != s)
            return false;
        here = true;
    }
    return here;
}
