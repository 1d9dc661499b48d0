/*
 * heap_sampled.c - which blocks are reported when only samples are asked for.
 *
 * A block of z bytes is a sample with the probability 1 - exp(-z / mean), as if every byte were
 * one with 1 / mean: the bytes to the next sample are drawn from the exponential distribution.
 *
 * Addresses of samples are kept in a table without a lock, behind the filter.
 */
#include "heap.h"

enum { SET_BITS = 20, SET_TRIES = 64, GONE = 1 };

uint64_t heap_sample_bytes;

_Atomic uint8_t heap_filter[1 << HEAP_FILTER_BITS];
static _Atomic bool filter_open;
static _Atomic uintptr_t *set; /* 0 = free, GONE = free again */

bool heap_sampled_init(uint64_t mean_bytes)
{
    size_t n = sizeof(uintptr_t) << SET_BITS;
    if (!mean_bytes || set)
        return true;
    set = proc_map(n);
    if (!set)
        return false;
    heap_sample_bytes = mean_bytes;
    heap_filter_open();
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

static void sampled_draw(void)
{
    double u = ((double)(random_next() >> 11) + 1) / 9007199254740992.0; /* (0, 1] */
    heap_local.left = (uint64_t)(-log_of(u) * (double)heap_sample_bytes);
}

/* What has no bytes is never one; but it is an allocation, after which no block is the last. */
bool heap_sampled(size_t n)
{
    if (!heap_local.random) {
        heap_local.random = stackwalk_ticks() ^ (uintptr_t)&heap_local << 20;
        sampled_draw();
    }
    if (heap_alloc_passes(n))
        return false;
    heap_local.last = NULL;
    if (n)
        sampled_draw();
    return n != 0;
}

/* --- by place --- */

void heap_filter_mark(const void *p)
{
    atomic_store(heap_filter_of(p), HEAP_FILTER_FULL);
}

/* The pool is asked for last: what another thread gets from it meanwhile is marked by that one. */
void heap_filter_open(void)
{
    size_t n;
    if (atomic_exchange(&filter_open, true))
        return;
    for (size_t i = 0; i < 1 << HEAP_FILTER_BITS; i++)
        atomic_store_explicit(&heap_filter[i], HEAP_FILTER_EMPTY, memory_order_relaxed);
    const char *pool = heap_pool(&n);
    for (size_t at = 0; at < n; at += 64)
        heap_filter_mark(pool + at);
}

/* What is full stays so: nobody knows how many there are. */
static void filter_count(const void *p, int change)
{
    _Atomic uint8_t *room = heap_filter_of(p);
    uint8_t is = atomic_load(room);
    while (is != HEAP_FILTER_FULL &&
           !atomic_compare_exchange_weak(room, &is, (uint8_t)(is - change)))
        ;
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
        filter_count(block, 1);
        return true;
    }
    return false;
}

bool heap_sampled_take(void *block)
{
    uintptr_t p = (uintptr_t)block;
    if (heap_free_passes(block))
        return false;
    long at = find_in_set(p, false);
    if (at < 0 || !atomic_compare_exchange_strong(&set[at], &p, GONE))
        return false;
    filter_count(block, -1);
    return true;
}
