/* test_recording_forged.c - .kelvin files made by hand: chunks that make no sense are refused
 * whole. */
#include "wire/recording.h"

// clang-format off
#include <setjmp.h>
#include <cmocka.h>
#include "support_recording.h"
#include <zstd.h>
// clang-format on

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
        {"SRCF", "\0\1\1x", 4},                                 /* string 1 */
        {"SRCF", "\2\0\1x", 4},                                 /* flag 2 */
        {"SRCF", "\0\0\1x", 4},                                 /* no name */
        {"SRCF", "\0\0\2x", 4},                                 /* cut short */
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

/* A few kilobytes of packed rows, all alike, that would become gigabytes. */
static void bombs_are_refused(void **state)
{
    enum { CHUNKS = 3000, ROWS = RECORDING_MAX_ROWS };
    struct recording_state how;
    autobuf struct buf raw = {0};
    struct forge f;
    (void)state;
    forge_base(&f);
    f.w.pack = ZSTD_createCCtx();
    buf_add(&raw, "\0\x80\x80\x04\1\3", 6); /* stream 0, 65536 rows of one type, with times */
    for (int i = 0; i < 5 * ROWS; i++)
        buf_add(&raw, i == 4 * ROWS ? "\2" : "\0", 1);
    for (int i = 0; i < CHUNKS; i++)
        forge_chunk(&f, "ROWS", raw.at, raw.n);
    ZSTD_freeCCtx(f.w.pack);
    assert_true(f.file.n < 1 << 20);
    struct profile *p = forge_read(&f, &how);
    assert_non_null(strstr(how.why, "unpacks to far more than any recording"));
    assert_in_range(rows_of_first(p), ROWS, (uint64_t)200 * ROWS);
    profile_free(p);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_chunks_are_skipped),
        cmocka_unit_test(senseless_chunks_are_refused_whole),
        cmocka_unit_test(end_with_right_numbers_closes),
        cmocka_unit_test(doubled_rows_are_one),
        cmocka_unit_test(missing_chunk_is_found),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(bombs_are_refused),
        cmocka_unit_test(deep_stacks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
