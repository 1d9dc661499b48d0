/*
 * search.h - a place in what is sorted by a 64-bit key: addresses, times.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* How many of N keys, STRIDE bytes apart and in rising order, are not above KEY. */
static inline size_t search_up_to(const void *keys, size_t stride, size_t n, uint64_t key)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t there;
        memcpy(&there, (const char *)keys + middle * stride, sizeof there);
        if (there <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The last element of a VEC that is sorted by FIELD, a uint64_t, and whose FIELD is not above KEY;
 * NULL = none. */
#define search_last(v, field, key)                                                       \
    ((v)->n && (v)->at[0].field <= (key)                                                 \
         ? &(v)->at[search_up_to(&(v)->at[0].field, sizeof *(v)->at, (v)->n, (key)) - 1] \
         : NULL)
