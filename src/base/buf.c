#include "base/buf.h"

#include <stdarg.h>

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n > 0) {
        vec_reserve(b, (size_t)n + 1);
        vsnprintf(b->at + b->n, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void buf_varint(struct buf *b, uint64_t v)
{
    vec_reserve(b, 10);
    while (v >= 0x80) {
        b->at[b->n++] = (char)(v | 0x80);
        v >>= 7;
    }
    b->at[b->n++] = (char)v;
}

static void fixed(struct buf *b, uint64_t v, int bytes)
{
    vec_reserve(b, 8);
    for (int i = 0; i < bytes; i++)
        b->at[b->n++] = (char)(v >> (8 * i));
}

void buf_u32(struct buf *b, uint32_t v)
{
    fixed(b, v, 4);
}

void buf_u64(struct buf *b, uint64_t v)
{
    fixed(b, v, 8);
}

const char *buf_cstr(struct buf *b)
{
    vec_reserve(b, 1);
    b->at[b->n] = '\0';
    return b->at;
}
