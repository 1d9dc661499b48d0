/* test_search.c - what is sorted by a key is found by it. */
#include "base/search.h"

#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct place {
    char name;
    uint64_t start;
};

typedef VEC(struct place) places;

static char name_at(const places *p, uint64_t key)
{
    const struct place *found = search_last(p, start, key);
    return found ? found->name : '-';
}

static void the_last_that_is_not_above_is_found(void **state)
{
    static const struct place all[] = {{'a', 10}, {'b', 20}, {'c', 20}, {'d', UINT64_MAX}};
    places p = {0};
    (void)state;
    assert_int_equal(name_at(&p, 10), '-'); /* of none */
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *vec_push(&p) = all[i];
    assert_int_equal(name_at(&p, 0), '-');
    assert_int_equal(name_at(&p, 9), '-');
    assert_int_equal(name_at(&p, 10), 'a');
    assert_int_equal(name_at(&p, 19), 'a');
    assert_int_equal(name_at(&p, 20), 'c'); /* of equal ones the last */
    assert_int_equal(name_at(&p, UINT64_MAX - 1), 'c');
    assert_int_equal(name_at(&p, UINT64_MAX), 'd');
    vec_done(&p);
}

/* Against counting, for every length up to a few and every place. */
static void as_many_are_counted_as_are_not_above(void **state)
{
    (void)state;
    for (size_t n = 0; n < 40; n++) {
        uint64_t keys[40];
        for (size_t i = 0; i < n; i++)
            keys[i] = 3 * (uint64_t)i + 1;
        for (uint64_t key = 0; key < 125; key++) {
            size_t want = 0;
            for (size_t i = 0; i < n; i++)
                want += keys[i] <= key;
            assert_int_equal(search_up_to(keys, sizeof *keys, n, key), want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_that_is_not_above_is_found),
        cmocka_unit_test(as_many_are_counted_as_are_not_above),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
