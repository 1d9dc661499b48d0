/*
 * speedscope.c - a profile for https://www.speedscope.app.
 *
 * A speedscope profile is one thread's samples in one unit, so there is one for each column of a
 * stream and thread. Samples are lists of frame numbers, root first. The schema lets objects have
 * more members than it knows: what it has no place for goes into members called "kelvin", which our
 * own importer reads back. doc/formats.md describes them.
 */
#include "analysis/label.h"
#include "base/buf.h"
#include "base/json.h"
#include "view/export/export.h"
#include "view/export/streamfacts.h"

/* A function: speedscope adds up what is the same frame, so places inside of it are left out. */
struct out_frame {
    uint32_t label;
    struct str_id file;
    uint32_t line; /* where the function starts; 0 = not known */
};

struct writer {
    struct json j;
    const struct profile *p;
    struct labels labels;
    VEC(struct out_frame) frames;
    struct idmap frame_map;
    uint32_t *of_line; /* profile.lines index -> frames index */
    uint32_t *of_bare; /* frame id -> frames index, for frames without lines */
    uint32_t *row;     /* all rows of the stream that is being written, thread by thread */
    size_t *thread_at; /* in row: thread i has [thread_at[i], thread_at[i + 1]) */
    VEC(struct value_ref) types;
    VEC(int) streams; /* stream in the file -> stream of the model */
    struct value_ref active_value;
    int64_t active_total; /* of the heaviest profile of that value so far */
    uint64_t active, n_profiles;
    struct buf text;
    VEC(struct frame_id) stack;
};

/* --- frames --- */

static uint32_t speedscope_out_add_frame(struct writer *w, const struct out_frame *f)
{
    uint32_t hash = hash_pair(f->label, f->file.i);
    for_each_match (&w->frame_map, hash, i) {
        struct out_frame *o = &w->frames.at[i];
        if (o->label != f->label || o->file.i != f->file.i)
            continue;
        o->line = o->line ? o->line : f->line;
        return i;
    }
    uint32_t i = (uint32_t)w->frames.n;
    *vec_push(&w->frames) = *f;
    idmap_add(&w->frame_map, hash, i);
    return i;
}

static void collect_frames(struct writer *w)
{
    const struct profile *p = w->p;
    w->of_line = mem_calloc(p->lines.n + 1, sizeof *w->of_line);
    w->of_bare = mem_calloc(p->frames.n + 1, sizeof *w->of_bare);
    for (uint32_t id = 0; id < p->frames.n; id++) {
        const struct frame *f = &p->frames.at[id];
        for (size_t i = 0; i < labels_count(f); i++) {
            struct out_frame out = {labels_of_frame(&w->labels, p, (struct frame_id){id}, i)};
            if (!f->n_lines) {
                w->of_bare[id] = speedscope_out_add_frame(w, &out);
                continue;
            }
            const struct line *l = &profile_lines(p, f)[i];
            out.file = p->functions.at[l->function.i].file;
            out.line = p->functions.at[l->function.i].line;
            w->of_line[f->first_line + i] = speedscope_out_add_frame(w, &out);
        }
    }
}

static void write_frame(struct writer *w, const struct out_frame *f)
{
    static const char *const kinds[FRAME_KINDS] = {NULL, "kernel", "jit", "inlined", "waker"};
    struct json *j = &w->j;
    const char *kind = kinds[w->labels.at.at[f->label].kind];
    json_open(j, '{');
    json_key(j, "name");
    json_text(j, labels_text(&w->labels, f->label));
    if (f->file.i) {
        json_key(j, "file");
        json_text(j, profile_str(w->p, f->file));
    }
    if (f->line) {
        json_key(j, "line");
        json_uint(j, f->line);
    }
    if (kind) {
        json_key(j, "kind");
        json_str(j, kind);
    }
    json_close(j, '}');
}

static void speedscope_out_write_frames(struct writer *w)
{
    json_key(&w->j, "shared");
    json_open(&w->j, '{');
    json_key(&w->j, "frames");
    json_open(&w->j, '[');
    for (size_t i = 0; i < w->frames.n; i++)
        write_frame(w, &w->frames.at[i]);
    json_close(&w->j, ']');
    json_close(&w->j, '}');
}

/* --- one profile --- */

/* The rows, type and thread of one profile. */
struct part {
    int type; /* index in writer.types */
    uint32_t thread;
    const uint32_t *rows;
    size_t n;
    bool joins; /* has the same rows as the profile before */
};

static const struct rows *speedscope_out_rows_of(const struct writer *w, int type)
{
    return &profile_stream(w->p, w->types.at[type].stream)->rows;
}

static int64_t value_at(const struct writer *w, int type, size_t row)
{
    return speedscope_out_rows_of(w, type)->value[w->types.at[type].type][row];
}

