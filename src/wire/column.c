#include "wire/column.h"

enum { RUN = 8 }; /* cells that are looked at together */

/* Many columns stay the same for long: fill cells as long as all differences are 0. */
static size_t fill_run(const uint8_t *at, uint64_t *cell, size_t n, uint64_t last)
{
    size_t row = 0;
    for (uint64_t word; n - row >= RUN; row += RUN) {
        memcpy(&word, at + row, sizeof word);
        if (word)
            break;
        for (size_t i = 0; i < RUN; i++)
            cell[row + i] = last;
    }
    return row;
}

/* Most cells are differences of up to three bytes. Returns what follows, NULL where it is bad. */
static const uint8_t *read_column(const uint8_t *at, const uint8_t *end, uint64_t *cell, size_t n)
{
    const uint8_t *near_end = end - at >= RUN ? end - RUN : at;
    uint64_t last = 0, v;
    for (size_t row = 0; row < n; row++) {
        if (at < near_end && at[0] < 0x80) {
            v = *at++;
        } else if (at < near_end && at[1] < 0x80) {
            v = (at[0] & 0x7fu) | (unsigned)at[1] << 7;
            at += 2;
        } else if (at < near_end && at[2] < 0x80) {
            v = (at[0] & 0x7fu) | (at[1] & 0x7fu) << 7 | (unsigned)at[2] << 14;
            at += 3;
        } else {
            struct cursor slow = {.at = at, .end = end};
            v = cursor_varint(&slow);
            if (slow.bad)
                return NULL;
            at = slow.at;
        }
        cell[row] = last += v >> 1 ^ -(v & 1);
        if (v == 0 && at < near_end) {
            size_t left = (size_t)(end - at), rows = n - row - 1;
            size_t same = fill_run(at, cell + row + 1, left < rows ? left : rows, last);
            row += same;
            at += same;
        }
    }
    return at;
}

bool column_read(struct cursor *in, uint64_t *cell, size_t n)
{
    const uint8_t *rest = in->bad ? NULL : read_column(in->at, in->end, cell, n);
    in->bad = !rest;
    in->at = rest ? rest : in->end;
    return rest;
}

bool columns_read(struct columns *c, struct cursor *in, uint64_t n, size_t k)
{
    c->n = 0;
    c->cells.n = 0;
    if (in->bad || (n && k > cursor_left(in) / n)) /* a cell takes a byte or more */
        return false;
    c->n = n;
    if (c->cells.cap < n * k + 1)
        vec_done(&c->cells);           /* nothing in it is worth a copy */
    vec_reserve(&c->cells, n * k + 1); /* never NULL */
    c->cells.n = n * k;
    for (size_t i = 0; i < k; i++)
        if (!column_read(in, c->cells.at + i * n, n))
            return false;
    return true;
}

bool column_below(const uint64_t *cell, size_t n, uint64_t limit)
{
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = cell[i] > most ? cell[i] : most;
    return n == 0 || most < limit;
}

bool column_sum(const uint64_t *cell, size_t n, uint64_t limit, uint64_t *ret)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        if (__builtin_add_overflow(sum, cell[i], &sum) || sum > limit)
            return false;
    *ret = sum;
    return true;
}
