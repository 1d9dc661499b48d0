/* What /proc says of a thread that waits. */
#include "record/hungstack.h"

#include <string.h>

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

static void the_kernels_functions_are_names_without_offsets(void **state)
{
    char text[] = "[<0>] futex_wait_queue+0x60/0x90\n[<0>] do_futex+0xe1/0x1b0\n"
                  "[<0>] entry_SYSCALL_64_after_hwframe+0x64/0xce\n[<0>] 0xffffffff\nnonsense\n";
    const char *names[8];
    (void)state;
    assert_int_equal(hungstack_names(text, names, 8), 3);
    assert_string_equal(names[0], "futex_wait_queue");
    assert_string_equal(names[1], "do_futex");
    assert_string_equal(names[2], "entry_SYSCALL_64_after_hwframe");
    char again[] = "[<0>] a+0x1/0x2\n[<0>] b+0x1/0x2\n";
    assert_int_equal(hungstack_names(again, names, 1), 1);
    char none[] = "";
    assert_int_equal(hungstack_names(none, names, 8), 0);
}

static void the_place_is_the_end_of_the_line(void **state)
{
    uint64_t sp, pc;
    (void)state;
    assert_true(hungstack_place("202 0x7f 0x80 0x0 0x0 0x0 0x0 0x7ffd10 0x7f20\n", &sp, &pc));
    assert_int_equal(sp, 0x7ffd10);
    assert_int_equal(pc, 0x7f20);
    assert_true(hungstack_place("-1 0x7ffd10 0x7f20\n", &sp, &pc));
    assert_false(hungstack_place("running\n", &sp, &pc));
    assert_false(
        hungstack_place("0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n", &sp, &pc)); /* of the kernel */
    assert_false(hungstack_place("", &sp, &pc));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernels_functions_are_names_without_offsets),
        cmocka_unit_test(the_place_is_the_end_of_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