static void add_uint(struct buf *b, uint32_t v)
{
    char s[10];
    int n = sizeof s;
    do
        s[--n] = (char)('0' + v % 10);
    while (v /= 10);
    buf_add(b, s + n, sizeof s - (size_t)n);
    buf_byte(b, ',');
}

static void add_frame_numbers(struct writer *w, struct frame_id id)
{
    const struct frame *f = profile_frame(w->p, id);
    if (!f->n_lines)
        add_uint(&w->text, w->of_bare[id.i]);
    for (size_t i = 0; i < f->n_lines; i++)
        add_uint(&w->text, w->of_line[f->first_line + i]);
}

/* A number and its comma. */
static uint64_t uint_bytes(uint32_t v)
{
    uint64_t n = 2;
    while (v /= 10)
        n++;
    return n;
}

static uint64_t frame_numbers_bytes(const struct writer *w, struct frame_id id)
{
    const struct frame *f = profile_frame(w->p, id);
    uint64_t bytes = f->n_lines ? 0 : uint_bytes(w->of_bare[id.i]);
    for (size_t i = 0; i < f->n_lines; i++)
        bytes += uint_bytes(w->of_line[f->first_line + i]);
    return bytes;
}

/* Each column of each row repeats its whole stack. */
static int speedscope_check_size(const struct writer *w, struct err *err)
{
    enum { NODE_BYTES = 16, ROW_BYTES = 24 };
    const struct profile *p = w->p;
    size_t n = p->stacks.nodes.n;
    autofree uint64_t *width = mem_calloc(n, sizeof *width);
    for (size_t i = 1; i < n; i++) {
        struct stack_node node = p->stacks.nodes.at[i];
        width[i] = width[node.parent.i] + frame_numbers_bytes(w, node.frame);
    }
    uint64_t bytes = 0, held = n * NODE_BYTES;
    for (size_t i = 0; i < w->types.n; i++) {
        const struct rows *r = speedscope_out_rows_of(w, (int)i);
        held += r->n * ROW_BYTES;
        for (size_t k = 0; k < r->n; k++)
            bytes += width[r->stack[k].i];
    }
    return export_check_size(bytes, held, err);
}

static void write_stack(struct writer *w, struct stack_id id)
{
    const struct stack_node *nodes = w->p->stacks.nodes.at;
    w->stack.n = 0;
    for (; id.i; id = nodes[id.i].parent)
        *vec_push(&w->stack) = nodes[id.i].frame;
    w->text.n = 0;
    buf_byte(&w->text, '[');
    for (size_t i = w->stack.n; i-- > 0;)
        add_frame_numbers(w, w->stack.at[i]);
    if (w->stack.n)
        w->text.n--; /* the last comma */
    buf_byte(&w->text, ']');
    json_raw(&w->j, buf_text(&w->text));
}

static const char *unit_of(const struct value_type *t)
{
    return t->dimension == DIM_TIME || t->dimension == DIM_BYTES ? dimension_unit(t->dimension)
                                                                 : "none";
}

/* "cycles", "samples of cycles", with the thread in front where there are threads. */
static void write_name(struct writer *w, const struct part *part)
{
    const struct profile *p = w->p;
    struct value_ref value = w->types.at[part->type];
    const struct thread *thread = &p->threads.at[part->thread];
    struct text event = profile_str(p, profile_stream(p, value.stream)->event);
    struct text name = profile_str(p, profile_value(p, value)->name);
    int32_t pid = profile_pid(p, thread);
    struct buf *b = &w->text;
    b->n = 0;
    if (thread->name.i)
        buf_printf(b, "%.*s ", TEXT_ARG(profile_str(p, thread->name)));
    if (thread->tid != THREAD_NO_ID)
        buf_printf(b, "%d/%d ", pid, thread->tid);
    else if (pid != THREAD_NO_ID)
        buf_printf(b, "%d ", pid);
    if (b->n)
        buf_str(b, "- ");
    buf_add(b, name.at, name.n);
    if (event.n && event.at != name.at)
        buf_printf(b, " of %.*s", TEXT_ARG(event));
    json_key(&w->j, "name");
    json_text(&w->j, buf_text(b));
}

static void write_own(struct writer *w, const struct part *part)
{
    struct json *j = &w->j;
    const uint64_t *time_ns = speedscope_out_rows_of(w, part->type)->time_ns;
    json_key(j, "kelvin");
    json_open(j, '{');
    json_key(j, "type");
    json_int(j, part->type);
    json_key(j, "thread");
    json_uint(j, part->thread);
    json_key(j, "joins");
    json_bool(j, part->joins);
    if (time_ns && !part->joins) {
        json_key(j, "time_ns");
        json_open(j, '[');
        for (size_t i = 0; i < part->n; i++)
            json_uint(j, time_ns[part->rows[i]]);
        json_close(j, ']');
    }
    json_close(j, '}');
}

