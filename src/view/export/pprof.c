/*
 * pprof.c - a profile as gzipped profile.proto; source/pprof.c has the fields and reads it back.
 *
 * Everything in the model goes out. What pprof has no field for is written where other readers
 * do not stumble over it:
 *
 *     comment "kelvin-export=1"            this file is ours: mind the rest
 *     comment "kelvin:KEY=VALUE"           metadata
 *     comment "kelvin-type-N-event=..."    the event of sample type N; when there are several
 *                                          events the type's name is "EVENT/NAME"
 *     comment "kelvin-type-N-decimals=D"   values of type N are 10^D times too large, its unit
 *                                          ends in "/1000" (for D = 3)
 *     comment "kelvin-type-N-count=M"      type M counts the samples behind type N
 *     comment "kelvin-default=N"           the type to show first
 *     labels  "thread" (text), "pid", "tid" (numbers), "time_ns" (number, nanoseconds)
 *     field 1000 of a Location             enum frame_kind + 1
 *
 * Type order is the model's, but a type that counts samples goes first, as tools expect.
 * Strings are numbered as they are met and come last; ids are dense. Same profile, same bytes.
 */
#include "base/buf.h"
#include "base/publish.h"
#include "view/export/export.h"

#include <errno.h>
#include <stdarg.h>

enum { LOCATION_KIND = 1000 };

struct out {
    FILE *f;
    const struct profile *p;
    struct intern strings;
    struct buf message, nested;   /* scratch */
    int order[PROFILE_MAX_TYPES]; /* type in the file -> type in the model */
    /* ids in the file, 0 = not used */
    uint32_t *location_of_frame, *function_of, *mapping_of;
    uint8_t *mapping_flags;
    bool several_events;
};

/* --- fields into a message; zero is what a missing field means, so it is left out --- */

static void put_tag(struct buf *b, uint32_t number, int wire)
{
    buf_varint(b, number << 3 | (uint32_t)wire);
}

static void put_number(struct buf *b, uint32_t number, uint64_t v)
{
    if (!v)
        return;
    put_tag(b, number, 0);
    buf_varint(b, v);
}

static void put_bytes(struct buf *b, uint32_t number, struct text t)
{
    put_tag(b, number, 2);
    buf_varint(b, t.n);
    buf_add(b, t.at, t.n);
}

static uint32_t string(struct out *o, struct text t)
{
    return intern_add(&o->strings, t);
}

