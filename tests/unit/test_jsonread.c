/*
 * jsonread: strictness, exact numbers, limits, and the same verdict and content as jansson on
 * documents that are made here, whole and damaged, through windows of every size.
 */
#include "base/jsonread.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/*
 * jansson's names collide with ours in the enum and in functions (json_null), so its header is
 * read under other names and the library is loaded at run time, out of the linker's sight.
 */
#define JSON_OBJECT THEIR_OBJECT
#define JSON_ARRAY THEIR_ARRAY
#define JSON_STRING THEIR_STRING
#define JSON_TRUE THEIR_TRUE
#define JSON_FALSE THEIR_FALSE
#define JSON_NULL THEIR_NULL
#include <jansson.h>
#undef JSON_OBJECT
#undef JSON_ARRAY
#undef JSON_STRING
#undef JSON_TRUE
#undef JSON_FALSE
#undef JSON_NULL

#define EACH_FUNCTION(X)      \
    X(json_loadb)             \
    X(json_delete)            \
    X(json_object_iter)       \
    X(json_object_iter_key)   \
    X(json_object_iter_value) \
    X(json_object_iter_next)  \
    X(json_array_size)        \
    X(json_array_get) X(json_string_value) X(json_string_length) X(json_number_value)

static struct {
#define MEMBER(name) __typeof__(name) *name;
    EACH_FUNCTION(MEMBER)
} their;

static int load_jansson(void **state)
{
    (void)state;
    void *lib = dlopen("libjansson.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        print_message("%s\n", dlerror());
        return -1;
    }
#define LOAD(name) their.name = (__typeof__(their.name))dlsym(lib, #name);
    EACH_FUNCTION(LOAD)
    return 0;
}

/* --- a document in one canonical form, from either parser --- */

/* Numbers: plus 0.0, since jansson reads the integer -0 as 0. */
static void dump_text(struct buf *b, const char *s, size_t n)
{
    buf_byte(b, '"');
    for (size_t i = 0; i < n; i++)
        buf_printf(b, "%02x", (uint8_t)s[i]);
    buf_byte(b, '"');
}

static void dump_ours(struct jsonread *j, struct buf *b)
{
    struct text key;
    switch (json_peek(j)) {
    case JSON_OBJECT:
        buf_str(b, "{");
        json_enter(j, JSON_OBJECT);
        while (json_member(j, &key)) {
            dump_text(b, key.at, key.n);
            buf_str(b, ":");
            dump_ours(j, b);
            buf_str(b, ",");
        }
        buf_str(b, "}");
        return;
    case JSON_ARRAY:
        buf_str(b, "[");
        json_enter(j, JSON_ARRAY);
        while (json_element(j)) {
            dump_ours(j, b);
            buf_str(b, ",");
        }
        buf_str(b, "]");
        return;
    case JSON_STRING:
        key = json_get_text(j);
        dump_text(b, key.at, key.n);
        return;
    case JSON_NUMBER:
        buf_printf(b, "%.17g", json_get_double(j) + 0.0);
        return;
    case JSON_TRUE:
    case JSON_FALSE:
        buf_str(b, json_get_bool(j) ? "T" : "F");
        return;
    case JSON_NULL:
        buf_str(b, "N");
        json_skip(j);
        return;
    case JSON_END:
        json_fail(j, "no value");
        return;
    }
}

static void dump_theirs(json_t *v, struct buf *b)
{
    switch (json_typeof(v)) {
    case THEIR_OBJECT:
        buf_str(b, "{");
        for (void *i = their.json_object_iter(v); i; i = their.json_object_iter_next(v, i)) {
            const char *key = their.json_object_iter_key(i);
            dump_text(b, key, strlen(key));
            buf_str(b, ":");
            dump_theirs(their.json_object_iter_value(i), b);
            buf_str(b, ",");
        }
        buf_str(b, "}");
        return;
    case THEIR_ARRAY:
        buf_str(b, "[");
        for (size_t i = 0; i < their.json_array_size(v); i++) {
            dump_theirs(their.json_array_get(v, i), b);
            buf_str(b, ",");
        }
        buf_str(b, "]");
        return;
    case THEIR_STRING:
        dump_text(b, their.json_string_value(v), their.json_string_length(v));
        return;
    case JSON_INTEGER:
    case JSON_REAL:
        buf_printf(b, "%.17g", their.json_number_value(v) + 0.0);
        return;
    default:
        buf_str(b, json_typeof(v) == THEIR_TRUE ? "T" : json_typeof(v) == THEIR_FALSE ? "F" : "N");
    }
}

