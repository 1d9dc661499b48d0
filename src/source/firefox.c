/*
 * firefox.c - Firefox Profiler's processed profiles, as samply and profiler.firefox.com save them,
 * and the raw ones of Gecko (gecko.h).
 *
 *     {"meta": {"preprocessedProfileVersion": 66, "interval": ms, "categories": [...], ...},
 *      "libs": [...], "shared": {tables}, "threads": [{"name": ..., "pid": "12", "tid": 12,
 *      "samples": {"stack": [rows], "timeDeltas": [ms], "weight": [...], "weightType": "samples",
 *                  "threadCPUDelta": [...]}, tables in older files}]}
 *
 * Samples without a stack are idle moments and stay out. Markers, counters and allocations are
 * not read. Files written by kelvin say in meta.kelvin what the format has no place for.
 */
#include "source/firefox_tables.h"
#include "source/gecko.h"
#include "source/sources.h"
#include "source/streamfacts.h"

#include <math.h>

enum weight_kind { WEIGHT_SAMPLES, WEIGHT_TIME, WEIGHT_BYTES, WEIGHT_KINDS };

/* The stream of all threads whose samples weigh the same kind of thing. Columns are -1 if missing.
 */
struct weighed {
    bool used, has_cpu;
    int stream, samples, weight, cpu;
};

struct fact {
    struct str_id key, value;
};

/* What the threads of a raw profile's process share; a processed profile has one of these. */
struct fx_process {
    struct firefox_tables shared;
    firefox_kinds kinds;
    double start_ms; /* since 1970 */
};

struct fx_thread {
    struct fx_process *of;
    struct str_id name, process;
    int32_t pid, tid;
    double start_ms, end_ms;   /* of its process; 0 = not known */
    struct firefox_tables own; /* in older files */
    firefox_column stack;
    VEC(int64_t) time_ns; /* or the difference to the one before */
    VEC(int64_t) weight;  /* in millionths; negative = not usable */
    VEC(int64_t) cpu;
    bool deltas;
    struct str_id weight_type;
};

struct firefox {
    struct import *im;
    struct jsonread j;
    VEC(struct fx_process *) processes; /* the first is the profile's own */
    struct fx_process *process;         /* that is being read */
    VEC(struct fx_thread) threads;
    struct str_id cpu_unit;
    double interval_ms, profiling_ms[2];
    struct str_id product, misc, imported_from;
    bool untimed;                    /* kelvin had no times to write */
    bool own_meta;                   /* kelvin's own meta was there */
    struct str_id weight[3], cpu[3]; /* kelvin's own event, name and unit of the columns */
    struct weighed streams[WEIGHT_KINDS];
    VEC(struct fact) facts; /* kelvin's own, about the stream */
    int64_t show_first;     /* kelvin's own default column, -1 = none */
    uint64_t idle, in_text; /* samples without a stack; processes as a string (old Firefox) */
};

/* --- values --- */

static bool firefox_enter(struct firefox *f, enum json_token what)
{
    if (json_peek(&f->j) == what)
        return json_enter(&f->j, what);
    json_skip(&f->j);
    return false;
}

static struct str_id get_str(struct firefox *f)
{
    if (json_peek(&f->j) == JSON_STRING)
        return profile_add_str(f->im->profile, json_get_text(&f->j));
    json_skip(&f->j);
    return (struct str_id){0};
}

static double get_number(struct firefox *f)
{
    if (json_peek(&f->j) == JSON_NUMBER)
        return json_get_double(&f->j);
    json_skip(&f->j);
    return 0;
}

static int64_t times_million(double ms)
{
    return fabs(ms) < 9e12 ? llround(ms * 1e6) : INT64_MIN;
}

/* Process and thread ids are numbers or texts; samply makes "12.1" of the second process 12. */
static int32_t get_id(struct firefox *f)
{
    uint64_t id;
    if (json_peek(&f->j) == JSON_NUMBER) {
        double d = json_get_double(&f->j);
        return d >= 0 && d <= INT32_MAX ? (int32_t)d : THREAD_NO_ID;
    }
    if (json_peek(&f->j) != JSON_STRING) {
        json_skip(&f->j);
        return THREAD_NO_ID;
    }
    struct text t = json_get_text(&f->j);
    return text_u64(text_cut(&t, '.'), 10, &id) && id <= INT32_MAX ? (int32_t)id : THREAD_NO_ID;
}

