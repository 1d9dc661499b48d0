/*
 * Reading pprof. Files are built field by field, so that each flaw can be put in by hand.
 */
#include "support_profile.h"

#include "source/import.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* --- a small protobuf writer --- */

static void num(struct buf *b, uint32_t field, uint64_t v)
{
    buf_varint(b, field << 3);
    buf_varint(b, v);
}

static void bytes(struct buf *b, uint32_t field, const void *at, size_t n)
{
    buf_varint(b, field << 3 | 2);
    buf_varint(b, n);
    buf_add(b, at, n);
}

static void str(struct buf *b, const char *s)
{
    bytes(b, 6, s, strlen(s));
}

/* A message of varint fields: number, value, number, value..., ended by 0. */
#define message(b, field, ...) message_(b, field, (const uint64_t[]){__VA_ARGS__, 0})

static void message_(struct buf *b, uint32_t field, const uint64_t *v)
{
    autobuf struct buf m = {0};
    for (; v[0]; v += 2)
        num(&m, (uint32_t)v[0], v[1]);
    bytes(b, field, m.at, m.n);
}

static void location(struct buf *b, uint64_t id, uint64_t address, const uint64_t *functions)
{
    autobuf struct buf m = {0};
    num(&m, 1, id);
    num(&m, 3, address);
    for (; *functions; functions++)
        message(&m, 4, 1, *functions, 2, 10 * *functions);
    bytes(b, 4, m.at, m.n);
}

enum {
    S_SAMPLES = 1,
    S_COUNT,
    S_CPU,
    S_NANOSECONDS,
    S_MAIN,
    S_OUTER,
    S_INNER,
    S_FILE,
    S_KEY,
    S_VAL
};

