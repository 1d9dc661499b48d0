/* A profile survives its way through a .kelvin file, and damage to the file never invents one. */
#include "wire/recording.h"

// clang-format off
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

struct bytes {
    char *at;
    size_t n;
};

/* --- making profiles --- */

static struct str_id str(struct profile *p, const char *s)
{
    return profile_add_str(p, text_of(s));
}

static struct frame_id address_frame(struct profile *p, struct mapping_id m, uint64_t pc)
{
    return profile_add_frame(p, &(struct frame_key){.pc = pc, .mapping = m});
}

static void describe(struct profile *p, struct frame_id id, const char *outer, const char *inner)
{
    struct function fo = {.name = str(p, outer), .system_name = str(p, "_Z5outer"), .line = 3};
    struct function fi = {.name = str(p, inner), .file = str(p, "/src/x.c"), .line = 4000000000u};
    struct line lines[] = {{profile_add_function(p, &fo), 10, 2},
                           {profile_add_function(p, &fi), 20, 0}};
    struct frame_key key = {p->frames.at[id.i].pc, p->frames.at[id.i].mapping, FRAME_JIT, lines, 2};
    profile_set_frame(p, id, &key);
}

static void add_row(struct profile *p, int stream, struct row r)
{
    static const int64_t base[] = {1, 1001001, 0, 77};
    const struct stream *s = profile_stream(p, stream);
    int64_t values[STREAM_MAX_TYPES] = {0};
    struct err err;
    for (int i = 0; i < s->n_types && i < 4; i++)
        values[i] = base[i] * (int64_t)(s->rows.n % 3 + 1);
    r.values = values;
    assert_int_equal(profile_add_row(p, stream, &r, &err), 0);
}

static void must_append(struct recording_writer *w, struct profile *p, struct recording_mark *mark)
{
    struct err err;
    if (w)
        assert_int_equal(recording_append(w, p, mark, &err), 0);
}

static struct attrs_id attributes(struct profile *p, int64_t number)
{
    struct attr text = {.key = str(p, "user"), .text = str(p, "x")};
    struct attr size = {
        .key = str(p, "size"), .is_number = true, .number = number, .unit = str(p, "bytes")};
    return attrs_add(&p->attrs, attrs_add(&p->attrs, (struct attrs_id){0}, &text), &size);
}

/*
 * A profile with something in every corner, built in steps. With W each step is appended, so that
 * a recorder's life is played: names, decimals, columns, times, ends of processes and meta come or
 * change later.
 */
static struct profile *rich(struct recording_writer *w, struct recording_mark *mark)
{
    struct profile *p = profile_new();
    struct mapping m = {str(p, "/usr/lib/x.so"), str(p, "0abc"), 0xffffffff80000000, ~0ull, 4096};
    struct mapping_id map = profile_add_mapping(p, &m);
    struct process_id process = profile_add_process(
        p, &(struct process){.pid = 100, .executable = str(p, "/bin/x"), .start_ns = 7});
    struct thread_id threads[] = {
        {0},
        profile_add_thread(p, &(struct thread_key){str(p, "main"), 100, 101}),
        profile_add_thread(p, &(struct thread_key){str(p, "main"), THREAD_NO_ID, INT32_MIN})};
    struct frame_id reserved = profile_reserve_frame(p), never = profile_reserve_frame(p);
    struct frame_id a = address_frame(p, map, 0xffffffff80001234);
    struct frame_id b = profile_add_named_frame(p, (struct text){"na\0me\xff", 6}, FRAME_KERNEL);
    struct frame_id chain[] = {reserved, b, a, a, never};
    must_append(w, p, mark);
    int cpu = profile_add_stream(p, "cpu-clock", BY_TIMER);
    profile_add_value(p, cpu, "samples", "count");
    profile_add_value(p, cpu, "cpu", "nanoseconds");
    must_append(w, p, mark);
    add_row(p, cpu, (struct row){.thread = threads[1]});
    add_row(p, cpu, (struct row){.stack = stacks_intern(&p->stacks, chain, 3)});
    p->clock = (struct clock_pair){5, 1700000000000000000};
    must_append(w, p, mark);
    add_row(p, cpu,
            (struct row){stacks_intern(&p->stacks, chain + 1, 4), threads[2],
                         attributes(p, INT64_MIN), true, ~0ull, 17});
    int heap = profile_add_stream(p, "alloc", BY_EXACT_COUNT);
    profile_add_value(p, heap, "alloc_space", "bytes");
    add_row(p, heap, (struct row){.stack = stacks_intern(&p->stacks, chain, 3)});
    profile_stream(p, cpu)->lost_known = true;
    must_append(w, p, mark);
    int64_t value;
    struct err err;
    assert_int_equal(profile_scale_value(p, (struct value_ref){cpu, 1}, 5, 3, &value, &err), 0);
    describe(p, reserved, "outer", "inner");
    profile_add_value(p, heap, "inuse_space", "bytes");
    profile_stream(p, cpu)->lost = 22;
    profile_stream(p, cpu)->guessed = 4;
    profile_stream(p, cpu)->rate_hz = 999;
    profile_set_unfinished(p, cpu, "stack cut", 3);
    meta_set_str(&p->meta, META_HOST, "");
    p->default_value = (struct value_ref){cpu, 1};
    p->processes.at[process.i].end_ns = ~0ull;
    int rss = profile_add_counter(p, "rss", "bytes", process);
    profile_add_point(p, rss, 5, -1);
    must_append(w, p, mark);
    add_row(p, cpu,
            (struct row){.stack = stacks_intern(&p->stacks, chain, 5),
                         .thread = threads[1],
                         .has_time = true,
                         .time_ns = 5});
    add_row(p, heap, (struct row){.attrs = attributes(p, 3)});
    profile_add_point(p, rss, 5, INT64_MAX);
    profile_add_counter(p, "queue", "", (struct process_id){0});
    describe(p, a, "late", "");
    must_append(w, p, mark);
    return p;
}

