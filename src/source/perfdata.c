/*
 * perfdata.c - what `perf record` writes.
 *
 * A file (all numbers in the byte order of the machine it was recorded on):
 *
 *     0  "PERFILE2" | header size 104 | size of an attr entry | attrs | data | event types | flags
 *        attrs, data: offset and size of a section; flags: 256 bits, the parts behind the data
 *     ...  ids of events; attr entries: perf_event_attr | offset and size of its ids
 *     data.offset  records: | type u32 | misc u16 | size u16 | ... |
 *     behind them  for each flag: offset and size of a part; then the parts
 * Ids and attr entries may also stand at the end of the file (perf inject, perf 7).
 *
 * A pipe: "PERFILE2" | header size 16, then records only; attrs and parts are among them. Either
 * is read front to back. A recorder that was killed leaves data.size 0 and no parts: then records
 * go to the end of the file.
 *
 * Records of perf's own making start at type 64. Compressed ones hold pieces of one zstd stream,
 * in which again records stand; one of those may go on in the next piece.
 */
#include "base/buf.h"
#include "source/import.h"
#include "source/perfdata_apply.h"
#include "source/perfdata_feature.h"
#include "source/perfdata_queue.h"
#include "source/sources.h"

#include <zstd.h>

enum {
    RECORD_ATTR = 64,
    RECORD_TRACING_DATA = 66,
    RECORD_BUILD_ID = 67,
    RECORD_FINISHED_ROUND = 68,
    RECORD_AUXTRACE = 71,
    RECORD_EVENT_UPDATE = 78,
    RECORD_FEATURE = 80,
    RECORD_COMPRESSED = 81,
    RECORD_COMPRESSED2 = 83,
};

enum {
    PIPE_HEADER_BYTES = 16,
    FILE_HEADER_BYTES = 104,
    HEAD_MAX_BYTES = 64 << 20, /* of all that stands before the data */
    PART_MAX_BYTES = 64 << 20,
    UNPACK_BYTES = 128 << 10,
    TRIM_BYTES = 512, /* samples shorter than that are queued as they are */
};

struct section {
    uint64_t offset, size;
};

struct perfdata {
    struct import *im;
    struct reader *in;
    struct perfdata_events events;
    struct perfdata_features features;
    struct perfdata_apply apply;
    struct perfdata_queue queue;
    bool is_pipe;
    uint64_t data_end; /* UINT64_MAX: at the end of the file */
    uint64_t flags[FEATURE_BITS / 64];
    ZSTD_DStream *zstd;
    struct buf unpacked; /* records, the last one perhaps in part */
    bool zstd_broken;
    uint64_t traces;    /* pieces of hardware traces, which are left out */
    bool in_folder;     /* records of several files are sorted: no round ends before the last */
    uint64_t last_time; /* of the records so far of this file */
    char cut[120];      /* where and why the file ends too early; "" if it does not */
};

/* --- before the data --- */

static struct section section_at(const char *at)
{
    return (struct section){perfdata_word(at), perfdata_word(at + 8)};
}

/* The bytes of a section that stands ahead, before the data or behind. Empty where there are none.
 */
static struct text load_section(struct perfdata *d, struct section s, struct buf *ret)
{
    ret->n = 0;
    if (s.size > HEAD_MAX_BYTES)
        return buf_text(ret);
    vec_reserve(ret, (size_t)s.size + 1);
    if (reader_look(d->in, s.offset, (size_t)s.size, ret->at))
        ret->n = (size_t)s.size;
    return buf_text(ret);
}

static void add_ids(struct perfdata *d, struct text ids)
{
    for (; ids.n >= 8; ids = (struct text){ids.at + 8, ids.n - 8})
        perfdata_events_add_id(&d->events, perfdata_word(ids.at), d->events.list.n - 1);
}

/* An attr says how long it is, in its second word of 4 bytes; 0 means as long as the first. */
static struct text attr_of(struct text t)
{
    uint32_t size = t.n >= 8 ? perfdata_half(t.at + 4) : 0;
    if (size == 0)
        size = PERF_ATTR_SIZE_VER0;
    return (struct text){t.at, size <= t.n ? size : 0};
}