static void add_strings(struct buf *b, const char *key, const char *value)
{
    static const char *const all[] = {"",     "samples", "count", "cpu", "nanoseconds",
                                      "main", "outer",   "inner", "a.c"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        str(b, all[i]);
    str(b, key);
    str(b, value);
}

/* Types samples and cpu; location 1 is main, 2 is inner inlined into outer. No samples, strings. */
static void add_tables(struct buf *b)
{
    message(b, 1, 1, S_SAMPLES, 2, S_COUNT);
    message(b, 1, 1, S_CPU, 2, S_NANOSECONDS);
    for (uint64_t i = 1; i <= 3; i++)
        message(b, 5, 1, i, 2, S_MAIN + i - 1, 4, S_FILE, 5, i);
    location(b, 1, 0x1000, (const uint64_t[]){1, 0});
    location(b, 2, 0x2000, (const uint64_t[]){3, 2, 0});
}

static int import_bytes(struct import *im, const struct buf *b, bool strict, struct profile **ret,
                        struct err *err)
{
    struct reader in;
    struct import_opts opts = {.format = "pprof", .addresses = true, .strict = strict};
    reader_open_memory(&in, b->at, b->n);
    int rc = import_reader(im, &in, "test", &opts, ret, err);
    reader_close(&in);
    return rc;
}

static void expect(const struct buf *b, uint64_t skipped, const char *first_skip, const char *want)
{
    struct import im;
    struct err err = {0};
    struct profile *p;
    autobuf struct buf got = {0};
    int rc = import_bytes(&im, b, false, &p, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(rc, 0);
    assert_int_equal(im.skipped, skipped);
    if (first_skip)
        assert_non_null(strstr(im.first_skip, first_skip));
    import_done(&im);
    print_profile(&got, p);
    if (!strstr(got.at, want))
        assert_string_equal(got.at, want);
    profile_free(p);
    if (skipped) {
        assert_int_equal(import_bytes(&im, b, true, &p, &err), -1);
        assert_int_equal(err.code, EXIT_FAILS);
        import_done(&im);
    }
}

static void expect_error(const struct buf *b, const char *text)
{
    struct import im;
    struct err err = {0};
    struct profile *p;
    assert_int_equal(import_bytes(&im, b, false, &p, &err), -1);
    assert_int_equal(err.code, EXIT_INPUT);
    if (!strstr(err.text, text))
        assert_string_equal(err.text, text);
    import_done(&im);
}

#define TWO_TYPES                                     \
    "type samples|count samples decimals 0 total 3\n" \
    "type cpu|nanoseconds flow decimals 0 total 300\n"
#define STACK                                                  \
    "  pc 2000 kind 0 in   0-0+0\n"                            \
    "    outer () a.c:2 at 20:0\n    inner () a.c:3 at 30:0\n" \
    "  pc 1000 kind 0 in   0-0+0\n    main () a.c:1 at 10:0\n"

static void test_packed_and_unpacked_are_the_same(void **state)
{
    (void)state;
    autobuf struct buf unpacked = {0}, packed = {0}, sample = {0};
    add_tables(&unpacked);
    message(&unpacked, 2, 1, 2, 1, 1, 2, 3, 2, 300);
    add_strings(&unpacked, "", "");
    bytes(&sample, 1, "\2\1", 2);
    bytes(&sample, 2, "\3\xac\2", 3);
    bytes(&packed, 2, sample.at, sample.n); /* and samples before all else */
    add_tables(&packed);
    add_strings(&packed, "", "");
    const char *want = "row  -1/-1 3 300\n" STACK;
    expect(&unpacked, 0, NULL, TWO_TYPES);
    expect(&unpacked, 0, NULL, want);
    expect(&packed, 0, NULL, TWO_TYPES);
    expect(&packed, 0, NULL, want);
}

static void test_address_is_dropped_where_there_is_a_name(void **state)
{
    (void)state;
    autobuf struct buf b = {0}, got = {0};
    add_tables(&b);
    message(&b, 4, 1, 3, 3, 0x3000);
    message(&b, 2, 1, 3, 1, 1, 2, 3, 2, 300);
    add_strings(&b, "", "");
    struct import_opts opts = {.format = "pprof", .bare_addresses = true};
    struct reader in;
    struct import im;
    struct err err;
    struct profile *p;
    reader_open_memory(&in, b.at, b.n);
    assert_int_equal(import_reader(&im, &in, "test", &opts, &p, &err), 0);
    print_profile(&got, p);
    assert_non_null(
        strstr(got.at, "pc 3000 kind 0 in   0-0+0\n  pc 0 kind 0 in   0-0+0\n    main"));
    profile_free(p);
    import_done(&im);
    reader_close(&in);
}

/* One good sample, and one of each flaw: all but the good one are left out and counted. */
static void test_bad_samples_are_left_out(void **state)
{
    (void)state;
    static const struct {
        uint64_t fields[10];
        const char *why;
    } bad[] = {
        {{1, 9, 2, 1, 2, 1}, "location 9, which is not in the file"},
        {{1, 1, 1, 0, 2, 1, 2, 1}, "location 0, which is not"},
        {{1, 1, 2, 1, 2, (uint64_t)-5}, "difference of two profiles"},
        {{1, 1, 2, 1}, "1 values, but there are 2"},
        {{1, 1, 2, 1, 2, 1, 2, 1}, "3 values, but there are 2"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        autobuf struct buf b = {0};
        add_tables(&b);
        message_(&b, 2, bad[i].fields);
        message(&b, 2, 1, 2, 1, 1, 2, 3, 2, 300);
        add_strings(&b, "", "");
        expect(&b, 1, bad[i].why, TWO_TYPES);
    }
}

static void test_bad_records_are_counted(void **state)
{
    (void)state;
    autobuf struct buf b = {0};
    add_tables(&b);
    location(&b, 1, 0x9999, (const uint64_t[]){2, 0}); /* again */
    location(&b, 0, 0x9999, (const uint64_t[]){2, 0});
    location(&b, 77, 0x7777, (const uint64_t[]){55, 1, 0}); /* no function 55 */
    message(&b, 4, 1, 78, 2, 66, 3, 0x7878);                /* no mapping 66 */
    message(&b, 5, 1, 2, 2, S_CPU);                         /* again */
    bytes(&b, 5, "\x0a\1x", 3);                             /* its id is a string */
    num(&b, 4, 7);                                          /* a location that is a number */
    num(&b, 200, 7);                                        /* not known: fine */
    message(&b, 2, 1, 78, 1, 77, 1, 1, 2, 3, 2, 300, 99, 1);
    add_strings(&b, "", "");
    expect(&b, 7, "location 1 has an id that an earlier one has",
           "300\n  pc 7878 kind 0 in   0-0+0\n  pc 7777 kind 0 in   0-0+0\n    main");
}

static void test_strings_out_of_reach_are_empty(void **state)
{
    (void)state;
    autobuf struct buf b = {0};
    add_tables(&b);
    message(&b, 5, 1, 4, 2, 999);
    location(&b, 3, 0, (const uint64_t[]){4, 0});
    message(&b, 2, 1, 3, 2, 3, 2, 300);
    add_strings(&b, "", "");
    expect(&b, 1, "function 4 has a string that is not in", "     () :0 at 40:0\n");
}

static void test_kernel_and_jit_are_told_by_their_mapping(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int kind;
    } paths[] = {{"[kernel.kallsyms]_stext", FRAME_KERNEL},
                 {"[guest.kernel.kallsyms]", FRAME_KERNEL},
                 {"/boot/vmlinux-6.1", FRAME_KERNEL},
                 {"/tmp/perf-12.map", FRAME_JIT},
                 {"/usr/lib/libc.so.6", FRAME_USER}};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        autobuf struct buf b = {0}, want = {0};
        add_tables(&b);
        message(&b, 3, 1, 1, 2, 0x10, 3, 0x20, 4, 0x30, 5, S_KEY);
        message(&b, 4, 1, 3, 2, 1, 3, 0x15);
        message(&b, 2, 1, 3, 2, 3, 2, 300);
        add_strings(&b, paths[i].path, "");
        buf_printf(&want, "pc 15 kind %d in %s  10-20+30\n", paths[i].kind, paths[i].path);
        expect(&b, 0, NULL, buf_cstr(&want));
    }
}

static void label_file(struct buf *b, const char *key, const char *value, uint64_t number)
{
    autobuf struct buf sample = {0};
    add_tables(b);
    num(&sample, 1, 1);
    num(&sample, 2, 3);
    num(&sample, 2, 300);
    if (value)
        message(&sample, 3, 1, S_KEY, 2, S_VAL);
    else
        message(&sample, 3, 1, S_KEY, 3, number);
    bytes(b, 2, sample.at, sample.n);
    add_strings(b, key, value ? value : "");
}

static void test_labels_make_threads(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
        uint64_t number;
        const char *want;
    } labels[] = {
        {"thread", "io", 0, "row io -1/-1 "},
        {"comm", "sh", 0, "row sh -1/-1 "},
        {"thread", NULL, 5, "row  -1/5 "},
        {"tid", NULL, 5, "row  -1/5 "},
        {"thread_id", "6", 0, "row  -1/6 "},
        {"pid", NULL, 0, "row  0/-1 "},
        {"tid", NULL, 1ull << 40, "row  -1/-1 3 300 {tid=1099511627776 }\n"},
    };
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        autobuf struct buf b = {0};
        label_file(&b, labels[i].key, labels[i].value, labels[i].number);
        expect(&b, 0, NULL, labels[i].want);
    }
}

