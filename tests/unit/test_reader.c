/*
 * Streams: plain, gzip, zstd, cut and damaged; and files that are published whole or not at all.
 */
#include "base/buf.h"
#include "base/publish.h"
#include "base/reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <zstd.h>

#include <cmocka.h>

static char folder[] = "/tmp/kelvin-test-XXXXXX";

static char *in_folder(const char *name)
{
    return mem_printf("%s/%s", folder, name);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));) {
        autofree char *path = in_folder(e->d_name);
        unlink(path);
    }
    closedir(d);
    return rmdir(folder);
}

static void write_file(const char *path, const void *bytes, size_t n)
{
    autofclose FILE *f = fopen(path, "w");
    assert_int_equal(fwrite(bytes, 1, n, f), n);
}

/* A million bytes of lines that pack badly, so that cuts fall inside. */
static void fill(struct buf *b)
{
    uint32_t seed = 1;
    while (b->n < 1000000) {
        seed = seed * 1664525 + 1013904223;
        buf_printf(b, "line %u;%x\n", seed, seed * 7);
    }
}

static struct buf gzipped(const struct buf *b)
{
    struct buf packed = {0};
    char *at = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&at, &n);
    FILE *gzip = publish_gzip(memory);
    fwrite(b->at, 1, b->n, gzip);
    assert_int_equal(fclose(gzip), 0);
    fclose(memory);
    buf_add(&packed, at, n);
    free(at);
    return packed;
}

static struct buf zstandard(const struct buf *b)
{
    struct buf packed = {0};
    ZSTD_CCtx *z = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1); /* as the zstd program does */
    vec_reserve(&packed, ZSTD_compressBound(b->n));
    packed.n = ZSTD_compress2(z, packed.at, packed.cap, b->at, b->n);
    ZSTD_freeCCtx(z);
    return packed;
}

/* Read all of PATH; false when the stream broke. */
static bool read_all(const char *path, struct buf *ret, uint64_t *ret_lines, struct err *err)
{
    struct reader in;
    struct text line;
    if (reader_open(&in, path, err) != 0)
        return false;
    while (reader_line(&in, &line)) {
        buf_add(ret, line.at, line.n);
        buf_byte(ret, '\n');
    }
    *ret_lines = in.lines;
    bool good = !reader_failed(&in, err);
    reader_close(&in);
    return good;
}

static void assert_reads_as(const struct buf *file, const struct buf *expected)
{
    autobuf struct buf got = {0};
    autofree char *path = in_folder("packed");
    struct err err;
    uint64_t lines;
    write_file(path, file->at, file->n);
    assert_true(read_all(path, &got, &lines, &err));
    assert_int_equal(got.n, expected->n);
    assert_memory_equal(got.at, expected->at, got.n);
}

static void assert_broken(struct buf file, size_t n, const char *word)
{
    autobuf struct buf got = {0};
    autofree char *path = in_folder("broken");
    struct err err;
    uint64_t lines;
    write_file(path, file.at, n);
    assert_false(read_all(path, &got, &lines, &err));
    assert_int_equal(err.code, EXIT_INPUT);
    assert_non_null(strstr(err.text, word));
    assert_non_null(strstr(err.text, "byte"));
}

static void packed_files_read_like_plain_ones(void **state)
{
    (void)state;
    autobuf struct buf plain = {0};
    fill(&plain);
    autobuf struct buf gzip = gzipped(&plain);
    autobuf struct buf zstd = zstandard(&plain);
    assert_reads_as(&plain, &plain);
    assert_reads_as(&gzip, &plain);
    assert_reads_as(&zstd, &plain);
    autobuf struct buf twice = {0}, plain_twice = {0};
    for (int i = 0; i < 2; i++) {
        buf_add(&twice, gzip.at, gzip.n);
        buf_add(&plain_twice, plain.at, plain.n);
    }
    assert_reads_as(&twice, &plain_twice); /* gzip files may be joined */
}