/* --- writing and reading back --- */

struct sink {
    struct bytes bytes;
    FILE *out;
    struct recording_writer w;
    struct recording_mark mark;
};

static void sink_open(struct sink *s)
{
    struct err err;
    *s = (struct sink){0};
    s->out = open_memstream(&s->bytes.at, &s->bytes.n);
    assert_int_equal(recording_writer_init(&s->w, s->out, &err), 0);
}

static struct bytes sink_close(struct sink *s, const struct profile *p)
{
    struct err err;
    assert_int_equal(recording_end(&s->w, p, &err), 0);
    recording_mark_done(&s->mark);
    recording_writer_done(&s->w);
    fclose(s->out);
    return s->bytes;
}

static struct bytes write_whole(struct profile *p)
{
    struct sink s;
    sink_open(&s);
    must_append(&s.w, p, &s.mark);
    return sink_close(&s, p);
}

static struct profile *read_bytes(const void *bytes, size_t n, struct recording_state *ret)
{
    struct reader in;
    struct err err;
    struct profile *p = profile_new();
    reader_open_memory(&in, bytes, n);
    int rc = recording_read(&in, p, ret, &err);
    reader_close(&in);
    if (rc == 0)
        return p;
    assert_int_equal(err.code, EXIT_INPUT);
    profile_free(p);
    return NULL;
}

static void same_text(struct text a, struct text b)
{
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.at, b.at, a.n);
}

static void same_frames(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->frames.n, b->frames.n);
    for (size_t i = 0; i < a->frames.n; i++) {
        const struct frame *x = &a->frames.at[i], *y = &b->frames.at[i];
        assert_true(x->pc == y->pc && x->mapping.i == y->mapping.i && x->kind == y->kind);
        assert_int_equal(x->n_lines, y->n_lines);
        if (x->n_lines)
            assert_memory_equal(profile_lines(a, x), profile_lines(b, y),
                                x->n_lines * sizeof(struct line));
    }
}

static void same_facts(const struct stream *a, const struct stream *b)
{
    assert_true(a->event.i == b->event.i && a->obtained == b->obtained);
    assert_true(a->rate_hz == b->rate_hz && a->rate_achieved_hz == b->rate_achieved_hz);
    assert_true(a->lost_known == b->lost_known && a->lost == b->lost);
    assert_true(a->throttled == b->throttled && a->guessed == b->guessed &&
                a->unfinished_known == b->unfinished_known);
    assert_int_equal(a->n_unfinished, b->n_unfinished);
    assert_memory_equal(a->unfinished, b->unfinished, sizeof a->unfinished);
    assert_int_equal(a->n_types, b->n_types);
    for (int i = 0; i < a->n_types; i++) {
        const struct value_type *x = &a->types[i], *y = &b->types[i];
        assert_true(x->name.i == y->name.i && x->unit.i == y->unit.i);
        assert_true(x->dimension == y->dimension && x->role == y->role);
        assert_true(x->decimals == y->decimals && x->total == y->total);
    }
}