/* A reader that sees DOC through a window of WINDOW bytes, which grows where it must. */
static void open_window(struct reader *r, const char *doc, size_t n, size_t window)
{
    int fd[2];
    assert_int_equal(pipe(fd), 0);
    assert_int_equal(write(fd[1], doc, n), n);
    close(fd[1]);
    *r = (struct reader){.fd = fd[0], .owns_fd = true, .cap = window};
    r->buf = mem_realloc(NULL, window);
}

/* Whether DOC is accepted; WINDOW 0 means all at once. */
static bool read_ours(const char *doc, size_t n, size_t window, struct buf *b, struct err *err)
{
    struct reader in;
    struct jsonread j;
    if (window)
        open_window(&in, doc, n, window);
    else
        reader_open_memory(&in, doc, n);
    jsonread_init(&j, &in);
    dump_ours(&j, b);
    json_finish(&j);
    bool failed = json_failed(&j, err);
    jsonread_done(&j);
    reader_close(&in);
    return !failed;
}

static bool skip_ours(const char *doc, size_t n)
{
    struct reader in;
    struct jsonread j;
    struct err err;
    reader_open_memory(&in, doc, n);
    jsonread_init(&j, &in);
    json_skip(&j);
    json_finish(&j);
    bool failed = json_failed(&j, &err);
    jsonread_done(&j);
    reader_close(&in);
    return !failed;
}

/* --- made documents --- */

static uint32_t roll(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)*seed * n) >> 32);
}

static void make_string(struct buf *b, uint32_t *seed)
{
    static const char *const parts[] = {
        "a",
        "main",
        "operator<<",
        "\\n",
        "\\\"",
        "\\\\",
        "\\/",
        "\\b",
        "\\f",
        "\\t\\r",
        "é",
        "\xf0\x9f\x94\xa5",
        "\\u00e9",
        "\\u20AC",
        " ",
        "{",
        "\\ud83d\\ude00",
        "\x7f",
        "\\u001f",
        "]",
    };
    buf_byte(b, '"');
    for (uint32_t n = roll(seed, 12); n > 0; n--)
        buf_str(b, parts[roll(seed, sizeof parts / sizeof *parts)]);
    buf_byte(b, '"');
}

static void make_space(struct buf *b, uint32_t *seed)
{
    static const char *const spaces[] = {"", "", "", " ", "\n", "\t", "\r\n", "   "};
    buf_str(b, spaces[roll(seed, 8)]);
}

static void make_scalar(struct buf *b, uint32_t *seed)
{
    static const char *const scalars[] = {
        "true",   "false",           "null", "0",  "-0", "12", "-7.25", "1e3", "2.5E-3",
        "1.5e+2", "123456789012345", "0.1",  "[]", "{}",
    };
    uint32_t n = sizeof scalars / sizeof *scalars, pick = roll(seed, 2 * n);
    if (pick < n)
        buf_str(b, scalars[pick]);
    else
        make_string(b, seed);
}

static void make_value(struct buf *b, uint32_t *seed, int depth)
{
    uint32_t kind = depth > 4 ? 0 : roll(seed, 3);
    make_space(b, seed);
    if (kind == 0) {
        make_scalar(b, seed);
    } else {
        buf_byte(b, kind == 1 ? '[' : '{');
        for (uint32_t i = 0, n = roll(seed, 5); i < n; i++) {
            if (i)
                buf_byte(b, ',');
            make_space(b, seed);
            if (kind == 2) {
                buf_printf(b, "\"k%u\\t%u\"", i, roll(seed, 99));
                make_space(b, seed);
                buf_byte(b, ':');
            }
            make_value(b, seed, depth + 1);
        }
        make_space(b, seed);
        buf_byte(b, kind == 1 ? ']' : '}');
    }
    make_space(b, seed);
}