/* --- meta --- */

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
        struct str_id s = get_str(f);
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
        meta_set(&p->meta, name, profile_str(p, get_str(f)));
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
        *vec_push(&f->facts) = (struct fact){name, get_str(f)};
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

static void read_categories(struct firefox *f)
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
            f->cpu_unit = get_str(f);
        else
            json_skip(&f->j);
}

static void meta_text(struct firefox *f, const char *name)
{
    struct profile *p = f->im->profile;
    struct text value = profile_str(p, get_str(f));
    if (value.n && !f->own_meta)
        meta_set(&p->meta, name, value);
}

static void meta_member(struct firefox *f, struct text key)
{
    if (text_is(key, "interval"))
        f->interval_ms = get_number(f);
    else if (text_is(key, "startTime"))
        f->process->start_ms = get_number(f);
    else if (text_is(key, "profilingStartTime"))
        f->profiling_ms[0] = get_number(f);
    else if (text_is(key, "profilingEndTime"))
        f->profiling_ms[1] = get_number(f);
    else if (text_is(key, "product"))
        f->product = get_str(f);
    else if (text_is(key, "importedFrom"))
        f->imported_from = get_str(f);
    else if (text_is(key, "misc"))
        f->misc = get_str(f);
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
        read_categories(f);
    else
        json_skip(&f->j);
}

static void read_meta(struct firefox *f)
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
static void set_meta(struct firefox *f)
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
        meta_set_u64(m, META_DURATION_NS, (uint64_t)times_million(length_ms));
    if (f->product.i)
        meta_set(m, META_COMMAND, profile_str(p, f->product));
    struct str_id tool = f->imported_from.i ? f->imported_from : f->misc;
    if (tool.i)
        meta_set(m, META_TOOL, profile_str(p, tool));
}

/* --- threads --- */

#define for_each_number(f, v)                                                              \
    if (firefox_enter(f, JSON_ARRAY))                                                      \
        for (double v; json_element(&(f)->j) &&                                            \
                       (v = json_peek(&(f)->j) == JSON_NUMBER ? json_get_double(&(f)->j)   \
                                                              : (json_skip(&(f)->j), NAN), \
                       true);)

/* The rows of a raw profile: stack, time, CPU time. */
static void take_sample_rows(struct fx_thread *t, const struct gecko_table *raw)
{
    for (size_t row = 0; row < raw->starts.n; row++) {
        double stack = gecko_table_get(raw, row, 0), time = gecko_table_get(raw, row, 1);
        double cpu = gecko_table_get(raw, row, 2);
        *vec_push(&t->stack) = stack >= 0 && stack <= INT32_MAX ? (int32_t)stack : FIREFOX_NONE;
        *vec_push(&t->time_ns) = isnan(time) ? INT64_MIN : times_million(time);
        *vec_push(&t->cpu) = cpu > 0 && cpu < 9e18 ? llround(cpu) : 0;
    }
}

static void samples_member(struct firefox *f, struct fx_thread *t, struct gecko_table *raw,
                           struct text key)
{
    if (text_is(key, "stack")) {
        for_each_number(f, v) * vec_push(&t->stack) =
            v >= 0 && v <= INT32_MAX ? (int32_t)v : FIREFOX_NONE;
    } else if (text_is(key, "time") || text_is(key, "timeDeltas")) {
        t->deltas = text_is(key, "timeDeltas");
        t->time_ns.n = 0;
        for_each_number(f, v) * vec_push(&t->time_ns) = isnan(v) ? 0 : times_million(v);
    } else if (text_is(key, "weight")) {
        for_each_number(f, v) * vec_push(&t->weight) = v >= 0 ? times_million(v) : -1;
    } else if (text_is(key, "threadCPUDelta")) {
        for_each_number(f, v) * vec_push(&t->cpu) = v > 0 && v < 9e18 ? llround(v) : 0;
    } else if (text_is(key, "weightType"))
        t->weight_type = get_str(f);
    else if (!gecko_table_member(raw, &f->j, key))
        json_skip(&f->j);
}