static int read_attrs(struct perfdata *d, struct section attrs, uint64_t entry, struct err *err)
{
    autobuf struct buf table = {0}, ids = {0};
    struct text all = load_section(d, attrs, &table);
    if (entry < PERF_ATTR_SIZE_VER0 + sizeof(struct section) || entry > all.n)
        return err_set(err, EXIT_INPUT, "byte 16: the table of events is damaged");
    for (; all.n >= entry; all = (struct text){all.at + entry, all.n - entry}) {
        size_t n = (size_t)entry - sizeof(struct section);
        if (!perfdata_events_add(&d->events, attr_of((struct text){all.at, n})))
            return err_set(err, EXIT_INPUT, "byte %llu: an event's description is damaged",
                           (unsigned long long)attrs.offset + (size_t)(all.at - table.at));
        add_ids(d, load_section(d, section_at(all.at + n), &ids));
    }
    return 0;
}

static int read_file_header(struct perfdata *d, struct err *err)
{
    struct text h = reader_peek(d->in, FILE_HEADER_BYTES);
    if (h.n < FILE_HEADER_BYTES || perfdata_word(h.at + 8) != FILE_HEADER_BYTES)
        return err_set(err, EXIT_INPUT, "the header of the perf.data file is cut off or damaged");
    uint64_t entry = perfdata_word(h.at + 16);
    struct section attrs = section_at(h.at + 24), data = section_at(h.at + 40);
    memcpy(d->flags, h.at + 72, sizeof d->flags);
    if (data.offset < FILE_HEADER_BYTES || data.offset > HEAD_MAX_BYTES)
        return err_set(err, EXIT_INPUT, "byte 40: the position of the data is invalid");
    struct text head = reader_peek(d->in, (size_t)data.offset);
    if (head.n < data.offset)
        return err_set(err, EXIT_INPUT,
                       "the perf.data file is cut off at byte %zu, before any record", head.n);
    head.n = (size_t)data.offset; /* reading the table may move the window */
    d->data_end = data.size && data.size < UINT64_MAX / 2 ? data.offset + data.size : UINT64_MAX;
    int rc = read_attrs(d, attrs, entry, err);
    reader_take(d->in, head.n);
    return rc;
}

static int perfdata_read_header(struct perfdata *d, struct err *err)
{
    struct text h = reader_peek(d->in, PIPE_HEADER_BYTES);
    if (text_starts(h, "2ELIFREP"))
        return err_set(err, EXIT_INPUT,
                       "recorded on a machine with another byte order: run 'perf "
                       "script' there and give kelvin its output");
    if (h.n < PIPE_HEADER_BYTES || !text_starts(h, "PERFILE2"))
        return err_set(err, EXIT_INPUT, "not a perf.data file of version 2");
    d->is_pipe = perfdata_word(h.at + 8) == PIPE_HEADER_BYTES;
    d->data_end = UINT64_MAX;
    if (!d->is_pipe)
        return read_file_header(d, err);
    reader_take(d->in, PIPE_HEADER_BYTES);
    return 0;
}

/* --- records of perf itself --- */

/* False at the end of the input. */
static bool skip_to(struct reader *in, uint64_t offset)
{
    while (reader_offset(in) < offset) {
        uint64_t left = offset - reader_offset(in);
        struct text t = reader_peek(in, 1);
        if (!t.n)
            return false;
        reader_take(in, t.n < left ? t.n : (size_t)left);
    }
    return true;
}

/* Some records are followed by bytes that their size leaves out. */
static void skip_payload(struct perfdata *d, uint64_t bytes)
{
    uint64_t at = reader_offset(d->in), end = at + bytes;
    skip_to(d->in, end < at ? UINT64_MAX : end);
}

