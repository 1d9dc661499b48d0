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

static void add_sample(struct profile *p, struct stack_id stack, struct thread_id thread,
                       uint64_t time_ns)
{
    static const int64_t base[] = {1, 1001001, 0, 77};
    int64_t values[PROFILE_MAX_TYPES] = {0};
    struct err err;
    for (int i = 0; i < p->n_types && i < 4; i++)
        values[i] = base[i] * (int64_t)(p->samples.n % 3 + 1);
    struct sample s = {stack, thread, time_ns != 0, time_ns, values};
    assert_int_equal(profile_add_sample(p, &s, &err), 0);
}

static void must_append(struct recording_writer *w, struct profile *p, struct recording_mark *mark)
{
    struct err err;
    if (w)
        assert_int_equal(recording_append(w, p, mark, &err), 0);
}

/*
 * A profile with something in every corner, built in steps. With W each step is appended, so that
 * a recorder's life is played: names, decimals, types, times and meta come or change later.
 */
static struct profile *rich(struct recording_writer *w, struct recording_mark *mark)
{
    struct profile *p = profile_new();
    struct mapping m = {str(p, "/usr/lib/x.so"), str(p, "0abc"), 0xffffffff80000000, ~0ull, 4096};
    struct mapping_id map = profile_add_mapping(p, &m);
    struct thread_id threads[] = {
        {0},
        profile_add_thread(p, &(struct thread){str(p, "main"), 100, 101}),
        profile_add_thread(p, &(struct thread){str(p, "main"), THREAD_NO_ID, INT32_MIN})};
    struct frame_id reserved = profile_reserve_frame(p), never = profile_reserve_frame(p);
    struct frame_id a = address_frame(p, map, 0xffffffff80001234);
    struct frame_id b = profile_add_named_frame(p, (struct text){"na\0me\xff", 6}, FRAME_KERNEL);
    struct frame_id chain[] = {reserved, b, a, a, never};
    must_append(w, p, mark);
    meta_set_str(&p->meta, META_KIND, META_KIND_TIMER);
    meta_set_u64(&p->meta, META_LOST, 1);
    profile_add_type(p, "cpu-clock", "samples", "count");
    profile_add_type(p, "cpu-clock", "cpu", "nanoseconds");
    p->types[1].count_type = 0;
    must_append(w, p, mark);
    add_sample(p, (struct stack_id){0}, threads[1], 0);
    add_sample(p, stacks_intern(&p->stacks, chain, 3), threads[0], 0);
    must_append(w, p, mark);
    add_sample(p, stacks_intern(&p->stacks, chain + 1, 4), threads[2], ~0ull);
    profile_add_type(p, "alloc", "alloc_space", "bytes");
    must_append(w, p, mark);
    int64_t value;
    struct err err;
    assert_int_equal(profile_scale_value(p, 1, 5, 3, &value, &err), 0);
    describe(p, reserved, "outer", "inner");
    meta_set_u64(&p->meta, META_LOST, 22);
    meta_set_str(&p->meta, META_HOST, "");
    p->default_type = 1;
    must_append(w, p, mark);
    add_sample(p, stacks_intern(&p->stacks, chain, 5), threads[1], 5);
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

static void same_types(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->n_types, b->n_types);
    assert_int_equal(a->default_type, b->default_type);
    for (int i = 0; i < a->n_types; i++) {
        const struct sample_type *x = &a->types[i], *y = &b->types[i];
        assert_true(x->event.i == y->event.i && x->name.i == y->name.i && x->unit.i == y->unit.i);
        assert_true(x->decimals == y->decimals && x->count_type == y->count_type);
        assert_true(x->total == y->total);
    }
}