static void read_samples(struct firefox *f, struct fx_thread *t)
{
    struct text key;
    static const char *const fields[] = {"stack", "time", "threadCPUDelta"};
    struct gecko_table raw;
    gecko_table_init(&raw, fields, 3);
    if (firefox_enter(f, JSON_OBJECT))
        while (json_member(&f->j, &key))
            samples_member(f, t, &raw, key);
    take_sample_rows(t, &raw);
    gecko_table_done(&raw);
}

static void thread_member(struct firefox *f, struct fx_thread *t, struct text key)
{
    if (text_is(key, "name"))
        t->name = get_str(f);
    else if (text_is(key, "processName"))
        t->process = get_str(f);
    else if (text_is(key, "pid"))
        t->pid = get_id(f);
    else if (text_is(key, "tid"))
        t->tid = get_id(f);
    else if (text_is(key, "processStartupTime"))
        t->start_ms = get_number(f);
    else if (text_is(key, "processShutdownTime"))
        t->end_ms = get_number(f);
    else if (text_is(key, "samples"))
        read_samples(f, t);
    else if (!firefox_tables_member(&t->own, f->im, &f->j, key))
        json_skip(&f->j);
}

static void read_thread(struct firefox *f)
{
    struct text key;
    struct fx_thread t = {.of = f->process, .pid = THREAD_NO_ID, .tid = THREAD_NO_ID};
    f->in_text += json_peek(&f->j) == JSON_STRING;
    if (firefox_enter(f, JSON_OBJECT))
        while (json_member(&f->j, &key))
            thread_member(f, &t, key);
    *vec_push(&f->threads) = t;
}

static void read_threads(struct firefox *f)
{
    if (firefox_enter(f, JSON_ARRAY))
        while (json_element(&f->j))
            read_thread(f);
}

static void read_shared(struct firefox *f)
{
    struct text key;
    if (!firefox_enter(f, JSON_OBJECT))
        return;
    while (json_member(&f->j, &key))
        if (!firefox_tables_member(&f->process->shared, f->im, &f->j, key))
            json_skip(&f->j);
}

/* Of a child process's meta only what is its own; all else is the parent's. */
static void child_meta_member(struct firefox *f, struct text key)
{
    if (text_is(key, "startTime"))
        f->process->start_ms = get_number(f);
    else if (text_is(key, "categories"))
        read_categories(f);
    else
        json_skip(&f->j);
}

static void read_child_meta(struct firefox *f)
{
    struct text key;
    if (firefox_enter(f, JSON_OBJECT))
        while (json_member(&f->j, &key))
            child_meta_member(f, key);
}

static void top_member(struct firefox *f, struct text key);

static struct fx_process *add_process(struct firefox *f)
{
    struct fx_process *process = mem_new(struct fx_process);
    *vec_push(&f->processes) = process;
    return process;
}

/* Each is a whole profile, which may have children itself: JSON_DEPTH_MAX ends that. */
static void read_processes(struct firefox *f)
{
    struct text key;
    struct fx_process *parent = f->process;
    if (!firefox_enter(f, JSON_ARRAY))
        return;
    while (json_element(&f->j)) {
        f->process = add_process(f);
        f->in_text += json_peek(&f->j) == JSON_STRING;
        if (firefox_enter(f, JSON_OBJECT))
            while (json_member(&f->j, &key))
                top_member(f, key);
    }
    f->process = parent;
}

/* A recording of the developer tools, until Firefox 91, holds a raw profile and lists of its own.
 */
static void read_wrapped(struct firefox *f)
{
    struct text key;
    if (firefox_enter(f, JSON_OBJECT))
        while (json_member(&f->j, &key))
            top_member(f, key);
}

