/* firefox_meta.c - what a Firefox Profiler file says of itself, and kelvin's own part of it. */
#include "source/firefox_inner.h"

#include <math.h>

static void read_category(struct firefox *f)
{
    struct text key;
    uint8_t kind = FRAME_USER;
    bool inside = firefox_enter(f, JSON_OBJECT);
    while (inside && json_member(&f->j, &key)) {
        if (text_is(key, "name") && json_peek(&f->j) == JSON_STRING)
            kind = (uint8_t)firefox_kind_of(json_get_text(&f->j));
        else
            json_skip(&f->j);
    }
    *vec_push(&f->process->kinds) = kind;
}

/* ["event", "name", "unit"] */
static void read_column_name(struct firefox *f, struct str_id ret[3])
{
    if (!firefox_enter(f, JSON_ARRAY))
        return;
    for (int i = 0; json_element(&f->j); i++) {
        struct str_id s = firefox_str(f);
        if (i < 3)
            ret[i] = s;
    }
}

static void read_kelvin_meta(struct firefox *f)
{
    struct profile *p = f->im->profile;
    struct text key;
    if (!firefox_enter(f, JSON_OBJECT))
        return;
    f->own_meta = true;
    while (json_member(&f->j, &key)) {
        autofree char *name = mem_strndup(key.at, key.n);
        meta_set(&p->meta, name, profile_str(p, firefox_str(f)));
    }
}

/* See streamfacts.h. */
static void read_kelvin_facts(struct firefox *f)
{
    struct text key;
    if (!firefox_enter(f, JSON_OBJECT))
        return;
    while (json_member(&f->j, &key)) {
        struct str_id name = profile_add_str(f->im->profile, key);
        *vec_push(&f->facts) = (struct fact){name, firefox_str(f)};
    }
}

static void read_kelvin_clock(struct firefox *f)
{
    uint64_t at[2] = {0};
    if (!firefox_enter(f, JSON_ARRAY))
        return;
    for (int i = 0; json_element(&f->j); i++) {
        int64_t v = json_get_int(&f->j);
        if (i < 2 && v >= 0)
            at[i] = (uint64_t)v;
    }
    f->im->profile->clock = (struct clock_pair){at[0], at[1]};
}

/* What kelvin adds: its own meta entries, and what the columns were called. */
static void read_kelvin(struct firefox *f)
{
    struct text key;
    if (!firefox_enter(f, JSON_OBJECT))
        return;
    while (json_member(&f->j, &key)) {
        if (text_is(key, "untimed"))
            f->untimed = json_get_bool(&f->j);
        else if (text_is(key, "weight"))
            read_column_name(f, f->weight);
        else if (text_is(key, "cpu"))
            read_column_name(f, f->cpu);
        else if (text_is(key, "first"))
            f->show_first = json_get_int(&f->j);
        else if (text_is(key, "meta"))
            read_kelvin_meta(f);
        else if (text_is(key, "stream"))
            read_kelvin_facts(f);
        else if (text_is(key, "clock"))
            read_kelvin_clock(f);
        else
            json_skip(&f->j);
    }
}

void firefox_read_categories(struct firefox *f)
{
    f->process->kinds.n = 0;
    if (firefox_enter(f, JSON_ARRAY))
        while (json_element(&f->j))
            read_category(f);
}

static void read_sample_units(struct firefox *f)
{
    struct text key;
    if (!firefox_enter(f, JSON_OBJECT))
        return;
    while (json_member(&f->j, &key))
        if (text_is(key, "threadCPUDelta"))
            f->cpu_unit = firefox_str(f);
        else
            json_skip(&f->j);
}

static void meta_text(struct firefox *f, const char *name)
{
    struct profile *p = f->im->profile;
    struct text value = profile_str(p, firefox_str(f));
    if (value.n && !f->own_meta)
        meta_set(&p->meta, name, value);
}

static void meta_member(struct firefox *f, struct text key)
{
    if (text_is(key, "interval"))
        f->interval_ms = firefox_number(f);
    else if (text_is(key, "startTime"))
        f->process->start_ms = firefox_number(f);
    else if (text_is(key, "profilingStartTime"))
        f->profiling_ms[0] = firefox_number(f);
    else if (text_is(key, "profilingEndTime"))
        f->profiling_ms[1] = firefox_number(f);
    else if (text_is(key, "product"))
        f->product = firefox_str(f);
    else if (text_is(key, "importedFrom"))
        f->imported_from = firefox_str(f);
    else if (text_is(key, "misc"))
        f->misc = firefox_str(f);
    else if (text_is(key, "oscpu"))
        meta_text(f, META_OS);
    else if (text_is(key, "CPUName"))
        meta_text(f, META_CPU);
    else if (text_is(key, "abi"))
        meta_text(f, META_ARCH);
    else if (text_is(key, "sampleUnits"))
        read_sample_units(f);
    else if (text_is(key, "kelvin"))
        read_kelvin(f);
    else if (text_is(key, "categories"))
        firefox_read_categories(f);
    else
        json_skip(&f->j);
}

void firefox_read_meta(struct firefox *f)
{
    struct text key;
    if (firefox_enter(f, JSON_OBJECT))
        while (json_member(&f->j, &key))
            meta_member(f, key);
}

/* perf's gecko.py writes the time since boot as startTime; below this it is no date (1973). */
#define LEAST_DATE_MS 1e11

static bool firefox_is_raw(const struct firefox *f)
{
    return f->threads.n && f->threads.at[0].own.frame_location.n;
}

/* Standard members become entries, unless kelvin's own were there. */
void firefox_set_meta(struct firefox *f)
{
    struct profile *p = f->im->profile;
    struct meta *m = &p->meta;
    double length_ms = f->profiling_ms[1] - f->profiling_ms[0];
    double start_ms = f->processes.at[0]->start_ms;
    if (f->own_meta)
        return;
    /* Times of samples are since then. */
    if (start_ms > (firefox_is_raw(f) ? LEAST_DATE_MS : 0) && start_ms < 9e12) {
        p->clock.wall_ns = (uint64_t)llround(start_ms * 1e3) * 1000;
        meta_set_u64(m, META_TIME_NS, p->clock.wall_ns);
    }
    if (length_ms > 0 && length_ms < 9e12)
        meta_set_u64(m, META_DURATION_NS, (uint64_t)firefox_millionths(length_ms));
    if (f->product.i)
        meta_set(m, META_COMMAND, profile_str(p, f->product));
    struct str_id tool = f->imported_from.i ? f->imported_from : f->misc;
    if (tool.i)
        meta_set(m, META_TOOL, profile_str(p, tool));
}
