/* The first few of many, in order. */
#include "base/firsts.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* By a key that many share, then by number. */
static int firsts_by_key(const void *a, const void *b, void *ctx)
{
    const uint32_t *key = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (key[x] != key[y])
        return key[x] < key[y] ? -1 : 1;
    return (x > y) - (x < y);
}

static void the_first_are_those_of_the_whole_order(void **state)
{
    enum { MOST = 70 };
    uint32_t key[MOST], all[MOST], some[MOST], seed = 1;
    (void)state;
    for (size_t n = 0; n <= MOST; n++)
        for (size_t k = 0; k <= n; k++) {
            for (uint32_t i = 0; i < n; i++) {
                seed = seed * 1664525 + 1013904223;
                key[i] = (seed >> 16) % 20;
                all[i] = some[i] = (uint32_t)n - 1 - i;
            }
            qsort_r(all, n, sizeof *all, firsts_by_key, key);
            firsts_order(some, n, k, firsts_by_key, key);
            assert_memory_equal(some, all, k * sizeof *all);
            /* None is lost, and none is there twice. */
            qsort_r(some, n, sizeof *some, firsts_by_key, key);
            assert_memory_equal(some, all, n * sizeof *all);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_first_are_those_of_the_whole_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