static void top_member(struct firefox *f, struct text key)
{
    if (text_is(key, "profile"))
        read_wrapped(f);
    else if (text_is(key, "meta") && f->process != f->processes.at[0])
        read_child_meta(f);
    else if (text_is(key, "meta"))
        read_meta(f);
    else if (text_is(key, "processes"))
        read_processes(f);
    else if (text_is(key, "threads"))
        read_threads(f);
    else if (text_is(key, "shared"))
        read_shared(f);
    else if (text_is(key, "libs"))
        firefox_tables_member(&f->process->shared, f->im, &f->j, key);
    else
        json_skip(&f->j);
}

/* --- samples --- */

static enum weight_kind firefox_weight_kind_of(const struct firefox *f, const struct fx_thread *t)
{
    struct text type = profile_str(f->im->profile, t->weight_type);
    if (text_is(type, "tracing-ms"))
        return WEIGHT_TIME;
    return dimension_of_unit(type) == DIM_BYTES ? WEIGHT_BYTES : WEIGHT_SAMPLES;
}

static bool has_cpu(const struct fx_thread *t)
{
    for (size_t i = 0; i < t->cpu.n && i < t->stack.n; i++)
        if (t->cpu.at[i] && t->stack.at[i] != FIREFOX_NONE)
            return true;
    return false;
}

static int add_column(struct firefox *f, int stream, const struct str_id own[3], const char *name,
                      const char *unit)
{
    struct profile *p = f->im->profile;
    if (own[1].i)
        return profile_add_value(p, stream, profile_str(p, own[1]).at, profile_str(p, own[2]).at);
    return profile_add_value(p, stream, name, unit);
}

static bool counts_cycles(const struct firefox *f)
{
    return text_is(profile_str(f->im->profile, f->cpu_unit), "variable CPU cycles");
}

/* Rows are counted too where they weigh something else; our own files have what they had. */
static void firefox_add_stream(struct firefox *f, enum weight_kind kind)
{
    static const char *const names[WEIGHT_KINDS] = {VALUE_SAMPLES, "wall", "bytes"};
    static const enum dimension dimensions[WEIGHT_KINDS] = {DIM_COUNT, DIM_TIME, DIM_BYTES};
    struct profile *p = f->im->profile;
    struct weighed *w = &f->streams[kind];
    bool own = f->weight[1].i != 0, cycles = counts_cycles(f);
    w->samples = w->weight = w->cpu = -1;
    w->stream = profile_add_stream(p, profile_str(p, f->weight[0]).at,
                                   kind == WEIGHT_TIME && !own ? BY_TRACE : OBTAINED_UNKNOWN);
    if (kind != WEIGHT_SAMPLES && !own)
        w->samples = profile_add_value(p, w->stream, VALUE_SAMPLES, UNIT_COUNT);
    w->weight = add_column(f, w->stream, f->weight, names[kind], dimension_unit(dimensions[kind]));
    if (w->has_cpu)
        w->cpu = add_column(f, w->stream, f->cpu, cycles ? "cycles" : "cpu",
                            cycles ? UNIT_COUNT : UNIT_TIME);
    if (f->interval_ms > 0 && f->interval_ms <= 1000 && !f->own_meta)
        profile_stream(p, w->stream)->rate_hz = 1000 / f->interval_ms;
    for (size_t i = 0; i < f->facts.n; i++)
        streamfacts_set(p, w->stream, profile_str(p, f->facts.at[i].key),
                        profile_str(p, f->facts.at[i].value));
}

/* The streams that some thread needs. */
static void add_streams(struct firefox *f)
{
    struct profile *p = f->im->profile;
    for (size_t i = 0; i < f->threads.n; i++) {
        struct weighed *w = &f->streams[firefox_weight_kind_of(f, &f->threads.at[i])];
        w->used = true;
        w->has_cpu |= has_cpu(&f->threads.at[i]);
    }
    for (int kind = 0; kind < WEIGHT_KINDS; kind++)
        if (f->streams[kind].used)
            firefox_add_stream(f, (enum weight_kind)kind);
    if (!f->threads.n)
        return;
    const struct weighed *first = &f->streams[firefox_weight_kind_of(f, &f->threads.at[0])];
    bool own = f->weight[1].i != 0;
    if (!own || f->show_first == 0)
        p->default_value = (struct value_ref){first->stream, first->weight};
    else if (f->show_first == 1 && first->cpu >= 0)
        p->default_value = (struct value_ref){first->stream, first->cpu};
}

