#include "wire/column.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ROWS = 600 };

/* Cells of all lengths, with runs of equal ones between them that start and end anywhere. */
static void make_cells(uint64_t *cell, size_t n, uint64_t seed)
{
    uint64_t x = seed, now = 0;
    for (size_t i = 0; i < n;) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        size_t run = x >> 33 & 1 ? x >> 40 & 31 : 0;
        now += (x >> 8) >> (x >> 58);
        do
            cell[i++] = now;
        while (run-- && i < n);
    }
}

static void cells_come_back(void **state)
{
    (void)state;
    uint64_t cell[ROWS], back[ROWS];
    for (uint64_t seed = 1; seed < 200; seed++) {
        size_t n = seed % 7 ? ROWS - seed : seed;
        autobuf struct buf b = {0};
        make_cells(cell, n, seed);
        column_write(&b, row, 0, n, cell[row]);
        struct cursor in = cursor_of(b.at, b.n);
        assert_true(column_read(&in, back, n));
        assert_int_equal(cursor_left(&in), 0);
        assert_memory_equal(cell, back, n * sizeof *cell);
    }
}

/* Bytes of its own size, so that a sanitizer sees a look behind the end. */
static void a_column_that_is_cut_is_bad(void **state)
{
    (void)state;
    uint64_t cell[ROWS], back[ROWS];
    for (uint64_t seed = 1; seed < 40; seed++) {
        autobuf struct buf b = {0};
        make_cells(cell, 60, seed);
        column_write(&b, row, 0, 60, cell[row]);
        for (size_t n = 0; n < b.n; n++) {
            autofree char *cut = mem_realloc(NULL, n + !n);
            if (n)
                memcpy(cut, b.at, n);
            struct cursor in = cursor_of(cut, n);
            assert_false(column_read(&in, back, 60));
            assert_true(in.bad);
            assert_false(column_read(&in, back, 0));
        }
    }
}

static void limits_and_sums(void **state)
{
    (void)state;
    const uint64_t cell[] = {3, 9, 4};
    uint64_t sum;
    assert_true(column_below(cell, 3, 10));
    assert_false(column_below(cell, 3, 9));
    assert_true(column_below(cell, 0, 0));
    assert_true(column_sum(cell, 3, 16, &sum));
    assert_int_equal(sum, 16);
    assert_false(column_sum(cell, 3, 15, &sum));
    const uint64_t large[] = {UINT64_MAX, 2};
    assert_false(column_sum(large, 2, UINT64_MAX, &sum));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_come_back),
        cmocka_unit_test(a_column_that_is_cut_is_bad),
        cmocka_unit_test(limits_and_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
