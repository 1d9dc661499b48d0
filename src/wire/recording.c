#include "model/standin.h"
#include "wire/column.h"
#include "wire/recording_inner.h"

#include <errno.h>
#include <xxhash.h>
#include <zstd.h>

/* Bytes of strings a chunk, unless one alone is longer. */
enum { STRING_BYTES = 1 << 20 };

static int write_all(struct recording_writer *w, const void *bytes, size_t n, struct err *err)
{
    if (fwrite(bytes, 1, n, w->out) != n)
        return err_set_errno(err, errno, "cannot write the recording at byte %llu",
                             (unsigned long long)w->bytes);
    w->bytes += n;
    return 0;
}

int recording_writer_init(struct recording_writer *w, FILE *out, struct err *err)
{
    *w = (struct recording_writer){.out = out, .chunks.pack = ZSTD_createCCtx()};
    uint8_t head[CHUNK_FILE_BYTES];
    chunk_start(&w->chunks, head);
    return write_all(w, head, sizeof head, err);
}

void recording_writer_done(struct recording_writer *w)
{
    ZSTD_freeCCtx(w->chunks.pack);
    buf_done(&w->raw);
    buf_done(&w->packed);
}

void recording_mark_done(struct recording_mark *mark)
{
    vec_done(&mark->frames);
    vec_done(&mark->processes);
    vec_done(&mark->meta);
    vec_done(&mark->stream_row);
    vec_done(&mark->counter_point);
}

int recording_write_chunk(struct recording_writer *w, const char *type, struct err *err)
{
    if (w->raw.n > CHUNK_RAW_MAX)
        return err_set(err, EXIT_ERROR, "a name of %zu MB is too long for a recording",
                       w->raw.n >> 20);
    w->packed.n = 0;
    vec_reserve(&w->packed, chunk_bound(w->raw.n));
    size_t n = chunk_encode(&w->chunks, type, buf_text(&w->raw), w->packed.at);
    w->raw.n = 0;
    return write_all(w, w->packed.at, n, err);
}

/* --- tables: append rows from FROM on, return the row behind the last --- */

static size_t put_strings(struct buf *b, const struct profile *p, size_t from)
{
    const struct text *s = p->strings.strings.at;
    size_t max = recording_upto(from, p->strings.strings.n), to = from;
    for (size_t bytes = 0; to < max && bytes < STRING_BYTES; to++)
        bytes += s[to].n;
    buf_varint(b, to - from);
    column_write(b, i, from, to, s[i].n);
    for (size_t i = from; i < to; i++)
        buf_add(b, s[i].at, s[i].n);
    return to;
}

static size_t put_mappings(struct buf *b, const struct profile *p, size_t from)
{
    const struct mapping *m = p->mappings.at;
    size_t to = recording_upto(from, p->mappings.n);
    buf_varint(b, to - from);
    column_write(b, i, from, to, m[i].path.i);
    column_write(b, i, from, to, m[i].build_id.i);
    column_write(b, i, from, to, m[i].start);
    column_write(b, i, from, to, m[i].end);
    column_write(b, i, from, to, m[i].offset);
    return to;
}

static size_t put_functions(struct buf *b, const struct profile *p, size_t from)
{
    const struct function *f = p->functions.at;
    size_t to = recording_upto(from, p->functions.n);
    buf_varint(b, to - from);
    column_write(b, i, from, to, f[i].name.i);
    column_write(b, i, from, to, f[i].system_name.i);
    column_write(b, i, from, to, f[i].file.i);
    column_write(b, i, from, to, f[i].line);
    return to;
}

/* Frames that are not in one piece: the I-th one is ids[I], or FROM + I without ids. */
struct frame_list {
    const struct profile *p;
    const uint32_t *ids;
    size_t from, n;
};

static const struct frame *frame_at(const struct frame_list *l, size_t i)
{
    return &l->p->frames.at[l->ids ? l->ids[i] : l->from + i];
}

static void put_lines(struct buf *b, const struct frame_list *l, size_t n_lines)
{
    struct column c[3] = {{.out = b}, {.out = b}, {.out = b}};
    buf_varint(b, n_lines);
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < l->n; i++) {
            const struct frame *f = frame_at(l, i);
            if (!f->n_lines)
                continue;
            const struct line *line = profile_lines(l->p, f), *end = line + f->n_lines;
            for (; line < end; line++)
                column_put(&c[k], k == 0 ? line->function.i : k == 1 ? line->line : line->column);
        }
}

