/* The index of a large table of rules finds the row that a look at all of them finds. */
#include "unwind/table.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <string.h>

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

static const struct unwind_row *row_by_looking(const struct unwind_table *t, uint64_t vaddr)
{
    const struct unwind_row *found = NULL;
    for (size_t i = 0; i < t->n_rows && t->rows[i].pc + t->base <= vaddr; i++)
        found = &t->rows[i];
    return found;
}

static void an_index_finds_what_a_look_at_all_rows_finds(void **state)
{
    (void)state;
    struct unwind_table *t;
    struct err err;
    Dl_info libc;
    assert_true(dladdr((void *)(uintptr_t)&strlen, &libc) != 0);
    assert_int_equal(unwind_table_load(libc.dli_fname, &t, &err), 0);
    assert_non_null(t->before);
    uint64_t last = t->base + t->rows[t->n_rows - 1].pc;
    for (uint64_t at = t->base; at < last + 20000; at += 997)
        assert_ptr_equal(unwind_table_row(t, at), row_by_looking(t, at));
    for (size_t i = 0; i < t->n_rows; i += 41) { /* at the first byte of a row, and before it */
        uint64_t at = t->base + t->rows[i].pc;
        assert_ptr_equal(unwind_table_row(t, at), row_by_looking(t, at));
        assert_ptr_equal(unwind_table_row(t, at - 1), row_by_looking(t, at - 1));
    }
    unwind_table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_finds_what_a_look_at_all_rows_finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