static void put_string(struct out *o, struct buf *b, uint32_t number, struct str_id s)
{
    put_number(b, number, string(o, profile_str(o->p, s)));
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
    put_number(&o->message, number, v);
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

static bool is_count_type(const struct profile *p, int type)
{
    for (int i = 0; i < p->n_types; i++)
        if (p->types[i].count_type == type)
            return true;
    return false;
}

/* Counts go at value[0]: move the first type that counts there if the one there does not. */
static void order_types(struct out *o)
{
    const struct profile *p = o->p;
    int first = 0;
    if (!is_count_type(p, 0) && p->types[0].count_type > 0)
        first = p->types[0].count_type;
    o->order[0] = first;
    for (int i = 0, n = 1; i < p->n_types; i++)
        if (i != first)
            o->order[n++] = i;
}

/* The place in the file of a type of the model. */
static int place_of(const struct out *o, int type)
{
    int i = 0;
    while (o->order[i] != type)
        i++;
    return i;
}

/* Returns the name's string. */
static uint32_t write_type(struct out *o, const struct sample_type *t)
{
    struct text event = profile_str(o->p, t->event);
    autobuf struct buf name = {0}, unit = {0};
    if (o->several_events && event.n) {
        buf_add(&name, event.at, event.n);
        buf_byte(&name, '/');
    }
    buf_add(&name, profile_str(o->p, t->name).at, profile_str(o->p, t->name).n);
    buf_add(&unit, profile_str(o->p, t->unit).at, profile_str(o->p, t->unit).n);
    if (t->decimals)
        buf_printf(&unit, "/1%0*d", t->decimals, 0);
    o->message.n = 0;
    uint32_t name_id = string(o, buf_text(&name));
    put_number(&o->message, 1, name_id);
    put_number(&o->message, 2, string(o, buf_text(&unit)));
    write_message(o, 1, &o->message);
    return name_id;
}

static void write_type_comments(struct out *o, int place)
{
    const struct sample_type *t = &o->p->types[o->order[place]];
    struct text event = profile_str(o->p, t->event);
    if (event.n)
        write_comment(o, "kelvin-type-%d-event=%s", place, event.at);
    if (t->decimals)
        write_comment(o, "kelvin-type-%d-decimals=%d", place, t->decimals);
    if (t->count_type >= 0)
        write_comment(o, "kelvin-type-%d-count=%d", place, place_of(o, t->count_type));
}

static void write_types(struct out *o)
{
    uint32_t shown_first = 0;
    for (int i = 0; i < o->p->n_types; i++) {
        uint32_t name = write_type(o, &o->p->types[o->order[i]]);
        if (o->order[i] == o->p->default_type)
            shown_first = name;
    }
    write_number(o, 14, shown_first);
    write_comment(o, "kelvin-export=1");
    for (int i = 0; i < o->p->n_types; i++)
        write_type_comments(o, i);
    if (o->p->default_type >= 0)
        write_comment(o, "kelvin-default=%d", place_of(o, o->p->default_type));
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
    uint64_t period = 0, rate_hz;
    uint32_t type = meta_string(o, "period_type"), unit = meta_string(o, "period_unit");
    if (!meta_find_u64(m, "period", &period) && meta_find_u64(m, META_RATE_HZ, &rate_hz) &&
        rate_hz) {
        period = 1000000000 / rate_hz;
        type = string(o, text_of("cpu"));
        unit = string(o, text_of("nanoseconds"));
    }
    if (!period)
        return;
    o->message.n = 0;
    put_number(&o->message, 1, type);
    put_number(&o->message, 2, unit);
    write_message(o, 11, &o->message);
    write_number(o, 12, period);
}

static void write_meta(struct out *o)
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
        write_comment(o, "kelvin:%s=%s", m->entries.at[i].key, m->entries.at[i].value);
}

/* --- samples --- */

static void put_label(struct out *o, const char *key, struct text str, uint64_t num,
                      const char *unit)
{
    o->nested.n = 0;
    put_number(&o->nested, 1, string(o, text_of(key)));
    put_number(&o->nested, 2, string(o, str));
    put_number(&o->nested, 3, num);
    put_number(&o->nested, 4, string(o, text_of(unit)));
    put_bytes(&o->message, 3, buf_text(&o->nested));
}

static void put_thread(struct out *o, struct thread_id id)
{
    const struct thread *t = &o->p->threads.at[id.i];
    if (t->name.i)
        put_label(o, "thread", profile_str(o->p, t->name), 0, "");
    if (t->pid != THREAD_NO_ID)
        put_label(o, "pid", text_of(""), (uint64_t)t->pid, "");
    if (t->tid != THREAD_NO_ID)
        put_label(o, "tid", text_of(""), (uint64_t)t->tid, "");
}

static void write_sample(struct out *o, size_t row)
{
    const struct samples *s = &o->p->samples;
    const struct stack_node *nodes = o->p->stacks.nodes.at;
    o->message.n = o->nested.n = 0;
    for (uint32_t at = s->stack[row].i; at; at = nodes[at].parent.i)
        buf_varint(&o->nested, o->location_of_frame[nodes[at].frame.i]);
    if (o->nested.n)
        put_bytes(&o->message, 1, buf_text(&o->nested));
    o->nested.n = 0;
    for (int i = 0; i < o->p->n_types; i++)
        buf_varint(&o->nested, (uint64_t)s->value[o->order[i]][row]);
    put_bytes(&o->message, 2, buf_text(&o->nested));
    put_thread(o, s->thread[row]);
    if (s->time_ns)
        put_label(o, "time_ns", text_of(""), s->time_ns[row], "nanoseconds");
    write_message(o, 2, &o->message);
}