/* Returns how many of the list's frames fit. */
static size_t put_frame_list(struct buf *b, struct frame_list l)
{
    size_t lines = 0, n = 0;
    for (;
         n < l.n && n < RECORDING_MAX_ROWS && lines < RECORDING_MAX_LINES - PROFILE_MAX_FRAME_LINES;
         n++)
        lines += frame_at(&l, n)->n_lines;
    l.n = n;
    buf_varint(b, n);
    if (l.ids)
        column_write(b, i, 0, n, l.ids[i]);
    column_write(b, i, 0, n, frame_at(&l, i)->pc);
    column_write(b, i, 0, n, frame_at(&l, i)->mapping.i);
    column_write(b, i, 0, n, frame_at(&l, i)->kind);
    column_write(b, i, 0, n, frame_at(&l, i)->n_lines);
    put_lines(b, &l, lines);
    return n;
}

static size_t put_frames(struct buf *b, const struct profile *p, size_t from)
{
    return from + put_frame_list(b, (struct frame_list){p, NULL, from, p->frames.n - from});
}

static size_t put_attrs(struct buf *b, const struct profile *p, size_t from)
{
    const struct attr_node *a = p->attrs.nodes.at;
    size_t to = recording_upto(from, p->attrs.nodes.n);
    buf_varint(b, to - from);
    column_write(b, i, from, to, a[i].parent.i);
    column_write(b, i, from, to, a[i].attr.key.i);
    column_write(b, i, from, to, a[i].attr.is_number);
    column_write(b, i, from, to,
                 a[i].attr.is_number ? (uint64_t)a[i].attr.number : a[i].attr.text.i);
    column_write(b, i, from, to, a[i].attr.unit.i);
    return to;
}

/* Processes IDS, or without ids those FROM TO. */
static void put_process_list(struct buf *b, const struct profile *p, const uint32_t *ids,
                             size_t from, size_t to)
{
    const struct process *list = p->processes.at;
#define AT(i) list[ids ? ids[i] : (i)]
    buf_varint(b, to - from);
    if (ids)
        column_write(b, i, from, to, ids[i]);
    column_write(b, i, from, to, (int64_t)AT(i).pid);
    column_write(b, i, from, to, AT(i).parent.i);
    column_write(b, i, from, to, AT(i).executable.i);
    column_write(b, i, from, to, AT(i).host.i);
    column_write(b, i, from, to, AT(i).start_ns);
    column_write(b, i, from, to, AT(i).end_ns);
    column_write(b, i, from, to, AT(i).attrs.i);
#undef AT
}

static size_t put_processes(struct buf *b, const struct profile *p, size_t from)
{
    size_t to = recording_upto(from, p->processes.n);
    put_process_list(b, p, NULL, from, to);
    return to;
}

static size_t put_threads(struct buf *b, const struct profile *p, size_t from)
{
    const struct thread *t = p->threads.at;
    size_t to = recording_upto(from, p->threads.n);
    buf_varint(b, to - from);
    column_write(b, i, from, to, t[i].process.i);
    column_write(b, i, from, to, t[i].name.i);
    column_write(b, i, from, to, (int64_t)t[i].tid);
    return to;
}

static size_t put_stacks(struct buf *b, const struct profile *p, size_t from)
{
    const struct stack_node *s = p->stacks.nodes.at;
    size_t to = recording_upto(from, p->stacks.nodes.n);
    buf_varint(b, to - from);
    column_write(b, i, from, to, standin_parent(p, (struct stack_id){(uint32_t)i}).i);
    column_write(b, i, from, to, s[i].frame.i);
    return to;
}

static size_t recording_rows_of(const struct profile *p, enum recording_table table)
{
    size_t rows[RECORDING_TABLES] = {
        [RECORDING_STRINGS] = p->strings.strings.n, [RECORDING_MAPPINGS] = p->mappings.n,
        [RECORDING_FUNCTIONS] = p->functions.n,     [RECORDING_FRAMES] = p->frames.n,
        [RECORDING_ATTRS] = p->attrs.nodes.n,       [RECORDING_PROCESSES] = p->processes.n,
        [RECORDING_THREADS] = p->threads.n,         [RECORDING_STACKS] = p->stacks.nodes.n,
    };
    return rows[table];
}

