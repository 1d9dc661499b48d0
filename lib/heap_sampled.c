/*
 * heap_sampled.c - which blocks are told of when only samples are asked for.
 *
 * A block of z bytes is a sample with the probability 1 - exp(-z / mean), as if every byte were
 * one with 1 / mean: the bytes to the next sample are drawn from the exponential distribution.
 *
 * Addresses of samples are kept in a table without a lock. A filter that fits a processor's cache
 * comes before it: a free of any other block costs one load there.
 */
#include "heap.h"

#include <sys/mman.h>

enum { FILTER_BITS = 15, SET_BITS = 20, SET_TRIES = 64, GONE = 1 };

uint64_t heap_sample_bytes;

static _Atomic uint16_t filter[1 << FILTER_BITS];
static _Atomic uintptr_t *set; /* 0 = free, GONE = free again */

bool heap_sampled_init(uint64_t mean_bytes)
{
    size_t n = sizeof(uintptr_t) << SET_BITS;
    if (!mean_bytes || set)
        return true;
    void *at =
        mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return false;
    set = at;
    heap_sample_bytes = mean_bytes;
    return true;
}

/* --- when --- */

/* The natural logarithm of X in (0, 1], to 1e-9: libm is not ours to load. */
static double log_of(double x)
{
    union {
        double d;
        uint64_t bits;
    } u = {x};
    int exponent = (int)(u.bits >> 52) - 1023;
    u.bits = (u.bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
    double y = (u.d - 1) / (u.d + 1), y2 = y * y, sum = 0, term = y;
    for (int k = 1; k < 40; k += 2, term *= y2)
        sum += term / k;
    return 2 * sum + exponent * 0.69314718055994530942;
}

static uint64_t random_next(void)
{
    uint64_t x = heap_local.random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

void heap_sampled_draw(void)
{
    double u = ((double)(random_next() >> 11) + 1) / 9007199254740992.0; /* (0, 1] */
    heap_local.next_sample = (uint64_t)(-log_of(u) * (double)heap_sample_bytes) + 1;
}

/* --- which --- */

static inline uint64_t hash_of(uintptr_t p)
{
    return (p >> 3) * UINT64_C(0x9e3779b97f4a7c15);
}

/* The place of P, or one for it where ADDING; -1 = none. */
static long find_in_set(uintptr_t p, bool adding)
{
    uint64_t at = hash_of(p) >> (64 - SET_BITS), mask = (1u << SET_BITS) - 1;
    for (int i = 0; i < SET_TRIES; i++, at = (at + 1) & mask) {
        uintptr_t is = atomic_load_explicit(&set[at], memory_order_relaxed);
        if (is == p || (adding && is <= GONE))
            return (long)at;
        if (!is)
            return -1;
    }
    return -1;
}

bool heap_sampled_add(void *block)
{
    uintptr_t p = (uintptr_t)block;
    for (long at; (at = find_in_set(p, true)) >= 0;) {
        uintptr_t is = atomic_load(&set[at]);
        if (is > GONE && is != p)
            continue;
        if (!atomic_compare_exchange_strong(&set[at], &is, p))
            continue;
        atomic_fetch_add(&filter[hash_of(p) >> (64 - FILTER_BITS)], 1);
        return true;
    }
    return false;
}

bool heap_sampled_take(void *block)
{
    uintptr_t p = (uintptr_t)block;
    _Atomic uint16_t *first = &filter[hash_of(p) >> (64 - FILTER_BITS)];
    if (LIKELY(!atomic_load_explicit(first, memory_order_relaxed)))
        return false;
    long at = find_in_set(p, false);
    if (at < 0 || !atomic_compare_exchange_strong(&set[at], &p, GONE))
        return false;
    atomic_fetch_sub(first, 1);
    return true;
}
