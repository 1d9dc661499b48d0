/* Anonymous maps, of which any part may go. */
#include "model/heap_areas.h"

#include <stdlib.h>
#include <string.h>

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

static void add(struct heap_areas *a, uint64_t start, uint64_t end)
{
    heap_areas_add(a, &(struct heap_area){.start = start, .end = end, .told_bytes = end - start});
}

static void the_middle_of_an_area_leaves_two(void **state)
{
    (void)state;
    struct heap_areas a = {0};
    struct heap_cut cut;
    add(&a, 100, 200);
    assert_true(heap_areas_cut(&a, 140, 150, &cut));
    assert_int_equal(cut.n_left, 2);
    assert_int_equal(cut.was.end - cut.was.start, 100);
    assert_int_equal(heap_areas_find(&a, 100)->end, 140);
    assert_int_equal(heap_areas_find(&a, 100)->told_bytes, 100);
    assert_int_equal(heap_areas_find(&a, 150)->end, 200);
    assert_int_equal(heap_areas_find(&a, 150)->told_bytes, 0);
    assert_false(heap_areas_cut(&a, 140, 150, &cut));
    heap_areas_done(&a);
}

static void a_cut_goes_through_all_that_it_touches_and_no_more(void **state)
{
    (void)state;
    struct heap_areas a = {0};
    struct heap_cut cut;
    add(&a, 300, 400);
    add(&a, 100, 200);
    add(&a, 400, 500);
    add(&a, 200, 250);
    int n = 0, whole = 0;
    for (; heap_areas_cut(&a, 150, 400, &cut); n++)
        whole += cut.n_left == 0;
    assert_int_equal(n, 3);
    assert_int_equal(whole, 2);
    assert_int_equal(a.at.n, 2);
    assert_int_equal(heap_areas_find(&a, 100)->end, 150);
    assert_int_equal(heap_areas_find(&a, 400)->end, 500);
    assert_null(heap_areas_find(&a, 150));
    heap_areas_done(&a);
}

/* Against a picture of every page. */
static void thousands_of_maps_and_cuts_leave_what_a_picture_has(void **state)
{
    (void)state;
    enum { PAGES = 256 };
    bool is[PAGES] = {0};
    struct heap_areas a = {0};
    struct heap_cut cut;
    srandom(7);
    for (int i = 0; i < 20000; i++) {
        uint64_t start = (uint64_t)random() % PAGES, n = 1 + (uint64_t)random() % 20;
        uint64_t end = start + n < PAGES ? start + n : PAGES;
        while (heap_areas_cut(&a, start, end, &cut))
            ;
        bool adds = random() % 2;
        if (adds)
            add(&a, start, end);
        memset(is + start, adds, end - start);
        bool seen[PAGES] = {0};
        for (size_t k = 0; k < a.at.n; k++) {
            const struct heap_area *at = &a.at.at[k];
            assert_true(at->start < at->end && (!k || at[-1].end <= at->start));
            memset(seen + at->start, 1, at->end - at->start);
        }
        assert_memory_equal(is, seen, sizeof is);
    }
    heap_areas_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_middle_of_an_area_leaves_two),
        cmocka_unit_test(a_cut_goes_through_all_that_it_touches_and_no_more),
        cmocka_unit_test(thousands_of_maps_and_cuts_leave_what_a_picture_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
