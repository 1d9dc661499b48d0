/*
 * json.c - the whole model as plain JSON: each table an object of columns, ids being positions.
 *
 * doc/formats.md describes it, with examples for jq.
 */
#include "base/json.h"
#include "analysis/label.h"
#include "view/export/export.h"

/* A column of the table T: the key, then VALUE written by PUT for every row i. */
#define COLUMN(j, key, n, put, value)    \
    do {                                 \
        json_key(j, key);                \
        json_open(j, '[');               \
        for (size_t i = 0; i < (n); i++) \
            put(j, value);               \
        json_close(j, ']');              \
    } while (0)

static void put_hex(struct json *j, uint64_t v)
{
    char s[20];
    snprintf(s, sizeof s, "0x%llx", (unsigned long long)v);
    json_str(j, s);
}

static void write_meta(struct json *j, const struct profile *p)
{
    json_key(j, "meta");
    json_open(j, '{');
    for (size_t i = 0; i < p->meta.entries.n; i++) {
        json_key(j, p->meta.entries.at[i].key);
        json_str(j, p->meta.entries.at[i].value);
    }
    json_close(j, '}');
}

/* A number, or null where it is negative: not known. */
static void put_index(struct json *j, int i)
{
    if (i >= 0)
        json_int(j, i);
    else
        json_null(j);
}

static void write_type(struct json *j, const struct profile *p, const struct sample_type *t,
                       bool alone)
{
    json_open(j, '{');
    json_key(j, "event");
    json_text(j, profile_str(p, t->event));
    json_key(j, "name");
    json_text(j, profile_str(p, t->name));
    json_key(j, "unit");
    json_text(j, profile_str(p, t->unit));
    json_key(j, "count_type");
    put_index(j, alone ? -1 : t->count_type);
    json_key(j, "total");
    json_decimal(j, t->total, t->decimals);
    json_close(j, '}');
}

static void write_types(struct json *j, const struct profile *p, int only)
{
    json_key(j, "types");
    json_open(j, '[');
    for (int i = 0; i < p->n_types; i++)
        if (only < 0 || only == i)
            write_type(j, p, &p->types[i], only >= 0);
    json_close(j, ']');
    json_key(j, "default_type");
    put_index(j, only < 0 ? p->default_type : 0);
}

static void write_threads(struct json *j, const struct profile *p)
{
    const struct thread *t = p->threads.at;
    json_key(j, "threads");
    json_open(j, '{');
    COLUMN(j, "name", p->threads.n, json_text, profile_str(p, t[i].name));
    COLUMN(j, "pid", p->threads.n, json_int, t[i].pid);
    COLUMN(j, "tid", p->threads.n, json_int, t[i].tid);
    json_close(j, '}');
}

static void write_mappings(struct json *j, const struct profile *p)
{
    const struct mapping *m = p->mappings.at;
    json_key(j, "mappings");
    json_open(j, '{');
    COLUMN(j, "path", p->mappings.n, json_text, profile_str(p, m[i].path));
    COLUMN(j, "build_id", p->mappings.n, json_text, profile_str(p, m[i].build_id));
    COLUMN(j, "start", p->mappings.n, put_hex, m[i].start);
    COLUMN(j, "end", p->mappings.n, put_hex, m[i].end);
    COLUMN(j, "offset", p->mappings.n, put_hex, m[i].offset);
    json_close(j, '}');
}

static void write_functions(struct json *j, const struct profile *p)
{
    const struct function *f = p->functions.at;
    json_key(j, "functions");
    json_open(j, '{');
    COLUMN(j, "name", p->functions.n, json_text, profile_str(p, f[i].name));
    COLUMN(j, "system_name", p->functions.n, json_text, profile_str(p, f[i].system_name));
    COLUMN(j, "file", p->functions.n, json_text, profile_str(p, f[i].file));
    COLUMN(j, "line", p->functions.n, json_uint, f[i].line);
    json_close(j, '}');
}