static void test_other_labels_are_attributes(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
        uint64_t number;
        const char *want;
    } labels[] = {
        {"handler", "/get?x=1", 0, "row  -1/-1 3 300 {handler='/get?x=1'}\n"},
        {"bytes", NULL, 4096, "row  -1/-1 3 300 {bytes=4096 }\n"},
        {"time_ns", NULL, 17, "row  -1/-1 3 300 {time_ns=17 }\n"}, /* ours only in our own files */
    };
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        autobuf struct buf b = {0};
        label_file(&b, labels[i].key, labels[i].value, labels[i].number);
        expect(&b, 0, NULL, labels[i].want);
    }
}

static void test_rows_of_other_labels_are_not_merged(void **state)
{
    (void)state;
    autobuf struct buf b = {0};
    struct reader in;
    struct import im;
    struct err err;
    struct profile *p;
    add_tables(&b);
    for (uint64_t i = 0; i < 6; i++) {
        autobuf struct buf sample = {0};
        num(&sample, 1, 1);
        num(&sample, 2, 1);
        num(&sample, 2, 100);
        message(&sample, 3, 1, S_KEY, 3, 7 + i % 2);
        bytes(&b, 2, sample.at, sample.n);
    }
    add_strings(&b, "size", "");
    reader_open_memory(&in, b.at, b.n);
    struct import_opts opts = {.format = "pprof", .merge = true};
    assert_int_equal(import_reader(&im, &in, "test", &opts, &p, &err), 0);
    assert_int_equal(profile_stream(p, 0)->rows.n, 2);
    assert_int_equal(profile_stream(p, 0)->rows.value[0][1], 3);
    profile_free(p);
    import_done(&im);
    reader_close(&in);
}