/* All rows of A, which B may have more of. */
static void same_rows(const struct stream *a, const struct stream *b)
{
    const struct rows *x = &a->rows, *y = &b->rows;
    assert_true(x->n <= y->n);
    for (size_t i = 0; i < x->n; i++) {
        assert_int_equal(x->stack[i].i, y->stack[i].i);
        assert_int_equal(x->thread[i].i, y->thread[i].i);
        assert_true(!x->time_ns || x->time_ns[i] == y->time_ns[i]);
        assert_true(!x->duration_ns || x->duration_ns[i] == y->duration_ns[i]);
        assert_true(!x->attrs || x->attrs[i].i == y->attrs[i].i);
    }
}

static void same_rows_of_all(const struct profile *a, const struct profile *b)
{
    assert_true(a->streams.n <= b->streams.n);
    for (size_t i = 0; i < a->streams.n; i++)
        same_rows(a->streams.at[i], b->streams.at[i]);
}

static void same_streams(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->streams.n, b->streams.n);
    assert_memory_equal(&a->default_value, &b->default_value, sizeof a->default_value);
    for (size_t i = 0; i < a->streams.n; i++) {
        const struct stream *x = a->streams.at[i], *y = b->streams.at[i];
        same_facts(x, y);
        assert_int_equal(x->rows.n, y->rows.n);
        same_rows(x, y);
        assert_int_equal(!x->rows.time_ns, !y->rows.time_ns);
        assert_int_equal(!x->rows.duration_ns, !y->rows.duration_ns);
        assert_int_equal(!x->rows.attrs, !y->rows.attrs);
        for (int t = 0; t < x->n_types; t++)
            assert_memory_equal(x->rows.value[t], y->rows.value[t], x->rows.n * sizeof(int64_t));
    }
}

static void same_counters(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->counters.n, b->counters.n);
    for (size_t i = 0; i < a->counters.n; i++) {
        const struct counter *x = &a->counters.at[i], *y = &b->counters.at[i];
        assert_true(x->name.i == y->name.i && x->unit.i == y->unit.i &&
                    x->dimension == y->dimension && x->process.i == y->process.i);
        assert_int_equal(x->points.n, y->points.n);
        if (x->points.n)
            assert_memory_equal(x->points.at, y->points.at, x->points.n * sizeof *x->points.at);
    }
}

static void same_attrs(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->attrs.nodes.n, b->attrs.nodes.n);
    for (size_t i = 1; i < a->attrs.nodes.n; i++) {
        const struct attr_node *x = &a->attrs.nodes.at[i], *y = &b->attrs.nodes.at[i];
        assert_true(x->parent.i == y->parent.i && x->attr.key.i == y->attr.key.i);
        assert_true(x->attr.is_number == y->attr.is_number && x->attr.number == y->attr.number);
        assert_true(x->attr.text.i == y->attr.text.i && x->attr.unit.i == y->attr.unit.i);
    }
}

static void same_processes(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->processes.n, b->processes.n);
    for (size_t i = 0; i < a->processes.n; i++) {
        const struct process *x = &a->processes.at[i], *y = &b->processes.at[i];
        assert_true(x->pid == y->pid && x->parent.i == y->parent.i && x->attrs.i == y->attrs.i);
        assert_true(x->executable.i == y->executable.i && x->host.i == y->host.i);
        assert_true(x->start_ns == y->start_ns && x->end_ns == y->end_ns);
    }
}

static void same_meta(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->meta.entries.n, b->meta.entries.n);
    for (size_t i = 0; i < a->meta.entries.n; i++) {
        assert_string_equal(a->meta.entries.at[i].key, b->meta.entries.at[i].key);
        assert_string_equal(a->meta.entries.at[i].value, b->meta.entries.at[i].value);
    }
}

static void same_profile(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->strings.strings.n, b->strings.strings.n);
    for (size_t i = 0; i < a->strings.strings.n; i++)
        same_text(a->strings.strings.at[i], b->strings.strings.at[i]);
    assert_int_equal(a->mappings.n, b->mappings.n);
    assert_memory_equal(a->mappings.at, b->mappings.at, a->mappings.n * sizeof *a->mappings.at);
    assert_int_equal(a->functions.n, b->functions.n);
    assert_memory_equal(a->functions.at, b->functions.at, a->functions.n * sizeof *a->functions.at);
    assert_int_equal(a->threads.n, b->threads.n);
    assert_memory_equal(a->threads.at, b->threads.at, a->threads.n * sizeof *a->threads.at);
    assert_int_equal(a->stacks.nodes.n, b->stacks.nodes.n);
    assert_memory_equal(a->stacks.nodes.at + 1, b->stacks.nodes.at + 1,
                        (a->stacks.nodes.n - 1) * sizeof *a->stacks.nodes.at);
    same_frames(a, b);
    same_attrs(a, b);
    same_processes(a, b);
    same_streams(a, b);
    same_counters(a, b);
    same_meta(a, b);
    assert_memory_equal(&a->clock, &b->clock, sizeof a->clock);
}

