/*
 * What is written as pprof and read again is the profile that it was.
 */
#include "support_profile.h"

#include "source/import.h"
#include "view/export/export.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct str_id S(struct profile *p, const char *s) {
    return profile_add_str(p, text_of(s));
}

static struct line
make_line(struct profile *p, const char *name, const char *system, uint32_t line)
{
    struct function f = {S(p, name), S(p, system), S(p, "src/x.c"), line};
    return (struct line){profile_add_function(p, &f), line + 3, line + 7};
}

static void add_streams(struct profile *p)
{
    int cycles = profile_add_stream(p, "cycles/period=1/u", BY_HARDWARE);
    profile_add_value(p, cycles, "samples", "count");
    profile_add_value(p, cycles, "cycles", "count");
    int clock = profile_add_stream(p, "task-clock", BY_SOFTWARE_CLOCK);
    profile_add_value(p, clock, "samples", "count");
    profile_stream(p, clock)->types[profile_add_value(p, clock, "weight", "nanoseconds")].decimals =
        3;
    profile_stream(p, cycles)->rate_hz = 99;
    profile_stream(p, clock)->lost = 3;
    profile_stream(p, clock)->lost_known = true;
    p->default_value = (struct value_ref){0, 1};
    p->clock = (struct clock_pair){12345, 1700000000000000000};
}

static struct attrs_id add_attrs(struct profile *p, uint32_t i)
{
    struct attr text = {.key = S(p, "handler"), .text = S(p, i % 2 ? "get" : "put")};
    struct attr number = {
        .key = S(p, "size"), .is_number = true, .number = -5 + (int64_t)i, .unit = S(p, "bytes")};
    struct attrs_id id = attrs_add(&p->attrs, (struct attrs_id){0}, &text);
    return i % 5 ? attrs_add(&p->attrs, id, &number) : id;
}

static void add_rows(struct profile *p, const struct frame_id *frames)
{
    struct thread_key threads[] = {{S(p, "worker; <1>"), 0, 7},
                                   {S(p, ""), 12, THREAD_NO_ID},
                                   {S(p, "main"), THREAD_NO_ID, THREAD_NO_ID}};
    for (uint32_t i = 0; i < 40; i++) {
        struct frame_id path[] = {frames[0], frames[1 + i % 3], frames[1 + i % 4]};
        int64_t values[][2] = {{1, 1000 + i},
                               {i % 2, i == 7 ? INT64_MAX / 2 : 123456789 * (int64_t)i}};
        struct row row = {
            .stack = stacks_intern(&p->stacks, path, i % 4),
            .thread = i % 4 == 3 ? (struct thread_id){0} : profile_add_thread(p, &threads[i % 3]),
            .has_time = i != 5,
            .time_ns = i * 1000000007ull,
            .duration_ns = i % 7,
            .attrs = i % 3 ? add_attrs(p, i) : (struct attrs_id){0},
        };
        struct err err;
        for (int k = 0; k < 2; k++) {
            row.values = values[k];
            if (k == 0 || i > 4)
                assert_int_equal(profile_add_row(p, k, &row, &err), 0);
        }
    }
}

/* Inlined functions, all kinds, mappings, threads, times, attributes, streams, fractions, metadata.
 */
