/*
 * json.c - the whole model as plain JSON: each table an object of columns, ids being positions.
 *
 * doc/formats.md describes it, with examples for jq.
 */
#include "base/json.h"
#include "analysis/label.h"
#include "view/export/export.h"

#include <math.h>

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

static void json_out_write_meta(struct json *j, const struct profile *p)
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

static void write_value(struct json *j, const struct profile *p, const struct value_type *t)
{
    static const char *const dimensions[DIMENSIONS] = {"count", "time", "bytes", "other"};
    static const char *const roles[VALUE_ROLES] = {"samples", "flow", "level"};
    json_open(j, '{');
    json_key(j, "name");
    json_text(j, profile_str(p, t->name));
    json_key(j, "unit");
    json_text(j, profile_str(p, t->unit));
    json_put_str(j, "dimension", dimensions[t->dimension]);
    json_put_str(j, "role", roles[t->role]);
    json_key(j, "total");
    json_decimal(j, t->total, t->decimals);
    json_close(j, '}');
}

static void write_attr(struct json *j, const struct profile *p, const struct attr *a)
{
    json_open(j, '[');
    json_text(j, profile_str(p, a->key));
    if (a->is_number)
        json_int(j, a->number);
    else
        json_text(j, profile_str(p, a->text));
    if (a->is_number && a->unit.i)
        json_text(j, profile_str(p, a->unit));
    json_close(j, ']');
}

/* Set 0 is the empty one: it has no parent and no pair. */
static void write_attrs(struct json *j, const struct profile *p)
{
    const struct attr_node *nodes = p->attrs.nodes.at;
    json_key(j, "attributes");
    json_open(j, '{');
    for (int column = 0; column < 2; column++) {
        json_key(j, column == 0 ? "parent" : "pair");
        json_open(j, '[');
        json_null(j);
        for (size_t i = 1; i < p->attrs.nodes.n; i++)
            if (column == 0)
                json_uint(j, nodes[i].parent.i);
            else
                write_attr(j, p, &nodes[i].attr);
        json_close(j, ']');
    }
    json_close(j, '}');
}

static void write_processes(struct json *j, const struct profile *p)
{
    const struct process *t = p->processes.at;
    size_t n = p->processes.n;
    json_key(j, "processes");
    json_open(j, '{');
    COLUMN(j, "pid", n, json_int, t[i].pid);
    COLUMN(j, "parent", n, json_uint, t[i].parent.i);
    COLUMN(j, "executable", n, json_text, profile_str(p, t[i].executable));
    COLUMN(j, "start_ns", n, json_uint, t[i].start_ns);
    COLUMN(j, "end_ns", n, json_uint, t[i].end_ns);
    COLUMN(j, "attributes", n, json_uint, t[i].attrs.i);
    json_close(j, '}');
}