/* A's first N samples are B's. */
static void same_samples(const struct profile *a, const struct profile *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(a->samples.stack[i].i, b->samples.stack[i].i);
        assert_int_equal(a->samples.thread[i].i, b->samples.thread[i].i);
        if (a->samples.time_ns)
            assert_true(a->samples.time_ns[i] == b->samples.time_ns[i]);
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
    same_types(a, b);
    same_meta(a, b);
    assert_int_equal(a->samples.n, b->samples.n);
    same_samples(a, b, a->samples.n);
    for (int t = 0; t < a->n_types; t++)
        assert_memory_equal(a->samples.value[t], b->samples.value[t],
                            a->samples.n * sizeof(int64_t));
    assert_int_equal(!a->samples.time_ns, !b->samples.time_ns);
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
    profile_add_type(p, "", "counts", "");
    for (uint32_t i = 0; i < 140000; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%u", i * 7919u);
        struct frame_id f = profile_add_named_frame(p, text_of(name), FRAME_USER);
        add_sample(p, stacks_intern(&p->stacks, &f, 1), (struct thread_id){0}, i + 1);
    }
    struct bytes file = write_whole(p);
    struct profile *q = read_bytes(file.at, file.n, &how);
    assert_true(how.complete);
    assert_in_range(how.chunks, 14, 40);
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
        assert_in_range(q->samples.n, most, p->samples.n);
        most = q->samples.n;
        same_samples(q, p, q->samples.n);
        profile_free(q);
    }
    assert_int_equal(most, p->samples.n);
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
        assert_true(q->samples.n <= p->samples.n);
        same_samples(q, p, q->samples.n);
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
static const char one_type[] = {0, 1, 0, 0, 0, 0, 0};
static const char two_frames[] = {2, 0, 0, 0, 0, 0, 0, 0, 0, 0};
static const char two_stacks[] = {2, 0, 2, 0, 0};
static const char two_samples[] = {2, 1, 0, 2, 2, 0, 0, 2, 0};

static void forge_base(struct forge *f)
{
    forge_start(f);
    forge_chunk(f, "FRAM", two_frames, 10);
    forge_chunk(f, "STCK", two_stacks, sizeof two_stacks);
    forge_chunk(f, "TYPE", one_type, sizeof one_type);
    forge_chunk(f, "SMPL", two_samples, sizeof two_samples);
}

