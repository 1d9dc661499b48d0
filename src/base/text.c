#include "base/text.h"

static bool text_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool text_is_one_of(struct text t, const char *const *list)
{
    for (; *list; list++)
        if (text_is(t, *list))
            return true;
    return false;
}

struct text text_trim(struct text t)
{
    while (t.n && text_is_blank(t.at[0]))
        t.at++, t.n--;
    while (t.n && text_is_blank(t.at[t.n - 1]))
        t.n--;
    return t;
}

struct text text_cut(struct text *t, char sep)
{
    const char *end = t->n ? memchr(t->at, sep, t->n) : NULL;
    struct text head = {t->at, end ? (size_t)(end - t->at) : t->n};
    size_t used = end ? head.n + 1 : head.n;
    t->at += used;
    t->n -= used;
    return head;
}

/* 255 where it is none. */
static uint8_t digit_of(char c)
{
    static const uint8_t plus_1[] = {
        ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
        ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
        ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
        ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16, [255] = 0,
    };
    return (uint8_t)(plus_1[(uint8_t)c] - 1);
}

/* So many digits fit in any base up to 16. */
static bool short_u64(struct text t, uint64_t base, uint64_t *ret)
{
    uint64_t v = 0;
    for (size_t i = 0; i < t.n; i++) {
        uint8_t d = digit_of(t.at[i]);
        if (d >= base)
            return false;
        v = v * base + d;
    }
    *ret = v;
    return t.n > 0;
}

bool text_u64(struct text t, int base, uint64_t *ret)
{
    enum { ALWAYS_FIT = 16 };
    uint64_t v = 0;
    if (t.n <= ALWAYS_FIT)
        return base == 16 ? short_u64(t, 16, ret) : short_u64(t, (uint64_t)base, ret);
    for (size_t i = 0; i < t.n; i++) {
        int d = digit_of(t.at[i]);
        if (d >= base || __builtin_mul_overflow(v, (uint64_t)base, &v) ||
            __builtin_add_overflow(v, (uint64_t)d, &v))
            return false;
    }
    *ret = v;
    return t.n > 0;
}

bool text_decimal(struct text t, int64_t *ret_value, int *ret_decimals)
{
    enum { MAX_DECIMALS = 9 };
    const char *point = t.n ? memchr(t.at, '.', t.n) : NULL;
    struct text whole = {t.at, point ? (size_t)(point - t.at) : t.n};
    struct text part = {point ? point + 1 : t.at, point ? t.n - whole.n - 1 : 0};
    while (part.n && part.at[part.n - 1] == '0')
        part.n--;
    if (whole.n == 0 || part.n > MAX_DECIMALS)
        return false;
    int64_t v = 0;
    for (size_t i = 0; i < whole.n + part.n; i++) {
        int d = digit_of(i < whole.n ? whole.at[i] : part.at[i - whole.n]);
        if (d > 9 || __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, d, &v))
            return false;
    }
    *ret_value = v;
    *ret_decimals = (int)part.n;
    return true;
}