/* --- the tests --- */

static void whole_profile_survives(void **state)
{
    (void)state;
    struct recording_state how;
    struct profile *p = rich(NULL, NULL);
    struct bytes file = write_whole(p), again = write_whole(p);
    assert_int_equal(file.n, again.n);
    assert_memory_equal(file.at, again.at, file.n);
    struct profile *q = read_bytes(file.at, file.n, &how);
    assert_true(how.complete && !how.trailing && !how.unknown_chunks);
    same_profile(p, q);
    profile_free(p);
    profile_free(q);
    free(file.at);
    free(again.at);
}

static void slices_are_the_whole(void **state)
{
    (void)state;
    struct recording_state how;
    struct sink s;
    sink_open(&s);
    struct profile *p = rich(&s.w, &s.mark);
    must_append(&s.w, p, &s.mark);
    uint64_t before = s.w.bytes;
    must_append(&s.w, p, &s.mark);
    assert_int_equal(s.w.bytes, before); /* no news, no bytes */
    struct bytes file = sink_close(&s, p);
    struct profile *q = read_bytes(file.at, file.n, &how);
    assert_true(how.complete);
    same_profile(p, q);
    profile_free(p);
    profile_free(q);
    free(file.at);
}

/* More rows than a chunk holds, in every table. */
static void large_tables_are_split(void **state)
{
    (void)state;
    struct recording_state how;
    struct profile *p = profile_new();
    profile_add_stream(p, "", OBTAINED_UNKNOWN);
    profile_add_value(p, 0, "counts", "");
    profile_add_counter(p, "queue", "", (struct process_id){0});
    for (uint32_t i = 0; i < 140000; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%u", i * 7919u);
        struct frame_id f = profile_add_named_frame(p, text_of(name), FRAME_USER);
        add_row(p, 0,
                (struct row){.stack = stacks_intern(&p->stacks, &f, 1),
                             .attrs = attributes(p, i),
                             .has_time = true,
                             .time_ns = i + 1});
        profile_add_process(p, &(struct process){.pid = (int32_t)i});
        profile_add_point(p, 0, i, i % 7);
    }
    struct bytes file = write_whole(p);
    struct profile *q = read_bytes(file.at, file.n, &how);
    assert_true(how.complete);
    assert_in_range(how.chunks, 14, 50);
    same_profile(p, q);
    profile_free(p);
    profile_free(q);
    free(file.at);
}

static struct bytes sliced_file(struct profile **ret)
{
    struct sink s;
    sink_open(&s);
    *ret = rich(&s.w, &s.mark);
    return sink_close(&s, *ret);
}

static void cut_anywhere_gives_a_prefix(void **state)
{
    (void)state;
    struct profile *p;
    struct bytes file = sliced_file(&p);
    size_t most = 0;
    for (size_t n = 0; n < file.n; n++) {
        struct recording_state how;
        struct profile *q = read_bytes(file.at, n, &how);
        assert_int_equal(q != NULL, n >= CHUNK_FILE_BYTES);
        if (!q)
            continue;
        assert_false(how.complete);
        assert_true(how.why[0]);
        assert_in_range(profile_count_rows(q), most, profile_count_rows(p));
        most = profile_count_rows(q);
        same_rows_of_all(q, p);
        profile_free(q);
    }
    assert_int_equal(most, profile_count_rows(p));
    profile_free(p);
    free(file.at);
}

static void flipped_bits_are_found(void **state)
{
    (void)state;
    struct profile *p;
    struct bytes file = sliced_file(&p);
    for (size_t i = 0; i < 8 * file.n; i++) {
        struct recording_state how;
        file.at[i / 8] ^= (char)(1 << i % 8);
        struct profile *q = read_bytes(file.at, file.n, &how);
        file.at[i / 8] ^= (char)(1 << i % 8);
        if (!q)
            continue;
        assert_false(how.complete);
        same_rows_of_all(q, p);
        profile_free(q);
    }
    profile_free(p);
    free(file.at);
}

