#include "base/cursor.h"

uint64_t cursor_varint_slow(struct cursor *c)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 70 && c->at < c->end; shift += 7) {
        uint8_t b = *c->at++;
        if (shift == 63 && b > 1)
            break;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80)
            return v;
    }
    c->bad = true;
    c->at = c->end;
    return 0;
}

uint64_t cursor_uint(struct cursor *c, int bytes)
{
    struct text t = cursor_bytes(c, (uint64_t)bytes);
    uint64_t v = 0;
    for (size_t i = 0; i < t.n; i++)
        v |= (uint64_t)(uint8_t)t.at[i] << (8 * i);
    return v;
}

struct text cursor_bytes(struct cursor *c, uint64_t n)
{
    if (n > cursor_left(c)) {
        c->bad = true;
        c->at = c->end;
        return (struct text){(const char *)c->end, 0};
    }
    struct text t = {(const char *)c->at, (size_t)n};
    c->at += n;
    return t;
}
