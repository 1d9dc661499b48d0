/*
 * firefox.c - a profile for https://profiler.firefox.com, gzipped.
 *
 * Version 66 of the processed format, which the profiler upgrades by itself. One stream is written:
 * a thread's samples have one weight and a CPU time, so the count of samples is the weight where
 * there is one, with the column of CPU time beside it. What the format has no place for (the names
 * of these columns, metadata, that samples had no time) stands in meta.kelvin, which other readers
 * pass over.
 */
#include "view/export/firefox.h"
#include "base/publish.h"
#include "model/meta_program.h"
#include "view/export/export.h"
#include "view/export/streamfacts.h"

#include <errno.h>

enum { FORMAT_VERSION = 66, GECKO_VERSION = 24 };

struct writer {
    struct json j;
    const struct profile *p;
    const struct stream *s;
    int weight, cpu; /* columns of the stream; cpu may be -1 */
    struct firefox_shared shared;
    uint32_t *row;     /* samples that are written, thread by thread, in order of time */
    size_t *thread_at; /* in row: thread i has [thread_at[i], thread_at[i + 1]) */
    int64_t interval_us;
};

/* --- which columns --- */

/* The column of CPU time beside the number of samples, or -1. */
static int find_cpu(const struct writer *w, const struct selection *sel)
{
    for (int i = 0; i < w->s->n_types; i++) {
        struct value_ref value = {sel->value.stream, i};
        if (w->s->types[i].dimension == DIM_TIME && w->s->types[i].role == ROLE_FLOW &&
            quantity_of(w->p, value) == QUANTITY_CPU_TIME)
            return i;
    }
    return -1;
}

/* The samples are the weight, with their time beside it, unless a value was asked for. */
static void pick_types(struct writer *w, const struct selection *sel, bool all)
{
    w->weight = all && sel->count_type >= 0 ? sel->count_type : sel->type;
    w->cpu = w->weight == sel->count_type ? find_cpu(w, sel) : -1;
}

/* --- samples by thread --- */

static bool is_written(const struct writer *w, size_t row)
{
    const struct rows *s = &w->s->rows;
    return s->value[w->weight][row] || (w->cpu >= 0 && s->value[w->cpu][row]);
}