static int add_attr(struct perfdata *d, const struct perfdata_record *r, struct err *err)
{
    struct text attr = attr_of(r->body);
    if (!perfdata_events_add(&d->events, attr))
        return import_skip_byte(d->im, r->offset, err, "an event's description is damaged");
    add_ids(d, (struct text){r->body.at + attr.n, r->body.n - attr.n});
    return 0;
}

/* what u64, 2 being its name | id u64 | text */
static void update_event(struct perfdata *d, const struct perfdata_record *r)
{
    if (r->body.n <= 16 || perfdata_word(r->body.at) != 2)
        return;
    struct perfdata_event *e = perfdata_events_find(&d->events, perfdata_word(r->body.at + 8));
    if (e)
        perfdata_event_set_name(e, (struct text){r->body.at + 16, r->body.n - 16});
}

static int perfdata_drain(struct perfdata *d, struct err *err)
{
    struct perfdata_record records[PERFDATA_APPLY_MAX];
    for (size_t n; (n = perfdata_queue_take(&d->queue, PERFDATA_APPLY_MAX, records));)
        if (perfdata_apply(&d->apply, records, n, err) != 0)
            return -1;
    return 0;
}

/* --- records of the kernel --- */

static bool is_of_use(uint32_t type)
{
    switch (type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
    case PERF_RECORD_COMM:
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_SAMPLE:
        return true;
    }
    return false;
}

/* Wait for its turn. Records without a time, as perf makes them up at the start, come at once. */
static int kernel_record(struct perfdata *d, struct perfdata_record *r, struct err *err)
{
    if (!is_of_use(r->type))
        return 0;
    size_t whole = r->body.n;
    uint64_t time = perfdata_record_time(&d->events, r);
    if (r->type == PERF_RECORD_LOST_SAMPLES)
        r->body.n = whole; /* whose they are stands at its end */
    if (time == 0 || time == UINT64_MAX)
        return perfdata_apply(&d->apply, r, 1, err);
    d->last_time = time > d->last_time ? time : d->last_time;
    struct perfdata_sample s;
    struct perfdata_event *e = r->type == PERF_RECORD_SAMPLE && r->body.n > TRIM_BYTES
                                   ? perfdata_record_event(&d->events, r)
                                   : NULL;
    bool parsed = e && !perfdata_sample_parse(e, r->body, &s);
    perfdata_queue_add(&d->queue, time, r, parsed ? &s : NULL);
    return perfdata_queue_is_full(&d->queue) ? perfdata_drain(d, err) : 0;
}

static int plain_record(struct perfdata *d, struct perfdata_record *r, struct err *err)
{
    switch (r->type) {
    case RECORD_ATTR:
        return d->is_pipe ? add_attr(d, r, err) : 0;
    case RECORD_BUILD_ID:
        perfdata_build_id_read(&d->features, r->misc, r->body);
        return 0;
    case RECORD_FINISHED_ROUND:
        if (d->in_folder)
            return 0;
        perfdata_queue_round(&d->queue);
        return perfdata_drain(d, err);
    case RECORD_EVENT_UPDATE:
        update_event(d, r);
        return 0;
    case RECORD_FEATURE:
        if (r->body.n > 8)
            perfdata_feature_read(&d->features, perfdata_word(r->body.at),
                                  (struct text){r->body.at + 8, r->body.n - 8});
        return 0;
    }
    return kernel_record(d, r, err);
}

/* --- compressed records --- */

/* Take the whole records out of d->unpacked. OFFSET is that of the compressed record. */
static int unpacked_records(struct perfdata *d, uint64_t offset, struct err *err)
{
    struct text t = buf_text(&d->unpacked);
    int rc = 0;
    while (rc == 0 && t.n >= sizeof(struct perf_event_header)) {
        struct perf_event_header h;
        memcpy(&h, t.at, sizeof h);
        if (h.size < sizeof h) {
            d->zstd_broken = true;
            return import_skip_byte(d->im, offset, err, "a compressed record has no size");
        }
        if (h.size > t.n)
            break;
        struct perfdata_record r = {
            h.type, h.misc, {t.at + sizeof h, h.size - sizeof h}, offset, 0};
        rc = plain_record(d, &r, err);
        t = (struct text){t.at + h.size, t.n - h.size};
    }
    if (t.n)
        memmove(d->unpacked.at, t.at, t.n);
    d->unpacked.n = t.n;
    return rc;
}

