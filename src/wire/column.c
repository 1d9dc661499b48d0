#include "wire/column.h"

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
        uint64_t last = 0, *cell = c->cells.at + i * n;
        for (size_t row = 0; row < n; row++) {
            uint64_t v = cursor_varint(in);
            cell[row] = last += v >> 1 ^ -(v & 1);
        }
    }
    return !in->bad;
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
