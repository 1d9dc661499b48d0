#include "base/jsonread.h"

#include <math.h>

enum { NUMBER_MAX = 4096, MAX_DECIMALS = 18 /* any 18 digits fit 64 bits */ };

void jsonread_init(struct jsonread *j, struct reader *in)
{
    *j = (struct jsonread){.in = in};
    struct text head = reader_peek(in, 3);
    if (text_starts(head, "\xef\xbb\xbf")) /* a byte order mark, as Windows tools write it */
        reader_take(in, 3);
}

void jsonread_done(struct jsonread *j)
{
    buf_done(&j->string);
}

/* --- errors --- */

static void fail_at(struct jsonread *j, uint64_t offset, const char *why)
{
    if (j->err.code || reader_failed(j->in, &j->err))
        return;
    err_set(&j->err, EXIT_INPUT, "byte %llu: %s", (unsigned long long)offset, why);
}

void json_fail(struct jsonread *j, const char *fmt, ...)
{
    char why[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    fail_at(j, reader_offset(j->in), why);
}

bool json_failed(const struct jsonread *j, struct err *err)
{
    if (j->err.code)
        *err = j->err;
    return j->err.code != 0;
}

static const char *jsonread_name_of(enum json_token t)
{
    static const char *const names[] = {
        [JSON_END] = "the end",     [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array",
        [JSON_STRING] = "a string", [JSON_NUMBER] = "a number",  [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",     [JSON_NULL] = "null",
    };
    return names[t];
}

static void expected(struct jsonread *j, const char *what, enum json_token found)
{
    if (found == JSON_END)
        json_fail(j, "the JSON ends where %s is expected: the file is cut off", what);
    else
        json_fail(j, "%s is expected, found %s", what, jsonread_name_of(found));
}

/* --- bytes --- */

/* The next byte, or -1 at the end of the input. */
static inline int ahead(struct jsonread *j)
{
    struct reader *r = j->in;
    if (r->start == r->end && reader_peek(r, 1).n == 0)
        return -1;
    return (uint8_t)r->buf[r->start];
}

static inline bool is_space(int c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The next byte that is not white space, or -1. */
static inline int ahead_solid(struct jsonread *j)
{
    int c = ahead(j);
    while (is_space(c)) {
        reader_take(j->in, 1);
        c = ahead(j);
    }
    return c;
}

static void unexpected(struct jsonread *j, int c, const char *wanted)
{
    if (c < 0)
        json_fail(j, "the JSON ends where %s is expected: the file is cut off", wanted);
    else if (c > ' ' && c < 0x7f)
        json_fail(j, "%s is expected, found '%c'", wanted, c);
    else
        json_fail(j, "%s is expected, found byte 0x%02x", wanted, (unsigned)c);
}

/* --- strings --- */

#define EACH_BYTE(b) (0x0101010101010101u * (uint64_t)(b))

/* Not zero when a byte of X is zero. */
static inline uint64_t zero_byte(uint64_t x)
{
    return (x - EACH_BYTE(1)) & ~x & EACH_BYTE(0x80);
}

/* Number of bytes at the front of T that stand for themselves inside a string. */
static size_t plain_bytes(struct text t)
{
    size_t i = 0;
    for (; i + 8 <= t.n; i += 8) {
        uint64_t x;
        memcpy(&x, t.at + i, 8);
        uint64_t control = (x - EACH_BYTE(0x20)) & ~x & EACH_BYTE(0x80);
        if (control | zero_byte(x ^ EACH_BYTE('"')) | zero_byte(x ^ EACH_BYTE('\\')))
            break;
    }
    while (i < t.n && (uint8_t)t.at[i] >= 0x20 && t.at[i] != '"' && t.at[i] != '\\')
        i++;
    return i;
}

/* Four hex digits at S, or -1. */
static int hex4(const char *s)
{
    uint64_t v;
    return text_u64((struct text){s, 4}, 16, &v) ? (int)v : -1;
}

static void add_utf8(struct buf *b, int c)
{
    if (c < 0x80) {
        buf_byte(b, (uint8_t)c);
        return;
    }
    if (c < 0x800) {
        buf_byte(b, (uint8_t)(0xc0 | c >> 6));
    } else {
        if (c < 0x10000) {
            buf_byte(b, (uint8_t)(0xe0 | c >> 12));
        } else {
            buf_byte(b, (uint8_t)(0xf0 | c >> 18));
            buf_byte(b, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
        }
        buf_byte(b, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
    }
    buf_byte(b, (uint8_t)(0x80 | (c & 0x3f)));
}

/*
 * \uXXXX, and \uD8XX\uDCXX for what lies past U+FFFF. Half a pair is allowed by the grammar but
 * stands for no character (JavaScript writes it when it cuts a name in two): U+FFFD.
 */
static bool read_unicode(struct jsonread *j)
{
    struct text t = reader_peek(j->in, 12);
    int c = t.n >= 6 ? hex4(t.at + 2) : -1;
    if (c < 0) {
        json_fail(j, "\\u without four hex digits in a string");
        return false;
    }
    size_t used = 6;
    if (c >= 0xd800 && c < 0xe000) {
        int low = t.n >= 12 && t.at[6] == '\\' && t.at[7] == 'u' ? hex4(t.at + 8) : -1;
        bool pair = c < 0xdc00 && low >= 0xdc00 && low < 0xe000;
        c = pair ? 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
        used = pair ? 12 : 6;
    }
    add_utf8(&j->string, c);
    reader_take(j->in, used);
    return true;
}

static bool read_escape(struct jsonread *j)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    struct text t = reader_peek(j->in, 2);
    if (t.n >= 2 && t.at[1] == 'u')
        return read_unicode(j);
    const char *at = t.n >= 2 && t.at[1] ? strchr(from, t.at[1]) : NULL;
    if (!at) {
        json_fail(j, "a bad escape in a string");
        return false;
    }
    buf_byte(&j->string, (uint8_t)to[at - from]);
    reader_take(j->in, 2);
    return true;
}

/* The rest of a string that does not fit the window or has escapes, into j->string. */
static struct text read_string_slow(struct jsonread *j)
{
    static const struct text none = {"", 0};
    j->string.n = 0;
    for (;;) {
        struct text t = reader_peek(j->in, 1);
        size_t n = plain_bytes(t);
        buf_add(&j->string, t.at, n);
        reader_take(j->in, n);
        if (j->string.n > JSON_STRING_MAX) {
            json_fail(j, "a string longer than %d MB", JSON_STRING_MAX >> 20);
            return none;
        }
        if (n == t.n && n)
            continue;
        if (t.n == 0 || (uint8_t)t.at[n] < 0x20) {
            json_fail(j, "%s",
                      t.n ? "a control character in a string"
                          : "the JSON ends in a string: the file is cut off");
            return none;
        }
        if (t.at[n] == '"')
            break;
        if (!read_escape(j))
            return none;
    }
    reader_take(j->in, 1);
    return j->string.n ? buf_text(&j->string) : none;
}

/* The string whose opening quote is ahead: a piece of the window when it can be. */
static struct text read_string(struct jsonread *j)
{
    reader_take(j->in, 1);
    struct reader *r = j->in;
    struct text t = {r->buf + r->start, r->end - r->start};
    size_t n = plain_bytes(t);
    if (n == t.n || t.at[n] != '"' || n > JSON_STRING_MAX)
        return read_string_slow(j);
    reader_take(r, n + 1);
    return (struct text){t.at, n};
}

/* --- numbers --- */

struct number {
    struct text text;
    struct text whole, part; /* the digits before and after the point */
    int exponent;            /* cut to +-100000 */
    bool negative;
};

static struct text cut_digits(struct text *t)
{
    struct text digits = {t->at, 0};
    while (digits.n < t->n && t->at[digits.n] >= '0' && t->at[digits.n] <= '9')
        digits.n++;
    t->at += digits.n;
    t->n -= digits.n;
    return digits;
}

static bool cut_char(struct text *t, char c)
{
    bool is = t->n && *t->at == c;
    t->at += is;
    t->n -= is;
    return is;
}

static bool parse_exponent(struct text *t, int *ret)
{
    if (!cut_char(t, 'e') && !cut_char(t, 'E'))
        return true;
    bool minus = cut_char(t, '-');
    if (!minus)
        cut_char(t, '+');
    struct text digits = cut_digits(t);
    int v = 0;
    for (size_t i = 0; i < digits.n; i++)
        v = v > 9999 ? 100000 : v * 10 + (digits.at[i] - '0');
    *ret = minus ? -v : v;
    return digits.n > 0;
}

static bool parse_number(struct text t, struct number *n)
{
    *n = (struct number){.text = t};
    n->negative = cut_char(&t, '-');
    n->whole = cut_digits(&t);
    if (n->whole.n == 0 || (n->whole.n > 1 && n->whole.at[0] == '0'))
        return false;
    if (cut_char(&t, '.')) {
        n->part = cut_digits(&t);
        if (n->part.n == 0)
            return false;
    }
    return parse_exponent(&t, &n->exponent) && t.n == 0;
}

static inline bool is_number_byte(uint8_t c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || (c | 0x20) == 'e';
}

/* Take the number ahead; its texts are good until the next call on the reader. */
static bool read_number(struct jsonread *j, struct number *ret)
{
    struct text t = reader_peek(j->in, 1);
    size_t n = 0;
    for (;;) {
        while (n < t.n && is_number_byte((uint8_t)t.at[n]))
            n++;
        if (n < t.n || n > NUMBER_MAX)
            break;
        t = reader_peek(j->in, n + 1);
        if (t.n <= n)
            break;
    }
    if (t.n < n || n > NUMBER_MAX || !parse_number((struct text){t.at, n}, ret)) {
        json_fail(j, n > NUMBER_MAX ? "a number of too many digits" : "a number is malformed");
        return false;
    }
    reader_take(j->in, n);
    return true;
}

static bool push_digit(uint64_t *v, int d)
{
    uint64_t bigger;
    if (__builtin_mul_overflow(*v, 10u, &bigger) || __builtin_add_overflow(bigger, d, &bigger))
        return false;
    *v = bigger;
    return true;
}

/* The I-th digit of N without its point; 0 past the end. */
static int digit_at(const struct number *n, size_t i)
{
    if (i < n->whole.n)
        return n->whole.at[i] - '0';
    i -= n->whole.n;
    return i < n->part.n ? n->part.at[i] - '0' : 0;
}

/* |N| = VALUE / 10^DECIMALS; a fraction's digits that do not fit are cut. False when too big. */
static bool number_decimal(const struct number *n, uint64_t *ret_value, int *ret_decimals)
{
    uint64_t v = 0, max = (uint64_t)INT64_MAX + n->negative;
    long n_digits = (long)(n->whole.n + n->part.n);
    long point = (long)n->whole.n + n->exponent; /* digits before it */
    for (long i = 0; i < point; i++) {
        if (i >= n_digits && v == 0)
            break;
        if (!push_digit(&v, digit_at(n, (size_t)i)) || v > max)
            return false;
    }
    int decimals = 0;
    for (long i = point; i < n_digits && decimals < MAX_DECIMALS; i++, decimals++) {
        uint64_t longer = v;
        if (!push_digit(&longer, i < 0 ? 0 : digit_at(n, (size_t)i)) || longer > max)
            break;
        v = longer;
    }
    for (; decimals && v % 10 == 0; decimals--)
        v /= 10;
    *ret_value = v;
    *ret_decimals = decimals;
    return true;
}

/* --- walking --- */

enum json_token json_peek(struct jsonread *j)
{
    if (j->err.code)
        return JSON_END;
    int c = ahead_solid(j);
    switch (c) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
        return JSON_TRUE;
    case 'f':
        return JSON_FALSE;
    case 'n':
        return JSON_NULL;
    case '-':
    case '0' ... '9':
        return JSON_NUMBER;
    }
    if (c >= 0 || reader_failed(j->in, &j->err))
        unexpected(j, c, "a value");
    return JSON_END;
}

bool json_enter(struct jsonread *j, enum json_token what)
{
    enum json_token found = json_peek(j);
    if (found != what) {
        expected(j, jsonread_name_of(what), found);
        return false;
    }
    if (j->depth == JSON_DEPTH_MAX) {
        json_fail(j, "nested deeper than %d levels", JSON_DEPTH_MAX);
        return false;
    }
    reader_take(j->in, 1);
    j->fresh[j->depth] = true;
    j->in_object[j->depth] = what == JSON_OBJECT;
    j->depth++;
    return true;
}

/* Step over the comma before an element, or take the closing bracket and return false. */
static bool next_in(struct jsonread *j, char close)
{
    if (j->err.code || j->depth == 0)
        return false;
    bool *fresh = &j->fresh[j->depth - 1];
    int c = ahead_solid(j);
    if (c == close) {
        reader_take(j->in, 1);
        j->depth--;
        return false;
    }
    if (!*fresh) {
        if (c != ',') {
            unexpected(j, c, close == '}' ? "',' or '}'" : "',' or ']'");
            return false;
        }
        reader_take(j->in, 1);
    }
    *fresh = false;
    return true;
}

/* Keep T, a piece of the window, over the next calls on the reader. */
static struct text jsonread_keep(struct jsonread *j, struct text t)
{
    if (t.at == j->string.at || t.n == 0)
        return t;
    j->string.n = 0;
    buf_add(&j->string, t.at, t.n);
    return buf_text(&j->string);
}

bool json_member(struct jsonread *j, struct text *ret_key)
{
    if (!next_in(j, '}'))
        return false;
    int c = ahead_solid(j);
    if (c != '"') {
        unexpected(j, c, "a key in quotes");
        return false;
    }
    *ret_key = read_string(j);
    struct reader *r = j->in;
    if (r->start == r->end || r->buf[r->start] != ':') {
        *ret_key = jsonread_keep(j, *ret_key);
        c = ahead_solid(j);
        if (c != ':' && !j->err.code)
            unexpected(j, c, "':'");
    }
    if (j->err.code)
        return false;
    reader_take(r, 1);
    return true;
}

bool json_element(struct jsonread *j)
{
    return next_in(j, ']');
}

static void take_word(struct jsonread *j, const char *word)
{
    struct text t = reader_peek(j->in, strlen(word));
    if (text_starts(t, word))
        reader_take(j->in, strlen(word));
    else
        json_fail(j, "a misspelt value: '%s' is expected", word);
}

/* Whether the value ahead is of kind WANT. Null is taken and everything else is an error. */
static bool want(struct jsonread *j, enum json_token kind)
{
    enum json_token found = json_peek(j);
    if (found == kind)
        return true;
    if (found == JSON_NULL)
        take_word(j, "null");
    else
        expected(j, jsonread_name_of(kind), found);
    return false;
}

struct text json_get_text(struct jsonread *j)
{
    return want(j, JSON_STRING) ? read_string(j) : (struct text){"", 0};
}

double json_get_double(struct jsonread *j)
{
    struct number n;
    if (!want(j, JSON_NUMBER) || !read_number(j, &n))
        return 0;
    j->string.n = 0;
    buf_add(&j->string, n.text.at, n.text.n);
    double v = strtod(buf_cstr(&j->string), NULL);
    if (isfinite(v))
        return v;
    json_fail(j, "a number too big for a double");
    return 0;
}

/* Nearly all numbers: up to 18 digits and nothing else, with what follows in the window too. */
static bool read_small(struct jsonread *j, int64_t *ret)
{
    const struct reader *r = j->in;
    const char *at = r->buf + r->start;
    size_t n = 0, left = r->end - r->start;
    int64_t v = 0;
    for (; n < left && n < MAX_DECIMALS && at[n] >= '0' && at[n] <= '9'; n++)
        v = v * 10 + (at[n] - '0');
    if (n == 0 || n == left || is_number_byte((uint8_t)at[n]) || (n > 1 && at[0] == '0'))
        return false;
    reader_take(j->in, n);
    *ret = v;
    return true;
}

int64_t json_get_int(struct jsonread *j)
{
    struct number n;
    uint64_t v;
    int64_t small;
    int decimals;
    if (json_peek(j) == JSON_NUMBER && read_small(j, &small))
        return small;
    if (!want(j, JSON_NUMBER) || !read_number(j, &n))
        return 0;
    if (!number_decimal(&n, &v, &decimals)) {
        json_fail(j, "a number that does not fit 64 bits");
        return 0;
    }
    while (decimals-- > 0)
        v /= 10;
    return n.negative ? (int64_t)(0 - v) : (int64_t)v;
}

bool json_get_bool(struct jsonread *j)
{
    enum json_token found = json_peek(j);
    if (found == JSON_TRUE || found == JSON_FALSE || found == JSON_NULL)
        take_word(j, jsonread_name_of(found));
    else
        expected(j, "true or false", found);
    return found == JSON_TRUE;
}

bool json_get_decimal(struct jsonread *j, int64_t *ret_value, int *ret_decimals)
{
    struct number n;
    uint64_t v;
    if (json_peek(j) != JSON_NUMBER) {
        json_skip(j);
        return false;
    }
    if (!read_number(j, &n) || !number_decimal(&n, &v, ret_decimals) || (n.negative && v))
        return false;
    *ret_value = (int64_t)v;
    return true;
}

static void skip_scalar(struct jsonread *j, enum json_token what)
{
    struct number n;
    if (what == JSON_STRING)
        read_string(j);
    else if (what == JSON_NUMBER)
        read_number(j, &n);
    else if (what == JSON_END)
        expected(j, "a value", what);
    else
        take_word(j, jsonread_name_of(what));
}

void json_skip(struct jsonread *j)
{
    int outside = j->depth;
    do {
        enum json_token what = json_peek(j);
        if (what == JSON_OBJECT || what == JSON_ARRAY)
            json_enter(j, what);
        else
            skip_scalar(j, what);
        struct text key;
        while (j->depth > outside && !j->err.code)
            if (j->in_object[j->depth - 1] ? json_member(j, &key) : json_element(j))
                break;
    } while (j->depth > outside && !j->err.code);
}

void json_finish(struct jsonread *j)
{
    if (j->err.code)
        return;
    int c = ahead_solid(j);
    if (c >= 0)
        unexpected(j, c, "the end of the JSON");
    else
        reader_failed(j->in, &j->err);
}