/* A weight is in millionths, which are the nanoseconds of a millisecond. */
static int set_weight(struct firefox *f, enum weight_kind kind, int64_t millionths, int64_t *values,
                      struct err *err)
{
    int decimals = 6;
    struct value_ref column = {f->streams[kind].stream, f->streams[kind].weight};
    if (kind == WEIGHT_TIME) {
        values[column.type] = millionths;
        return 0;
    }
    for (; decimals && millionths % 10 == 0; decimals--)
        millionths /= 10;
    return profile_scale_value(f->im->profile, column, millionths, decimals, &values[column.type],
                               err);
}

static int fill_values(struct firefox *f, const struct fx_thread *t, size_t row, int64_t *values,
                       struct err *err)
{
    enum weight_kind kind = firefox_weight_kind_of(f, t);
    const struct weighed *w = &f->streams[kind];
    int64_t weight = row < t->weight.n ? t->weight.at[row] : 1000000;
    int64_t scale = text_is(profile_str(f->im->profile, f->cpu_unit), "\xc2\xb5s") ? 1000 : 1;
    if (weight < 0)
        return import_skip_byte(f->im, reader_offset(f->im->in), err,
                                "sample %zu has a weight that is negative or does not fit", row);
    if (w->samples >= 0)
        values[w->samples] = 1;
    if (w->cpu >= 0 && row < t->cpu.n &&
        __builtin_mul_overflow(t->cpu.at[row], scale, &values[w->cpu]))
        return err_set(err, EXIT_INPUT, "the CPU time of sample %zu does not fit 64 bits", row);
    return set_weight(f, kind, weight, values, err);
}

static int firefox_add_sample(struct firefox *f, const struct fx_thread *t, struct row *to,
                              size_t row, struct err *err)
{
    enum { COLUMNS = 3 };
    const struct firefox_tables *tables = t->own.stacks.n ? &t->own : &t->of->shared;
    struct profile *p = f->im->profile;
    int64_t values[COLUMNS] = {0};
    if (t->stack.at[row] == FIREFOX_NONE) {
        f->idle++;
        return 0;
    }
    const char *why = firefox_tables_stack(tables, t->stack.at[row], &to->stack);
    if (why)
        return import_skip_byte(f->im, reader_offset(f->im->in), err, "sample %zu of thread %s: %s",
                                row, profile_str(p, t->name).at, why);
    if (fill_values(f, t, row, values, err) != 0)
        return -1;
    bool any = values[0] || values[1] || values[2];
    struct row whole = *to;
    whole.values = values;
    return any ? profile_add_row(p, f->streams[firefox_weight_kind_of(f, t)].stream, &whole, err)
               : 0;
}

/* The time of a row, after NOW, the one before; an impossible one is taken as no step. */
static int64_t firefox_time_of(const struct fx_thread *t, size_t row, int64_t now)
{
    int64_t v = t->time_ns.at[row];
    if (t->deltas && __builtin_add_overflow(now, v == INT64_MIN ? 0 : v, &v))
        return now;
    return v == INT64_MIN ? now : v;
}

static uint64_t since_start_ns(double ms)
{
    int64_t ns = times_million(ms);
    return ns > 0 ? (uint64_t)ns : 0;
}

/* A time of a child process, whose clock starts SINCE_NS after that of the profile. */
static uint64_t since_first_ns(int64_t now, int64_t since_ns)
{
    int64_t ns;
    return !__builtin_add_overflow(now, since_ns, &ns) && ns > 0 ? (uint64_t)ns : 0;
}

/* Ours says when it started recording, not when the process started. */
static void set_process_times(struct firefox *f, const struct fx_thread *t, struct thread_id thread)
{
    struct profile *p = f->im->profile;
    struct process_id id = p->threads.at[thread.i].process;
    if (!id.i || f->own_meta)
        return;
    p->processes.at[id.i].start_ns = since_start_ns(t->start_ms);
    p->processes.at[id.i].end_ns = since_start_ns(t->end_ms);
}

