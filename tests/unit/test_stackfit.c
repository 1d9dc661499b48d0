/*
 * How much of each stack is copied follows what the walks need.
 */
#include "record/stackfit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Walks that fit until the part is copied; at most MAX. */
static int walks_until_part(struct stackfit *f, int max)
{
    int n = 0;
    while (!f->part && n < max) {
        n++;
        if (stackfit_asks(f))
            stackfit_add(f, true);
    }
    return n;
}

static void all_is_copied_at_first(void **state)
{
    struct stackfit f;
    (void)state;
    stackfit_init(&f);
    assert_false(f.part);
    assert_true(stackfit_asks(&f));
    assert_false(stackfit_add(&f, true)); /* one walk proves nothing */
    assert_false(f.part);
}

static void a_part_is_copied_once_many_walks_fit(void **state)
{
    struct stackfit f;
    (void)state;
    stackfit_init(&f);
    assert_in_range(walks_until_part(&f, 10000), 10, 1000);
    assert_true(f.part);
    assert_false(stackfit_asks(&f));
    for (int i = 0; i < 1000; i++)
        assert_false(stackfit_add(&f, true));
    assert_true(f.part);
}

static void one_cut_stack_brings_all_back(void **state)
{
    struct stackfit f;
    (void)state;
    stackfit_init(&f);
    walks_until_part(&f, 10000);
    assert_true(stackfit_add(&f, false));
    assert_false(f.part);
}

static void a_program_that_needs_all_now_and_then_gets_all(void **state)
{
    struct stackfit f;
    int cut = 0;
    (void)state;
    stackfit_init(&f);
    /* Every 500th of a million stacks is deep. */
    for (int i = 1; i <= 1000000; i++) {
        bool deep = i % 500 == 0;
        cut += f.part && deep;
        if (f.part || stackfit_asks(&f))
            stackfit_add(&f, !deep);
    }
    assert_in_range(cut, 1, 20);
    assert_false(f.part);
}

static void deep_stacks_are_not_walked_twice_each_time(void **state)
{
    struct stackfit f;
    int asked = 0;
    (void)state;
    stackfit_init(&f);
    for (int i = 0; i < 100000; i++)
        if (stackfit_asks(&f)) {
            stackfit_add(&f, false);
            asked++;
        }
    assert_false(f.part);
    assert_in_range(asked, 1, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_copied_at_first),
        cmocka_unit_test(a_part_is_copied_once_many_walks_fit),
        cmocka_unit_test(one_cut_stack_brings_all_back),
        cmocka_unit_test(a_program_that_needs_all_now_and_then_gets_all),
        cmocka_unit_test(deep_stacks_are_not_walked_twice_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
