/* Functions that are known by name: many at once give what one by one does. */
#include "analysis/insight_names.h"
#include "base/buf.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char *const *const lists[] = {
    names_allocation,   names_hashing, names_locks,        names_kernel_copies, names_faults,
    names_exceptions,   names_format,  names_system_calls, names_interrupts_on, names_transfers,
    names_interpreters, names_copies,  names_collectors,   names_fills,         names_syncs,
    names_disk_reads,   names_starts,
};
enum { LISTS = sizeof lists / sizeof *lists };

/* A name that PATTERN may mean: FILL stands for each '*'. */
static void name_of(struct buf *b, const char *pattern, const char *fill)
{
    b->n = 0;
    for (pattern += 2 * (strncmp(pattern, "k:", 2) == 0); *pattern; pattern++)
        if (*pattern == '*')
            buf_str(b, fill);
        else
            buf_byte(b, *pattern);
}

static size_t compare_all(const struct names_set *sets, struct text name)
{
    size_t n = 0;
    for (int kernel = 0; kernel < 2; kernel++)
        for (size_t i = 0; i < LISTS; i++) {
            bool is = names_match(lists[i], name, kernel);
            assert_int_equal(names_set_has(&sets[i], name, kernel), is);
            n += is;
        }
    return n;
}

static void many_at_once_are_as_one_by_one(void **state)
{
    static const char *const fills[] = {"", "x", "_z", "A*b"};
    autofree struct names_set *sets = mem_calloc(LISTS, sizeof *sets);
    autobuf struct buf b = {0};
    size_t n = 0, n_matched = 0;
    (void)state;
    for (size_t i = 0; i < LISTS; i++)
        names_set_init(&sets[i], lists[i]);
    for (size_t i = 0; i < LISTS; i++)
        for (const char *const *p = lists[i]; *p; p++)
            for (size_t k = 0; k < 4; k++) {
                name_of(&b, *p, fills[k]);
                n_matched += compare_all(sets, buf_text(&b)) > 0;
                n++;
                /* One letter less at either end. */
                compare_all(sets, (struct text){b.at, b.n - 1});
                compare_all(sets, (struct text){b.at + 1, b.n - 1});
            }
    assert_true(n_matched >= n / 2);
    compare_all(sets, text_of(""));
    compare_all(sets, text_of("[malloc]"));
    compare_all(sets, text_of("ns::work(int, char const*)"));
}

static void a_list_is_not_too_long(void **state)
{
    (void)state;
    for (size_t i = 0; i < LISTS; i++) {
        size_t n = 0;
        while (lists[i][n])
            n++;
        assert_true(n <= NAMES_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_at_once_are_as_one_by_one),
        cmocka_unit_test(a_list_is_not_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
