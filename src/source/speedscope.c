#include "source/speedscope.h"
#include "source/sources.h"
#include "source/streamfacts.h"

/* --- frames --- */

/* A frame that is not described yet: remember it until it is. */
static struct frame_id early_frame(struct speedscope *s, uint32_t index)
{
    uint32_t hash = hash_pair(index, 0);
    for_each_match (&s->early_map, hash, at) {
        if (s->early.at[at].index == index)
            return s->early.at[at].id;
    }
    struct frame_id id = profile_reserve_frame(s->im->profile);
    idmap_add(&s->early_map, hash, (uint32_t)s->early.n);
    *vec_push(&s->early) = (struct early_frame){index, id, reader_offset(s->im->in)};
    return id;
}

struct frame_id speedscope_frame(struct speedscope *s, int64_t index)
{
    if (s->has_frames && index >= 0 && (uint64_t)index < s->frames.n)
        return s->frames.at[index];
    if (!s->has_frames && index >= 0 && index < UINT32_MAX)
        return early_frame(s, (uint32_t)index);
    json_fail(&s->j, "frame index %lld is out of range: there are %zu frames", (long long)index,
              s->frames.n);
    return (struct frame_id){0};
}

/* Where there are frames that were used early, describe this one in its place. */
static struct frame_id speedscope_describe(struct speedscope *s, const struct frame_key *key)
{
    uint32_t index = (uint32_t)s->frames.n;
    for_each_match (&s->early_map, hash_pair(index, 0), at) {
        if (s->early.at[at].index == index) {
            profile_set_frame(s->im->profile, s->early.at[at].id, key);
            return s->early.at[at].id;
        }
    }
    return profile_add_frame(s->im->profile, key);
}

static enum frame_kind speedscope_kind_of(struct text t)
{
    return text_is(t, "kernel")    ? FRAME_KERNEL
           : text_is(t, "jit")     ? FRAME_JIT
           : text_is(t, "inlined") ? FRAME_INLINED
           : text_is(t, "waker")   ? FRAME_WAKER
                                   : FRAME_USER;
}

