/*
 * pprof.c - profile.proto, what Go, gperftools and many agents write.
 *
 *     Profile: 1 sample_type*  2 sample*  3 mapping*  4 location*  5 function*  6 string*
 *              7 drop_frames  8 keep_frames  9 time_nanos  10 duration_nanos  11 period_type
 *              12 period  13 comment*  14 default_sample_type  15 doc_url
 *     Sample:  1 location_id* (leaf first)  2 value*  3 label* (1 key 2 str 3 num 4 num_unit)
 *
 * Samples come first as a rule, and what they refer to comes later: their messages are put aside
 * as they are, the tables are read (pprof_tables.h), and at the end the samples are decoded.
 * Memory is thus about one times the samples' bytes on top of the profile itself.
 *
 * A file with the comment "kelvin-export=1" is one of ours, see view/export/pprof.c: it holds a few
 * things that others have no field for.
 */
#include "base/protofield.h"
#include "source/pprof_header.h"
#include "source/sources.h"

#include "base/buf.h"

enum { FIELD_BYTES_MAX = 1 << 30, DEPTH_MAX = 100000, FIELD_HEAD_BYTES = 20 };

/* What a label of a sample is to us; others become attributes. */
enum label {
    LABEL_UNSEEN,
    LABEL_NAME,
    LABEL_PROCESS,
    LABEL_TID,
    LABEL_PID,
    LABEL_TIME,
    LABEL_DURATION,
    LABEL_OTHER
};

struct pprof {
    struct import *im;
    struct pprof_tables tables;
    struct pprof_header header;

    struct buf samples; /* place - place before, length, message; again and again */
    uint64_t last_place;

    /* labels */
    VEC(uint8_t) label_of; /* enum label of each string as a key */

    /* the sample at hand, and the path of the one before to start from */
    VEC(struct frame_id) frames; /* leaf first */
    VEC(struct frame_id) path;   /* root first */
    VEC(struct stack_id) stacks; /* of each frame in path */
    struct thread_key last_thread;
    struct thread_id last_thread_id;
};

static void pprof_done(struct pprof *f)
{
    pprof_tables_done(&f->tables);
    pprof_header_done(&f->header);
    buf_done(&f->samples);
    vec_done(&f->label_of);
    vec_done(&f->frames);
    vec_done(&f->path);
    vec_done(&f->stacks);
}

/* --- the stream of top-level fields --- */

static void keep_sample(struct pprof *f, struct text message, uint64_t place)
{
    buf_varint(&f->samples, place - f->last_place);
    buf_varint(&f->samples, message.n);
    buf_add(&f->samples, message.at, message.n);
    f->last_place = place;
}

static int value_type_field(struct pprof *f, uint32_t number, struct text message, uint64_t place,
                            struct err *err)
{
    uint64_t v[3] = {0};
    if (!protofield_numbers(message, v, 2))
        return err_set(err, EXIT_INPUT, "byte %llu: a damaged value type",
                       (unsigned long long)place);
    struct pprof_value_type type = {.name = v[1], .unit = v[2]};
    if (number == 11)
        f->header.period_type = type;
    else
        *vec_push(&f->header.types) = type;
    return 0;
}

/* Comments are numbers one by one, or many in one packed field. */
static int comment_field(struct pprof *f, const struct protofield *field, uint64_t place,
                         struct err *err)
{
    if (field->wire == PROTO_VARINT) {
        *vec_push(&f->header.comments) = field->value;
        return 0;
    }
    struct cursor c = cursor_of(field->bytes.at, field->bytes.n);
    while (cursor_more(&c))
        *vec_push(&f->header.comments) = cursor_varint(&c);
    return c.bad ? import_skip_byte(f->im, place, err, "a damaged list of comments") : 0;
}

/* The wire type a field of Profile must have. */
static bool wire_fits(const struct protofield *field)
{
    if (field->number > 15)
        return true; /* of a newer version: nothing we know of */
    if (field->number == 13)
        return field->wire == PROTO_VARINT || field->wire == PROTO_BYTES;
    bool is_message = field->number <= 6 || field->number == 11;
    return field->wire == (is_message ? PROTO_BYTES : PROTO_VARINT);
}

