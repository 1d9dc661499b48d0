/*
 * column.h - a table's column as bytes: differences from row to row, small ones short.
 *
 * Each number is the difference to the one above it (the first to 0) modulo 2^64, folded so that
 * small negative ones are small too (0 -1 1 -2 2 ... become 0 1 2 3 4 ...), as a LEB128.
 */
#pragma once
#include "base/buf.h"
#include "base/cursor.h"

struct column {
    struct buf *out;
    uint64_t last;
};

static inline void column_put(struct column *c, uint64_t v)
{
    uint64_t d = v - c->last;
    c->last = v;
    buf_varint(c->out, d << 1 ^ -(d >> 63));
}

/* Append a column of rows FROM to TO; CELL is an expression of ROW. */
#define column_write(buf, row, from, to, cell)       \
    do {                                             \
        struct column column_ = {.out = (buf)};      \
        for (size_t row = (from); row < (to); row++) \
            column_put(&column_, (uint64_t)(cell));  \
    } while (0)

/* Columns that were read, all of the same length. */
struct columns {
    size_t n; /* rows */
    VEC(uint64_t) cells;
};

static inline void columns_done(struct columns *c)
{
    vec_done(&c->cells);
}

/* Column K, n cells. */
static inline const uint64_t *columns_get(const struct columns *c, size_t k)
{
    return c->cells.at + k * c->n;
}

/* Read a column of N cells to CELL. False when IN holds fewer. */
bool column_read(struct cursor *in, uint64_t *cell, size_t n);

/* Whether all N cells are below LIMIT. */
bool column_below(const uint64_t *cell, size_t n, uint64_t limit);

/* Sum of N cells. False when it passes LIMIT. */
bool column_sum(const uint64_t *cell, size_t n, uint64_t limit, uint64_t *ret);

/* Read N rows of K columns. False when IN holds fewer. */
bool columns_read(struct columns *c, struct cursor *in, uint64_t n, size_t k);

static inline bool columns_below(const struct columns *c, size_t k, uint64_t limit)
{
    return column_below(columns_get(c, k), c->n, limit);
}

static inline bool columns_sum(const struct columns *c, size_t k, uint64_t limit, uint64_t *ret)
{
    return column_sum(columns_get(c, k), c->n, limit, ret);
}