static void write_lists(struct writer *w, const struct part *part, int decimals)
{
    struct json *j = &w->j;
    json_key(j, "samples");
    json_open(j, '[');
    for (size_t i = 0; i < part->n; i++)
        write_stack(w, speedscope_out_rows_of(w, part->type)->stack[part->rows[i]]);
    json_close(j, ']');
    json_key(j, "weights");
    json_open(j, '[');
    for (size_t i = 0; i < part->n; i++)
        json_decimal(j, value_at(w, part->type, part->rows[i]), decimals);
    json_close(j, ']');
}

static void write_part(struct writer *w, const struct part *part, int64_t total)
{
    struct json *j = &w->j;
    struct value_ref value = w->types.at[part->type];
    const struct value_type *type = profile_value(w->p, value);
    int decimals = type->decimals;
    json_open(j, '{');
    json_key(j, "type");
    json_str(j, "sampled");
    write_name(w, part);
    json_key(j, "unit");
    json_str(j, unit_of(type));
    json_key(j, "startValue");
    json_int(j, 0);
    json_key(j, "endValue");
    json_decimal(j, total, decimals);
    write_own(w, part);
    write_lists(w, part, decimals);
    json_close(j, '}');
    bool is_active = value.stream == w->active_value.stream && value.type == w->active_value.type;
    if (is_active && total > w->active_total) {
        w->active = w->n_profiles;
        w->active_total = total;
    }
    w->n_profiles++;
}

/* --- all profiles --- */

/* Whether a column of the stream from FIRST on has a value in ROW. */
static bool stream_has(const struct writer *w, int first, uint32_t row)
{
    int stream = w->types.at[first].stream;
    for (int i = first; i < (int)w->types.n && w->types.at[i].stream == stream; i++)
        if (value_at(w, i, row))
            return true;
    return false;
}

/* One thread's rows of one stream: a profile for each of its columns. */
static void write_thread_of(struct writer *w, int first, uint32_t thread)
{
    VEC(uint32_t) rows = {0};
    int stream = w->types.at[first].stream;
    for (size_t i = w->thread_at[thread]; i < w->thread_at[thread + 1]; i++)
        if (stream_has(w, first, w->row[i]))
            *vec_push(&rows) = w->row[i];
    struct part part = {.thread = thread, .rows = rows.at, .n = rows.n};
    for (int i = first; rows.n && i < (int)w->types.n && w->types.at[i].stream == stream; i++) {
        int64_t total = 0;
        for (size_t r = 0; r < rows.n; r++)
            total += value_at(w, i, rows.at[r]);
        part.type = i;
        if (total == 0)
            continue;
        write_part(w, &part, total);
        part.joins = true;
    }
    vec_done(&rows);
}

/* Rows in the order of their threads, else as they are. */
static void sort_rows(struct writer *w, const struct rows *s)
{
    size_t n_threads = w->p->threads.n;
    size_t *at = w->thread_at = mem_calloc(n_threads + 2, sizeof *at);
    w->row = mem_calloc(s->n + 1, sizeof *w->row);
    for (size_t i = 0; i < s->n; i++)
        at[s->thread[i].i + 2]++;
    for (size_t i = 2; i < n_threads + 2; i++)
        at[i] += at[i - 1];
    for (size_t i = 0; i < s->n; i++)
        w->row[at[s->thread[i].i + 1]++] = (uint32_t)i;
}

static void write_stream(struct writer *w, int first)
{
    sort_rows(w, speedscope_out_rows_of(w, first));
    for (uint32_t t = 0; t < w->p->threads.n; t++)
        write_thread_of(w, first, t);
    free(w->row);
    free(w->thread_at);
}

static void write_profiles(struct writer *w)
{
    json_key(&w->j, "profiles");
    json_open(&w->j, '[');
    for (int i = 0; i < (int)w->types.n; i++)
        if (i == 0 || w->types.at[i].stream != w->types.at[i - 1].stream)
            write_stream(w, i);
    json_close(&w->j, ']');
    json_key(&w->j, "activeProfileIndex");
    json_uint(&w->j, w->active);
}

/* --- the file --- */

static int stream_in_file(const struct writer *w, int stream)
{
    int i = 0;
    while (w->streams.at[i] != stream)
        i++;
    return i;
}