/* --- files made by hand --- */

struct forge {
    struct chunk_writer w;
    struct buf file;
};

static void forge_start(struct forge *f)
{
    uint8_t head[CHUNK_FILE_BYTES];
    *f = (struct forge){0};
    chunk_start(&f->w, head);
    buf_add(&f->file, head, sizeof head);
}

static void forge_chunk(struct forge *f, const char *type, const void *raw, size_t n)
{
    vec_reserve(&f->file, chunk_bound(n));
    f->file.n += chunk_encode(&f->w, type, (struct text){raw, n}, f->file.at + f->file.n);
}

static struct profile *forge_read(struct forge *f, struct recording_state *ret)
{
    struct profile *p = read_bytes(f->file.at, f->file.n, ret);
    buf_done(&f->file);
    return p;
}

/* In columns: 0 = same as above, 2 = one more, 4 = two more. */
static const char one_stream[] = {0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0};
static const char two_frames[] = {2, 0, 0, 0, 0, 0, 0, 0, 0, 0};
static const char two_stacks[] = {2, 0, 2, 0, 0};
static const char two_rows[] = {0, 2, 1, 0, 2, 2, 0, 0, 2, 0};

static void forge_base(struct forge *f)
{
    forge_start(f);
    forge_chunk(f, "FRAM", two_frames, 10);
    forge_chunk(f, "STCK", two_stacks, sizeof two_stacks);
    forge_chunk(f, "STRM", one_stream, sizeof one_stream);
    forge_chunk(f, "ROWS", two_rows, sizeof two_rows);
    forge_chunk(f, "CNTR", "\1\0\0\0\0", 5);
}

static size_t rows_of_first(const struct profile *p)
{
    return profile_stream(p, 0)->rows.n;
}

static void unknown_chunks_are_skipped(void **state)
{
    (void)state;
    struct recording_state how;
    struct forge f;
    forge_base(&f);
    forge_chunk(&f, "NEWS", "whatever", 8);
    forge_chunk(&f, "ROWS", two_rows, sizeof two_rows);
    struct profile *p = forge_read(&f, &how);
    assert_int_equal(how.unknown_chunks, 1);
    assert_int_equal(rows_of_first(p), 4);
    assert_int_equal(profile_stream(p, 0)->types[0].total, 4);
    assert_non_null(strstr(how.why, "not closed"));
    profile_free(p);
}

