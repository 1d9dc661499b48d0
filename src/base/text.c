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

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

bool text_u64(struct text t, int base, uint64_t *ret)
{
    uint64_t v = 0;
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
