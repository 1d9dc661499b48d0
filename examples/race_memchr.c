/*
 * race_memchr.c - find a byte: one at a time against sixteen with SSE2.
 *
 *     cc -O2 -Iinclude examples/race_memchr.c build/libkelvin_bench.a -lm && ./a.out
 *
 * The classic traps: reading past the end in the last block, and finding bytes behind it. Guard
 * pages see the first; marked bytes around the array, the result of the second.
 */
#include <emmintrin.h>
#include <kelvin_bench.h>

static const uint8_t *find_plain(const uint8_t *at, uint8_t byte, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (at[i] == byte)
            return at + i;
    return NULL;
}

static const uint8_t *find_sse2(const uint8_t *at, uint8_t byte, size_t n)
{
    __m128i wanted = _mm_set1_epi8((char)byte);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)(at + i));
        int found = _mm_movemask_epi8(_mm_cmpeq_epi8(block, wanted));
        if (found)
            return at + i + __builtin_ctz((unsigned)found);
    }
    return find_plain(at + i, byte, n - i);
}

/* In a race the byte comes last, as in a search for the end of a line. */
static void put_last(uint8_t *at, uint8_t byte, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = i + 1 < n && at[i] == byte ? (uint8_t)(byte + 1) : at[i];
    at[n - 1] = byte;
}

KELVIN_EQUAL(memchr)
{
    KELVIN_RACE_LENGTHS(c, 32, 4096);
    size_t n = kelvin_length(c, "n", 100);
    uint8_t *at = kelvin_in_u8(c, "at", n, KELVIN_ANY);
    uint8_t byte = kelvin_draw_u8(c, "byte", 0, 255);
    if (kelvin_racing(c))
        put_last(at, byte, n);
    const uint8_t *(*find)(const uint8_t *, uint8_t, size_t) =
        KELVIN_SIDE(c, find_plain, find_sse2);
    const uint8_t *found = NULL;
    kelvin_min_speedup(c, n < 100 ? 1.0 : 2.0);
    KELVIN_RACE(c) found = find(at, byte, n);
    kelvin_result_i64(c, "index", found ? found - at : -1);
}

BENCH_MAIN