/* A chunk with a right checksum and rows that make no sense: nothing of it is taken. */
static void senseless_chunks_are_refused_whole(void **state)
{
    (void)state;
    static const struct {
        const char *type, *raw;
        size_t n;
    } bad[] = {
        {"ROWS", "\0\2\1\0\2\4\0\0\2\0", 10},         /* second stack is 3 */
        {"ROWS", "\0\2\1\0\2\2\0\2\2\0", 10},         /* second thread is 1 */
        {"ROWS", "\0\2\1\0\2\2\0\0\2\3", 10},         /* second value is -1 */
        {"ROWS", "\0\2\1\0\2\2\0\0\2", 9},            /* too short */
        {"ROWS", "\0\2\1\0\2\2\0\0\2\0\0", 11},       /* too long */
        {"ROWS", "\0\2\2\0\2\2\0\0\2\0\0\0", 12},     /* two columns of values */
        {"ROWS", "\1\2\1\0\2\2\0\0\2\0", 10},         /* stream 1 */
        {"ROWS", "\0\1\1\10\2\0\0\2", 8},             /* a flag that there is not */
        {"ROWS", "\0\1\1\4\2\0\2\2", 8},              /* attributes 1 */
        {"ROWS", "\0\2\1\1\2\0\0\0\2\2\2\3", 12},     /* times, and the second value is -1 */
        {"ROWS", "\0\2\1\3\2\0\0\0\2\2\2\2\2\3", 14}, /* times and durations, the same */
        {"ROWS", "\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1\0\2\2\0", 16}, /* rows */
        {"ROWS", "\0\1\1\0\2\0\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1", 16}, /* 2^63 - 1 */
        {"STCK", "\2\0\10\0\0", 5},                                         /* parent is itself */
        {"STCK", "\2\0\0\0\4", 5},                                          /* frame 2 */
        {"FSET", "\1\4\0\0\0\0\0", 7},                                      /* frame 2 */
        {"FRAM", "\1\0\0\0\2\0", 6},                                        /* line is missing */
        {"FRAM", "\1\0\0\0\2\1\2\0\0", 9},                                  /* function 1 */
        {"FRAM", "\1\0\0\24\0\0", 6},                                       /* kind 10 */
        {"FRAM", "\1\0\2\0\0\0", 6},                                        /* mapping 1 */
        {"STRS", "\2\2\0a", 4},                                             /* a byte is missing */
        {"STRS", "\2\1\4ab", 5},                                            /* length -1 */
        {"THRD", "\1\0\2\0", 4},                                            /* string 1 */
        {"THRD", "\1\2\0\0", 4},                                            /* process 1 */
        {"THRD", "\1\0\0\x80\x80\x80\x80\x10", 8},                          /* tid 2^31 */
        {"PROC", "\1\0\2\0\0\0\0\0", 8},                                    /* its own parent */
        {"PROC", "\1\0\0\2\0\0\0\0", 8},                                    /* string 1 */
        {"PROC", "\1\0\0\0\0\0\0\2", 8},                                    /* attributes 1 */
        {"PROC", "\1\x80\x80\x80\x80\x10\0\0\0\0\0\0", 12},                 /* pid 2^31 */
        {"PSET", "\1\2\1\0\0\0\0\0\0", 9},                                  /* process 1 */
        {"PSET", "\1\0\2\0\0\0\0\0\0", 9},                                  /* another pid */
        {"ATTR", "\1\2\0\0\0\0", 6},                                        /* its own parent */
        {"ATTR", "\1\0\2\0\0\0", 6},                                        /* key is string 1 */
        {"ATTR", "\1\0\0\0\2\0", 6},                                        /* text is string 1 */
        {"ATTR", "\1\0\0\4\2\0", 6},                            /* neither text nor number */
        {"ATTR", "\1\0\0\2\2\2", 6},                            /* unit is string 1 */
        {"CNTR", "\1\0\2\0\0", 5},                              /* string 1 */
        {"CNTR", "\1\0\0\20\0", 5},                             /* dimension 8 */
        {"CNTR", "\1\0\0\0\2", 5},                              /* process 1 */
        {"PNTS", "\1\1\0\0", 4},                                /* counter 1 */
        {"PNTS", "\0\2\2\1\0\0", 6},                            /* time goes back */
        {"CLCK", "\1", 1},                                      /* half a pair */
        {"CLCK", "\1\1\1", 3},                                  /* half a pair more */
        {"FUNC", "\1\0\0\2\0", 5},                              /* string 1 */
        {"MAPS", "\1\2\0\0\0\0", 6},                            /* string 1 */
        {"STRM", "\0\0\0", 3},                                  /* a stream less */
        {"STRM", "\0\0\1\0\0\0\0\0\0\0\0\0", 12},               /* a column less */
        {"STRM", "\2\0\1\0\0\0\0\0\0\0\0\1\0\0\0\1\0", 17},     /* default stream 1 */
        {"STRM", "\1\1\1\0\0\0\0\0\0\0\0\1\0\0\0\1\0", 17},     /* default column 1 */
        {"STRM", "\0\0\1\1\0\0\0\0\0\0\0\1\0\0\0\1\0", 17},     /* event is string 1 */
        {"STRM", "\0\0\1\0\x63\0\0\0\0\0\0\1\0\0\0\1\0", 17},   /* obtained in way 99 */
        {"STRM", "\0\0\1\0\0\0\0\0\0\0\0\1\0\0\11\1\0", 17},    /* dimension 9 */
        {"STRM", "\0\0\1\0\0\0\0\0\0\0\0\1\0\0\0\11\0", 17},    /* role 9 */
        {"STRM", "\0\0\1\0\0\0\0\0\0\0\0\1\0\0\0\1\23", 17},    /* 19 decimals */
        {"STRM", "\0\0\1\0\0\0\0\0\0\0\2\1\0\1\0\0\0\1\0", 19}, /* why is string 1 */
        {"STRM", "\0\0\1\0\0\0\0\0\0\0\0\1\0\0\0\1\0\0", 18},   /* too long */
        {"META", "\1\1k\5v", 5},                                /* value is cut */
        {"END.", "\1\1\1\2\1\1\1\3\1\3\1\2\1\0", 14},           /* a row too many */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct recording_state how;
        struct forge f;
        forge_base(&f);
        forge_chunk(&f, bad[i].type, bad[i].raw, bad[i].n);
        forge_chunk(&f, "ROWS", two_rows, sizeof two_rows);
        struct profile *p = forge_read(&f, &how);
        assert_int_equal(how.chunks, 5);
        assert_non_null(strstr(how.why, "damaged in a chunk at byte"));
        assert_int_equal(rows_of_first(p), 2);
        assert_int_equal(profile_stream(p, 0)->types[0].total, 2);
        assert_null(profile_stream(p, 0)->rows.time_ns);
        assert_null(profile_stream(p, 0)->rows.duration_ns);
        assert_int_equal(p->streams.n, 1);
        assert_int_equal(p->processes.n, 1);
        assert_int_equal(p->attrs.nodes.n, 1);
        assert_int_equal(p->counters.n, 1);
        assert_int_equal(p->stacks.nodes.n, 3);
        assert_int_equal(p->frames.n, 2);
        profile_free(p);
    }
}