static void unknown_chunks_are_skipped(void **state)
{
    (void)state;
    struct recording_state how;
    struct forge f;
    forge_base(&f);
    forge_chunk(&f, "NEWS", "whatever", 8);
    forge_chunk(&f, "SMPL", two_samples, sizeof two_samples);
    struct profile *p = forge_read(&f, &how);
    assert_int_equal(how.unknown_chunks, 1);
    assert_int_equal(p->samples.n, 4);
    assert_int_equal(p->types[0].total, 4);
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
        {"SMPL", "\2\1\0\2\4\0\0\2\0", 9},                                /* second stack is 3 */
        {"SMPL", "\2\1\0\2\2\0\2\2\0", 9},                                /* second thread is 1 */
        {"SMPL", "\2\1\0\2\2\0\0\2\3", 9},                                /* second value is -1 */
        {"SMPL", "\2\1\0\2\2\0\0\2", 8},                                  /* too short */
        {"SMPL", "\2\1\0\2\2\0\0\2\0\0", 10},                             /* too long */
        {"SMPL", "\2\2\0\2\2\0\0\2\0\0\0", 11},                           /* two types */
        {"SMPL", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1\0\2\2\0", 15}, /* rows */
        {"SMPL", "\1\1\0\2\0\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1", 15}, /* value 2^63 - 1 */
        {"STCK", "\2\0\10\0\0", 5},                                       /* parent is itself */
        {"STCK", "\2\0\0\0\4", 5},                                        /* frame 2 */
        {"FSET", "\1\4\0\0\0\0\0", 7},                                    /* frame 2 */
        {"FRAM", "\1\0\0\0\2\0", 6},                                      /* line is missing */
        {"FRAM", "\1\0\0\0\2\1\2\0\0", 9},                                /* function 1 */
        {"FRAM", "\1\0\0\24\0\0", 6},                                     /* kind 10 */
        {"FRAM", "\1\0\2\0\0\0", 6},                                      /* mapping 1 */
        {"STRS", "\2\2\0a", 4},                                           /* a byte is missing */
        {"STRS", "\2\1\4ab", 5},                                          /* length -1 */
        {"THRD", "\1\2\0\0", 4},                                          /* string 1 */
        {"THRD", "\1\0\x80\x80\x80\x80\x10\0", 8},                        /* pid 2^31 */
        {"FUNC", "\1\0\0\2\0", 5},                                        /* string 1 */
        {"MAPS", "\1\2\0\0\0\0", 6},                                      /* string 1 */
        {"TYPE", "\0\0", 2},                                              /* a type less */
        {"TYPE", "\2\1\0\0\0\0\0", 7},                                    /* default 1 */
        {"TYPE", "\0\1\0\0\0\0\4", 7},                                    /* count type 1 */
        {"TYPE", "\0\1\0\0\0\46\0", 7},                                   /* 19 decimals */
        {"META", "\1\1k\5v", 5},                                          /* value is cut */
        {"END.", "\1\1\1\2\1\3\3\1\2", 9},                                /* a sample too many */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct recording_state how;
        struct forge f;
        forge_base(&f);
        forge_chunk(&f, bad[i].type, bad[i].raw, bad[i].n);
        forge_chunk(&f, "SMPL", two_samples, sizeof two_samples);
        struct profile *p = forge_read(&f, &how);
        assert_int_equal(how.chunks, 4);
        assert_non_null(strstr(how.why, "damaged in a chunk at byte"));
        assert_int_equal(p->samples.n, 2);
        assert_int_equal(p->types[0].total, 2);
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
    forge_chunk(&f, "END.", "\1\1\1\2\1\3\2\1\2", 9);
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
    forge_chunk(&f, "THRD", "\2\2\4\0\0\0\0", 7); /* names "a" (1) and "b" (3) */
    forge_chunk(&f, "FRAM", two_frames, 10);
    forge_chunk(&f, "STCK", "\3\0\0\2\0\0\0", 7); /* stacks 1 and 2 are the same */
    forge_chunk(&f, "TYPE", one_type, sizeof one_type);
    forge_chunk(&f, "SMPL", "\2\1\0\4\2\4\0\2\0", 9); /* stacks 2 and 3, thread 2 */
    struct profile *p = forge_read(&f, &how);
    assert_int_equal(p->samples.n, 2);
    assert_int_equal(p->samples.stack[0].i, 1);
    assert_int_equal(p->samples.stack[1].i, 2);
    assert_string_equal(profile_str(p, p->threads.at[p->samples.thread[0].i].name).at, "b");
    profile_free(p);
}

static void missing_chunk_is_found(void **state)
{
    (void)state;
    struct recording_state how;
    struct forge f;
    forge_base(&f);
    size_t start = f.file.n;
    forge_chunk(&f, "SMPL", two_samples, sizeof two_samples);
    size_t end = f.file.n;
    forge_chunk(&f, "SMPL", two_samples, sizeof two_samples);
    memmove(f.file.at + start, f.file.at + end, f.file.n - end);
    f.file.n -= end - start;
    struct profile *p = forge_read(&f, &how);
    assert_int_equal(p->samples.n, 2);
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
    expect_refused("KELVIN\r\n\x1a\n\x80\0\2\0\0\0", 16, "version 2");
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
    p->merge_samples = true;
    must_append(&s.w, p, &s.mark);
    assert_int_equal(recording_append(&s.w, p, &s.mark, &err), -1);
    p->merge_samples = false;
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
    struct thread t = {{0}, 4000, (int32_t)(4000 + skewed(x, 8))};
    int64_t values[] = {1, 1001001 + (int64_t)(next_random(x) % 30000)};
    *now += 1001001 - 20000 + next_random(x) % 40000;
    struct sample s = {stacks_intern(&p->stacks, chain, depth), profile_add_thread(p, &t), true,
                       *now, values};
    struct err err;
    assert_int_equal(profile_add_sample(p, &s, &err), 0);
}

static void a_second_of_samples_is_small(void **state)
{
    (void)state;
    struct sink s;
    uint64_t x = 88172645463325252u, now = 1700000000000000000u, after_first = 0;
    struct profile *p = profile_new();
    struct mapping m = {str(p, "/usr/bin/program"), str(p, "00ff"), 0x555555554000, 1ull << 47, 0};
    struct mapping_id map = profile_add_mapping(p, &m);
    profile_add_type(p, "cycles", "samples", "count");
    profile_add_type(p, "cycles", "cycles", "count");
    sink_open(&s);
    for (int second = 0; second < 60; second++) {
        for (int i = 0; i < 999; i++)
            sample_program(p, map, &x, &now);
        must_append(&s.w, p, &s.mark);
        if (second == 0)
            after_first = s.w.bytes;
    }
    double each = (double)(s.w.bytes - after_first) / (59 * 999);
    print_message("%.1f bytes a sample, %zu stacks, %zu frames\n", each, p->stacks.nodes.n,
                  p->frames.n);
    assert_true(each <= 32);
    free(sink_close(&s, p).at);
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