static int perfdata_unpack(struct perfdata *d, struct text packed, uint64_t offset, struct err *err)
{
    if (!d->zstd)
        ZSTD_initDStream(d->zstd = ZSTD_createDStream());
    ZSTD_inBuffer in = {packed.at, packed.n, 0};
    size_t got = 0;
    for (int rc = 0; rc == 0 && !d->zstd_broken && (in.pos < in.size || got == UNPACK_BYTES);) {
        vec_reserve(&d->unpacked, UNPACK_BYTES);
        ZSTD_outBuffer out = {d->unpacked.at + d->unpacked.n, UNPACK_BYTES, 0};
        if (ZSTD_isError(ZSTD_decompressStream(d->zstd, &out, &in))) {
            d->zstd_broken = true;
            return import_skip_byte(d->im, offset, err, "the compressed records are damaged");
        }
        got = out.pos;
        d->unpacked.n += got;
        if ((rc = unpacked_records(d, offset, err)) != 0)
            return rc;
    }
    return 0;
}

/* COMPRESSED: the bytes. COMPRESSED2: how many u64, the bytes, padding. */
static int compressed_record(struct perfdata *d, const struct perfdata_record *r, struct err *err)
{
    struct text packed = r->body;
    if (d->zstd_broken)
        return 0; /* was reported; without its first part the stream makes no sense */
    if (r->type == RECORD_COMPRESSED2) {
        uint64_t n = packed.n >= 8 ? perfdata_word(packed.at) : UINT64_MAX;
        if (packed.n < 8 || n > packed.n - 8) {
            d->zstd_broken = true;
            return import_skip_byte(d->im, r->offset, err, "a compressed record is damaged");
        }
        packed = (struct text){packed.at + 8, (size_t)n};
    }
    return perfdata_unpack(d, packed, r->offset, err);
}

static int one_record(struct perfdata *d, struct perfdata_record *r, struct err *err)
{
    switch (r->type) {
    case RECORD_COMPRESSED:
    case RECORD_COMPRESSED2:
        return compressed_record(d, r, err);
    case RECORD_AUXTRACE:
        d->traces++;
        if (r->body.n >= 8)
            skip_payload(d, perfdata_word(r->body.at));
        return 0;
    case RECORD_TRACING_DATA:
        if (r->body.n >= 4)
            skip_payload(d, perfdata_half(r->body.at));
        return 0;
    }
    return plain_record(d, r, err);
}

/* --- the data --- */

static void set_cut(struct perfdata *d, uint64_t offset)
{
    snprintf(d->cut, sizeof d->cut, "cut off at byte %llu", (unsigned long long)offset);
}

/* The next record. False at the end of the data, whatever the reason. */
static bool next_record(struct perfdata *d, struct perfdata_record *ret, struct err *err, int *rc)
{
    uint64_t offset = reader_offset(d->in), left = d->data_end - offset;
    struct perf_event_header h;
    struct text t = reader_peek(d->in, sizeof h);
    *rc = 0;
    if (offset >= d->data_end || (t.n == 0 && d->data_end == UINT64_MAX))
        return false;
    if (t.n >= sizeof h) {
        memcpy(&h, t.at, sizeof h);
        if (h.size < sizeof h || h.size > left) {
            *rc = import_skip_byte(d->im, offset, err,
                                   "a record has an impossible size: what follows is lost");
            skip_to(d->in, d->data_end);
            return false;
        }
        t = reader_peek(d->in, h.size);
    }
    if (t.n < sizeof h || t.n < h.size) {
        set_cut(d, offset + t.n);
        return false;
    }
    *ret =
        (struct perfdata_record){h.type, h.misc, {t.at + sizeof h, h.size - sizeof h}, offset, 0};
    reader_take(d->in, h.size);
    return true;
}