static void end_with_right_numbers_closes(void **state)
{
    (void)state;
    struct recording_state how;
    struct forge f;
    forge_base(&f);
    forge_chunk(&f, "END.", "\1\1\1\2\1\1\1\3\1\2\1\2\1\0", 14);
    buf_str(&f.file, "more");
    profile_free(forge_read(&f, &how));
    assert_true(how.complete && how.trailing);
}

/* Equal rows in a made-up file shift no id. */
static void doubled_rows_are_one(void **state)
{
    (void)state;
    struct recording_state how;
    struct forge f;
    forge_start(&f);
    forge_chunk(&f, "STRS", "\3\2\0\0aab", 7);
    forge_chunk(&f, "THRD", "\2\0\0\2\4\0\0", 7); /* names "a" (1) and "b" (3) */
    forge_chunk(&f, "FRAM", two_frames, 10);
    forge_chunk(&f, "STCK", "\3\0\0\2\0\0\0", 7); /* stacks 1 and 2 are the same */
    forge_chunk(&f, "STRM", one_stream, sizeof one_stream);
    forge_chunk(&f, "ROWS", "\0\2\1\0\4\2\4\0\2\0", 10); /* stacks 2 and 3, thread 2 */
    struct profile *p = forge_read(&f, &how);
    const struct rows *rows = &profile_stream(p, 0)->rows;
    assert_int_equal(rows->n, 2);
    assert_int_equal(rows->stack[0].i, 1);
    assert_int_equal(rows->stack[1].i, 2);
    assert_string_equal(profile_str(p, p->threads.at[rows->thread[0].i].name).at, "b");
    profile_free(p);
}

static void missing_chunk_is_found(void **state)
{
    (void)state;
    struct recording_state how;
    struct forge f;
    forge_base(&f);
    size_t start = f.file.n;
    forge_chunk(&f, "ROWS", two_rows, sizeof two_rows);
    size_t end = f.file.n;
    forge_chunk(&f, "ROWS", two_rows, sizeof two_rows);
    memmove(f.file.at + start, f.file.at + end, f.file.n - end);
    f.file.n -= end - start;
    struct profile *p = forge_read(&f, &how);
    assert_int_equal(rows_of_first(p), 2);
    assert_non_null(strstr(how.why, "checksum"));
    profile_free(p);
}

static void expect_refused(const char *bytes, size_t n, const char *why)
{
    struct reader in;
    struct err err;
    struct recording_state how;
    struct profile *p = profile_new();
    reader_open_memory(&in, bytes, n);
    assert_int_equal(recording_read(&in, p, &how, &err), -1);
    assert_int_equal(err.code, EXIT_INPUT);
    assert_non_null(strstr(err.text, why));
    reader_close(&in);
    profile_free(p);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    expect_refused("KELVIN\r\n\x1a\n\x80\0\1\0\0\0", 16, "record it again");
    expect_refused("KELVIN\r\n\x1a\n\x80\0\3\0\0\0", 16, "a newer one");
    expect_refused("KELVIN\n\x1a\n\x80\0\1\0\0\0\0", 16, "text mode");
    expect_refused("KELVIN\r\r\n\x1a\r\n\x80\0\1\0\0\0", 18, "text mode");
    expect_refused("KELVIN\r\n\x1a", 9, "cut off at byte 9");
    expect_refused("", 0, "cut off at byte 0");
    expect_refused("main;work 1\nmain;rest 2\n", 24, "not a kelvin recording");
}

