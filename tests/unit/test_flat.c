/*
 * The flat list: self and total, recursion once, top, shares, callers and callees, finding.
 */
#include "analysis/flat.h"

#include "source/import.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

static uint32_t row_named(const struct flat *f, const char *name)
{
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (text_is(flat_name(f, i), name))
            return i;
    fail_msg("no row %s", name);
    return 0;
}

static void assert_row(const struct flat *f, const char *name, int64_t self, int64_t total)
{
    const struct flat_row *row = &f->rows.at[row_named(f, name)];
    assert_int_equal(row->self, self);
    assert_int_equal(row->total, total);
}

static void totals_hold_what_is_called(void **state)
{
    (void)state;
    struct profile *p = support_folded("main;a;c 3\nmain;b 2\nmain 1\nother;c 4\n");
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    assert_row(f, "main", 1, 6);
    assert_row(f, "a", 0, 3);
    assert_row(f, "c", 7, 7); /* called from two places: one row */
    assert_int_equal(f->whole, 10);
    flat_free(f);
    profile_free(p);
}

static void recursion_counts_once(void **state)
{
    (void)state;
    struct profile *p = support_folded("main;f;g;f;g;f 5\nmain;f 2\nmain;g;f;h 3\n");
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    assert_row(f, "f", 7, 10);
    assert_row(f, "g", 0, 8);
    assert_int_equal(f->rows.at[row_named(f, "f")].nested, 3);
    assert_int_equal(f->rows.at[row_named(f, "main")].nested, 1);
    struct flat_share s = flat_share_of_row(f, row_named(f, "f"), FLAT_TOTAL);
    assert_true(s.share == 1);
    flat_free(f);
    profile_free(p);
}

static void kernel_and_program_are_apart(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    int type = support_value(p, "cpu-clock", "samples", "count");
    struct frame_id user = profile_add_named_frame(p, text_of("memcpy"), FRAME_USER);
    struct frame_id kernel = profile_add_named_frame(p, text_of("memcpy"), FRAME_KERNEL);
    struct frame_id both[] = {user, kernel};
    struct err err;
    int64_t one = 1;
    struct row s = {.stack = stacks_intern(&p->stacks, both, 2), .values = &one};
    assert_int_equal(profile_add_row(p, 0, &s, &err), 0);
    struct flat *f = flat_build(SUPPORT_ALL(p, type), FLAT_FUNCTION);
    assert_int_equal(f->rows.n, 2);
    uint32_t row;
    assert_int_equal(flat_top(f, FLAT_SELF, 1, &row), 1);
    assert_true(f->rows.at[row].kernel);
    flat_free(f);
    profile_free(p);
}

static void only_the_kernels_functions_lose_the_mark_of_the_kernel(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    int type = support_value(p, "cpu-clock", "samples", "count");
    struct frame_id both[] = {profile_add_named_frame(p, text_of("mine_[k]"), FRAME_USER),
                              profile_add_named_frame(p, text_of("vfs_read_[k]"), FRAME_KERNEL),
                              profile_add_named_frame(p, text_of("vfs_write"), FRAME_KERNEL)};
    struct err err;
    int64_t one = 1;
    struct row s = {.stack = stacks_intern(&p->stacks, both, 3), .values = &one};
    assert_int_equal(profile_add_row(p, 0, &s, &err), 0);
    struct flat *f = flat_build(SUPPORT_ALL(p, type), FLAT_FUNCTION);
    assert_row(f, "mine_[k]", 0, 1);
    assert_row(f, "vfs_read", 0, 1);
    assert_row(f, "vfs_write", 1, 1);
    flat_free(f);
    profile_free(p);
}

static void the_top_is_sorted_and_without_zeros(void **state)
{
    (void)state;
    struct profile *p = support_folded("m;b 2\nm;a 2\nm;c 5\n");
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    uint32_t rows[8];
    assert_int_equal(flat_top(f, FLAT_SELF, 8, rows), 3); /* m did not run */
    assert_true(text_is(flat_name(f, rows[0]), "c"));
    assert_true(text_is(flat_name(f, rows[1]), "a"));
    assert_true(text_is(flat_name(f, rows[2]), "b"));
    assert_int_equal(flat_top(f, FLAT_TOTAL, 1, rows), 1);
    assert_true(text_is(flat_name(f, rows[0]), "m"));
    flat_free(f);
    profile_free(p);
}