/* FIRST is 1 where row 0 is the same in every profile. */
static const struct {
    const char *type;
    size_t first;
    size_t (*put)(struct buf *b, const struct profile *p, size_t from);
} tables[RECORDING_TABLES] = {
    [RECORDING_STRINGS] = {"STRS", 1, put_strings},
    [RECORDING_MAPPINGS] = {"MAPS", 1, put_mappings},
    [RECORDING_FUNCTIONS] = {"FUNC", 1, put_functions},
    [RECORDING_FRAMES] = {"FRAM", 0, put_frames},
    [RECORDING_ATTRS] = {"ATTR", 1, put_attrs},
    [RECORDING_PROCESSES] = {"PROC", 1, put_processes},
    [RECORDING_THREADS] = {"THRD", 1, put_threads},
    [RECORDING_STACKS] = {"STCK", 1, put_stacks},
};

static int recording_append_rows(struct recording_writer *w, const struct profile *p,
                                 struct recording_mark *mark, enum recording_table table,
                                 struct err *err)
{
    size_t *at = &mark->rows[table], n = recording_rows_of(p, table);
    *at = *at ? *at : tables[table].first;
    while (*at < n) {
        *at = tables[table].put(&w->raw, p, *at);
        if (recording_write_chunk(w, tables[table].type, err) != 0)
            return -1;
    }
    return 0;
}

/* --- what may change after it was written --- */

static bool same_frame(const struct frame *a, const struct frame *b)
{
    return a->pc == b->pc && a->mapping.i == b->mapping.i && a->first_line == b->first_line &&
           a->n_lines == b->n_lines && a->kind == b->kind;
}

/* Frames that were described anew since MARK, before those that are new are noted in MARK. */
static int append_frame_updates(struct recording_writer *w, const struct profile *p,
                                struct recording_mark *mark, struct err *err)
{
    VEC(uint32_t) ids = {0};
    for (size_t i = 0; i < mark->frames.n; i++)
        if (!same_frame(&p->frames.at[i], &mark->frames.at[i])) {
            *vec_push(&ids) = (uint32_t)i;
            mark->frames.at[i] = p->frames.at[i];
        }
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ids.n;) {
        i += put_frame_list(&w->raw, (struct frame_list){p, ids.at + i, 0, ids.n - i});
        rc = recording_write_chunk(w, "FSET", err);
    }
    vec_done(&ids);
    while (mark->frames.n < p->frames.n) {
        struct frame f = p->frames.at[mark->frames.n];
        *vec_push(&mark->frames) = f;
    }
    return rc;
}

static bool same_process(const struct process *a, const struct process *b)
{
    return a->pid == b->pid && a->parent.i == b->parent.i && a->executable.i == b->executable.i &&
           a->host.i == b->host.i && a->start_ns == b->start_ns && a->end_ns == b->end_ns &&
           a->attrs.i == b->attrs.i;
}

/* Processes that ended, or that are known by another name, since MARK. */
static int append_process_updates(struct recording_writer *w, const struct profile *p,
                                  struct recording_mark *mark, struct err *err)
{
    VEC(uint32_t) ids = {0};
    for (size_t i = 0; i < mark->processes.n; i++)
        if (!same_process(&p->processes.at[i], &mark->processes.at[i])) {
            *vec_push(&ids) = (uint32_t)i;
            mark->processes.at[i] = p->processes.at[i];
        }
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ids.n;) {
        size_t n = recording_upto(i, ids.n) - i;
        put_process_list(&w->raw, p, ids.at + i, 0, n);
        rc = recording_write_chunk(w, "PSET", err);
        i += n;
    }
    vec_done(&ids);
    while (mark->processes.n < p->processes.n) {
        struct process process = p->processes.at[mark->processes.n];
        *vec_push(&mark->processes) = process;
    }
    return rc;
}

static int append_clock(struct recording_writer *w, const struct profile *p,
                        struct recording_mark *mark, struct err *err)
{
    if (mark->clock.monotonic_ns == p->clock.monotonic_ns &&
        mark->clock.wall_ns == p->clock.wall_ns)
        return 0;
    mark->clock = p->clock;
    buf_varint(&w->raw, p->clock.monotonic_ns);
    buf_varint(&w->raw, p->clock.wall_ns);
    return recording_write_chunk(w, "CLCK", err);
}

