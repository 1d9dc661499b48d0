#include "model/profile.h"

#include <xxhash.h>

struct profile *profile_new(void)
{
    struct profile *p = mem_new(struct profile);
    intern_init(&p->strings);
    stacks_init(&p->stacks);
    p->default_type = -1;
    profile_add_mapping(p, &(struct mapping){0});
    profile_add_function(p, &(struct function){0});
    profile_add_thread(p, &(struct thread){.pid = THREAD_NO_ID, .tid = THREAD_NO_ID});
    return p;
}

void profile_free(struct profile *p)
{
    if (!p)
        return;
    intern_done(&p->strings);
    stacks_done(&p->stacks);
    meta_done(&p->meta);
    vec_done(&p->mappings);
    vec_done(&p->functions);
    vec_done(&p->lines);
    vec_done(&p->frames);
    vec_done(&p->threads);
    free(p->samples.stack);
    free(p->samples.thread);
    free(p->samples.time_ns);
    for (int i = 0; i < p->n_types; i++)
        free(p->samples.value[i]);
    idmap_done(&p->mapping_map);
    idmap_done(&p->function_map);
    idmap_done(&p->frame_map);
    idmap_done(&p->thread_map);
    idmap_done(&p->sample_map);
    free(p);
}

struct str_id profile_add_str(struct profile *p, struct text t)
{
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

struct thread_id profile_add_thread(struct profile *p, const struct thread *t)
{
    uint32_t hash = hash_pair(hash_pair((uint32_t)t->pid, (uint32_t)t->tid), t->name.i);
    for_each_match (&p->thread_map, hash, id) {
        const struct thread *o = &p->threads.at[id];
        if (o->pid == t->pid && o->tid == t->tid && o->name.i == t->name.i)
            return (struct thread_id){id};
    }
    uint32_t id = (uint32_t)p->threads.n;
    *vec_push(&p->threads) = *t;
    idmap_add(&p->thread_map, hash, id);
    return (struct thread_id){id};
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

int profile_add_type(struct profile *p, const char *event, const char *name, const char *unit)
{
    if (p->n_types == PROFILE_MAX_TYPES)
        return -1;
    int i = p->n_types++;
    p->types[i] = (struct sample_type){
        .event = profile_add_str(p, text_of(event)),
        .name = profile_add_str(p, text_of(name)),
        .unit = profile_add_str(p, text_of(unit)),
        .count_type = -1,
    };
    if (p->samples.cap)
        p->samples.value[i] = mem_calloc(p->samples.cap, sizeof(int64_t));
    return i;
}

static void *grow_column(void *old, size_t size_bytes)
{
    enum { LARGE_BYTES = 4 << 20 };
    void *column = mem_realloc(old, size_bytes);
    if (size_bytes >= LARGE_BYTES)
        mem_want_huge_pages(column, size_bytes);
    return column;
}

static void grow_samples(struct profile *p)
{
    struct samples *s = &p->samples;
    size_t cap = s->cap + s->cap / 2;
    cap = cap < 64 ? 64 : cap;
    s->stack = grow_column(s->stack, cap * sizeof *s->stack);
    s->thread = grow_column(s->thread, cap * sizeof *s->thread);
    if (s->time_ns)
        s->time_ns = grow_column(s->time_ns, cap * sizeof *s->time_ns);
    for (int i = 0; i < p->n_types; i++)
        s->value[i] = grow_column(s->value[i], cap * sizeof *s->value[i]);
    s->cap = cap;
}

size_t profile_find_row(const struct profile *p, struct stack_id stack, struct thread_id thread)
{
    const struct samples *rows = &p->samples;
    for_each_match (&p->sample_map, hash_pair(stack.i, thread.i), id) {
        if (rows->stack[id].i == stack.i && rows->thread[id].i == thread.i)
            return id;
    }
    return SIZE_MAX;
}

/* Where S was put the last time, if the caller remembers, spares the search. */
static size_t old_row(const struct profile *p, const struct sample *s)
{
    const struct samples *rows = &p->samples;
    size_t row = s->row ? *s->row : SIZE_MAX;
    if (row < rows->n && rows->stack[row].i == s->stack.i && rows->thread[row].i == s->thread.i)
        return row;
    return profile_find_row(p, s->stack, s->thread);
}

/* The row for S: an old one when samples are merged, else a new one. */
static size_t row_for(struct profile *p, const struct sample *s)
{
    struct samples *rows = &p->samples;
    size_t old = p->merge_samples ? old_row(p, s) : SIZE_MAX;
    if (old != SIZE_MAX)
        return old;
    if (rows->n == rows->cap)
        grow_samples(p);
    size_t row = rows->n++;
    rows->stack[row] = s->stack;
    rows->thread[row] = s->thread;
    for (int i = 0; i < p->n_types; i++)
        rows->value[i][row] = 0;
    if (p->merge_samples)
        idmap_add(&p->sample_map, hash_pair(s->stack.i, s->thread.i), (uint32_t)row);
    return row;
}

static void set_time(struct samples *rows, size_t row, const struct sample *s)
{
    if (s->has_time && !rows->time_ns)
        rows->time_ns = mem_calloc(rows->cap, sizeof *rows->time_ns);
    if (rows->time_ns)
        rows->time_ns[row] = s->has_time ? s->time_ns : 0;
}

int profile_add_sample(struct profile *p, const struct sample *s, struct err *err)
{
    for (int i = 0; i < p->n_types; i++) {
        int64_t sum;
        if (__builtin_add_overflow(p->types[i].total, s->values[i], &sum))
            return err_set(err, EXIT_INPUT, "the sum of all '%s' values does not fit 64 bits",
                           profile_str(p, p->types[i].name).at);
    }
    size_t row = row_for(p, s);
    if (s->row)
        *s->row = (uint32_t)row;
    if (!p->merge_samples)
        set_time(&p->samples, row, s);
    for (int i = 0; i < p->n_types; i++) {
        p->types[i].total += s->values[i];
        p->samples.value[i][row] += s->values[i];
    }
    return 0;
}

static bool times_ten(int64_t *v, int n)
{
    while (n-- > 0)
        if (__builtin_mul_overflow(*v, 10, v))
            return false;
    return true;
}

int profile_scale_value(struct profile *p, int type, int64_t value, int decimals,
                        int64_t *ret_value, struct err *err)
{
    struct sample_type *t = &p->types[type];
    int64_t total = t->total;
    int more = decimals - t->decimals;
    if (!times_ten(&value, -more) || !times_ten(&total, more))
        return err_set(err, EXIT_INPUT, "the values have too many digits to sum exactly");
    if (more > 0) {
        for (size_t i = 0; i < p->samples.n; i++)
            times_ten(&p->samples.value[type][i], more);
        t->total = total;
        t->decimals = decimals;
    }
    *ret_value = value;
    return 0;
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

/* --- choosing a column --- */

static bool is_samples(const struct profile *p, int i)
{
    return text_is(profile_str(p, p->types[i].name), "samples");
}

static bool value_fits(const struct profile *p, int i, const char *value)
{
    if (!value)
        return true;
    if (strcmp(value, "weight") == 0)
        return !is_samples(p, i);
    return text_is(profile_str(p, p->types[i].name), value);
}

static void list_types(const struct profile *p, char *s, size_t size)
{
    size_t n = 0;
    s[0] = '\0';
    for (int i = 0; i < p->n_types && n < size; i++) {
        struct text event = profile_str(p, p->types[i].event);
        n += (size_t)snprintf(s + n, size - n, "%s%.*s%s%s", i ? ", " : "", TEXT_ARG(event),
                              event.n ? " " : "", profile_str(p, p->types[i].name).at);
    }
}

int profile_pick_type(const struct profile *p, const char *event, const char *value, int *ret_type,
                      struct err *err)
{
    if (!event && !value && p->default_type >= 0) {
        *ret_type = p->default_type;
        return 0;
    }
    int found = -1;
    for (int i = 0; i < p->n_types; i++) {
        bool first_event = p->types[i].event.i == p->types[0].event.i;
        bool event_fits = event ? text_is(profile_str(p, p->types[i].event), event) : first_event;
        if (!event_fits || !value_fits(p, i, value))
            continue;
        if (found < 0 || (!value && is_samples(p, found)))
            found = i; /* without a wish, weight goes before samples */
    }
    if (found < 0) {
        char list[160];
        list_types(p, list, sizeof list);
        return err_set(err, EXIT_ERROR, "no %s '%s' in this profile; it has: %s",
                       value ? "value" : "event",
                       value   ? value
                       : event ? event
                               : "",
                       list);
    }
    *ret_type = found;
    return 0;
}

int profile_count_type(const struct profile *p, int type)
{
    return is_samples(p, type) ? type : p->types[type].count_type;
}

int profile_count_events(const struct profile *p)
{
    int n = 0;
    for (int i = 0; i < p->n_types; i++) {
        bool seen = false;
        for (int j = 0; j < i; j++)
            seen |= p->types[j].event.i == p->types[i].event.i;
        n += !seen;
    }
    return n;
}