/* A line or column: 0 where it is null or makes no sense. */
static uint32_t read_place(struct jsonread *j)
{
    int64_t v = json_get_int(j);
    return v > 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

static void read_frame(struct speedscope *s)
{
    struct jsonread *j = &s->j;
    struct profile *p = s->im->profile;
    struct function f = {0};
    struct line line = {0};
    struct frame_key key = {.lines = &line, .n_lines = 1};
    bool has_name = false;
    struct text k;
    json_enter(j, JSON_OBJECT);
    while (json_member(j, &k)) {
        if (text_is(k, "name")) {
            f.name = profile_add_str(p, json_get_text(j));
            has_name = true;
        } else if (text_is(k, "file"))
            f.file = profile_add_str(p, json_get_text(j));
        else if (text_is(k, "line"))
            line.line = read_place(j);
        else if (text_is(k, "col"))
            line.column = read_place(j);
        else if (text_is(k, "kind"))
            key.kind = speedscope_kind_of(json_get_text(j));
        else
            json_skip(j);
    }
    if (!has_name)
        json_fail(j, "frame %zu has no name", s->frames.n);
    f.line = s->is_own ? line.line : 0; /* we write where a function starts, others where it is */
    line.function = profile_add_function(p, &f);
    struct frame_id id = speedscope_describe(s, &key); /* goes by frames.n */
    *vec_push(&s->frames) = id;
}

static void read_shared(struct speedscope *s)
{
    struct jsonread *j = &s->j;
    struct text key;
    json_enter(j, JSON_OBJECT);
    while (json_member(j, &key)) {
        if (!text_is(key, "frames")) {
            json_skip(j);
            continue;
        }
        if (s->has_frames)
            json_fail(j, "a second list of frames");
        json_enter(j, JSON_ARRAY);
        while (json_element(j))
            read_frame(s);
        s->has_frames = true;
    }
}

/* --- what we add to our own exports --- */

/* A string as the caller's own, NUL-terminated. */
static char *read_own_str(struct jsonread *j)
{
    struct text t = json_get_text(j);
    return mem_strndup(t.at, t.n);
}

struct own_type {
    char *event, *name, *unit;
    int64_t stream, decimals; /* stream -1 = the event's */
};

/* The stream of a type that the file describes: by number, or else by its event. */
static int own_stream(struct speedscope *s, const struct own_type *t)
{
    struct profile *p = s->im->profile;
    const char *event = t->event ? t->event : "";
    if (t->stream >= 0 && (size_t)t->stream < p->streams.n)
        return (int)t->stream;
    for (size_t i = 0; t->stream < 0 && i < p->streams.n; i++)
        if (text_is(profile_str(p, p->streams.at[i]->event), event))
            return (int)i;
    if (t->stream > (int64_t)p->streams.n)
        return -1;
    return profile_add_stream(p, event, OBTAINED_UNKNOWN);
}

static void add_own_type(struct speedscope *s, const struct own_type *t)
{
    struct profile *p = s->im->profile;
    bool good = t->decimals >= 0 && t->decimals <= 9 && t->stream >= -1;
    int stream = good ? own_stream(s, t) : -1;
    int type = stream < 0
                   ? -1
                   : profile_add_value(p, stream, t->name ? t->name : "", t->unit ? t->unit : "");
    if (type < 0) {
        json_fail(&s->j, "an invalid sample type");
        return;
    }
    profile_stream(p, stream)->types[type].decimals = (int)t->decimals;
    *vec_push(&s->own_types) = (struct value_ref){stream, type};
}

static void read_own_type(struct speedscope *s)
{
    struct jsonread *j = &s->j;
    struct own_type t = {.stream = -1};
    struct text key;
    json_enter(j, JSON_OBJECT);
    while (json_member(j, &key)) {
        char **str = text_is(key, "event") ? &t.event : text_is(key, "name") ? &t.name : NULL;
        str = text_is(key, "unit") ? &t.unit : str;
        if (str) {
            free(*str);
            *str = read_own_str(j);
        } else if (text_is(key, "decimals"))
            t.decimals = json_get_int(j);
        else if (text_is(key, "stream"))
            t.stream = json_get_int(j);
        else
            json_skip(j);
    }
    add_own_type(s, &t);
    free(t.event);
    free(t.name);
    free(t.unit);
}

/* {"event": "cycles", "obtained": "hardware counter", "lost": "3"}: see streamfacts.h. */
static void read_own_facts(struct speedscope *s, int stream)
{
    struct text key;
    json_enter(&s->j, JSON_OBJECT);
    while (json_member(&s->j, &key)) {
        autofree char *name = mem_strndup(key.at, key.n);
        struct text value = json_get_text(&s->j);
        if (stream >= 0)
            streamfacts_set(s->im->profile, stream, text_of(name), value);
    }
}

static void read_own_streams(struct speedscope *s)
{
    struct profile *p = s->im->profile;
    json_enter(&s->j, JSON_ARRAY);
    for (int i = 0; json_element(&s->j); i++)
        read_own_facts(s,
                       (size_t)i < p->streams.n ? i : profile_add_stream(p, "", OBTAINED_UNKNOWN));
}

static void read_own_clock(struct speedscope *s)
{
    uint64_t at[2] = {0};
    json_enter(&s->j, JSON_ARRAY);
    for (int i = 0; json_element(&s->j); i++) {
        int64_t v = json_get_int(&s->j);
        if (i < 2 && v >= 0)
            at[i] = (uint64_t)v;
    }
    s->im->profile->clock = (struct clock_pair){at[0], at[1]};
}

static void read_own_thread(struct speedscope *s)
{
    struct jsonread *j = &s->j;
    struct thread_key t = {.pid = THREAD_NO_ID, .tid = THREAD_NO_ID};
    struct text key;
    json_enter(j, JSON_OBJECT);
    while (json_member(j, &key)) {
        if (text_is(key, "name"))
            t.name = profile_add_str(s->im->profile, json_get_text(j));
        else if (text_is(key, "pid"))
            t.pid = (int32_t)json_get_int(j);
        else if (text_is(key, "tid"))
            t.tid = (int32_t)json_get_int(j);
        else
            json_skip(j);
    }
    *vec_push(&s->own_threads) = profile_add_thread(s->im->profile, &t);
}

static void read_own_meta(struct speedscope *s)
{
    struct text key;
    json_enter(&s->j, JSON_OBJECT);
    while (json_member(&s->j, &key)) {
        autofree char *name = mem_strndup(key.at, key.n);
        meta_set(&s->im->profile->meta, name, json_get_text(&s->j));
    }
}

static void check_own_types(struct speedscope *s, int64_t default_type)
{
    if (default_type < -1 || default_type >= (int64_t)s->own_types.n)
        json_fail(&s->j, "the default sample type is not in the file");
    else if (default_type >= 0)
        s->im->profile->default_value = s->own_types.at[default_type];
    s->is_own = s->own_types.n > 0;
}

static void read_own(struct speedscope *s)
{
    struct jsonread *j = &s->j;
    int64_t default_type = -1;
    struct text key;
    json_enter(j, JSON_OBJECT);
    while (json_member(j, &key)) {
        if (text_is(key, "meta")) {
            read_own_meta(s);
        } else if (text_is(key, "default_type")) {
            default_type = json_get_int(j);
        } else if (text_is(key, "streams")) {
            read_own_streams(s);
        } else if (text_is(key, "clock")) {
            read_own_clock(s);
        } else if (text_is(key, "types")) {
            json_enter(j, JSON_ARRAY);
            while (json_element(j))
                read_own_type(s);
        } else if (text_is(key, "threads")) {
            json_enter(j, JSON_ARRAY);
            while (json_element(j))
                read_own_thread(s);
        } else {
            json_skip(j);
        }
    }
    check_own_types(s, default_type);
}

/* --- the file --- */

static void read_profiles(struct speedscope *s)
{
    s->has_profiles = true;
    json_enter(&s->j, JSON_ARRAY);
    while (json_element(&s->j))
        speedscope_profile(s);
}

static void read_meta(struct speedscope *s, const char *key)
{
    struct text value = json_get_text(&s->j);
    if (value.n && !s->is_own)
        meta_set(&s->im->profile->meta, key, value);
}

static void speedscope_read_file(struct speedscope *s)
{
    struct jsonread *j = &s->j;
    struct text key;
    json_enter(j, JSON_OBJECT);
    while (json_member(j, &key)) {
        if (text_is(key, "shared"))
            read_shared(s);
        else if (text_is(key, "profiles"))
            read_profiles(s);
        else if (text_is(key, "kelvin") && !s->has_profiles && !s->is_own)
            read_own(s);
        else if (text_is(key, "name"))
            read_meta(s, "name");
        else if (text_is(key, "exporter"))
            read_meta(s, META_TOOL);
        else if (text_is(key, "activeProfileIndex"))
            s->active = json_peek(j) == JSON_NULL ? (json_skip(j), -1) : json_get_int(j);
        else
            json_skip(j);
    }
    json_finish(j);
}

/* What is known only at the end: frames that never came, and which profile to show. */
static void check_file(struct speedscope *s)
{
    if (!s->j.err.code && !s->has_profiles)
        json_fail(&s->j, "no list of \"profiles\" in this file");
    for (size_t i = 0; i < s->early.n && !s->j.err.code; i++)
        if (s->early.at[i].index >= s->frames.n)
            err_set(&s->j.err, EXIT_INPUT,
                    "byte %llu: frame index %u is out of range: there are %zu frames",
                    (unsigned long long)s->early.at[i].offset, s->early.at[i].index, s->frames.n);
    if (s->is_own || s->active < 0)
        return;
    meta_set_u64(&s->im->profile->meta, "active_profile", (uint64_t)s->active);
    if ((uint64_t)s->active < s->value_of_profile.n)
        s->im->profile->default_value = s->value_of_profile.at[s->active];
}

static int speedscope_read(struct import *im, struct err *err)
{
    struct speedscope s = {.im = im, .active = -1};
    memset(s.streams, -1, sizeof s.streams);
    jsonread_init(&s.j, im->in);
    speedscope_read_file(&s);
    check_file(&s);
    bool failed = json_failed(&s.j, err);
    jsonread_done(&s.j);
    vec_done(&s.frames);
    vec_done(&s.early);
    idmap_done(&s.early_map);
    vec_done(&s.value_of_profile);
    vec_done(&s.own_types);
    vec_done(&s.own_threads);
    return failed ? -1 : 0;
}

static bool speedscope_has(struct text head, const char *word)
{
    return memmem(head.at, head.n, word, strlen(word));
}

static int speedscope_probe(struct text head, bool whole)
{
    (void)whole;
    struct text t = text_trim(head);
    if (text_starts(t, "\xef\xbb\xbf"))
        t = (struct text){t.at + 3, t.n - 3};
    if (!text_starts(t, "{"))
        return 0;
    if (speedscope_has(t, "speedscope.app/file-format-schema"))
        return 100;
    if (speedscope_has(t, "\"profiles\"") &&
        (speedscope_has(t, "\"sampled\"") || speedscope_has(t, "\"evented\"")))
        return 80;
    return speedscope_has(t, "\"exporter\"") && speedscope_has(t, "speedscope") ? 60 : 0;
}

const struct source source_speedscope = {
    .name = "speedscope",
    .title = "speedscope profile (JSON)",
    .probe = speedscope_probe,
    .read = speedscope_read,
};