static void put_text(struct buf *b, const char *s)
{
    buf_varint(b, strlen(s));
    buf_str(b, s);
}

static uint64_t hash_entry(const struct meta_entry *e)
{
    return XXH3_64bits_withSeed(e->value, strlen(e->value), XXH3_64bits(e->key, strlen(e->key)));
}

static int append_meta(struct recording_writer *w, const struct profile *p,
                       struct recording_mark *mark, struct err *err)
{
    size_t n = p->meta.entries.n, changed = 0;
    autobuf struct buf rows = {0};
    if (n > RECORDING_MAX_META)
        return err_set(err, EXIT_ERROR,
                       "the profile has %zu notes about itself; a recording "
                       "holds %d",
                       n, RECORDING_MAX_META);
    for (size_t i = 0; i < n; i++) {
        const struct meta_entry *e = &p->meta.entries.at[i];
        uint64_t hash = hash_entry(e);
        if (i < mark->meta.n && mark->meta.at[i] == hash)
            continue;
        if (i == mark->meta.n)
            vec_push(&mark->meta);
        mark->meta.at[i] = hash;
        put_text(&rows, e->key);
        put_text(&rows, e->value);
        changed++;
    }
    if (!changed)
        return 0;
    buf_varint(&w->raw, changed);
    buf_add(&w->raw, rows.at, rows.n);
    return recording_write_chunk(w, "META", err);
}

static int append_packed(struct recording_writer *w, const struct profile *p,
                         struct recording_mark *mark, struct err *err)
{
    for (; mark->packed < p->packed.n; mark->packed++) {
        const struct packed_file *f = &p->packed.at[mark->packed];
        buf_varint(&w->raw, f->newer ? PACKED_NEWER : 0);
        buf_varint(&w->raw, f->path.i);
        buf_varint(&w->raw, f->text.n);
        buf_add(&w->raw, f->text.at, f->text.n);
        if (recording_write_chunk(w, "SRCF", err) != 0)
            return -1;
    }
    return 0;
}

static bool was_written(const struct recording_mark *mark)
{
    for (size_t i = 0; i < mark->stream_row.n; i++)
        if (mark->stream_row.at[i])
            return true;
    return false;
}

int recording_append(struct recording_writer *w, const struct profile *p,
                     struct recording_mark *mark, struct err *err)
{
    if (p->merge_rows && was_written(mark))
        return err_set(err, EXIT_ERROR, "a profile that merges rows is written only once");
    if (append_meta(w, p, mark, err) != 0 || append_clock(w, p, mark, err) != 0)
        return -1;
    for (enum recording_table t = 0; t < RECORDING_TABLES; t++) {
        if (recording_append_rows(w, p, mark, t, err) != 0)
            return -1;
        if (t == RECORDING_FRAMES && append_frame_updates(w, p, mark, err) != 0)
            return -1;
        if (t == RECORDING_PROCESSES && append_process_updates(w, p, mark, err) != 0)
            return -1;
    }
    if (append_packed(w, p, mark, err) != 0)
        return -1;
    return recording_append_streams(w, p, mark, err);
}

int recording_end(struct recording_writer *w, const struct profile *p, struct err *err)
{
    for (enum recording_table t = 0; t < RECORDING_TABLES; t++)
        buf_varint(&w->raw, recording_rows_of(p, t));
    recording_put_totals(&w->raw, p);
    return recording_write_chunk(w, "END.", err);
}

int recording_write(FILE *out, const struct profile *p, bool plain, struct err *err)
{
    struct recording_writer w;
    struct recording_mark mark = {0};
    int rc = recording_writer_init(&w, out, err);
    if (plain) {
        ZSTD_freeCCtx(w.chunks.pack);
        w.chunks.pack = NULL;
        mark.packed = p->packed.n;
    }
    if (rc == 0)
        rc = recording_append(&w, p, &mark, err);
    if (rc == 0)
        rc = recording_end(&w, p, err);
    recording_mark_done(&mark);
    recording_writer_done(&w);
    return rc;
}