static int add_thread(struct firefox *f, struct fx_thread *t, struct err *err)
{
    struct thread_key thread = {t->name.i || f->own_meta ? t->name : t->process, t->pid, t->tid};
    struct row to = {.thread = profile_add_thread(f->im->profile, &thread)};
    set_process_times(f, t, to.thread);
    int64_t now = 0, since_ns = times_million(t->of->start_ms - f->processes.at[0]->start_ms);
    for (size_t row = 0; row < t->stack.n; row++) {
        to.has_time = row < t->time_ns.n && !f->untimed;
        now = row < t->time_ns.n ? firefox_time_of(t, row, now) : now;
        to.time_ns = since_first_ns(now, since_ns);
        if (firefox_add_sample(f, t, &to, row, err) != 0)
            return -1;
    }
    return 0;
}

static int firefox_build(struct firefox *f, struct err *err)
{
    set_meta(f);
    add_streams(f);
    for (size_t i = 0; i < f->processes.n; i++) {
        struct fx_process *of = f->processes.at[i];
        firefox_tables_resolve(&of->shared, f->im, &of->shared, &of->kinds);
    }
    for (size_t i = 0; i < f->threads.n; i++) {
        struct fx_thread *t = &f->threads.at[i];
        gecko_process(&t->own, f->im, &t->of->shared);
        firefox_tables_resolve(&t->own, f->im, &t->of->shared, &t->of->kinds);
        if (add_thread(f, t, err) != 0)
            return -1;
    }
    if (f->idle)
        import_note(f->im, "left out as idle, having no stack: %llu sample%s",
                    (unsigned long long)f->idle, f->idle == 1 ? "" : "s");
    if (f->in_text)
        import_note(f->im, "left out, as this old format stores them as text: %llu child process%s",
                    (unsigned long long)f->in_text, f->in_text == 1 ? "" : "es");
    return 0;
}

static void done(struct firefox *f)
{
    for (size_t i = 0; i < f->threads.n; i++) {
        struct fx_thread *t = &f->threads.at[i];
        firefox_tables_done(&t->own);
        vec_done(&t->stack);
        vec_done(&t->time_ns);
        vec_done(&t->weight);
        vec_done(&t->cpu);
    }
    for (size_t i = 0; i < f->processes.n; i++) {
        firefox_tables_done(&f->processes.at[i]->shared);
        vec_done(&f->processes.at[i]->kinds);
        free(f->processes.at[i]);
    }
    vec_done(&f->processes);
    vec_done(&f->threads);
    vec_done(&f->facts);
    jsonread_done(&f->j);
}

static int firefox_read(struct import *im, struct err *err)
{
    struct firefox f = {.im = im, .show_first = -1};
    struct text key;
    f.process = add_process(&f);
    jsonread_init(&f.j, im->in);
    if (json_enter(&f.j, JSON_OBJECT))
        while (json_member(&f.j, &key))
            top_member(&f, key);
    json_finish(&f.j);
    int rc = json_failed(&f.j, err) ? -1 : firefox_build(&f, err);
    done(&f);
    return rc;
}

static bool firefox_has(struct text head, const char *word)
{
    return head.n && memmem(head.at, head.n, word, strlen(word));
}

static int firefox_probe(struct text head, bool whole)
{
    (void)whole;
    if (!text_starts(text_trim(head), "{"))
        return 0;
    if (firefox_has(head, "\"preprocessedProfileVersion\""))
        return 98;
    int words = firefox_has(head, "\"stackTable\"") + firefox_has(head, "\"frameTable\"") +
                firefox_has(head, "\"funcTable\"") + firefox_has(head, "\"stringArray\"") +
                firefox_has(head, "\"pausedRanges\"") + firefox_has(head, "\"debugName\"") +
                firefox_has(head, "\"stackwalk\"") + firefox_has(head, "\"gcpoison\"") +
                firefox_has(head, "\"breakpadId\"") + firefox_has(head, "\"processType\"") +
                firefox_has(head, "\"isOffMainThread\"") + firefox_has(head, "\"endStack\"");
    return words > 1 ? 80 : 0;
}

const struct source source_firefox = {
    .name = "firefox",
    .title = "Firefox Profiler profile",
    .probe = firefox_probe,
    .read = firefox_read,
};