/* Damage one to three places: a byte changed, taken out, put in twice, or the end cut off. */
static void damage(struct buf *b, uint32_t *seed)
{
    static const char bytes[] = "{}[]\",:\\u0123456789-+.eEtfn \n\t\x01x/";
    for (uint32_t n = 1 + roll(seed, 3); n > 0 && b->n > 1; n--) {
        size_t at = roll(seed, (uint32_t)b->n);
        char c = bytes[roll(seed, sizeof bytes - 1)];
        switch (roll(seed, 4)) {
        case 0:
            b->at[at] = c;
            break;
        case 1:
            memmove(b->at + at, b->at + at + 1, b->n - at - 1);
            b->n--;
            break;
        case 2:
            buf_byte(b, 0);
            memmove(b->at + at + 1, b->at + at, b->n - at - 1);
            b->at[at] = c;
            break;
        case 3:
            b->n = roll(seed, 8) ? b->n : at;
            break;
        }
    }
}

/* What jansson refuses by taste or for its own limits, and we take. */
static bool is_taste(const json_error_t *e, const struct buf *ours)
{
    enum json_error_code code = json_error_code(e);
    static const char replaced[] = "efbfbd"; /* half a surrogate pair */
    return code == json_error_numeric_overflow || code == json_error_invalid_utf8 ||
           code == json_error_null_byte_in_key || code == json_error_duplicate_key ||
           (ours->n && memmem(ours->at, ours->n, replaced, 6));
}

static void compare_once(const struct buf *doc, uint32_t *seed, int *ret_accepted)
{
    autobuf struct buf ours = {0}, pieces = {0}, theirs = {0};
    struct err err = {0}, err_pieces = {0};
    json_error_t e;
    bool ok = read_ours(doc->at, doc->n, 0, &ours, &err);
    bool ok_pieces = read_ours(doc->at, doc->n, 1 + roll(seed, 20), &pieces, &err_pieces);
    json_t *v = their.json_loadb(doc->at, doc->n,
                                 JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &e);
    if (!v && is_taste(&e, &ours))
        return;
    if (v) {
        dump_theirs(v, &theirs);
        their.json_delete(v);
    }
    if (ok != (v != NULL) || (ok && strcmp(buf_cstr(&ours), buf_cstr(&theirs)) != 0))
        fail_msg("jansson says %s, we say %s on: %.*s", v ? "good" : e.text, ok ? "good" : err.text,
                 TEXT_ARG(buf_text(doc)));
    assert_int_equal(ok, ok_pieces);
    assert_string_equal(err.text, err_pieces.text);
    assert_string_equal(buf_cstr(&ours), buf_cstr(&pieces));
    assert_int_equal(skip_ours(doc->at, doc->n), ok);
    *ret_accepted += ok;
}

static void agrees_with_jansson(void **state)
{
    (void)state;
    uint32_t seed = 2024;
    int accepted = 0, damaged_accepted = 0;
    enum { ROUNDS = 4000 };
    for (int i = 0; i < ROUNDS; i++) {
        autobuf struct buf doc = {0};
        make_value(&doc, &seed, 0);
        compare_once(&doc, &seed, &accepted);
        damage(&doc, &seed);
        if (doc.n)
            compare_once(&doc, &seed, &damaged_accepted);
    }
    assert_true(accepted > ROUNDS * 9 / 10); /* the made documents are good ones */
    assert_in_range(damaged_accepted, ROUNDS / 20, ROUNDS * 9 / 10);
}

/* --- by hand --- */

static void refuses(const char *doc, const char *want)
{
    autobuf struct buf b = {0};
    struct err err = {0};
    if (read_ours(doc, strlen(doc), 0, &b, &err))
        fail_msg("accepted: %s", doc);
    assert_string_equal(err.text, want);
    assert_int_equal(err.code, EXIT_INPUT);
}