/* --- the other files of a folder: data.0, data.1... hold records and nothing else --- */

enum { SIDES_MAX = 4096 };

struct side {
    struct reader in;
    ZSTD_DStream *zstd;
    struct buf unpacked;
    bool zstd_broken, at_end;
    uint64_t last_time;
};

/* Let D read from SIDE and keep in it what D was reading; and the other way round. */
static void swap_side(struct perfdata *d, struct side *side)
{
    struct side was = {.zstd = d->zstd,
                       .unpacked = d->unpacked,
                       .zstd_broken = d->zstd_broken,
                       .last_time = d->last_time};
    d->zstd = side->zstd;
    d->unpacked = side->unpacked;
    d->zstd_broken = side->zstd_broken;
    d->last_time = side->last_time;
    side->zstd = was.zstd;
    side->unpacked = was.unpacked;
    side->zstd_broken = was.zstd_broken;
    side->last_time = was.last_time;
}

/* The next record of a file. */
static int side_record(struct perfdata *d, struct side *side, struct err *err)
{
    struct perfdata_record r;
    int rc;
    swap_side(d, side);
    d->in = &side->in;
    side->at_end = !next_record(d, &r, err, &rc);
    if (!side->at_end)
        rc = one_record(d, &r, err);
    d->in = d->im->in;
    swap_side(d, side);
    return rc;
}

/* The file that is behind the others in time, so that little waits in the queue; NULL at the end.
 */
static struct side *oldest_side(struct side *sides, size_t n)
{
    struct side *oldest = NULL;
    for (size_t i = 0; i < n; i++)
        if (!sides[i].at_end && (!oldest || sides[i].last_time < oldest->last_time))
            oldest = &sides[i];
    return oldest;
}

typedef VEC(struct side) side_list;

static int open_sides(struct perfdata *d, side_list *ret, struct err *err)
{
    for (int i = 0; i < SIDES_MAX; i++) {
        autofree char *path = mem_printf("%s/data.%d", d->im->opts.folder, i);
        if (access(path, F_OK) != 0)
            return 0;
        struct side *side = vec_push(ret);
        *side = (struct side){0};
        if (reader_open_file(&side->in, path, err) != 0) {
            ret->n--;
            return -1;
        }
    }
    return 0;
}

static int read_sides(struct perfdata *d, struct err *err)
{
    uint64_t data_end = d->data_end;
    side_list sides = {0};
    int rc = open_sides(d, &sides, err);
    d->data_end = UINT64_MAX;
    for (struct side *s; rc == 0 && (s = oldest_side(sides.at, sides.n));)
        rc = side_record(d, s, err);
    d->data_end = data_end;
    for (size_t i = 0; i < sides.n; i++) {
        struct err broken;
        if (reader_failed(&sides.at[i].in, &broken) && rc == 0)
            rc = err_set(err, broken.code, "data.%zu: %s", i, broken.text);
        reader_close(&sides.at[i].in);
        ZSTD_freeDStream(sides.at[i].zstd);
        buf_done(&sides.at[i].unpacked);
    }
    vec_done(&sides);
    return rc;
}

static int read_data(struct perfdata *d, struct err *err)
{
    struct perfdata_record r;
    int rc;
    d->in_folder = d->im->opts.folder != NULL;
    while (next_record(d, &r, err, &rc))
        if ((rc = one_record(d, &r, err)) != 0)
            break;
    if (rc == 0 && d->in_folder)
        rc = read_sides(d, err);
    if (rc != 0)
        return rc;
    perfdata_queue_finish(&d->queue);
    return perfdata_drain(d, err);
}

/* --- behind the data --- */

struct part {
    struct section at;
    uint64_t feature;
};

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return x->at.offset < y->at.offset ? -1 : x->at.offset > y->at.offset;
}