static void cut_and_damaged_packing_is_told(void **state)
{
    (void)state;
    autobuf struct buf plain = {0};
    fill(&plain);
    autobuf struct buf gzip = gzipped(&plain);
    autobuf struct buf zstd = zstandard(&plain);
    assert_broken(gzip, gzip.n / 2, "cut off");
    assert_broken(gzip, gzip.n - 1, "cut off");
    assert_broken(zstd, zstd.n / 2, "cut off");
    gzip.at[gzip.n / 2] ^= 0x55;
    zstd.at[zstd.n / 2] ^= 0x55;
    assert_broken(gzip, gzip.n, "damaged");
    assert_broken(zstd, zstd.n, "damaged");
}

/* A thousand times its size, again and again: 150 KB for 140 MB. */
static void a_small_file_that_unpacks_to_very_much_is_refused(void **state)
{
    enum { LINE = 100000, LINES = 10, MEMBERS = 140 };
    (void)state;
    autobuf struct buf plain = {0}, bomb = {0};
    for (int i = 0; i < LINE * LINES; i++)
        buf_byte(&plain, i % LINE ? 'a' : '\n');
    autobuf struct buf member = gzipped(&plain);
    for (int i = 0; i < MEMBERS; i++)
        buf_add(&bomb, member.at, member.n);
    autofree char *path = in_folder("bomb");
    struct reader in;
    struct err err;
    struct text line;
    uint64_t bytes = 0;
    write_file(path, bomb.at, bomb.n);
    assert_int_equal(reader_open(&in, path, &err), 0);
    while (reader_line(&in, &line))
        bytes += line.n + 1;
    assert_true(reader_failed(&in, &err));
    assert_int_equal(err.code, EXIT_INPUT);
    assert_non_null(strstr(err.text, "500 times its size"));
    assert_true(bytes <= READER_UNPACKED_FREE + (1 << 20));
    reader_close(&in);
}

static void lines_are_counted_and_the_last_needs_no_newline(void **state)
{
    (void)state;
    struct reader in;
    struct text line;
    reader_open_memory(&in, "a\n\nb", 4);
    assert_true(reader_line(&in, &line) && text_is(line, "a"));
    assert_true(reader_line(&in, &line) && text_is(line, ""));
    assert_true(reader_line(&in, &line) && text_is(line, "b"));
    assert_false(reader_line(&in, &line));
    assert_int_equal(in.lines, 3);
    assert_int_equal(reader_offset(&in), 4);
    reader_close(&in);
}

static void put(const char *path, const char *text, bool commit)
{
    struct publish p;
    struct err err;
    assert_int_equal(publish_open(&p, path, &err), 0);
    fputs(text, p.out);
    if (commit)
        assert_int_equal(publish_commit(&p, &err), 0);
    else
        publish_drop(&p);
}

static void assert_content(const char *path, const char *text)
{
    autobuf struct buf got = {0};
    struct err err;
    uint64_t lines;
    assert_true(read_all(path, &got, &lines, &err));
    assert_string_equal(buf_cstr(&got), text);
}

static void a_dropped_file_leaves_the_old_one(void **state)
{
    (void)state;
    autofree char *path = in_folder("out");
    put(path, "good\n", true);
    put(path, "half", false);
    assert_content(path, "good\n");
    put(path, "better\n", true);
    assert_content(path, "better\n");
}

static void links_and_permissions_stay(void **state)
{
    (void)state;
    autofree char *path = in_folder("real"), *link = in_folder("link");
    struct stat st;
    put(path, "old\n", true);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink(path, link), 0);
    put(link, "new\n", true);
    assert_content(path, "new\n");
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

static void a_full_device_is_told(void **state)
{
    (void)state;
    struct publish p;
    struct err err = {0};
    assert_int_equal(publish_open(&p, "/dev/full", &err), 0);
    fputs("something", p.out);
    assert_int_equal(publish_commit(&p, &err), -1);
    assert_non_null(strstr(err.text, "No space"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_files_read_like_plain_ones),
        cmocka_unit_test(cut_and_damaged_packing_is_told),
        cmocka_unit_test(a_small_file_that_unpacks_to_very_much_is_refused),
        cmocka_unit_test(lines_are_counted_and_the_last_needs_no_newline),
        cmocka_unit_test(a_dropped_file_leaves_the_old_one),
        cmocka_unit_test(links_and_permissions_stay),
        cmocka_unit_test(a_full_device_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
