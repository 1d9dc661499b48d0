/*
 * race_histogram.c - how often does each byte occur?
 *
 *     cc -O2 -Iinclude examples/race_histogram.c build/libkelvin_bench.a -lm && ./a.out
 *
 * The plain loop has to wait: when the same byte comes twice in a row, the second count needs the
 * first. Here SSE2 sees where sixteen bytes are alike, which in pictures they often are; the others
 * are counted in four tables in turn, which do not wait for each other.
 */
#include <emmintrin.h>
#include <kelvin_bench.h>

static void count_plain(const uint8_t *at, size_t n, uint32_t counts[256])
{
    memset(counts, 0, 256 * sizeof *counts);
    for (size_t i = 0; i < n; i++)
        counts[at[i]]++;
}

static void add_up(uint32_t tables[4][256], uint32_t counts[256])
{
    for (size_t i = 0; i < 256; i += 4) {
        __m128i sum = _mm_setzero_si128();
        for (int k = 0; k < 4; k++)
            sum = _mm_add_epi32(sum, _mm_loadu_si128((const __m128i *)&tables[k][i]));
        _mm_storeu_si128((__m128i *)&counts[i], sum);
    }
}

/* Are the sixteen bytes at AT all the same? */
static int is_run(const uint8_t *at)
{
    __m128i block = _mm_loadu_si128((const __m128i *)at);
    return _mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8((char)at[0]))) == 0xffff;
}

static void count_sse2(const uint8_t *at, size_t n, uint32_t counts[256])
{
    uint32_t tables[4][256] = {{0}};
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        if (is_run(at + i)) {
            tables[0][at[i]] += 16;
            continue;
        }
        for (size_t k = i; k < i + 16; k += 4) {
            tables[0][at[k]]++;
            tables[1][at[k + 1]]++;
            tables[2][at[k + 2]]++;
            tables[3][at[k + 3]]++;
        }
    }
    for (; i < n; i++)
        tables[0][at[i]]++;
    add_up(tables, counts);
}

/* Like a picture: long runs of the same few values. */
static void make_runs(uint8_t *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = i % 64 ? at[i - i % 64] : (uint8_t)(at[i] % 8);
}

KELVIN_EQUAL(histogram)
{
    KELVIN_RACE_LENGTHS(c, 65536);
    size_t n = kelvin_length(c, "n", 100);
    uint8_t *at = kelvin_in_u8(c, "at", n, KELVIN_ANY);
    uint32_t *counts = kelvin_out_u32(c, "counts", 256);
    if (kelvin_racing(c))
        make_runs(at, n);
    void (*count)(const uint8_t *, size_t, uint32_t *) = KELVIN_SIDE(c, count_plain, count_sse2);
    kelvin_min_speedup(c, 2.0);
    KELVIN_RACE(c) count(at, n, counts);
}

BENCH_MAIN