static struct profile *rich_profile(void)
{
    struct profile *p = profile_new();
    add_streams(p);
    struct mapping maps[] = {{S(p, "/usr/bin/app"), S(p, "00ff"), 0x1000, 0x9000, 0x400},
                             {S(p, "[kernel.kallsyms]"), S(p, ""), 0, UINT64_MAX, 0}};
    struct mapping_id app = profile_add_mapping(p, &maps[0]);
    struct mapping_id kernel = profile_add_mapping(p, &maps[1]);
    struct line lines[] = {make_line(p, "main()", "_Z4mainv", 5),
                           make_line(p, "mid", "", 9),
                           make_line(p, "leaf", "", 0),
                           {{0}, 4, 0}};
    struct frame_key keys[] = {
        {.pc = 0x1234, .mapping = app, .lines = lines, .n_lines = 1},
        {.pc = 0x2345, .mapping = app, .lines = lines, .n_lines = 3},
        {.pc = UINT64_MAX - 5, .mapping = kernel, .kind = FRAME_KERNEL},
        {.kind = FRAME_WAKER, .lines = lines + 2, .n_lines = 2},
        {.pc = 1, .mapping = kernel, .kind = FRAME_USER, .lines = lines + 1, .n_lines = 1},
    };
    struct frame_id frames[5];
    for (int i = 0; i < 5; i++)
        frames[i] = profile_add_frame(p, &keys[i]);
    add_rows(p, frames);
    meta_set_str(&p->meta, META_FORMAT, "perfscript");
    meta_set_str(&p->meta, META_SOURCE, "x=y.txt");
    meta_set_u64(&p->meta, META_TIME_NS, 1700000000000000000);
    meta_set_str(&p->meta, META_COMMENT, "two\nlines");
    return p;
}

static void export_to(struct buf *b, const struct profile *p)
{
    struct err err;
    size_t n;
    char *at;
    FILE *f = open_memstream(&at, &n);
    struct selection s = selection_all(p, (struct value_ref){0, 0});
    assert_int_equal(exporter_pprof.write(f, &s, &(struct export_opts){.all = true}, &err), 0);
    fclose(f);
    b->n = 0;
    buf_add(b, at, n);
    free(at);
}

/* What went through gzip must be read through a file. */
static struct profile *import_packed(const struct buf *b)
{
    char path[] = "/tmp/test_pprof_XXXXXX";
    autoclose int fd = mkstemp(path);
    assert_int_equal(write(fd, b->at, b->n), (ssize_t)b->n);
    struct import im;
    struct err err = {0};
    struct profile *p = NULL;
    int rc = import_file(&im, path, &(struct import_opts){.addresses = true}, &p, &err);
    unlink(path);
    assert_string_equal(err.text, "");
    assert_int_equal(rc, 0);
    assert_string_equal(im.format, "pprof");
    assert_int_equal(im.skipped, 0);
    assert_int_equal(im.notes.n, 0);
    import_done(&im);
    return p;
}

static void test_round_trip_is_the_same_profile(void **state)
{
    (void)state;
    autobuf struct buf file = {0}, again = {0}, before = {0}, after = {0};
    struct profile *p = rich_profile();
    print_profile(&before, p);
    export_to(&file, p);
    export_to(&again, p);
    profile_free(p);
    p = import_packed(&file);
    print_profile(&after, p);
    profile_free(p);
    assert_string_equal(before.at, after.at);
    assert_int_equal(file.n, again.n);
    assert_memory_equal(file.at, again.at, file.n);
}

static void test_counts_are_written_first(void **state)
{
    (void)state;
    autobuf struct buf file = {0};
    struct profile *p = profile_new();
    struct err err;
    profile_add_stream(p, "", OBTAINED_UNKNOWN);
    profile_add_value(p, 0, "cpu", "nanoseconds");
    profile_add_value(p, 0, "samples", "count");
    p->default_value = (struct value_ref){0, 0};
    struct frame_id frame = profile_add_named_frame(p, text_of("main"), FRAME_USER);
    struct row row = {stacks_intern(&p->stacks, &frame, 1), .values = (int64_t[]){70, 7}};
    assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
    export_to(&file, p);
    profile_free(p);
    p = import_packed(&file);
    const struct stream *s = profile_stream(p, 0);
    assert_string_equal(profile_str(p, s->types[0].name).at, "samples");
    assert_int_equal(s->types[0].total, 7);
    assert_int_equal(s->types[1].total, 70);
    assert_int_equal(stream_samples(s), 0);
    assert_int_equal(p->default_value.type, 1);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip_is_the_same_profile),
        cmocka_unit_test(test_counts_are_written_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