static void write_type(struct writer *w, struct value_ref value)
{
    const struct value_type *t = profile_value(w->p, value);
    json_open(&w->j, '{');
    json_key(&w->j, "event");
    json_text(&w->j, profile_str(w->p, profile_stream(w->p, value.stream)->event));
    json_key(&w->j, "name");
    json_text(&w->j, profile_str(w->p, t->name));
    json_key(&w->j, "unit");
    json_text(&w->j, profile_str(w->p, t->unit));
    json_key(&w->j, "decimals");
    json_int(&w->j, t->decimals);
    json_key(&w->j, "stream");
    json_int(&w->j, stream_in_file(w, value.stream));
    json_close(&w->j, '}');
}

/* Before the types, which refer to them. */
static void write_streams(struct writer *w)
{
    json_key(&w->j, "streams");
    json_open(&w->j, '[');
    for (size_t i = 0; i < w->streams.n; i++) {
        json_open(&w->j, '{');
        streamfacts_each(w->p, profile_stream(w->p, w->streams.at[i]), streamfacts_put_json, &w->j);
        json_close(&w->j, '}');
    }
    json_close(&w->j, ']');
}

static void write_threads(struct writer *w)
{
    json_key(&w->j, "threads");
    json_open(&w->j, '[');
    for (size_t i = 0; i < w->p->threads.n; i++) {
        const struct thread *t = &w->p->threads.at[i];
        json_open(&w->j, '{');
        json_key(&w->j, "name");
        json_text(&w->j, profile_str(w->p, t->name));
        json_key(&w->j, "pid");
        json_int(&w->j, profile_pid(w->p, t));
        json_key(&w->j, "tid");
        json_int(&w->j, t->tid);
        json_close(&w->j, '}');
    }
    json_close(&w->j, ']');
}

static void write_extras(struct writer *w, int default_type)
{
    struct json *j = &w->j;
    const struct meta *m = &w->p->meta;
    json_key(j, "kelvin");
    json_open(j, '{');
    json_key(j, "meta");
    json_open(j, '{');
    for (size_t i = 0; i < m->entries.n; i++) {
        json_key(j, m->entries.at[i].key);
        json_str(j, m->entries.at[i].value);
    }
    json_close(j, '}');
    json_key(j, "default_type");
    json_int(j, default_type);
    write_streams(w);
    json_key(j, "types");
    json_open(j, '[');
    for (size_t i = 0; i < w->types.n; i++)
        write_type(w, w->types.at[i]);
    json_close(j, ']');
    streamfacts_put_clock(&w->j, w->p);
    write_threads(w);
    json_close(j, '}');
}

static void write_file(struct writer *w, int default_type)
{
    struct json *j = &w->j;
    const char *name = meta_find(&w->p->meta, META_SOURCE);
    json_open(j, '{');
    json_key(j, "$schema");
    json_str(j, "https://www.speedscope.app/file-format-schema.json");
    write_extras(w, default_type);
    json_key(j, "exporter");
    json_str(j, "kelvin " KELVIN_VERSION);
    json_key(j, "name");
    json_str(j, name ? name : "profile");
    speedscope_out_write_frames(w);
    write_profiles(w);
    json_close(j, '}');
    putc('\n', j->out);
}

/* The columns of a stream side by side; returns the place of VALUE among them, or -1. */
static int choose_types(struct writer *w, const struct selection *s, bool all)
{
    int place = -1;
    struct value_ref first = w->p->default_value;
    for (int i = 0; i < (int)w->p->streams.n; i++) {
        if (!all && i != s->value.stream)
            continue;
        *vec_push(&w->streams) = i;
        for (int k = 0; k < profile_stream(w->p, i)->n_types; k++) {
            if (!all && k != s->type)
                continue;
            if (all && i == first.stream && k == first.type)
                place = (int)w->types.n;
            *vec_push(&w->types) = (struct value_ref){i, k};
        }
    }
    return place;
}

static int speedscope_write(FILE *out, const struct selection *s, const struct export_opts *opts,
                            struct err *err)
{
    struct writer w = {.j = {.out = out}, .p = s->profile, .active_value = s->value};
    int first = choose_types(&w, s, opts->all);
    labels_init(&w.labels, w.p, &(struct label_opts){0});
    collect_frames(&w);
    int rc = speedscope_check_size(&w, err);
    if (rc == 0)
        write_file(&w, first);
    labels_done(&w.labels);
    vec_done(&w.frames);
    vec_done(&w.types);
    vec_done(&w.streams);
    idmap_done(&w.frame_map);
    free(w.of_line);
    free(w.of_bare);
    buf_done(&w.text);
    vec_done(&w.stack);
    return rc;
}

const struct exporter exporter_speedscope = {
    .name = "speedscope",
    .title = "speedscope profile (JSON)",
    .suffix = ".speedscope.json",
    .for_viewers = true,
    .write = speedscope_write,
};
