/* What zstd itself packs comes back the same; what is damaged is refused or harmless. */
#include "base/mem.h"
#include "page/unzstd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <zstd.h>

#include <cmocka.h>

static const int levels[] = {-5, 1, 3, 19};

static void round_trip(const char *bytes, size_t n)
{
    size_t room = ZSTD_compressBound(n);
    autofree char *packed = mem_calloc(room + 1, 1), *plain = mem_calloc(n + 1, 1);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        size_t m = ZSTD_compress(packed, room, bytes, n, levels[i]);
        uint64_t size = 0;
        assert_false(ZSTD_isError(m));
        assert_true(unzstd_size((struct text){packed, m}, &size));
        assert_int_equal(size, n);
        memset(plain, 0xaa, n);
        if (!unzstd((struct text){packed, m}, plain, n))
            fail_msg("%zu bytes at level %d", n, levels[i]);
        assert_memory_equal(plain, bytes, n);
        assert_false(unzstd((struct text){packed, m}, plain, n + 1));
    }
}

/* Bytes of many kinds: all alike, random, few symbols, repeats far and near, numbers that grow. */
static void fill(char *at, size_t n, int kind, unsigned *seed)
{
    for (size_t i = 0; i < n; i++) {
        unsigned r = (unsigned)rand_r(seed);
        switch (kind) {
        case 0:
            at[i] = 'x';
            break;
        case 1:
            at[i] = (char)(r >> 7);
            break;
        case 2:
            at[i] = (char)('a' + (r % 64 < 40 ? 0 : r % 7));
            break;
        case 3:
            at[i] = i > 300 && r % 50 ? at[i - 1 - r % 2 * 299] : (char)(r >> 9);
            break;
        case 4:
            at[i] = (char)(i % 8 < 2 ? i / 8 >> (8 * (i % 8)) : 0);
            break;
        default:
            at[i] = "one two three four five six\n"[(i * i / 100 + r % 3) % 28];
        }
    }
}

static void what_zstd_packs_comes_back(void **state)
{
    static const size_t sizes[] = {1, 2, 7, 100, 255, 256, 300, 1000, 5000, 70000, 300000};
    unsigned seed = 1;
    (void)state;
    for (int kind = 0; kind < 6; kind++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            autofree char *bytes = mem_calloc(sizes[i], 1);
            fill(bytes, sizes[i], kind, &seed);
            round_trip(bytes, sizes[i]);
        }
}

/* Any change of a byte, and any cut: an answer, and no byte beyond (sanitizers look). */
static void damage_is_survived(void **state)
{
    enum { N = 6000 };
    unsigned seed = 7;
    (void)state;
    for (int kind = 1; kind < 6; kind++) {
        autofree char *bytes = mem_calloc(N, 1), *plain = mem_calloc(N, 1);
        size_t room = ZSTD_compressBound(N);
        autofree char *packed = mem_calloc(room, 1);
        fill(bytes, N, kind, &seed);
        size_t n = ZSTD_compress(packed, room, bytes, N, 3);
        for (int round = 0; round < 1500; round++) {
            size_t at = (size_t)rand_r(&seed) % n, m = round % 3 ? n : at;
            autofree char *copy = mem_calloc(m + 1, 1);
            memcpy(copy, packed, m);
            if (m > at)
                copy[at] = (char)(copy[at] ^ (1 + rand_r(&seed) % 255));
            unzstd((struct text){copy, m}, plain, N);
        }
    }
    uint64_t size;
    assert_false(unzstd_size((struct text){"", 0}, &size));
    assert_false(unzstd_size((struct text){"no frame at all", 15}, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_zstd_packs_comes_back),
        cmocka_unit_test(damage_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