static void test_memory_that_is_held_is_a_level(void **state)
{
    (void)state;
    autobuf struct buf b = {0};
    add_tables(&b);
    message(&b, 1, 1, S_KEY, 2, S_VAL);
    message(&b, 2, 1, 1, 2, 3, 2, 300, 2, 4096);
    add_strings(&b, "inuse_space", "bytes");
    expect(&b, 0, NULL, "default 0 2\n");
    expect(&b, 0, NULL, "type inuse_space|bytes level decimals 0 total 4096\n");
}

static void test_header_becomes_metadata(void **state)
{
    (void)state;
    autobuf struct buf b = {0};
    add_tables(&b);
    message(&b, 2, 1, 1, 2, 3, 2, 300);
    num(&b, 9, 123456789);
    num(&b, 10, 5000);
    message(&b, 11, 1, S_CPU, 2, S_NANOSECONDS);
    num(&b, 12, 10000000);
    num(&b, 13, S_KEY);
    bytes(&b, 13, (const char[]){S_VAL}, 1);
    num(&b, 14, S_SAMPLES);
    num(&b, 15, S_VAL);
    add_strings(&b, "made by hand", "see there");
    expect(&b, 0, NULL,
           "default 0 0\nclock 0 0\nmeta time_ns=123456789\nmeta duration_ns=5000\n"
           "meta period=10000000\nmeta period_type=cpu\nmeta period_unit=nanoseconds\n"
           "meta doc_url=see there\nmeta comment=made by hand; see there\nmeta format=pprof\n"
           "meta source=test\nstream '' by not recorded rate 100 lost 0 0\n");
}

static void test_go_cpu_profile_is_a_timer(void **state)
{
    (void)state;
    autobuf struct buf b = {0};
    add_tables(&b);
    message(&b, 11, 1, S_CPU, 2, S_NANOSECONDS);
    message(&b, 2, 1, 1, 2, 3, 2, 300);
    add_strings(&b, "runtime.goexit", "");
    expect(&b, 0, NULL, "stream '' by in-process timer rate 0 ");
}

static void test_whole_file_errors(void **state)
{
    (void)state;
    autobuf struct buf good = {0}, b = {0};
    add_tables(&good);
    message(&good, 2, 1, 2, 1, 1, 2, 3, 2, 300);
    add_strings(&good, "", "");
    buf_add(&b, good.at, good.n);
    bytes(&b, 99, good.at, good.n);
    b.n -= 5;
    expect_error(&b, "the file is cut off: field 99");
    b.n = good.n;
    buf_add(&b, "\x32\xff\xff\xff\xff\x0f", 6);
    expect_error(&b, "more than 1 GiB");
    b.n = good.n;
    buf_add(&b, "\x33", 1);
    expect_error(&b, "no protobuf field");
    b.n = 0;
    message(&b, 2, 1, 1, 2, 3);
    expect_error(&b, "no string table");
    str(&b, "");
    expect_error(&b, "no sample type");
    b.n = 0;
    str(&b, "");
    expect_error(&b, "no stack in it");
}