/* [[function, line, column], ...] of one frame, outermost first. */
static void put_lines(struct json *j, const struct profile *p, const struct frame *f)
{
    const struct line *l = profile_lines(p, f);
    json_open(j, '[');
    for (size_t i = 0; i < f->n_lines; i++) {
        json_open(j, '[');
        json_uint(j, l[i].function.i);
        json_uint(j, l[i].line);
        json_uint(j, l[i].column);
        json_close(j, ']');
    }
    json_close(j, ']');
}

/* What is shown for each frame: the innermost function's name. */
static void write_frame_names(struct json *j, const struct profile *p)
{
    struct labels labels;
    labels_init(&labels, p, &(struct label_opts){0});
    json_key(j, "name");
    json_open(j, '[');
    for (uint32_t i = 0; i < p->frames.n; i++) {
        size_t last = labels_count(&p->frames.at[i]) - 1;
        uint32_t label = labels_of_frame(&labels, p, (struct frame_id){i}, last);
        json_text(j, labels_text(&labels, label));
    }
    json_close(j, ']');
    labels_done(&labels);
}

static void write_frames(struct json *j, const struct profile *p)
{
    static const char *const kinds[FRAME_KINDS] = {"user", "kernel", "jit", "inlined", "waker"};
    const struct frame *f = p->frames.at;
    json_key(j, "frames");
    json_open(j, '{');
    write_frame_names(j, p);
    COLUMN(j, "kind", p->frames.n, json_str, kinds[f[i].kind]);
    COLUMN(j, "pc", p->frames.n, put_hex, f[i].pc);
    COLUMN(j, "mapping", p->frames.n, json_uint, f[i].mapping.i);
    json_key(j, "lines");
    json_open(j, '[');
    for (size_t i = 0; i < p->frames.n; i++)
        put_lines(j, p, &f[i]);
    json_close(j, ']');
    json_close(j, '}');
}

/* Stack 0 is the empty one: it has no parent and no frame. */
static void write_stacks(struct json *j, const struct profile *p)
{
    const struct stack_node *nodes = p->stacks.nodes.at;
    json_key(j, "stacks");
    json_open(j, '{');
    for (int column = 0; column < 2; column++) {
        json_key(j, column == 0 ? "parent" : "frame");
        json_open(j, '[');
        json_null(j);
        for (size_t i = 1; i < p->stacks.nodes.n; i++)
            json_uint(j, column == 0 ? nodes[i].parent.i : nodes[i].frame.i);
        json_close(j, ']');
    }
    json_close(j, '}');
}

static void write_samples(struct json *j, const struct profile *p, int only)
{
    const struct samples *s = &p->samples;
    json_key(j, "samples");
    json_open(j, '{');
    COLUMN(j, "stack", s->n, json_uint, s->stack[i].i);
    COLUMN(j, "thread", s->n, json_uint, s->thread[i].i);
    if (s->time_ns)
        COLUMN(j, "time_ns", s->n, json_uint, s->time_ns[i]);
    json_key(j, "values");
    json_open(j, '[');
    for (int t = 0; t < p->n_types; t++) {
        if (only >= 0 && only != t)
            continue;
        json_open(j, '[');
        for (size_t i = 0; i < s->n; i++)
            json_decimal(j, s->value[t][i], p->types[t].decimals);
        json_close(j, ']');
    }
    json_close(j, ']');
    json_close(j, '}');
}

static int json_write(FILE *out, const struct profile *p, const struct export_opts *opts,
                      struct err *err)
{
    (void)err;
    struct json j = {.out = out};
    json_open(&j, '{');
    json_key(&j, "kelvin");
    json_str(&j, KELVIN_VERSION);
    write_meta(&j, p);
    write_types(&j, p, opts->type);
    write_threads(&j, p);
    write_mappings(&j, p);
    write_functions(&j, p);
    write_frames(&j, p);
    write_stacks(&j, p);
    write_samples(&j, p, opts->type);
    json_close(&j, '}');
    putc('\n', out);
    return 0;
}

const struct exporter exporter_json = {
    .name = "json",
    .title = "Kelvin's own plain JSON",
    .suffix = ".json",
    .write = json_write,
};