/* --- what samples refer to --- */

/* Number what is in use: frames that are on a sampled stack, and what these refer to. */
static void number_tables(struct out *o)
{
    const struct profile *p = o->p;
    const struct stack_node *nodes = p->stacks.nodes.at;
    autofree uint8_t *used = mem_calloc(p->stacks.nodes.n, 1);
    for (size_t i = 0; i < p->samples.n; i++)
        used[p->samples.stack[i].i] = 1;
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

static void write_mapping(struct out *o, size_t i)
{
    const struct mapping *m = &o->p->mappings.at[i];
    struct buf *b = &o->message;
    b->n = 0;
    put_number(b, 1, o->mapping_of[i]);
    put_number(b, 2, m->start);
    put_number(b, 3, m->end);
    put_number(b, 4, m->offset);
    put_string(o, b, 5, m->path);
    put_string(o, b, 6, m->build_id);
    for (uint32_t field = 7; field <= 9; field++)
        put_number(b, field, o->mapping_flags[i] & 1);
    put_number(b, 10, o->mapping_flags[i] >> 1);
    write_message(o, 3, b);
}

static void write_location(struct out *o, size_t i)
{
    const struct frame *f = &o->p->frames.at[i];
    const struct line *lines = f->n_lines ? profile_lines(o->p, f) : NULL;
    struct buf *b = &o->message;
    b->n = 0;
    put_number(b, 1, o->location_of_frame[i]);
    put_number(b, 2, o->mapping_of[f->mapping.i]);
    put_number(b, 3, f->pc);
    for (int j = f->n_lines; j-- > 0;) { /* pprof has the innermost first */
        o->nested.n = 0;
        put_number(&o->nested, 1, o->function_of[lines[j].function.i]);
        put_number(&o->nested, 2, lines[j].line);
        put_number(&o->nested, 3, lines[j].column);
        put_bytes(b, 4, buf_text(&o->nested));
    }
    if (f->kind != FRAME_USER || f->mapping.i) /* else it is what a reader would guess */
        put_number(b, LOCATION_KIND, f->kind + 1u);
    write_message(o, 4, b);
}

static void write_function(struct out *o, size_t i)
{
    const struct function *f = &o->p->functions.at[i];
    struct buf *b = &o->message;
    b->n = 0;
    put_number(b, 1, o->function_of[i]);
    put_string(o, b, 2, f->name);
    put_string(o, b, 3, f->system_name.i ? f->system_name : f->name);
    put_string(o, b, 4, f->file);
    put_number(b, 5, f->line);
    write_message(o, 5, b);
}

static void write_tables(struct out *o)
{
    const struct profile *p = o->p;
    for (size_t i = 1; i < p->mappings.n; i++)
        if (o->mapping_of[i])
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
    order_types(o);
    write_types(o);
    write_meta(o);
    for (size_t i = 0; i < p->samples.n; i++)
        write_sample(o, i);
    write_tables(o);
    write_strings(o);
}

static int pprof_write(FILE *out, const struct profile *p, const struct export_opts *opts,
                       struct err *err)
{
    (void)opts; /* the format holds all types */
    struct out o = {.f = publish_gzip(out), .p = p, .several_events = profile_count_events(p) > 1};
    intern_init(&o.strings);
    write_profile(&o);
    int bad = ferror(o.f);
    bad |= fclose(o.f);
    intern_done(&o.strings);
    buf_done(&o.message);
    buf_done(&o.nested);
    return bad ? err_set_errno(err, errno, "cannot write the pprof profile") : 0;
}

const struct exporter exporter_pprof = {
    .name = "pprof",
    .title = "pprof profile, gzipped",
    .suffix = ".pb.gz",
    .binary = true,
    .write = pprof_write,
};