static int top_field(struct pprof *f, const struct protofield *field, uint64_t place,
                     struct err *err)
{
    if (!wire_fits(field))
        return import_skip_byte(f->im, place, err, "field %u has the wrong wire type %d",
                                field->number, field->wire);
    switch (field->number) {
    case 1:
    case 11:
        return value_type_field(f, field->number, field->bytes, place, err);
    case 2:
        keep_sample(f, field->bytes, place);
        return 0;
    case 3:
        return pprof_add_mapping(&f->tables, field->bytes, place, err);
    case 4:
        return pprof_add_location(&f->tables, field->bytes, place, err);
    case 5:
        return pprof_add_function(&f->tables, field->bytes, place, err);
    case 6:
        return pprof_add_string(&f->tables, field->bytes, place, err);
    case 13:
        return comment_field(f, field, place, err);
    }
    if (field->number < 16)
        f->header.number[field->number] = field->value;
    return 0;
}

/* How many bytes the field at the front of HEAD has, tag and all. 0 when HEAD cannot tell. */
static uint64_t field_length(struct text head, uint32_t *ret_number)
{
    struct cursor c = cursor_of(head.at, head.n);
    uint64_t tag = cursor_varint(&c);
    uint64_t body = 0;
    *ret_number = (uint32_t)(tag >> 3);
    if ((tag & 7) == PROTO_BYTES)
        body = cursor_varint(&c);
    else if ((tag & 7) == PROTO_VARINT)
        cursor_varint(&c);
    else if ((tag & 7) == PROTO_FIXED64 || (tag & 7) == PROTO_FIXED32)
        body = (tag & 7) == PROTO_FIXED64 ? 8 : 4;
    else
        return 0;
    uint64_t used = (uint64_t)((const char *)c.at - head.at);
    return c.bad || body > UINT64_MAX - used ? 0 : used + body;
}

/* 1 a field was read, 0 the end, -1 an error. */
static int read_field(struct pprof *f, struct err *err)
{
    struct reader *in = f->im->in;
    struct text head = reader_peek(in, FIELD_HEAD_BYTES);
    if (head.n == 0)
        return 0;
    unsigned long long place = reader_offset(in);
    uint32_t number;
    uint64_t length = field_length(head, &number);
    if (length > FIELD_BYTES_MAX)
        return err_set(err, EXIT_INPUT,
                       "byte %llu: field %u claims %llu bytes, more than 1 GiB: this is damaged "
                       "or not a pprof profile",
                       place, number, (unsigned long long)length);
    if (head.n < length)
        head = reader_peek(in, (size_t)length);
    if (head.n < length)
        return err_set(err, EXIT_INPUT,
                       "byte %llu: the file is cut off: field %u has %llu bytes, but only %zu "
                       "are left",
                       place, number, (unsigned long long)length, head.n);
    struct cursor c = cursor_of(head.at, length ? (size_t)length : head.n);
    struct protofield field = {0};
    if (!protofield_next(&c, &field))
        return err_set(err, EXIT_INPUT,
                       "byte %llu: no protobuf field: the file is damaged, cut off, or not a "
                       "pprof profile",
                       place);
    int rc = top_field(f, &field, place, err);
    reader_take(in, (size_t)((const char *)c.at - head.at));
    return rc == 0 ? 1 : -1;
}

/* --- labels --- */

static enum label label_of_key(const struct pprof *f, struct text key)
{
    static const struct {
        const char *key;
        enum label label;
    } known[] = {
        {"thread", LABEL_NAME},    {"thread_name", LABEL_NAME}, {"thread name", LABEL_NAME},
        {"comm", LABEL_PROCESS},   {"process", LABEL_PROCESS},  {"tid", LABEL_TID},
        {"thread_id", LABEL_TID},  {"thread id", LABEL_TID},    {"pid", LABEL_PID},
        {"process_id", LABEL_PID},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_is(key, known[i].key))
            return known[i].label;
    if (!f->header.ours)
        return LABEL_OTHER;
    return text_is(key, "time_ns")       ? LABEL_TIME
           : text_is(key, "duration_ns") ? LABEL_DURATION
                                         : LABEL_OTHER;
}

