#include "base/firsts.h"

struct firsts {
    firsts_compare *compare;
    void *ctx;
};

/* Let the number at I of a heap whose first one comes last sink to its place. */
static void firsts_sink(const struct firsts *f, uint32_t *heap, size_t n, size_t i)
{
    for (size_t below; (below = 2 * i + 1) < n; i = below) {
        below += below + 1 < n && f->compare(&heap[below + 1], &heap[below], f->ctx) > 0;
        if (f->compare(&heap[below], &heap[i], f->ctx) < 0)
            return;
        uint32_t one = heap[i];
        heap[i] = heap[below];
        heap[below] = one;
    }
}

void firsts_order(uint32_t *at, size_t all, size_t n, firsts_compare *compare, void *ctx)
{
    struct firsts f = {compare, ctx};
    if (!n)
        return;
    for (size_t k = n / 2; n < all && k-- > 0;)
        firsts_sink(&f, at, n, k);
    for (size_t i = n; i < all; i++)
        if (compare(&at[i], &at[0], ctx) < 0) {
            uint32_t one = at[0];
            at[0] = at[i];
            at[i] = one;
            firsts_sink(&f, at, n, 0);
        }
    qsort_r(at, n, sizeof *at, compare, ctx);
}
