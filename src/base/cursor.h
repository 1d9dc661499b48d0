/*
 * cursor.h - a bounds-checked walk over bytes from outside.
 *
 * Reading past the end gives zero and sets `bad`, which sticks: check it once when done.
 */
#pragma once
#include "base/text.h"

struct cursor {
    const uint8_t *at, *end;
    bool bad;
};

static inline struct cursor cursor_of(const void *bytes, size_t n)
{
    return (struct cursor){bytes, (const uint8_t *)bytes + n, false};
}

static inline size_t cursor_left(const struct cursor *c)
{
    return (size_t)(c->end - c->at);
}

static inline bool cursor_more(const struct cursor *c)
{
    return !c->bad && c->at < c->end;
}

/* LEB128 of up to ten bytes. */
uint64_t cursor_varint_slow(struct cursor *c);

static inline uint64_t cursor_varint(struct cursor *c)
{
    if (c->at < c->end && *c->at < 0x80)
        return *c->at++;
    return cursor_varint_slow(c);
}

uint64_t cursor_uint(struct cursor *c, int bytes); /* little-endian, 1 to 8 bytes */

/* N bytes, not copied; an empty text when there are fewer. */
struct text cursor_bytes(struct cursor *c, uint64_t n);