static enum label label_of(struct pprof *f, uint64_t key)
{
    if (key >= f->tables.strings.n)
        return LABEL_OTHER;
    while (f->label_of.n < f->tables.strings.n)
        *vec_push(&f->label_of) = LABEL_UNSEEN;
    uint8_t *label = &f->label_of.at[key];
    if (*label == LABEL_UNSEEN)
        *label = (uint8_t)label_of_key(f, pprof_text(&f->tables, key));
    return (enum label) * label;
}

/* A sample while it is being decoded. */
struct parts {
    size_t n_values;
    bool negative;
    bool missing; /* a location that is not in the file */
    uint64_t missing_id;
    bool has_time;
    uint64_t time_ns, duration_ns;
    struct thread_key thread;
    struct attrs_id attrs;
    bool has_thread_name;            /* better than the process's */
    int64_t values[PPROF_TYPES_MAX]; /* last, as only n_values of them are set */
};

static void add_attr(struct pprof *f, struct parts *s, const uint64_t *v)
{
    struct profile *p = f->im->profile;
    struct attr a = {.key = pprof_string(&f->tables, v[1], NULL), .is_number = !v[2]};
    if (a.is_number) {
        a.number = (int64_t)v[3];
        a.unit = pprof_string(&f->tables, v[4], NULL);
    } else {
        a.text = pprof_string(&f->tables, v[2], NULL);
    }
    s->attrs = attrs_add(&p->attrs, s->attrs, &a);
}

/* A number in a label, be it written as one or as text. */
static bool label_id(struct pprof *f, const uint64_t *v, int32_t *ret)
{
    uint64_t number = v[3];
    if (v[2] && !text_u64(pprof_text(&f->tables, v[2]), 10, &number))
        return false;
    if (number > INT32_MAX)
        return false;
    *ret = (int32_t)number;
    return true;
}

/* V: 1 key, 2 string, 3 number, 4 its unit. False when the label is one that we know nothing of. */
static bool take_label(struct pprof *f, struct parts *s, const uint64_t *v)
{
    enum label label = label_of(f, v[1]);
    switch (label) {
    case LABEL_NAME:
    case LABEL_PROCESS:
        if (!v[2])
            return label_id(f, v, label == LABEL_NAME ? &s->thread.tid : &s->thread.pid);
        if (label == LABEL_NAME || !s->has_thread_name)
            s->thread.name = pprof_string(&f->tables, v[2], NULL);
        s->has_thread_name |= label == LABEL_NAME;
        return true;
    case LABEL_TID:
        return label_id(f, v, &s->thread.tid);
    case LABEL_PID:
        return label_id(f, v, &s->thread.pid);
    case LABEL_TIME:
        s->has_time = true;
        s->time_ns = v[3];
        return true;
    case LABEL_DURATION:
        s->duration_ns = v[3];
        return true;
    case LABEL_UNSEEN:
    case LABEL_OTHER:
        break;
    }
    return false;
}

static bool add_label(struct pprof *f, struct parts *s, struct text message)
{
    uint64_t v[5] = {0};
    if (!protofield_numbers(message, v, 4))
        return false;
    if (!take_label(f, s, v))
        add_attr(f, s, v);
    return true;
}

/* --- samples --- */

static int add_location_id(struct pprof *f, struct parts *s, uint64_t id, struct err *err)
{
    uint32_t index = pprof_ids_find(&f->tables.location_ids, id);
    if (index == IDMAP_NONE) {
        s->missing = true;
        s->missing_id = id;
        return 0;
    }
    struct frame_id frame;
    if (pprof_frame(&f->tables, index, &frame, err) != 0)
        return -1;
    if (f->frames.n <= DEPTH_MAX)
        *vec_push(&f->frames) = frame;
    return 0;
}

static void pprof_add_value(struct parts *s, uint64_t v)
{
    s->negative |= v > INT64_MAX;
    if (s->n_values < PPROF_TYPES_MAX)
        s->values[s->n_values] = (int64_t)v;
    s->n_values++;
}