/* The table of parts; how many, sorted by their place. */
static size_t perfdata_read_table(struct perfdata *d, struct part *parts)
{
    size_t n = 0;
    for (int i = 0; i < FEATURE_BITS; i++)
        if (d->flags[i / 64] >> (i % 64) & 1)
            parts[n++].feature = (uint64_t)i;
    struct text t = reader_peek(d->in, n * sizeof(struct section));
    if (t.n < n * sizeof(struct section)) {
        set_cut(d, reader_offset(d->in) + t.n);
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        parts[i].at = section_at(t.at + i * sizeof(struct section));
    reader_take(d->in, n * sizeof(struct section));
    qsort(parts, n, sizeof *parts, compare_parts);
    return n;
}

static void read_parts(struct perfdata *d)
{
    struct part parts[FEATURE_BITS];
    size_t n = perfdata_read_table(d, parts);
    for (size_t i = 0; i < n; i++) {
        const struct part *p = &parts[i];
        if (!perfdata_feature_is_known(p->feature) || p->at.size > PART_MAX_BYTES ||
            p->at.offset < reader_offset(d->in))
            continue;
        bool there = skip_to(d->in, p->at.offset);
        struct text t = reader_peek(d->in, (size_t)p->at.size);
        if (!there || t.n < p->at.size) {
            set_cut(d, reader_offset(d->in) + t.n);
            return;
        }
        perfdata_feature_read(&d->features, p->feature, (struct text){t.at, (size_t)p->at.size});
        reader_take(d->in, (size_t)p->at.size);
    }
}

/* A file that ends too early is kept, and labelled. */
static int tell_cut(struct perfdata *d, struct err *err)
{
    if (!d->is_pipe && d->data_end == UINT64_MAX)
        snprintf(d->cut, sizeof d->cut, "cut off at byte %llu: perf record was killed",
                 (unsigned long long)reader_offset(d->in));
    if (!d->cut[0])
        return 0;
    if (d->im->opts.strict) {
        return err_set_hint(err, EXIT_FAILS, HINT_STRICT, "the file is %s", d->cut);
    }
    meta_set_str(&d->im->profile->meta, META_CUT, d->cut);
    import_note(d->im, "the file is %s; everything before that is kept", d->cut);
    return 0;
}

static int tell_traces(struct perfdata *d, struct err *err)
{
    static const char what[] =
        "hardware trace (Intel PT or the like), which is not read: 'perf script "
        "--itrace=i100usg' turns it into samples that are";
    if (!d->traces)
        return 0;
    if (!profile_count_rows(d->im->profile))
        return err_set(err, EXIT_INPUT, "there is nothing in it but a %s", what);
    import_note(d->im, "there is also a %s", what);
    return 0;
}

static int perfdata_read_all(struct perfdata *d, struct err *err)
{
    if (perfdata_read_header(d, err) != 0 || read_data(d, err) != 0)
        return -1;
    if (!d->is_pipe && d->data_end != UINT64_MAX && !d->cut[0])
        read_parts(d);
    if (perfdata_apply_finish(&d->apply, err) != 0)
        return -1;
    perfdata_features_finish(&d->features);
    if (d->apply.unwound)
        perfdata_features_check_files(&d->features);
    if (tell_traces(d, err) != 0)
        return -1;
    return tell_cut(d, err);
}

static int perfdata_read(struct import *im, struct err *err)
{
    struct perfdata d = {.im = im, .in = im->in};
    perfdata_features_init(&d.features, im, &d.events);
    perfdata_apply_init(&d.apply, im, &d.events);
    int rc = perfdata_read_all(&d, err);
    perfdata_queue_done(&d.queue);
    perfdata_apply_done(&d.apply);
    perfdata_features_done(&d.features);
    perfdata_events_done(&d.events);
    ZSTD_freeDStream(d.zstd);
    buf_done(&d.unpacked);
    return rc;
}

static int perfdata_probe(struct text head, bool whole)
{
    (void)whole;
    bool ours = text_starts(head, "PERFILE2") || text_starts(head, "2ELIFREP") ||
                text_starts(head, "PERFFILE");
    return ours ? 100 : 0;
}

const struct source source_perfdata = {
    .name = "perf.data",
    .title = "perf.data recording",
    .probe = perfdata_probe,
    .read = perfdata_read,
};