static void test_sum_past_64_bits_is_an_error(void **state)
{
    (void)state;
    autobuf struct buf b = {0};
    add_tables(&b);
    message(&b, 2, 1, 1, 2, 3, 2, INT64_MAX);
    message(&b, 2, 1, 1, 2, 3, 2, 1);
    add_strings(&b, "", "");
    expect_error(&b, "the sum of all 'cpu' values does not fit");
}

/* Cut at every byte: never a crash, and never more samples than there were. */
static void test_any_cut_is_survived(void **state)
{
    (void)state;
    autobuf struct buf b = {0};
    add_tables(&b);
    message(&b, 2, 1, 2, 1, 1, 2, 3, 2, 300);
    add_strings(&b, "", "");
    for (size_t n = 0; n < b.n; n++) {
        struct buf cut = {b.at, n, n};
        struct import im;
        struct err err;
        struct profile *p = NULL;
        if (import_bytes(&im, &cut, false, &p, &err) == 0)
            assert_true(profile_count_rows(p) <= 1 && profile_stream(p, 0)->types[0].total <= 3);
        profile_free(p);
        import_done(&im);
    }
}

static void test_stack_depth_is_limited(void **state)
{
    (void)state;
    autobuf struct buf b = {0}, ids = {0}, sample = {0};
    for (int i = 0; i < 100001; i++)
        buf_byte(&ids, 1);
    add_tables(&b);
    bytes(&sample, 1, ids.at, ids.n);
    bytes(&sample, 2, "\1\1", 2);
    bytes(&b, 2, sample.at, sample.n);
    message(&b, 2, 1, 2, 1, 1, 2, 3, 2, 300);
    add_strings(&b, "", "");
    expect(&b, 1, "more than 100000 frames", TWO_TYPES);
}

static const struct source *find_source(void)
{
    for (int i = 0; import_sources[i]; i++)
        if (strcmp(import_sources[i]->name, "pprof") == 0)
            return import_sources[i];
    return NULL;
}

static void test_text_is_not_taken_for_pprof(void **state)
{
    (void)state;
    const struct source *s = find_source();
    static const char *const texts[] = {
        "",
        "\n",
        "main;foo 12\nmain;bar 3\n",
        "\n\n\nmain;foo 12\n",
        "{\"nodes\": []}",
        "2222222222222222222222222222222222222222222222222222222222222222222222222222222222222222",
        "\n\n          0;1 1\n         2;2 2\n",
        "\n\n1234567890\n",
        "\r\n\t  hhhhhhppppppxxxxxx",
        "swapper 0 [000] 1.0: 1 cycles:\n\tffff native (k)\n\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(s->probe(text_of(texts[i]), true), 0);
    autobuf struct buf b = {0};
    add_tables(&b);
    assert_true(s->probe(buf_text(&b), true) >= 90);
    b.n -= 3;
    assert_true(s->probe(buf_text(&b), false) >= 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packed_and_unpacked_are_the_same),
        cmocka_unit_test(test_address_is_dropped_where_there_is_a_name),
        cmocka_unit_test(test_bad_samples_are_left_out),
        cmocka_unit_test(test_bad_records_are_counted),
        cmocka_unit_test(test_strings_out_of_reach_are_empty),
        cmocka_unit_test(test_kernel_and_jit_are_told_by_their_mapping),
        cmocka_unit_test(test_labels_make_threads),
        cmocka_unit_test(test_other_labels_are_attributes),
        cmocka_unit_test(test_rows_of_other_labels_are_not_merged),
        cmocka_unit_test(test_memory_that_is_held_is_a_level),
        cmocka_unit_test(test_header_becomes_metadata),
        cmocka_unit_test(test_go_cpu_profile_is_a_timer),
        cmocka_unit_test(test_whole_file_errors),
        cmocka_unit_test(test_sum_past_64_bits_is_an_error),
        cmocka_unit_test(test_any_cut_is_survived),
        cmocka_unit_test(test_stack_depth_is_limited),
        cmocka_unit_test(test_text_is_not_taken_for_pprof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