static void errors_say_where_and_what(void **state)
{
    (void)state;
    refuses("[1,]", "byte 3: a value is expected, found ']'");
    refuses("[1 2]", "byte 3: ',' or ']' is expected, found '2'");
    refuses("{1:2}", "byte 1: a key in quotes is expected, found '1'");
    refuses("{\"a\" 2}", "byte 5: ':' is expected, found '2'");
    refuses("[01]", "byte 1: a number is malformed");
    refuses("[-]", "byte 1: a number is malformed");
    refuses("[1.]", "byte 1: a number is malformed");
    refuses("[1e]", "byte 1: a number is malformed");
    refuses("[+1]", "byte 1: a value is expected, found '+'");
    refuses("[\"\\x\"]", "byte 2: a bad escape in a string");
    refuses("[\"\\u12g4\"]", "byte 2: \\u without four hex digits in a string");
    refuses("[\"a\nb\"]", "byte 3: a control character in a string");
    refuses("[\"abc", "byte 5: the JSON ends in a string: the file is cut off");
    refuses("[nul]", "byte 1: a misspelt value: 'null' is expected");
    refuses("[1", "byte 2: the JSON ends where ',' or ']' is expected: the file is cut off");
    refuses("[] x", "byte 3: the end of the JSON is expected, found 'x'");
    refuses("", "byte 0: no value");
    refuses("[1e999]", "byte 6: a number too big for a double");
}

static void nesting_is_limited(void **state)
{
    (void)state;
    autobuf struct buf doc = {0}, b = {0};
    struct err err;
    for (int i = 0; i < JSON_DEPTH_MAX; i++)
        buf_byte(&doc, '[');
    for (int i = 0; i < JSON_DEPTH_MAX; i++)
        buf_byte(&doc, ']');
    assert_true(read_ours(doc.at, doc.n, 0, &b, &err));
    memset(doc.at, '[', doc.n);
    assert_false(read_ours(doc.at, doc.n, 0, &b, &err));
    assert_string_equal(err.text, "byte 512: nested deeper than 512 levels");
    assert_false(skip_ours(doc.at, doc.n));
}

static void strings_are_limited(void **state)
{
    (void)state;
    autobuf struct buf doc = {0}, b = {0};
    struct err err;
    size_t n = JSON_STRING_MAX + (1 << 20);
    vec_reserve(&doc, n);
    memset(doc.at, 'x', n);
    doc.at[0] = '"';
    doc.n = n;
    assert_false(read_ours(doc.at, doc.n, 0, &b, &err));
    assert_non_null(strstr(err.text, "a string longer than 64 MB"));
}

static void bad_bytes_in_strings_pass_through(void **state)
{
    (void)state;
    autobuf struct buf b = {0};
    struct err err;
    assert_true(read_ours("\"a\xff\xc3\"", 5, 0, &b, &err));
    assert_string_equal(buf_cstr(&b), "\"61ffc3\"");
    b.n = 0;
    const char lone[] = "\"\\ud800x\\udc00\\udc00\\ud800\\u0041\"";
    assert_true(read_ours(lone, strlen(lone), 0, &b, &err));
    assert_string_equal(buf_cstr(&b), "\"efbfbd78efbfbdefbfbdefbfbd41\"");
    b.n = 0;
    assert_true(read_ours("\xef\xbb\xbf[]", 5, 0, &b, &err)); /* a byte order mark */
}

static void decimal_is(const char *doc, bool ok, int64_t value, int decimals)
{
    struct reader in;
    struct jsonread j;
    struct err err;
    reader_open_memory(&in, doc, strlen(doc));
    jsonread_init(&j, &in);
    int64_t v = -1;
    int d = -1;
    assert_int_equal(json_get_decimal(&j, &v, &d), ok);
    json_finish(&j);
    assert_false(json_failed(&j, &err));
    if (ok) {
        assert_int_equal(v, value);
        assert_int_equal(d, decimals);
    }
    jsonread_done(&j);
    reader_close(&in);
}

