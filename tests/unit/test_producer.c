/*
 * What a compiler says of its options: only gcc lists them, and the last -O counts.
 */
#include "symbol/producer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void only_a_compiler_that_lists_its_options_can_lack_one(void **state)
{
    (void)state;
    assert_true(producer_optimises_nothing("GNU C17 12.2.0 -mtune=generic -march=x86-64 -g"));
    assert_true(producer_optimises_nothing("GNU C++17 12.2.0 -g -O0 -fPIC"));
    assert_true(producer_optimises_nothing("GNU C17 12.2.0 -g -O2 -O0"));
    assert_false(producer_optimises_nothing("GNU C17 12.2.0 -g -O0 -O2"));
    assert_false(producer_optimises_nothing("GNU C17 12.2.0 -g -Og"));
    assert_false(producer_optimises_nothing("GNU C17 12.2.0 -g -Os"));
    assert_false(producer_optimises_nothing("GNU AS 2.40"));
    assert_false(producer_optimises_nothing("Debian clang version 14.0.6"));
    assert_false(producer_optimises_nothing("clang LLVM (rustc version 1.63.0)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_compiler_that_lists_its_options_can_lack_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