/* Location ids and values: one field each, or all packed in one. Returns -1, or 0 with C's bad. */
static int add_numbers(struct pprof *f, struct parts *s, const struct protofield *field,
                       struct cursor *c, struct err *err)
{
    if (field->wire == PROTO_VARINT) {
        if (field->number == 1)
            return add_location_id(f, s, field->value, err);
        pprof_add_value(s, field->value);
        return 0;
    }
    if (field->wire != PROTO_BYTES) {
        c->bad = true;
        return 0;
    }
    struct cursor packed = cursor_of(field->bytes.at, field->bytes.n);
    while (cursor_more(&packed)) {
        uint64_t v = cursor_varint(&packed);
        if (packed.bad)
            break;
        if (field->number == 2)
            pprof_add_value(s, v);
        else if (add_location_id(f, s, v, err) != 0)
            return -1;
    }
    c->bad |= packed.bad;
    return 0;
}

static int parse_sample(struct pprof *f, struct cursor *c, struct parts *s, struct err *err)
{
    struct protofield field = {0};
    f->frames.n = 0;
    while (protofield_next(c, &field)) {
        if (field.number <= 2 && add_numbers(f, s, &field, c, err) != 0)
            return -1;
        if (field.number == 3 && (field.wire != PROTO_BYTES || !add_label(f, s, field.bytes)))
            c->bad = true;
    }
    return 0;
}

/* The stack of f->frames. What it shares with the sample before is not looked up again. */
static struct stack_id make_stack(struct pprof *f)
{
    struct stacks *stacks = &f->im->profile->stacks;
    struct stack_id id = {0};
    size_t n = f->frames.n, same = 0;
    while (same < n && same < f->path.n && f->path.at[same].i == f->frames.at[n - 1 - same].i)
        same++;
    if (same)
        id = f->stacks.at[same - 1];
    f->path.n = f->stacks.n = same;
    for (size_t i = same; i < n; i++) {
        id = stacks_push(stacks, id, f->frames.at[n - 1 - i]);
        *vec_push(&f->path) = f->frames.at[n - 1 - i];
        *vec_push(&f->stacks) = id;
    }
    return id;
}

static struct thread_id make_thread(struct pprof *f, const struct thread_key *t)
{
    const struct thread_key *last = &f->last_thread;
    if (t->name.i != last->name.i || t->pid != last->pid || t->tid != last->tid) {
        f->last_thread = *t;
        f->last_thread_id = profile_add_thread(f->im->profile, t);
    }
    return f->last_thread_id;
}

/* Leave the sample out if it makes no sense: sets *RET and returns what import_skip_byte() does. */
static int check_sample(struct pprof *f, const struct parts *s, bool bad, uint64_t place,
                        bool *ret_skip, struct err *err)
{
    size_t n_types = f->header.types.n;
    *ret_skip = true;
    if (bad)
        return import_skip_byte(f->im, place, err, "a damaged sample");
    if (s->missing)
        return import_skip_byte(f->im, place, err,
                                "a sample of location %llu, which is not in the file",
                                (unsigned long long)s->missing_id);
    if (s->n_values != n_types)
        return import_skip_byte(f->im, place, err,
                                "a sample with %zu values, but there are %zu sample types",
                                s->n_values, n_types);
    if (s->negative)
        return import_skip_byte(f->im, place, err,
                                "a negative value: the file is the difference of two profiles");
    if (f->frames.n > DEPTH_MAX)
        return import_skip_byte(f->im, place, err, "a stack of more than %d frames", DEPTH_MAX);
    *ret_skip = false;
    return 0;
}

/* A row for each stream that the sample has something of; the types of a single one are its
 * columns.
 */
static int pprof_add_rows(struct pprof *f, struct row *row, struct err *err)
{
    struct profile *p = f->im->profile;
    const struct pprof_header *h = &f->header;
    const int64_t *all = row->values;
    if (p->streams.n == 1)
        return profile_add_row(p, 0, row, err);
    for (size_t stream = 0; stream < p->streams.n; stream++) {
        int64_t values[STREAM_MAX_TYPES], any = 0;
        for (size_t i = 0; i < h->types.n; i++) {
            struct value_ref column = h->types.at[i].column;
            if (column.stream != (int)stream)
                continue;
            values[column.type] = all[i];
            any |= all[i];
        }
        row->values = values;
        int rc = any ? profile_add_row(p, (int)stream, row, err) : 0;
        row->values = all;
        if (rc != 0)
            return -1;
    }
    return 0;
}