static void decimals_are_exact(void **state)
{
    (void)state;
    decimal_is("0", true, 0, 0);
    decimal_is("-0.0", true, 0, 0);
    decimal_is("1.50", true, 15, 1);
    decimal_is("0.30000000000000004", true, 30000000000000004, 17);
    decimal_is("1e3", true, 1000, 0);
    decimal_is("1.25e1", true, 125, 1);
    decimal_is("12.5e-3", true, 125, 4);
    decimal_is("0.0e5000", true, 0, 0);
    decimal_is("9223372036854775807", true, INT64_MAX, 0);
    decimal_is("0.12345678901234567890123", true, 123456789012345678, 18);
    decimal_is("1000000.12345678901234567890123", true, 1000000123456789012, 12);
    decimal_is("1e-400", true, 0, 0);
    decimal_is("9223372036854775808", false, 0, 0);
    decimal_is("1e19", false, 0, 0);
    decimal_is("1e99999999999", false, 0, 0);
    decimal_is("-1", false, 0, 0);
    decimal_is("null", false, 0, 0);
    decimal_is("[1,{\"a\":2}]", false, 0, 0);
}

static bool int_is(const char *doc, int64_t want)
{
    struct reader in;
    struct jsonread j;
    struct err err;
    reader_open_memory(&in, doc, strlen(doc));
    jsonread_init(&j, &in);
    int64_t v = json_get_int(&j);
    bool same = !json_failed(&j, &err) && v == want;
    jsonread_done(&j);
    reader_close(&in);
    return same;
}

static void ints_are_cut_not_wrapped(void **state)
{
    (void)state;
    assert_true(int_is("-12.99", -12));
    assert_true(int_is("1e2", 100));
    assert_true(int_is("null", 0));
    assert_true(int_is("9223372036854775807", INT64_MAX));
    assert_true(int_is("-9223372036854775808", INT64_MIN));
    assert_false(int_is("9223372036854775808", INT64_MIN));
    assert_false(int_is("18446744073709551616", 0));
    assert_false(int_is("\"1\"", 1));
}

/* A file of many windows: tokens lie across their edges. */
static void streams_past_the_window(void **state)
{
    (void)state;
    char path[] = "/tmp/test_jsonread.XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    enum { N = 200000 };
    fputs("[", f);
    for (int i = 0; i < N; i++)
        fprintf(f, "%s{\"key\" : \"name %d\\n\", \"n\":%d}", i ? "," : "", i, i);
    fputs("]", f);
    fclose(f);
    struct reader in;
    struct jsonread j;
    struct err err;
    assert_int_equal(reader_open(&in, path, &err), 0);
    unlink(path);
    jsonread_init(&j, &in);
    json_enter(&j, JSON_ARRAY);
    struct text key;
    int64_t n = 0;
    for (; json_element(&j); n++) {
        char want[32];
        snprintf(want, sizeof want, "name %d\n", (int)n);
        json_enter(&j, JSON_OBJECT);
        assert_true(json_member(&j, &key) && text_is(key, "key"));
        assert_true(text_is(json_get_text(&j), want));
        assert_true(json_member(&j, &key) && text_is(key, "n"));
        assert_int_equal(json_get_int(&j), n);
        assert_false(json_member(&j, &key));
    }
    json_finish(&j);
    assert_false(json_failed(&j, &err));
    assert_int_equal(n, N);
    assert_true(in.cap < 1 << 20);
    jsonread_done(&j);
    reader_close(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_jansson),
        cmocka_unit_test(errors_say_where_and_what),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(strings_are_limited),
        cmocka_unit_test(bad_bytes_in_strings_pass_through),
        cmocka_unit_test(decimals_are_exact),
        cmocka_unit_test(ints_are_cut_not_wrapped),
        cmocka_unit_test(streams_past_the_window),
    };
    return cmocka_run_group_tests(tests, load_jansson, NULL);
}