/* Samples a millisecond apart: in runs of RUN they alternate between two functions. */
static struct profile *in_runs(int n, int run)
{
    struct profile *p = profile_new();
    support_value(p, "cpu-clock", "samples", "count");
    struct frame_id frames[2] = {profile_add_named_frame(p, text_of("a"), FRAME_USER),
                                 profile_add_named_frame(p, text_of("b"), FRAME_USER)};
    struct stack_id stacks[2] = {stacks_intern(&p->stacks, &frames[0], 1),
                                 stacks_intern(&p->stacks, &frames[1], 1)};
    struct err err;
    int64_t one = 1;
    for (int i = n - 1; i >= 0; i--) { /* as they must be sorted first */
        struct row s = {.stack = stacks[i / run % 2],
                        .has_time = true,
                        .time_ns = (uint64_t)i * 1000000,
                        .values = &one};
        assert_int_equal(profile_add_row(p, 0, &s, &err), 0);
    }
    return p;
}

static double width_of_a(int run)
{
    struct profile *p = in_runs(4000, run);
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    struct flat_share s = flat_share_of_row(f, row_named(f, "a"), FLAT_SELF);
    assert_true(fabs(s.share - 0.5) < 0.01);
    flat_free(f);
    profile_free(p);
    return s.interval.high - s.interval.low;
}

static void runs_in_time_widen_the_interval(void **state)
{
    (void)state;
    double apart = width_of_a(1), together = width_of_a(200);
    assert_true(fabs(apart - 2 * 1.96 * sqrt(0.25 / 4000)) < 0.001);
    assert_true(together > 3 * apart);
}

static void callers_and_callees_sum_up(void **state)
{
    (void)state;
    struct profile *p = support_folded("main;f;x 3\nmain;f;g;f;y 2\nidle;f 4\nf;x 1\nother 9\n");
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    bool in_set[16] = {0};
    in_set[row_named(f, "f")] = true;
    struct flat_calls c = flat_calls_of_set(f, in_set);
    assert_int_equal(c.callers[row_named(f, "main")], 5);
    assert_int_equal(c.callers[row_named(f, "idle")], 4);
    assert_int_equal(c.callers[row_named(f, "g")], 0); /* nested: the outermost tells */
    assert_int_equal(c.from_nothing, 1);
    assert_int_equal(c.callees[row_named(f, "x")], 4);
    assert_int_equal(c.callees[row_named(f, "y")], 2);
    assert_int_equal(c.self, 4);
    flat_calls_done(&c);
    flat_free(f);
    profile_free(p);
}

static void names_are_found_as_people_type_them(void **state)
{
    (void)state;
    struct profile *p =
        support_folded("main;parse_line 3\nmain;parse_file 2\nmain;parse 1\nmain;write 1\n");
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    bool in_set[16] = {0};
    struct err err;
    assert_int_equal(flat_find(f, "parse", in_set, &err), 0); /* exact goes before a part */
    assert_true(in_set[row_named(f, "parse")] && !in_set[row_named(f, "parse_line")]);
    assert_int_equal(flat_find(f, "_line", in_set, &err), 0);
    assert_true(in_set[row_named(f, "parse_line")]);
    assert_int_equal(flat_find(f, "parse_", in_set, &err), -1);
    assert_non_null(strstr(err.text, "matches 2 functions"));
    assert_non_null(strstr(err.text, "parse_line, parse_file"));
    assert_int_equal(flat_find(f, "wriet", in_set, &err), -1);
    assert_non_null(strstr(err.text, "did you mean: 'write'"));
    assert_int_equal(flat_find(f, "zzzzzzzz", in_set, &err), -1);
    assert_non_null(strstr(err.text, "nothing similar"));
    assert_int_equal(flat_find(f, "", in_set, &err), -1);
    flat_free(f);
    profile_free(p);
}

