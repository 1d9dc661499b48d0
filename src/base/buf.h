/*
 * buf.h - bytes that grow at the end.
 *
 * Zero-initialised is empty and ready. Give the memory back with buf_done().
 */
#pragma once
#include "base/text.h"
#include "base/vec.h"

struct buf {
    char *at;
    size_t n, cap;
};

#define autobuf __attribute__((cleanup(buf_done)))

static inline void buf_done(struct buf *b)
{
    vec_done(b);
}

/* Append N bytes. */
static inline void buf_add(struct buf *b, const void *bytes, size_t n)
{
    if (!n)
        return;
    vec_reserve(b, n);
    memcpy(b->at + b->n, bytes, n);
    b->n += n;
}

static inline void buf_byte(struct buf *b, uint8_t c)
{
    *vec_push(b) = (char)c;
}

static inline void buf_str(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

static inline struct text buf_text(const struct buf *b)
{
    return (struct text){b->at, b->n};
}

void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* LEB128, the variable-length integer of protobuf and of our own chunks. */
void buf_varint(struct buf *b, uint64_t v);

/* Little-endian fixed width. */
void buf_u32(struct buf *b, uint32_t v);
void buf_u64(struct buf *b, uint64_t v);

/* NUL-terminate without counting the NUL, for handing out as a C string. */
const char *buf_cstr(struct buf *b);
