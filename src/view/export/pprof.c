/*
 * pprof.c - a profile as gzipped profile.proto; source/pprof.c has the fields and reads it back.
 *
 * The columns of a stream are sample types; when all is asked for and there are several streams, a
 * row has zeros in the types of the others. Attributes of rows are labels. What pprof has no field
 * for is written where other readers do not stumble over it, K being a stream and N a type:
 *
 *     comment "#kelvin-export=1"           this file is ours: mind the rest
 *     comment "#kelvin:KEY=VALUE"          metadata
 *     comment "#kelvin-type-N-stream=K"
 *     comment "#kelvin-type-N-event=..."   when there are several streams the type's name is
 *                                          "EVENT/NAME"
 *     comment "#kelvin-type-N-name=..."    the heap has the names that pprof's own options know
 *     comment "#kelvin-type-N-decimals=D"  values of type N are 10^D times too large, its unit
 *                                          ends in "/1000" (for D = 3)
 *     comment "#kelvin-stream-K-KEY=VALUE" see streamfacts.h
 *     comment "#kelvin-clock=MONOTONIC,WALL"
 *     comment "#kelvin-default=N"          the type to show first
 *     labels  "thread" (text), "pid", "tid" (numbers), "time_ns", "duration_ns" (nanoseconds)
 *     field 1000 of a Location             enum frame_kind + 1
 *
 * pprof prints comments above its reports, except those that start with '#'.
 *
 * The first mapping is the program: pprof and others name the profile after it. A type that counts
 * samples goes first in its stream, as tools expect. Strings are numbered as they are met and come
 * last; ids are dense. Same profile, same bytes.
 */
#include "base/protoput.h"
#include "base/publish.h"
#include "model/heapstream.h"
#include "view/export/export.h"
#include "view/export/streamfacts.h"

#include <errno.h>
#include <stdarg.h>

enum { LOCATION_KIND = 1000 };

struct out {
    FILE *f;
    const struct profile *p;
    struct intern strings;
    struct buf message, nested;  /* scratch */
    VEC(struct value_ref) types; /* type in the file -> column of the model */
    VEC(int) streams;            /* stream in the file -> stream of the model */
    VEC(struct attr) attrs;      /* of one row, scratch */
    struct value_ref first;      /* the column to show first; stream -1 = not said */
    /* ids in the file, 0 = not used */
    uint32_t *location_of_frame, *function_of, *mapping_of;
    uint8_t *mapping_flags;
    size_t program; /* the mapping that goes first; 0 = none in particular */
};

/* --- strings --- */

static uint32_t string(struct out *o, struct text t)
{
    return intern_add(&o->strings, t);
}

static void put_string(struct out *o, struct buf *b, uint32_t number, struct str_id s)
{
    protoput_number(b, number, string(o, profile_str(o->p, s)));
}

/* --- fields of the Profile itself --- */

static void write_message(struct out *o, uint32_t number, const struct buf *message)
{
    uint8_t head[16];
    size_t n = 0;
    uint64_t v = message->n;
    head[n++] = (uint8_t)(number << 3 | 2);
    for (; v >= 0x80; v >>= 7)
        head[n++] = (uint8_t)(v | 0x80);
    head[n++] = (uint8_t)v;
    fwrite(head, 1, n, o->f);
    if (message->n)
        fwrite(message->at, 1, message->n, o->f);
}

static void write_number(struct out *o, uint32_t number, uint64_t v)
{
    o->message.n = 0;
    protoput_number(&o->message, number, v);
    if (o->message.n)
        fwrite(o->message.at, 1, o->message.n, o->f);
}

