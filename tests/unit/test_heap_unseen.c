/* Programs that no agent got into. */
#include "record/heap_unseen.h"

#include <stdlib.h>
#include <string.h>

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

static void unseen_are(struct heap_unseen *u, const char *names)
{
    autobuf struct buf b = {0};
    heap_unseen_print(u, &b);
    assert_string_equal(buf_cstr(&b), names);
}

static void who_runs_and_reports_nothing_was_not_seen(void **state)
{
    (void)state;
    struct heap_unseen u = {0};
    heap_unseen_exec(&u, 10, "sh");
    heap_unseen_start(&u, 10, "sh");
    unseen_are(&u, "");
    heap_unseen_exec(&u, 11, "static");
    heap_unseen_exec(&u, 12, "static");
    heap_unseen_exec(&u, 12, "other");
    unseen_are(&u, "static, other");
    heap_unseen_done(&u);
}

/* The two kinds of report come by different ways. */
static void reports_may_come_in_any_order(void **state)
{
    (void)state;
    struct heap_unseen u = {0};
    heap_unseen_start(&u, 10, "env");
    heap_unseen_start(&u, 10, "app");
    heap_unseen_exec(&u, 10, "env");
    heap_unseen_exec(&u, 10, "app");
    unseen_are(&u, "");
    heap_unseen_exec(&u, 10, "env"); /* and again */
    unseen_are(&u, "env");
    heap_unseen_done(&u);
}

static void another_process_of_that_name_does_not_count(void **state)
{
    (void)state;
    struct heap_unseen u = {0};
    heap_unseen_exec(&u, 10, "app");
    heap_unseen_start(&u, 11, "app");
    unseen_are(&u, "app");
    heap_unseen_done(&u);
}

static void any_number_of_programs_takes_bounded_room(void **state)
{
    (void)state;
    struct heap_unseen u = {0};
    for (int i = 1; i < 20000; i++)
        heap_unseen_exec(&u, i, "static");
    unseen_are(&u, "static");
    assert_true(u.execs.n < 10000);
    heap_unseen_done(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_runs_and_reports_nothing_was_not_seen),
        cmocka_unit_test(reports_may_come_in_any_order),
        cmocka_unit_test(another_process_of_that_name_does_not_count),
        cmocka_unit_test(any_number_of_programs_takes_bounded_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