static void write_threads(struct json *j, const struct profile *p)
{
    const struct thread *t = p->threads.at;
    json_key(j, "threads");
    json_open(j, '{');
    COLUMN(j, "name", p->threads.n, json_text, profile_str(p, t[i].name));
    COLUMN(j, "process", p->threads.n, json_uint, t[i].process.i);
    COLUMN(j, "pid", p->threads.n, json_int, profile_pid(p, &t[i]));
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

static void json_out_write_frames(struct json *j, const struct profile *p)
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

/* --- streams --- */

/* The columns to write: all, or one. */
struct columns {
    int first, end;
};

static void write_rows(struct json *j, const struct stream *s, struct columns c)
{
    const struct rows *r = &s->rows;
    json_key(j, "rows");
    json_open(j, '{');
    COLUMN(j, "stack", r->n, json_uint, r->stack[i].i);
    COLUMN(j, "thread", r->n, json_uint, r->thread[i].i);
    if (r->time_ns)
        COLUMN(j, "time_ns", r->n, json_uint, r->time_ns[i]);
    if (r->duration_ns)
        COLUMN(j, "duration_ns", r->n, json_uint, r->duration_ns[i]);
    if (r->attrs)
        COLUMN(j, "attributes", r->n, json_uint, r->attrs[i].i);
    json_key(j, "values");
    json_open(j, '[');
    for (int t = c.first; t < c.end; t++) {
        json_open(j, '[');
        for (size_t i = 0; i < r->n; i++)
            json_decimal(j, r->value[t][i], s->types[t].decimals);
        json_close(j, ']');
    }
    json_close(j, ']');
    json_close(j, '}');
}

static void write_unfinished(struct json *j, const struct profile *p, const struct stream *s)
{
    json_key(j, "unfinished");
    if (!s->unfinished_known) {
        json_null(j);
        return;
    }
    json_open(j, '{');
    for (int i = 0; i < s->n_unfinished; i++)
        json_put_uint(j, profile_str(p, s->unfinished[i].why).at, s->unfinished[i].n);
    json_close(j, '}');
}

static void write_stream(struct json *j, const struct profile *p, const struct stream *s,
                         struct columns c)
{
    json_open(j, '{');
    json_key(j, "event");
    json_text(j, profile_str(p, s->event));
    json_put_str(j, "kind", s->obtained == OBTAINED_UNKNOWN ? NULL : obtained_name(s->obtained));
    json_put_number(j, "rate_hz", s->rate_hz > 0 ? s->rate_hz : NAN);
    json_put_number(j, "rate_achieved_hz", s->rate_achieved_hz > 0 ? s->rate_achieved_hz : NAN);
    json_key(j, "lost");
    if (s->lost_known)
        json_uint(j, s->lost);
    else
        json_null(j);
    json_put_uint(j, "throttled", s->throttled);
    write_unfinished(j, p, s);
    json_key(j, "values");
    json_open(j, '[');
    for (int i = c.first; i < c.end; i++)
        write_value(j, p, &s->types[i]);
    json_close(j, ']');
    write_rows(j, s, c);
    json_close(j, '}');
}

static void write_default(struct json *j, int stream, int value)
{
    json_key(j, "default");
    json_open(j, '[');
    put_index(j, stream);
    put_index(j, value);
    json_close(j, ']');
}

static void write_streams(struct json *j, const struct selection *sel, bool all)
{
    const struct profile *p = sel->profile;
    struct value_ref first = p->default_value;
    write_default(j, all ? first.stream : 0, all && first.stream >= 0 ? first.type : all ? -1 : 0);
    json_key(j, "streams");
    json_open(j, '[');
    for (size_t i = 0; i < p->streams.n; i++) {
        const struct stream *s = p->streams.at[i];
        struct columns c = {all ? 0 : sel->type, all ? s->n_types : sel->type + 1};
        if (all || s == sel->stream)
            write_stream(j, p, s, c);
    }
    json_close(j, ']');
}

static void write_counters(struct json *j, const struct profile *p)
{
    json_key(j, "counters");
    json_open(j, '[');
    for (size_t k = 0; k < p->counters.n; k++) {
        const struct counter *c = &p->counters.at[k];
        json_open(j, '{');
        json_key(j, "name");
        json_text(j, profile_str(p, c->name));
        json_key(j, "unit");
        json_text(j, profile_str(p, c->unit));
        json_put_uint(j, "process", c->process.i);
        COLUMN(j, "time_ns", c->points.n, json_uint, c->points.at[i].time_ns);
        COLUMN(j, "value", c->points.n, json_int, c->points.at[i].value);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static int json_write(FILE *out, const struct selection *s, const struct export_opts *opts,
                      struct err *err)
{
    (void)err;
    const struct profile *p = s->profile;
    struct json j = {.out = out};
    json_open(&j, '{');
    json_put_str(&j, "kelvin", KELVIN_VERSION);
    json_out_write_meta(&j, p);
    write_processes(&j, p);
    write_threads(&j, p);
    write_attrs(&j, p);
    write_mappings(&j, p);
    write_functions(&j, p);
    json_out_write_frames(&j, p);
    write_stacks(&j, p);
    write_streams(&j, s, opts->all);
    write_counters(&j, p);
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
