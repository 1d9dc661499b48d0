/*
 * Rates of cache and branch misses, for functions and the whole.
 */
#include "analysis/misses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

static const char *const events[] = {"Ir",   "Dr",   "Dw", "D1mr", "D1mw", "ILmr",
                                     "DLmr", "DLmw", "Bc", "Bcm",  "I1mr"};
enum { N = sizeof events / sizeof *events };

static struct profile *make_profile(int n_events)
{
    struct profile *p = profile_new();
    for (int i = 0; i < n_events; i++)
        support_value(p, "", events[i], "count");
    return p;
}

static void add(struct profile *p, const char *name, const int64_t *values)
{
    struct frame_id main_frame = profile_add_named_frame(p, text_of("main"), FRAME_USER);
    struct frame_id frames[] = {main_frame, profile_add_named_frame(p, text_of(name), FRAME_USER)};
    struct row s = {.stack = stacks_intern(&p->stacks, frames, 2), .values = values};
    struct err err;
    assert_int_equal(profile_add_row(p, 0, &s, &err), 0);
}

static const struct misses_row *find(const struct misses *c, const struct flat *f, const char *name)
{
    for (size_t i = 0; i < c->rows.n; i++)
        if (text_is(flat_name(f, c->rows.at[i].row), name))
            return &c->rows.at[i];
    return NULL;
}

static void rates_are_of_what_could_miss(void **state)
{
    (void)state;
    struct profile *p = make_profile(N);
    add(p, "hot", (const int64_t[]){1000, 300, 100, 30, 10, 1, 5, 8, 200, 50, 20});
    add(p, "cool", (const int64_t[]){9000, 3000, 600, 3, 0, 0, 0, 0, 800, 0, 0});
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    struct misses c = misses_build(f);
    assert_true(c.has_i1 && c.has_data && c.has_ll && c.has_branches);
    const struct misses_row *hot = find(&c, f, "hot"), *cool = find(&c, f, "cool");
    assert_ptr_equal(hot, &c.rows.at[0]);
    assert_true(misses_i1_rate(&hot->counts) == 0.02);
    assert_true(misses_d1_rate(&hot->counts) == 0.1);
    assert_true(misses_ll_rate(&hot->counts) == 14.0 / 1400);
    assert_true(misses_branch_rate(&hot->counts) == 0.25);
    assert_true(hot->d1_flag && hot->ll_flag);
    assert_false(cool->d1_flag || cool->ll_flag);
    assert_int_equal(c.whole.accesses, 4000);
    assert_int_equal(c.whole.d1_misses, 43);
    assert_false(c.d1_flag || c.ll_flag);
    assert_null(find(&c, f, "main")); /* it has nothing of its own */
    misses_done(&c);
    flat_free(f);
    profile_free(p);
}

/* Simulators list their events in an order of their own. */
static void the_order_of_columns_does_not_matter(void **state)
{
    static const int64_t hot[] = {1000, 300, 100, 30, 10, 1, 5, 8, 200, 50, 20};
    (void)state;
    for (int first = 0; first < N; first++) {
        struct profile *p = profile_new();
        int64_t turned[N];
        for (int i = 0; i < N; i++) {
            support_value(p, "", events[(first + i) % N], "count");
            turned[i] = hot[(first + i) % N];
        }
        add(p, "hot", turned);
        struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
        struct misses c = misses_build(f);
        assert_true(c.has_i1 && c.has_data && c.has_ll && c.has_branches);
        assert_true(misses_i1_rate(&c.whole) == 0.02);
        assert_true(misses_d1_rate(&c.whole) == 0.1);
        assert_true(misses_ll_rate(&c.whole) == 14.0 / 1400);
        assert_true(misses_branch_rate(&c.whole) == 0.25);
        misses_done(&c);
        flat_free(f);
        profile_free(p);
    }
}

static void a_function_with_any_of_the_events_is_listed(void **state)
{
    (void)state;
    struct profile *p = make_profile(N);
    add(p, "runs", (const int64_t[]){10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    add(p, "reads", (const int64_t[]){0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    add(p, "writes", (const int64_t[]){0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0});
    add(p, "branches", (const int64_t[]){0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0});
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    struct misses c = misses_build(f);
    assert_int_equal(c.rows.n, 4); /* main has nothing of its own */
    assert_null(find(&c, f, "main"));
    misses_done(&c);
    flat_free(f);
    profile_free(p);
}

static void small_functions_are_not_flagged(void **state)
{
    (void)state;
    struct profile *p = make_profile(N);
    add(p, "tiny", (const int64_t[]){10, 5, 4, 5, 4, 1, 5, 4, 0, 0, 0});
    add(p, "large", (const int64_t[]){9000, 3000, 600, 3, 0, 0, 0, 0, 800, 0, 0});
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    struct misses c = misses_build(f);
    assert_false(find(&c, f, "tiny")->d1_flag);
    misses_done(&c);
    flat_free(f);
    profile_free(p);
}

static void without_the_events_nothing_is_known(void **state)
{
    (void)state;
    struct profile *p = make_profile(3);
    add(p, "f", (const int64_t[]){10, 5, 4});
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    struct misses c = misses_build(f);
    assert_false(c.has_data || c.has_ll || c.has_branches);
    assert_int_equal(c.rows.n, 0);
    misses_done(&c);
    flat_free(f);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_of_what_could_miss),
        cmocka_unit_test(the_order_of_columns_does_not_matter),
        cmocka_unit_test(a_function_with_any_of_the_events_is_listed),
        cmocka_unit_test(small_functions_are_not_flagged),
        cmocka_unit_test(without_the_events_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
