/*
 * How sure the shares of a call tree are: the intervals of the list of functions, by path.
 */
#include "analysis/treeshare.h"

#include "analysis/flat.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

enum { SAMPLES = 3000 };

struct tree_case {
    struct profile *profile;
    struct selection all;
    struct calltree *tree;
    struct flat *list;
    struct treeshare *shares;
};

/* Every function on one path only, so the list of functions has the same figures as the tree. */
static void add_samples(struct profile *p, bool timed)
{
    static const char *const paths[][3] = {{"main", "read", "parse"},
                                           {"main", "read", NULL},
                                           {"main", "write", "flush"},
                                           {"idle", NULL, NULL}};
    for (uint32_t i = 0; i < SAMPLES; i++) {
        struct frame_id frames[3];
        struct err err;
        int64_t one = 1;
        /* in stretches of 40, so that neighbours are alike; every seventh is something else */
        uint32_t path = i % 7 == 0 ? 3 : (i / 40 * 2654435761u >> 8) % 3;
        size_t n = 0;
        for (; n < 3 && paths[path][n]; n++)
            frames[n] = profile_add_named_frame(p, text_of(paths[path][n]), FRAME_USER);
        struct row row = {.stack = stacks_intern(&p->stacks, frames, n),
                          .has_time = timed,
                          .time_ns = timed ? 1000 * (SAMPLES - i) : 0, /* newest first */
                          .values = &one};
        assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
    }
}

static void build_case(struct tree_case *c, bool timed)
{
    c->profile = profile_new();
    assert_int_equal(support_value(c->profile, "cpu-clock", "samples", "count"), 0);
    add_samples(c->profile, timed);
    c->all = selection_all(c->profile, (struct value_ref){0, 0});
    c->tree = calltree_build(&c->all, &(struct calltree_opts){.keep_rows = true});
    c->list = flat_build(&c->all, FLAT_FUNCTION);
    c->shares = treeshare_build(c->tree, &c->all, 0);
}

static void case_done(struct tree_case *c)
{
    free(c->shares);
    flat_free(c->list);
    calltree_free(c->tree);
    profile_free(c->profile);
}

static void assert_interval(struct interval a, struct interval b)
{
    assert_float_equal(a.low, b.low, 1e-9);
    assert_float_equal(a.high, b.high, 1e-9);
}

static uint32_t row_of_node(const struct tree_case *c, uint32_t node)
{
    struct text name = labels_text(&c->tree->labels, c->tree->label[node]);
    for (uint32_t i = 0; i < c->list->rows.n; i++)
        if (text_is(flat_name(c->list, i), name.at))
            return i;
    fail_msg("a node has no row");
    return 0;
}

static void assert_as_in_the_list(const struct tree_case *c)
{
    assert_int_equal(c->tree->n, 7);
    for (uint32_t i = 1; i < c->tree->n; i++) {
        uint32_t row = row_of_node(c, i);
        assert_true(c->shares[i].known);
        assert_interval(c->shares[i].total, flat_share_of_row(c->list, row, FLAT_TOTAL).interval);
        assert_interval(c->shares[i].self, flat_share_of_row(c->list, row, FLAT_SELF).interval);
    }
}

static void nodes_are_as_sure_as_the_list_of_functions(void **state)
{
    struct tree_case c;
    (void)state;
    build_case(&c, true);
    assert_as_in_the_list(&c);
    assert_float_equal(c.shares[0].total.high, 1, 1e-9);
    assert_true(c.shares[0].total.low > 0.99);
    case_done(&c);
}

static void without_times_samples_count_as_independent(void **state)
{
    struct tree_case c, timed;
    (void)state;
    build_case(&c, false);
    build_case(&timed, true);
    assert_as_in_the_list(&c);
    bool wider = false;
    for (uint32_t i = 1; i < c.tree->n; i++)
        wider |= timed.shares[i].total.high - timed.shares[i].total.low >
                 1.5 * (c.shares[i].total.high - c.shares[i].total.low);
    assert_true(wider); /* stretches of samples that are alike tell less */
    case_done(&timed);
    case_done(&c);
}

static void what_is_too_small_has_none_and_the_rest_has_the_same(void **state)
{
    struct tree_case c;
    size_t n_known = 0;
    (void)state;
    build_case(&c, true);
    double least = 0.2;
    struct treeshare *large = treeshare_build(c.tree, &c.all, least);
    for (uint32_t i = 0; i < c.tree->n; i++) {
        bool is_large = (double)c.tree->total[i] >= least * (double)c.tree->total[0];
        assert_true(c.shares[i].known);
        assert_int_equal(large[i].known, is_large);
        if (is_large)
            assert_memory_equal(&large[i], &c.shares[i], sizeof large[i]);
        n_known += is_large;
    }
    assert_true(n_known > 1 && n_known < c.tree->n);
    free(large);
    case_done(&c);
}

static void a_profile_without_counts_has_no_intervals(void **state)
{
    struct tree_case c = {.profile = profile_new()};
    struct err err;
    int64_t bytes = 4096;
    (void)state;
    assert_int_equal(support_value(c.profile, "allocations", "bytes", "bytes"), 0);
    struct frame_id f = profile_add_named_frame(c.profile, text_of("main"), FRAME_USER);
    struct row row = {.stack = stacks_intern(&c.profile->stacks, &f, 1), .values = &bytes};
    assert_int_equal(profile_add_row(c.profile, 0, &row, &err), 0);
    c.all = selection_all(c.profile, (struct value_ref){0, 0});
    c.tree = calltree_build(&c.all, &(struct calltree_opts){.keep_rows = true});
    c.shares = treeshare_build(c.tree, &c.all, 0);
    for (size_t i = 0; i < c.tree->n; i++)
        assert_false(c.shares[i].known);
    case_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_as_sure_as_the_list_of_functions),
        cmocka_unit_test(without_times_samples_count_as_independent),
        cmocka_unit_test(what_is_too_small_has_none_and_the_rest_has_the_same),
        cmocka_unit_test(a_profile_without_counts_has_no_intervals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
