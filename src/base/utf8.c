#include "base/utf8.h"

static bool is_tail(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Well-formed sequences after the Unicode standard, table 3-7: no overlong forms, no surrogates. */
int utf8_length(const char *s, size_t n)
{
    unsigned char c = (unsigned char)s[0];
    if (c < 0x80)
        return 1;
    if (c >= 0xc2 && c <= 0xdf)
        return n >= 2 && is_tail(s[1]) ? 2 : 0;
    if (c >= 0xe0 && c <= 0xef && n >= 3 && is_tail(s[1]) && is_tail(s[2])) {
        unsigned char second = (unsigned char)s[1];
        bool overlong = c == 0xe0 && second < 0xa0;
        bool surrogate = c == 0xed && second > 0x9f;
        return overlong || surrogate ? 0 : 3;
    }
    if (c >= 0xf0 && c <= 0xf4 && n >= 4 && is_tail(s[1]) && is_tail(s[2]) && is_tail(s[3])) {
        unsigned char second = (unsigned char)s[1];
        bool overlong = c == 0xf0 && second < 0x90;
        bool too_high = c == 0xf4 && second > 0x8f;
        return overlong || too_high ? 0 : 4;
    }
    return 0;
}

/* U+2028 to 202E and U+2066 to 2069, U+200E and 200F, U+061C: separators and bidirectional marks.
 */
static bool turns_direction(const uint8_t *s, int length)
{
    if (length == 2)
        return s[0] == 0xd8 && s[1] == 0x9c;
    if (length != 3 || s[0] != 0xe2)
        return false;
    unsigned mark = (unsigned)s[1] << 8 | s[2];
    return mark == 0x808e || mark == 0x808f || (mark >= 0x80a8 && mark <= 0x80ae) ||
           (mark >= 0x81a6 && mark <= 0x81a9);
}

/* Eight bytes at a time: each test leaves the high bit of a byte that has it, or of a later one. */
static const uint64_t each_byte = 0x0101010101010101u, high_bits = 0x8080808080808080u;

static uint64_t have_byte(uint64_t w, uint8_t c)
{
    uint64_t differ = w ^ each_byte * c;
    return (differ - each_byte) & ~differ;
}

/* Those that are no ASCII or a control character. */
static uint64_t have_unprintable(uint64_t w)
{
    return w | (w - each_byte * 0x20) | have_byte(w, 0x7f);
}

size_t utf8_printable(struct text t)
{
    size_t n = 0;
    for (uint64_t w; t.n - n >= sizeof w; n += sizeof w) {
        memcpy(&w, t.at + n, sizeof w);
        if (have_unprintable(w) & high_bits)
            break;
    }
    while (n < t.n && (uint8_t)t.at[n] >= 0x20 && (uint8_t)t.at[n] < 0x7f)
        n++;
    return n;
}

size_t utf8_hidden(struct text t)
{
    const uint8_t *s = (const uint8_t *)t.at;
    int length = utf8_length(t.at, t.n);
    bool control = s[0] < 0x20 || s[0] == 0x7f || (length == 2 && s[0] == 0xc2 && s[1] < 0xa0);
    return control || turns_direction(s, length) ? (size_t)length : 0;
}

#define REPLACEMENT "\xef\xbf\xbd"

static const char *xml_escape(const char *s, int length)
{
    switch (*s) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\t':
        return " ";
    }
    bool hidden = utf8_hidden((struct text){s, (size_t)length});
    bool noncharacter = length == 3 && memcmp(s, "\xef\xbf", 2) == 0 &&
                        ((unsigned char)s[2] == 0xbe || (unsigned char)s[2] == 0xbf);
    return hidden || noncharacter ? REPLACEMENT : NULL;
}

/* What the one to three bytes of a hidden character stand for. */
static unsigned code_point(const uint8_t *s, int length)
{
    if (length == 1)
        return s[0];
    if (length == 2)
        return (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
    return (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
}

static const char *json_escape(const char *s, int length, char *space)
{
    if (*s == '"' || *s == '\\')
        snprintf(space, 8, "\\%c", *s);
    else if (utf8_hidden((struct text){s, (size_t)length}))
        snprintf(space, 8, "\\u%04x", code_point((const uint8_t *)s, length));
    else
        return NULL;
    return space;
}

/* Those that XML or JSON escapes: & and ' differ in one bit, as do < and >. */
static uint64_t have_special(uint64_t w)
{
    return have_byte(w | each_byte, '\'') | have_byte(w | each_byte * 2, '>') | have_byte(w, '"') |
           have_byte(w, '\\');
}

/* How many bytes at the start are ASCII that neither XML nor JSON escapes. */
static size_t plain_run(const char *s, size_t n)
{
    size_t i = 0;
    for (uint64_t w; n - i >= sizeof w; i += sizeof w) {
        memcpy(&w, s + i, sizeof w);
        if ((have_unprintable(w) | have_special(w)) & high_bits)
            break;
    }
    for (; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c < 0x20 || c >= 0x7f || c == '"' || c == '&' || c == '\'' || c == '<' || c == '>' ||
            c == '\\')
            break;
    }
    return i;
}

static void escape(struct buf *b, struct text t, bool xml)
{
    for (size_t i = 0; i < t.n;) {
        char space[8];
        size_t plain = plain_run(t.at + i, t.n - i);
        buf_add(b, t.at + i, plain);
        if ((i += plain) == t.n)
            break;
        int length = utf8_length(t.at + i, t.n - i);
        const char *instead = length == 0 ? REPLACEMENT
                              : xml       ? xml_escape(t.at + i, length)
                                          : json_escape(t.at + i, length, space);
        if (instead)
            buf_str(b, instead);
        else
            buf_add(b, t.at + i, (size_t)length);
        i += length ? (size_t)length : 1;
    }
}

void utf8_plain(struct buf *b, struct text t)
{
    for (size_t i = 0; i < t.n;) {
        int length = utf8_length(t.at + i, t.n - i);
        if (length == 0)
            buf_str(b, REPLACEMENT);
        else if (utf8_hidden((struct text){t.at + i, t.n - i}))
            buf_byte(b, '?');
        else
            buf_add(b, t.at + i, (size_t)length);
        i += length ? (size_t)length : 1;
    }
}

void utf8_print(FILE *out, const char *s)
{
    autobuf struct buf b = {0};
    utf8_plain(&b, text_of(s));
    fwrite(b.at, 1, b.n, out);
}

void utf8_valid(struct buf *b, struct text t)
{
    for (size_t i = 0; i < t.n;) {
        int length = utf8_length(t.at + i, t.n - i);
        if (length)
            buf_add(b, t.at + i, (size_t)length);
        else
            buf_str(b, REPLACEMENT);
        i += length ? (size_t)length : 1;
    }
}

void utf8_xml(struct buf *b, struct text t)
{
    escape(b, t, true);
}

void utf8_json(struct buf *b, struct text t)
{
    escape(b, t, false);
}

size_t utf8_count(struct text t)
{
    size_t n = 0;
    for (size_t i = 0; i < t.n; n++) {
        int length = utf8_length(t.at + i, t.n - i);
        i += length ? (size_t)length : 1;
    }
    return n;
}

struct text utf8_head(struct text t, size_t n)
{
    size_t i = 0;
    while (n-- && i < t.n) {
        int length = utf8_length(t.at + i, t.n - i);
        i += length ? (size_t)length : 1;
    }
    return (struct text){t.at, i};
}
