#include "base/vec.h"

enum { LARGE_BYTES = 16 << 20 };

void vec_grow(void **at, size_t *cap, size_t need, size_t elem_bytes)
{
    size_t n = *cap + *cap / 2;
    if (n < 16)
        n = 16;
    if (n < need)
        n = need;
    *at = mem_realloc(*at, n * elem_bytes);
    *cap = n;
    if (n * elem_bytes >= LARGE_BYTES)
        mem_want_huge_pages(*at, n * elem_bytes);
}
