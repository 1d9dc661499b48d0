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
    bool control = (unsigned char)*s < 0x20 || *s == 0x7f;
    bool noncharacter = length == 3 && memcmp(s, "\xef\xbf", 2) == 0 &&
                        ((unsigned char)s[2] == 0xbe || (unsigned char)s[2] == 0xbf);
    return control || noncharacter ? REPLACEMENT : NULL;
}

static const char *json_escape(const char *s, char *space)
{
    unsigned char c = (unsigned char)*s;
    if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
        return NULL;
    if (c == '"' || c == '\\')
        snprintf(space, 8, "\\%c", c);
    else
        snprintf(space, 8, "\\u%04x", c);
    return space;
}

static void escape(struct buf *b, struct text t, bool xml)
{
    for (size_t i = 0; i < t.n;) {
        char space[8];
        int length = utf8_length(t.at + i, t.n - i);
        const char *instead = length == 0 ? REPLACEMENT
                              : xml       ? xml_escape(t.at + i, length)
                                          : json_escape(t.at + i, space);
        if (instead)
            buf_str(b, instead);
        else
            buf_add(b, t.at + i, (size_t)length);
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