static void deep_stacks_are_refused(void **state)
{
    (void)state;
    struct recording_state how;
    struct forge f;
    forge_start(&f);
    forge_chunk(&f, "FRAM", two_frames, 10);
    for (int i = 0; i < 3; i++) { /* each node on the one before */
        autobuf struct buf raw = {0};
        buf_varint(&raw, 40000);
        buf_varint(&raw, 80000 * (uint64_t)i);
        for (int k = 1; k < 40000; k++)
            buf_byte(&raw, 2);
        for (int k = 0; k < 40000; k++)
            buf_byte(&raw, 0);
        forge_chunk(&f, "STCK", raw.at, raw.n);
    }
    struct profile *p = forge_read(&f, &how);
    assert_int_equal(p->stacks.nodes.n, 80001);
    assert_non_null(strstr(how.why, "deeper"));
    profile_free(p);
}

static void merging_profile_is_written_once(void **state)
{
    (void)state;
    struct sink s;
    struct err err;
    sink_open(&s);
    struct profile *p = rich(NULL, NULL);
    p->merge_rows = true;
    must_append(&s.w, p, &s.mark);
    assert_int_equal(recording_append(&s.w, p, &s.mark, &err), -1);
    p->merge_rows = false;
    free(sink_close(&s, p).at);
    profile_free(p);
}

/* --- size --- */

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* Small numbers are likelier, as hot code is. */
static uint32_t skewed(uint64_t *x, uint32_t n)
{
    uint64_t a = next_random(x) % n, b = next_random(x) % n;
    return (uint32_t)(a * b / n);
}

/* One sample of a program with 4000 functions: a shared trunk, then a branchy end. */
static void sample_program(struct profile *p, struct mapping_id map, uint64_t *x, uint64_t *now)
{
    struct frame_id chain[64];
    uint32_t depth = 12 + skewed(x, 40), path = skewed(x, 300);
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t function = i < depth - 3 ? (path * 31 + i * 17) % 4000 : skewed(x, 4000);
        uint32_t place = i < depth - 1 ? path % 5 : skewed(x, 40);
        chain[i] = address_frame(p, map, 0x555555554000 + function * 512 + place * 7);
    }
    struct thread_key t = {{0}, 4000, (int32_t)(4000 + skewed(x, 8))};
    int64_t values[] = {1, 1001001 + (int64_t)(next_random(x) % 30000)};
    *now += 1001001 - 20000 + next_random(x) % 40000;
    struct row r = {.stack = stacks_intern(&p->stacks, chain, depth),
                    .thread = profile_add_thread(p, &t),
                    .has_time = true,
                    .time_ns = *now,
                    .values = values};
    struct err err;
    assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
}

static void a_second_of_samples_is_small(void **state)
{
    (void)state;
    struct sink s;
    uint64_t x = 88172645463325252u, now = 1700000000000000000u, after_first = 0;
    struct profile *p = profile_new();
    struct mapping m = {str(p, "/usr/bin/program"), str(p, "00ff"), 0x555555554000, 1ull << 47, 0};
    struct mapping_id map = profile_add_mapping(p, &m);
    profile_add_stream(p, "cycles", BY_HARDWARE);
    profile_add_value(p, 0, "samples", "count");
    profile_add_value(p, 0, "cycles", "count");
    sink_open(&s);
    for (int second = 0; second < 60; second++) {
        for (int i = 0; i < 999; i++)
            sample_program(p, map, &x, &now);
        must_append(&s.w, p, &s.mark);
        profile_forget_rows(p); /* as the recorder does */
        if (second == 0)
            after_first = s.w.bytes;
    }
    double each = (double)(s.w.bytes - after_first) / (59 * 999);
    print_message("%.1f bytes a sample, %zu stacks, %zu frames\n", each, p->stacks.nodes.n,
                  p->frames.n);
    assert_true(each <= 32);
    struct bytes file = sink_close(&s, p);
    struct recording_state how;
    struct profile *q = read_bytes(file.at, file.n, &how);
    assert_true(how.complete);
    assert_int_equal(profile_stream(q, 0)->rows.n, 60 * 999);
    profile_free(q);
    free(file.at);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_profile_survives),
        cmocka_unit_test(slices_are_the_whole),
        cmocka_unit_test(large_tables_are_split),
        cmocka_unit_test(cut_anywhere_gives_a_prefix),
        cmocka_unit_test(flipped_bits_are_found),
        cmocka_unit_test(unknown_chunks_are_skipped),
        cmocka_unit_test(senseless_chunks_are_refused_whole),
        cmocka_unit_test(end_with_right_numbers_closes),
        cmocka_unit_test(doubled_rows_are_one),
        cmocka_unit_test(missing_chunk_is_found),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(deep_stacks_are_refused),
        cmocka_unit_test(merging_profile_is_written_once),
        cmocka_unit_test(a_second_of_samples_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