static int firefox_out_by_time(const void *a, const void *b, void *context)
{
    const uint64_t *time_ns = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (time_ns[x] != time_ns[y])
        return time_ns[x] < time_ns[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool in_order(const struct writer *w, size_t from, size_t to)
{
    for (size_t i = from + 1; i < to; i++)
        if (w->s->rows.time_ns[w->row[i - 1]] > w->s->rows.time_ns[w->row[i]])
            return false;
    return true;
}

static void sort_samples(struct writer *w)
{
    const struct rows *s = &w->s->rows;
    size_t n = w->p->threads.n;
    w->row = mem_calloc(s->n + 1, sizeof *w->row);
    w->thread_at = mem_calloc(n + 2, sizeof *w->thread_at);
    for (size_t i = 0; i < s->n; i++)
        w->thread_at[s->thread[i].i + 2] += is_written(w, i);
    for (size_t i = 2; i < n + 2; i++)
        w->thread_at[i] += w->thread_at[i - 1];
    for (uint32_t i = 0; i < s->n; i++)
        if (is_written(w, i))
            w->row[w->thread_at[s->thread[i].i + 1]++] = i;
    for (size_t i = 0; i < n && s->time_ns; i++)
        if (!in_order(w, w->thread_at[i], w->thread_at[i + 1]))
            qsort_r(w->row + w->thread_at[i], w->thread_at[i + 1] - w->thread_at[i], sizeof *w->row,
                    firefox_out_by_time, s->time_ns);
}

/* --- meta --- */

static void member_str(struct json *j, const char *key, const char *value)
{
    json_key(j, key);
    json_str(j, value);
}

static void member_int(struct json *j, const char *key, int64_t value)
{
    json_key(j, key);
    json_int(j, value);
}

static void member_bool(struct json *j, const char *key, bool value)
{
    json_key(j, key);
    json_bool(j, value);
}

static void member_null(struct json *j, const char *key)
{
    json_key(j, key);
    json_null(j);
}

static void member_empty(struct json *j, const char *key)
{
    json_key(j, key);
    json_open(j, '[');
    json_close(j, ']');
}

/* The first is the one that the profiler looks for by its colour; then one for each frame kind. */
static void write_categories(struct json *j)
{
    static const char *const list[][2] = {
        {"Other", "grey"}, {"User", "yellow"},       {"Kernel", "orange"},
        {"JIT", "purple"}, {"Inlined", "lightblue"}, {"Waker", "magenta"},
    };
    json_key(j, "categories");
    json_open(j, '[');
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        json_open(j, '{');
        member_str(j, "name", list[i][0]);
        member_str(j, "color", list[i][1]);
        json_key(j, "subcategories");
        json_open(j, '[');
        json_str(j, "Other");
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void write_column_name(struct writer *w, const char *key, int type)
{
    const struct value_type *t = &w->s->types[type];
    const struct str_id names[] = {w->s->event, t->name, t->unit};
    json_key(&w->j, key);
    json_open(&w->j, '[');
    for (int i = 0; i < 3; i++)
        json_text(&w->j, profile_str(w->p, names[i]));
    json_close(&w->j, ']');
}

static void write_kelvin(struct writer *w)
{
    const struct meta *m = &w->p->meta;
    struct value_ref shown = w->p->default_value;
    bool is_ours = shown.stream >= 0 && profile_stream(w->p, shown.stream) == w->s;
    int first = is_ours ? shown.type : -1;
    json_key(&w->j, "kelvin");
    json_open(&w->j, '{');
    member_bool(&w->j, "untimed", !w->s->rows.time_ns);
    write_column_name(w, "weight", w->weight);
    if (w->cpu >= 0)
        write_column_name(w, "cpu", w->cpu);
    member_int(&w->j, "first", first < 0 ? -1 : first == w->cpu ? 1 : first == w->weight ? 0 : -1);
    json_key(&w->j, "stream");
    json_open(&w->j, '{');
    streamfacts_each(w->p, w->s, streamfacts_put_json, &w->j);
    json_close(&w->j, '}');
    streamfacts_put_clock(&w->j, w->p);
    json_key(&w->j, "meta");
    json_open(&w->j, '{');
    for (size_t i = 0; i < m->entries.n; i++)
        member_str(&w->j, m->entries.at[i].key, m->entries.at[i].value);
    json_close(&w->j, '}');
    json_close(&w->j, '}');
}

static void write_units(struct json *j)
{
    json_key(j, "sampleUnits");
    json_open(j, '{');
    member_str(j, "time", "ms");
    member_str(j, "eventDelay", "ms");
    member_str(j, "threadCPUDelta", "ns");
    json_close(j, '}');
}

/* What was recorded, as far as that is known. */
static const char *recorded(const struct meta *m)
{
    const char *what = meta_find(m, META_COMMAND);
    if (!what)
        what = meta_find(m, META_SOURCE);
    return what ? what : "kelvin";
}

/* The file that a thread's process runs, else the name of its first thread, else the recording's.
 */
static struct text process_name(const struct writer *w, const struct thread *of)
{
    const struct profile *p = w->p;
    struct text path = profile_str(p, p->processes.at[of->process.i].executable);
    const char *slash = path.n ? memrchr(path.at, '/', path.n) : NULL;
    if (path.n)
        return slash ? (struct text){slash + 1, (size_t)(path.at + path.n - slash) - 1} : path;
    for (size_t i = 1; i < p->threads.n && of->process.i; i++) {
        const struct thread *t = &p->threads.at[i];
        if (t->process.i == of->process.i && t->tid == profile_pid(p, t) && t->name.i)
            return profile_str(p, t->name);
    }
    return of->name.i ? profile_str(p, of->name) : text_of(recorded(&p->meta));
}

/* The command, which with perf is perf's own: then the process's name, if there is one only. */
static struct text product_of(const struct writer *w)
{
    struct buf program = {0};
    bool known = meta_program(&w->p->meta, &program);
    buf_done(&program);
    for (size_t i = 1; !known && w->p->processes.n == 2 && i < w->p->threads.n; i++)
        if (w->p->threads.at[i].process.i)
            return process_name(w, &w->p->threads.at[i]);
    return text_of(recorded(&w->p->meta));
}

static void firefox_out_write_meta(struct writer *w)
{
    struct json *j = &w->j;
    const struct meta *m = &w->p->meta;
    uint64_t start_ns = 0;
    meta_find_u64(m, META_TIME_NS, &start_ns);
    json_key(j, "meta");
    json_open(j, '{');
    member_int(j, "version", GECKO_VERSION);
    member_int(j, "preprocessedProfileVersion", FORMAT_VERSION);
    json_key(j, "interval");
    json_decimal(j, w->interval_us, 3);
    json_key(j, "startTime");
    json_decimal(j, (int64_t)(start_ns & INT64_MAX), 6);
    json_key(j, "product");
    json_text(j, product_of(w));
    member_str(j, "importedFrom", "kelvin " KELVIN_VERSION);
    member_int(j, "processType", 0);
    member_int(j, "stackwalk", 1);
    member_bool(j, "debug", false);
    member_bool(j, "symbolicated", true);
    member_bool(j, "usesOnlyOneStackType", true);
    member_bool(j, "sourceCodeIsNotOnSearchfox", true);
    write_units(j);
    write_categories(j);
    member_empty(j, "markerSchema");
    write_kelvin(w);
    json_close(j, '}');
}

/* --- threads --- */

/* Milliseconds since the sample before. Without times samples stand an interval apart. */
static void write_times(struct writer *w, size_t from, size_t to)
{
    const uint64_t *time_ns = w->s->rows.time_ns;
    uint64_t before = 0;
    json_key(&w->j, "timeDeltas");
    json_open(&w->j, '[');
    for (size_t i = from; i < to; i++) {
        uint64_t now = time_ns ? time_ns[w->row[i]] : before + (uint64_t)w->interval_us * 1000;
        json_decimal(&w->j, (int64_t)((now - before) & INT64_MAX), 6);
        before = now;
    }
    json_close(&w->j, ']');
}

static void write_weights(struct writer *w, size_t from, size_t to)
{
    const struct value_type *t = &w->s->types[w->weight];
    bool time = t->dimension == DIM_TIME;
    member_str(&w->j, "weightType",
               time                        ? "tracing-ms"
               : t->dimension == DIM_BYTES ? "bytes"
                                           : "samples");
    json_key(&w->j, "weight");
    json_open(&w->j, '[');
    for (size_t i = from; i < to; i++)
        json_decimal(&w->j, w->s->rows.value[w->weight][w->row[i]], t->decimals + (time ? 6 : 0));
    json_close(&w->j, ']');
}

static void write_samples(struct writer *w, size_t from, size_t to)
{
    const struct rows *s = &w->s->rows;
    struct json *j = &w->j;
    json_key(j, "samples");
    json_open(j, '{');
    member_int(j, "length", (int64_t)(to - from));
    json_key(j, "stack");
    json_open(j, '[');
    for (size_t i = from; i < to; i++)
        if (s->stack[w->row[i]].i)
            json_uint(j, firefox_stack_row(&w->shared, s->stack[w->row[i]]));
        else
            json_null(j);
    json_close(j, ']');
    write_times(w, from, to);
    write_weights(w, from, to);
    if (w->cpu >= 0) {
        json_key(j, "threadCPUDelta");
        json_open(j, '[');
        for (size_t i = from; i < to; i++)
            json_decimal(j, s->value[w->cpu][w->row[i]], w->s->types[w->cpu].decimals);
        json_close(j, ']');
    }
    json_close(j, '}');
}

static void write_markers(struct json *j)
{
    static const char *const columns[] = {"data",    "name",  "startTime",
                                          "endTime", "phase", "category"};
    json_key(j, "markers");
    json_open(j, '{');
    member_int(j, "length", 0);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        member_empty(j, columns[i]);
    json_close(j, '}');
}

/* Ids are texts; one that is not known is no number, but still its own. */
static void write_id(struct json *j, const char *key, int32_t id, size_t thread)
{
    char s[32];
    if (id == THREAD_NO_ID)
        snprintf(s, sizeof s, "?%zu", thread);
    else
        snprintf(s, sizeof s, "%d", id);
    member_str(j, key, s);
}

static void write_thread(struct writer *w, size_t i)
{
    const struct thread *t = &w->p->threads.at[i];
    int32_t pid = profile_pid(w->p, t);
    struct json *j = &w->j;
    json_open(j, '{');
    json_key(j, "name");
    json_text(j, profile_str(w->p, t->name));
    member_bool(j, "isMainThread", pid == t->tid);
    member_str(j, "processType", "default");
    json_key(j, "processName");
    json_text(j, process_name(w, t));
    member_int(j, "processStartupTime", 0);
    member_null(j, "processShutdownTime");
    member_int(j, "registerTime", 0);
    member_null(j, "unregisterTime");
    member_empty(j, "pausedRanges");
    write_id(j, "pid", pid, 0);
    write_id(j, "tid", t->tid, i);
    write_samples(w, w->thread_at[i], w->thread_at[i + 1]);
    write_markers(j);
    json_close(j, '}');
}

static void write_profile(struct writer *w)
{
    struct json *j = &w->j;
    json_open(j, '{');
    firefox_out_write_meta(w);
    firefox_libs_write(w->p, j);
    firefox_shared_write(&w->shared, j);
    json_key(j, "threads");
    json_open(j, '[');
    for (size_t i = 0; i < w->p->threads.n; i++)
        if (w->thread_at[i] < w->thread_at[i + 1])
            write_thread(w, i);
    json_close(j, ']');
    member_empty(j, "pages");
    member_empty(j, "counters");
    member_empty(j, "profilerOverhead");
    json_close(j, '}');
}

static int firefox_write(FILE *out, const struct selection *sel, const struct export_opts *opts,
                         struct err *err)
{
    struct writer w = {.p = sel->profile, .s = sel->stream, .interval_us = 1000};
    pick_types(&w, sel, opts->all);
    if (w.s->rate_hz >= 1 && w.s->rate_hz <= 1000000)
        w.interval_us = (int64_t)(1000000 / w.s->rate_hz);
    FILE *gzip = publish_gzip(out);
    w.j.out = gzip;
    firefox_shared_init(&w.shared, w.p);
    sort_samples(&w);
    write_profile(&w);
    firefox_shared_done(&w.shared);
    free(w.row);
    free(w.thread_at);
    int bad = ferror(gzip);
    bad |= fclose(gzip);
    return bad ? err_set_errno(err, errno, "cannot write the Firefox profile") : 0;
}

const struct exporter exporter_firefox = {
    .name = "firefox",
    .title = "Firefox Profiler profile, gzipped",
    .suffix = ".profile.json.gz",
    .for_viewers = true,
    .write = firefox_write,
};
