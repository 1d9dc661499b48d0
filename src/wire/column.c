#include "wire/column.h"

/* Most cells are differences of up to three bytes. Returns what follows, NULL where it is bad. */
static const uint8_t *read_column(const uint8_t *at, const uint8_t *end, uint64_t *cell, size_t n)
{
    uint64_t last = 0, v;
    for (size_t row = 0; row < n; row++) {
        if (end - at >= 1 && at[0] < 0x80) {
            v = *at++;
        } else if (end - at >= 2 && at[1] < 0x80) {
            v = (at[0] & 0x7fu) | (unsigned)at[1] << 7;
            at += 2;
        } else if (end - at >= 3 && at[2] < 0x80) {
            v = (at[0] & 0x7fu) | (at[1] & 0x7fu) << 7 | (unsigned)at[2] << 14;
            at += 3;
        } else {
            struct cursor slow = {.at = at, .end = end};
            v = cursor_varint_slow(&slow);
            if (slow.bad)
                return NULL;
            at = slow.at;
        }
        cell[row] = last += v >> 1 ^ -(v & 1);
    }
    return at;
}

bool columns_read(struct columns *c, struct cursor *in, uint64_t n, size_t k)
{
    c->n = 0;
    c->cells.n = 0;
    if (in->bad || (n && k > cursor_left(in) / n)) /* a cell takes a byte or more */
        return false;
    c->n = n;
    vec_reserve(&c->cells, n * k + 1); /* never NULL */
    c->cells.n = n * k;
    for (size_t i = 0; i < k; i++) {
        const uint8_t *rest = read_column(in->at, in->end, c->cells.at + i * n, n);
        in->bad = !rest;
        in->at = rest ? rest : in->end;
        if (in->bad)
            return false;
    }
    return true;
}

bool columns_below(const struct columns *c, size_t k, uint64_t limit)
{
    const uint64_t *cell = columns_get(c, k);
    uint64_t most = 0;
    for (size_t i = 0; i < c->n; i++)
        most = cell[i] > most ? cell[i] : most;
    return c->n == 0 || most < limit;
}

bool columns_sum(const struct columns *c, size_t k, uint64_t limit, uint64_t *ret)
{
    const uint64_t *cell = columns_get(c, k);
    uint64_t sum = 0;
    for (size_t i = 0; i < c->n; i++)
        if (__builtin_add_overflow(sum, cell[i], &sum) || sum > limit)
            return false;
    *ret = sum;
    return true;
}