static int pprof_add_sample(struct pprof *f, struct text message, uint64_t place, struct err *err)
{
    struct parts s;
    memset(&s, 0, offsetof(struct parts, values));
    s.thread = (struct thread_key){.pid = THREAD_NO_ID, .tid = THREAD_NO_ID};
    struct cursor c = cursor_of(message.at, message.n);
    bool skip;
    if (parse_sample(f, &c, &s, err) != 0 || check_sample(f, &s, c.bad, place, &skip, err) != 0)
        return -1;
    if (skip)
        return 0;
    struct row row = {
        .stack = make_stack(f),
        .thread = make_thread(f, &s.thread),
        .attrs = s.attrs,
        .has_time = s.has_time,
        .time_ns = s.time_ns,
        .duration_ns = s.duration_ns,
        .values = s.values,
    };
    struct err inner;
    if (pprof_add_rows(f, &row, &inner) != 0)
        return err_set(err, inner.code, "byte %llu: %s", (unsigned long long)place, inner.text);
    return 0;
}

static int pprof_add_samples(struct pprof *f, struct err *err)
{
    struct cursor c = cursor_of(f->samples.at, f->samples.n);
    uint64_t place = 0;
    while (cursor_more(&c)) {
        place += cursor_varint(&c);
        if (pprof_add_sample(f, cursor_bytes(&c, cursor_varint(&c)), place, err) != 0)
            return -1;
    }
    return 0;
}

static int read_whole(struct pprof *f, struct err *err)
{
    int rc;
    while ((rc = read_field(f, err)) > 0)
        ;
    struct err broken;
    if (rc != 0 || reader_failed(f->im->in, &broken) || f->samples.n == 0)
        return rc;
    if (pprof_header_apply(&f->header, err) != 0 || pprof_add_samples(f, err) != 0)
        return -1;
    pprof_header_set_obtained(&f->header);
    return 0;
}

static int pprof_read(struct import *im, struct err *err)
{
    struct pprof f = {
        .im = im,
        .tables.im = im,
        .last_thread = {.pid = THREAD_NO_ID, .tid = THREAD_NO_ID},
    };
    f.header.tables = &f.tables;
    int rc = read_whole(&f, err);
    pprof_done(&f);
    return rc;
}

/* --- recognition --- */

/* Whether M can be the message of field NUMBER, as far as a look without the tables shows. */
static bool message_fits(uint32_t number, struct text m)
{
    uint64_t v[11] = {0};
    struct cursor c = cursor_of(m.at, m.n);
    struct protofield f = {0};
    switch (number) {
    case 1:
    case 11:
        return protofield_numbers(m, v, 2);
    case 3:
        return protofield_numbers(m, v, 10) && v[1];
    case 5:
        return protofield_numbers(m, v, 5) && v[1];
    case 2:
    case 4:
        while (protofield_next(&c, &f))
            ;
        return !c.bad;
    }
    return true;
}

/*
 * Protobuf has no magic number. A run of fields that all have the number, wire type and shape
 * that Profile's have, with a sample type among them, is no accident; text never is one.
 */
static int pprof_probe(struct text head, bool whole)
{
    enum { FIELDS_ENOUGH = 12 };
    struct cursor c = cursor_of(head.at, head.n);
    int n = 0, n_types = 0;
    (void)whole;
    while ((n < FIELDS_ENOUGH || !n_types) && cursor_more(&c)) {
        struct protofield f = {0};
        if (!protofield_next(&c, &f)) {
            if (cursor_left(&c) || f.number > 15)
                return 0;
            break; /* a field that HEAD has only the start of, or the file was cut there */
        }
        if (f.number > 15 || !wire_fits(&f) ||
            (f.wire == PROTO_BYTES && !message_fits(f.number, f.bytes)))
            return 0;
        n_types += f.number == 1 && f.bytes.n;
        n++;
    }
    return n_types && n >= 2 ? 90 : 0;
}

const struct source source_pprof = {
    .name = "pprof",
    .title = "pprof profile (protobuf)",
    .probe = pprof_probe,
    .read = pprof_read,
};