static void misspelt_names_are_compared_with_the_last_part(void **state)
{
    (void)state;
    struct profile *p = support_folded("main;shop::items::push_back 3\nmain;a:push_front 2\n");
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    bool in_set[16] = {0};
    struct err err;
    assert_int_equal(flat_find(f, "push_bakc", in_set, &err), -1);
    assert_non_null(strstr(err.text, "did you mean: 'shop::items::push_back'?"));
    assert_int_equal(flat_find(f, "push_frotn", in_set, &err), -1);
    assert_non_null(strstr(err.text, "'a:push_front'"));
    flat_free(f);
    profile_free(p);
}

/* 100 functions, of which 90 call others, in stacks of up to seven; with times or without. */
static struct profile *many_functions(bool timed)
{
    struct profile *p = profile_new();
    struct err err;
    uint32_t seed = 7;
    support_value(p, "cpu-clock", "samples", "count");
    for (int i = 0; i < 3000; i++) {
        struct stack_id at = {0};
        for (int depth = 0; depth < 7 && seed % 9; depth++) {
            char name[20];
            seed = seed * 1103515245 + 12345;
            snprintf(name, sizeof name, "f%u", (seed >> 16) % 100);
            at = stacks_push(&p->stacks, at, profile_add_named_frame(p, text_of(name), FRAME_USER));
        }
        seed = seed * 1103515245 + 12345;
        int64_t value = 1 + (seed >> 16) % 3;
        struct row r = {
            .stack = at, .has_time = timed, .time_ns = (uint64_t)i * 1000, .values = &value};
        assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    }
    return p;
}

static void shares_of_many_rows_are_those_of_each(void **state)
{
    (void)state;
    for (int timed = 0; timed < 2; timed++) {
        struct profile *p = many_functions(timed);
        const struct selection *s = SUPPORT_ALL(p, 0);
        struct flat *f = flat_build(s, FLAT_FUNCTION);
        uint32_t rows[100];
        struct flat_pair pairs[100];
        size_t n = flat_top(f, FLAT_TOTAL, 100, rows);
        assert_true(n > 90);
        flat_shares_of_rows(f, rows, n, pairs);
        for (size_t i = 0; i < n; i++) {
            struct flat_share self = flat_share_of_row(f, rows[i], FLAT_SELF);
            struct flat_share total = flat_share_of_row(f, rows[i], FLAT_TOTAL);
            assert_true(pairs[i].self.share == self.share && pairs[i].total.share == total.share);
            assert_true(pairs[i].self.n_effective == self.n_effective &&
                        pairs[i].total.n_effective == total.n_effective);
            assert_true(pairs[i].total.interval.low == total.interval.low &&
                        pairs[i].total.interval.high == total.interval.high);
        }
        flat_free(f);
        profile_free(p);
    }
}

/* The first few of many are those of the whole order. */
static void the_top_of_many_is_the_head_of_all(void **state)
{
    (void)state;
    struct profile *p = many_functions(false);
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    uint32_t all[100], some[100];
    size_t n = flat_top(f, FLAT_SELF, 100, all);
    for (size_t i = 1; i < n; i++)
        assert_true(f->rows.at[all[i - 1]].self >= f->rows.at[all[i]].self);
    for (size_t k = 0; k <= n; k++) {
        assert_int_equal(flat_top(f, FLAT_SELF, k, some), k);
        assert_memory_equal(some, all, k * sizeof *some);
    }
    assert_int_equal(flat_count_above(f, FLAT_SELF, 0), n);
    assert_int_equal(flat_count_above(f, FLAT_SELF, (double)f->rows.at[all[0]].self + 1), 0);
    flat_free(f);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_hold_what_is_called),
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(kernel_and_program_are_apart),
        cmocka_unit_test(only_the_kernels_functions_lose_the_mark_of_the_kernel),
        cmocka_unit_test(shares_of_many_rows_are_those_of_each),
        cmocka_unit_test(the_top_of_many_is_the_head_of_all),
        cmocka_unit_test(the_top_is_sorted_and_without_zeros),
        cmocka_unit_test(runs_in_time_widen_the_interval),
        cmocka_unit_test(callers_and_callees_sum_up),
        cmocka_unit_test(names_are_found_as_people_type_them),
        cmocka_unit_test(misspelt_names_are_compared_with_the_last_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