static void write_comment(struct out *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void write_comment(struct out *o, const char *fmt, ...)
{
    char *text;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    write_number(o, 13, string(o, (struct text){text, (size_t)n}));
    free(text);
}

/* --- sample types and metadata --- */

static void pprof_out_add_columns(struct out *o, int stream)
{
    const struct stream *s = profile_stream(o->p, stream);
    int samples = stream_samples(s);
    *vec_push(&o->streams) = stream;
    if (samples >= 0)
        *vec_push(&o->types) = (struct value_ref){stream, samples};
    for (int i = 0; i < s->n_types; i++)
        if (i != samples)
            *vec_push(&o->types) = (struct value_ref){stream, i};
}

/* The place in the file of a column of the model, or -1. */
static int pprof_out_place_of(const struct out *o, struct value_ref value)
{
    for (size_t i = 0; i < o->types.n; i++)
        if (o->types.at[i].stream == value.stream && o->types.at[i].type == value.type)
            return (int)i;
    return -1;
}

/* What `go tool pprof -alloc_space` and its like look for; NULL = it is called as with us. */
static const char *pprof_heap_name(const struct out *o, struct value_ref value)
{
    static const char *const names[HEAP_COLUMNS + 1] = {[HEAP_ALLOCATIONS] = "alloc_objects",
                                                        [HEAP_ALLOCATED] = "alloc_space",
                                                        [HEAP_LEAKED_BLOCKS] = "inuse_objects",
                                                        [HEAP_LEAKED] = "inuse_space"};
    return names[heapstream_column_of(o->p, value)];
}

/* Returns the name's string. */
static uint32_t write_type(struct out *o, struct value_ref value)
{
    const struct value_type *t = profile_value(o->p, value);
    struct text event = profile_str(o->p, profile_stream(o->p, value.stream)->event);
    const char *heap_name = pprof_heap_name(o, value);
    autobuf struct buf name = {0}, unit = {0};
    if (!heap_name && o->streams.n > 1 && event.n) {
        buf_add(&name, event.at, event.n);
        buf_byte(&name, '/');
    }
    struct text own_name = profile_str(o->p, t->name);
    own_name = heap_name ? text_of(heap_name) : own_name;
    buf_add(&name, own_name.at, own_name.n);
    buf_add(&unit, profile_str(o->p, t->unit).at, profile_str(o->p, t->unit).n);
    if (t->decimals)
        buf_printf(&unit, "/1%0*d", t->decimals, 0);
    o->message.n = 0;
    uint32_t name_id = string(o, buf_text(&name));
    protoput_number(&o->message, 1, name_id);
    protoput_number(&o->message, 2, string(o, buf_text(&unit)));
    write_message(o, 1, &o->message);
    return name_id;
}

static size_t stream_in_file(const struct out *o, int stream)
{
    size_t i = 0;
    while (o->streams.at[i] != stream)
        i++;
    return i;
}

static void write_type_comments(struct out *o, size_t place)
{
    struct value_ref value = o->types.at[place];
    const struct value_type *t = profile_value(o->p, value);
    struct text event = profile_str(o->p, profile_stream(o->p, value.stream)->event);
    write_comment(o, "#kelvin-type-%zu-stream=%zu", place, stream_in_file(o, value.stream));
    if (event.n)
        write_comment(o, "#kelvin-type-%zu-event=%s", place, event.at);
    if (pprof_heap_name(o, value))
        write_comment(o, "#kelvin-type-%zu-name=%s", place, profile_str(o->p, t->name).at);
    if (t->decimals)
        write_comment(o, "#kelvin-type-%zu-decimals=%d", place, t->decimals);
}

/* One stream's facts, on their way out. */
struct stream_out {
    struct out *o;
    size_t stream; /* in the file */
};

static void pprof_out_write_fact(void *context, const char *key, const char *value)
{
    const struct stream_out *s = context;
    write_comment(s->o, "#kelvin-stream-%zu-%s=%s", s->stream, key, value);
}

static void write_types(struct out *o)
{
    uint32_t shown_first = 0;
    int first = pprof_out_place_of(o, o->first);
    for (size_t i = 0; i < o->types.n; i++) {
        uint32_t name = write_type(o, o->types.at[i]);
        if ((int)i == first)
            shown_first = name;
    }
    write_number(o, 14, shown_first);
    write_comment(o, "#kelvin-export=1");
    for (size_t i = 0; i < o->types.n; i++)
        write_type_comments(o, i);
    for (size_t i = 0; i < o->streams.n; i++) {
        struct stream_out s = {o, i};
        streamfacts_each(o->p, profile_stream(o->p, o->streams.at[i]), pprof_out_write_fact, &s);
    }
    if (first >= 0)
        write_comment(o, "#kelvin-default=%d", first);
    if (o->p->clock.monotonic_ns || o->p->clock.wall_ns)
        write_comment(o, "#kelvin-clock=%llu,%llu", (unsigned long long)o->p->clock.monotonic_ns,
                      (unsigned long long)o->p->clock.wall_ns);
}

/* A text of the metadata as a string of the file; 0 where not known. */
static uint32_t meta_string(struct out *o, const char *key)
{
    const char *s = meta_find(&o->p->meta, key);
    return s ? string(o, text_of(s)) : 0;
}

static void write_period(struct out *o)
{
    const struct meta *m = &o->p->meta;
    uint64_t period = 0;
    double rate_hz = profile_stream(o->p, o->streams.at[0])->rate_hz;
    uint32_t type = meta_string(o, "period_type"), unit = meta_string(o, "period_unit");
    if (!meta_find_u64(m, "period", &period) && rate_hz >= 1) {
        period = (uint64_t)(1e9 / rate_hz);
        type = string(o, text_of("cpu"));
        unit = string(o, text_of(UNIT_TIME));
    }
    if (!period)
        return;
    o->message.n = 0;
    protoput_number(&o->message, 1, type);
    protoput_number(&o->message, 2, unit);
    write_message(o, 11, &o->message);
    write_number(o, 12, period);
}

static void pprof_out_write_meta(struct out *o)
{
    const struct meta *m = &o->p->meta;
    uint64_t v;
    write_number(o, 7, meta_string(o, "drop_frames"));
    write_number(o, 8, meta_string(o, "keep_frames"));
    if (meta_find_u64(m, META_TIME_NS, &v) && v <= INT64_MAX)
        write_number(o, 9, v);
    if (meta_find_u64(m, META_DURATION_NS, &v) && v <= INT64_MAX)
        write_number(o, 10, v);
    write_period(o);
    write_number(o, 15, meta_string(o, "doc_url"));
    for (size_t i = 0; i < m->entries.n; i++)
        write_comment(o, "#kelvin:%s=%s", m->entries.at[i].key, m->entries.at[i].value);
}

/* --- samples --- */

static void put_label(struct out *o, const char *key, struct text str, uint64_t num,
                      const char *unit)
{
    o->nested.n = 0;
    protoput_number(&o->nested, 1, string(o, text_of(key)));
    protoput_number(&o->nested, 2, string(o, str));
    protoput_number(&o->nested, 3, num);
    protoput_number(&o->nested, 4, string(o, text_of(unit)));
    protoput_bytes(&o->message, 3, buf_text(&o->nested));
}

static void put_thread(struct out *o, struct thread_id id)
{
    const struct thread *t = &o->p->threads.at[id.i];
    if (t->name.i)
        put_label(o, "thread", profile_str(o->p, t->name), 0, "");
    int32_t pid = profile_pid(o->p, t);
    if (pid != THREAD_NO_ID)
        put_label(o, "pid", text_of(""), (uint64_t)pid, "");
    if (t->tid != THREAD_NO_ID)
        put_label(o, "tid", text_of(""), (uint64_t)t->tid, "");
}

/* The pairs of a set in the order they were added. */
static void put_attrs(struct out *o, struct attrs_id id)
{
    const struct profile *p = o->p;
    o->attrs.n = 0;
    for (; id.i; id = p->attrs.nodes.at[id.i].parent)
        *vec_push(&o->attrs) = p->attrs.nodes.at[id.i].attr;
    while (o->attrs.n) {
        struct attr a = o->attrs.at[--o->attrs.n];
        const char *key = profile_str(p, a.key).at;
        if (a.is_number)
            put_label(o, key, text_of(""), (uint64_t)a.number, profile_str(p, a.unit).at);
        else
            put_label(o, key, profile_str(p, a.text), 0, "");
    }
}

static void pprof_out_put_values(struct out *o, int stream, const struct rows *r, size_t row)
{
    o->nested.n = 0;
    for (size_t i = 0; i < o->types.n; i++) {
        bool own = o->types.at[i].stream == stream;
        buf_varint(&o->nested, own ? (uint64_t)r->value[o->types.at[i].type][row] : 0);
    }
    protoput_bytes(&o->message, 2, buf_text(&o->nested));
}

static void write_row(struct out *o, int stream, size_t row)
{
    const struct rows *r = &profile_stream(o->p, stream)->rows;
    const struct stack_node *nodes = o->p->stacks.nodes.at;
    o->message.n = o->nested.n = 0;
    for (uint32_t at = r->stack[row].i; at; at = nodes[at].parent.i)
        buf_varint(&o->nested, o->location_of_frame[nodes[at].frame.i]);
    if (o->nested.n)
        protoput_bytes(&o->message, 1, buf_text(&o->nested));
    pprof_out_put_values(o, stream, r, row);
    put_thread(o, r->thread[row]);
    if (r->time_ns)
        put_label(o, "time_ns", text_of(""), r->time_ns[row], UNIT_TIME);
    if (r->duration_ns)
        put_label(o, "duration_ns", text_of(""), r->duration_ns[row], UNIT_TIME);
    if (r->attrs)
        put_attrs(o, r->attrs[row]);
    write_message(o, 2, &o->message);
}

/* --- what samples refer to --- */

/* Number what is in use: frames that are on a sampled stack, and what these refer to. */
static void number_tables(struct out *o)
{
    const struct profile *p = o->p;
    const struct stack_node *nodes = p->stacks.nodes.at;
    autofree uint8_t *used = mem_calloc(p->stacks.nodes.n, 1);
    for (size_t i = 0; i < o->streams.n; i++) {
        const struct rows *r = &profile_stream(p, o->streams.at[i])->rows;
        for (size_t k = 0; k < r->n; k++)
            used[r->stack[k].i] = 1;
    }
    for (size_t i = p->stacks.nodes.n; i-- > 1;) {
        if (!used[i])
            continue;
        used[nodes[i].parent.i] = 1;
        o->location_of_frame[nodes[i].frame.i] = 1;
    }
    uint32_t n = 0;
    for (size_t i = 0; i < p->frames.n; i++) {
        if (!o->location_of_frame[i])
            continue;
        const struct frame *f = &p->frames.at[i];
        o->location_of_frame[i] = ++n;
        o->mapping_of[f->mapping.i] = 1;
        /* Names are here already: keep other tools from looking for better ones. */
        o->mapping_flags[f->mapping.i] |= (uint8_t)((f->n_lines > 0) | (f->n_lines > 1) << 1);
        for (int j = 0; j < f->n_lines; j++)
            o->function_of[profile_lines(p, f)[j].function.i] = 1;
    }
}

/* Turn marks into ids. Number 0 of a table stands for "not known", in the file as in the model. */
static void number_marks(uint32_t *marks, size_t n)
{
    uint32_t id = 0;
    marks[0] = 0;
    for (size_t i = 1; i < n; i++)
        if (marks[i])
            marks[i] = ++id;
}

/* The process with the most rows; 0 = not known. */
static uint32_t main_process(const struct out *o)
{
    const struct profile *p = o->p;
    autofree size_t *rows = mem_calloc(p->processes.n, sizeof *rows);
    uint32_t most = 0;
    for (size_t i = 0; i < o->streams.n; i++) {
        const struct rows *r = &profile_stream(p, o->streams.at[i])->rows;
        for (size_t k = 0; k < r->n; k++)
            rows[p->threads.at[r->thread[k].i].process.i]++;
    }
    for (uint32_t i = 1; i < p->processes.n; i++)
        if (rows[i] && (!most || rows[i] > rows[most]))
            most = i;
    return most;
}

/* The mapping of the function that programs start with; 0 if there is none. */
static size_t mapping_of_main(const struct out *o)
{
    const struct profile *p = o->p;
    for (size_t i = 0; i < p->frames.n; i++) {
        const struct frame *f = &p->frames.at[i];
        if (!o->location_of_frame[i] || !f->mapping.i || !f->n_lines || f->kind == FRAME_KERNEL)
            continue;
        if (text_is(profile_function_name(p, profile_lines(p, f)->function), "main"))
            return f->mapping.i;
    }
    return 0;
}

/* The program that was run: by what its process says, else where main() is. */
static size_t pprof_out_find_program(const struct out *o)
{
    const struct profile *p = o->p;
    struct str_id path = p->processes.at[main_process(o)].executable;
    for (size_t i = 1; i < p->mappings.n && path.i; i++)
        if (o->mapping_of[i] && p->mappings.at[i].path.i == path.i)
            return i;
    return mapping_of_main(o);
}

/* Let the program's mapping be number 1. */
static void number_program_first(struct out *o)
{
    o->program = pprof_out_find_program(o);
    for (size_t i = 1; o->program && i < o->program; i++)
        o->mapping_of[i] += o->mapping_of[i] > 0;
    if (o->program)
        o->mapping_of[o->program] = 1;
}

static void write_mapping(struct out *o, size_t i)
{
    const struct mapping *m = &o->p->mappings.at[i];
    struct buf *b = &o->message;
    b->n = 0;
    protoput_number(b, 1, o->mapping_of[i]);
    protoput_number(b, 2, m->start);
    protoput_number(b, 3, m->end);
    protoput_number(b, 4, m->offset);
    put_string(o, b, 5, m->path);
    put_string(o, b, 6, m->build_id);
    for (uint32_t field = 7; field <= 9; field++)
        protoput_number(b, field, o->mapping_flags[i] & 1);
    protoput_number(b, 10, o->mapping_flags[i] >> 1);
    write_message(o, 3, b);
}

static void write_location(struct out *o, size_t i)
{
    const struct frame *f = &o->p->frames.at[i];
    const struct line *lines = f->n_lines ? profile_lines(o->p, f) : NULL;
    struct buf *b = &o->message;
    b->n = 0;
    protoput_number(b, 1, o->location_of_frame[i]);
    protoput_number(b, 2, o->mapping_of[f->mapping.i]);
    protoput_number(b, 3, f->pc);
    for (int j = f->n_lines; j-- > 0;) { /* pprof has the innermost first */
        o->nested.n = 0;
        protoput_number(&o->nested, 1, o->function_of[lines[j].function.i]);
        protoput_number(&o->nested, 2, lines[j].line);
        protoput_number(&o->nested, 3, lines[j].column);
        protoput_bytes(b, 4, buf_text(&o->nested));
    }
    if (f->kind != FRAME_USER || f->mapping.i) /* else it is what a reader would guess */
        protoput_number(b, LOCATION_KIND, f->kind + 1u);
    write_message(o, 4, b);
}

static void write_function(struct out *o, size_t i)
{
    const struct function *f = &o->p->functions.at[i];
    struct buf *b = &o->message;
    b->n = 0;
    protoput_number(b, 1, o->function_of[i]);
    put_string(o, b, 2, f->name);
    put_string(o, b, 3, f->system_name.i ? f->system_name : f->name);
    put_string(o, b, 4, f->file);
    protoput_number(b, 5, f->line);
    write_message(o, 5, b);
}

static void write_tables(struct out *o)
{
    const struct profile *p = o->p;
    if (o->program)
        write_mapping(o, o->program);
    for (size_t i = 1; i < p->mappings.n; i++)
        if (o->mapping_of[i] && i != o->program)
            write_mapping(o, i);
    for (size_t i = 0; i < p->frames.n; i++)
        if (o->location_of_frame[i])
            write_location(o, i);
    for (size_t i = 1; i < p->functions.n; i++)
        if (o->function_of[i])
            write_function(o, i);
}

static void write_strings(struct out *o)
{
    for (size_t i = 0; i < o->strings.strings.n; i++) {
        struct text t = o->strings.strings.at[i];
        o->message.n = 0;
        buf_add(&o->message, t.at, t.n);
        write_message(o, 6, &o->message);
    }
}

static void write_profile(struct out *o)
{
    const struct profile *p = o->p;
    autofree uint32_t *locations = mem_calloc(p->frames.n + 1, sizeof *locations);
    autofree uint32_t *functions = mem_calloc(p->functions.n, sizeof *functions);
    autofree uint32_t *mappings = mem_calloc(p->mappings.n, sizeof *mappings);
    autofree uint8_t *flags = mem_calloc(p->mappings.n, 1);
    o->location_of_frame = locations;
    o->function_of = functions;
    o->mapping_of = mappings;
    o->mapping_flags = flags;
    number_tables(o);
    number_marks(functions, p->functions.n);
    number_marks(mappings, p->mappings.n);
    number_program_first(o);
    write_types(o);
    pprof_out_write_meta(o);
    for (size_t i = 0; i < o->streams.n; i++)
        for (size_t k = 0; k < profile_stream(p, o->streams.at[i])->rows.n; k++)
            write_row(o, o->streams.at[i], k);
    write_tables(o);
    write_strings(o);
}

/* As many streams as were asked for and as readers take types; the selected one in any case. */
static void choose_streams(struct out *o, const struct selection *s, bool all)
{
    enum { TYPES_MAX = 512 };
    for (int i = 0; i < (int)o->p->streams.n; i++) {
        size_t n = o->types.n + (size_t)profile_stream(o->p, i)->n_types;
        if (i == s->value.stream || (all && n + (size_t)s->stream->n_types <= TYPES_MAX))
            pprof_out_add_columns(o, i);
    }
    o->first = all ? o->p->default_value : s->value;
}

static int pprof_write(FILE *out, const struct selection *s, const struct export_opts *opts,
                       struct err *err)
{
    struct out o = {.f = publish_gzip(out), .p = s->profile};
    intern_init(&o.strings);
    choose_streams(&o, s, opts->all);
    int rc = export_check_stacks(o.p, o.streams.at, o.streams.n, err);
    if (rc == 0)
        write_profile(&o);
    int bad = ferror(o.f);
    bad |= fclose(o.f);
    intern_done(&o.strings);
    buf_done(&o.message);
    buf_done(&o.nested);
    vec_done(&o.types);
    vec_done(&o.streams);
    vec_done(&o.attrs);
    return rc == 0 && bad ? err_set_errno(err, errno, "cannot write the pprof profile") : rc;
}

const struct exporter exporter_pprof = {
    .name = "pprof",
    .title = "pprof profile, gzipped",
    .suffix = ".pb.gz",
    .for_viewers = true,
    .write = pprof_write,
};
