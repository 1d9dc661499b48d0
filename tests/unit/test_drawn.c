/* Shares of bytes where blocks were drawn by their size: what is certain adds no doubt. */
#include "analysis/drawn.h"

#include "analysis/flat.h"
#include "analysis/treeshare.h"
#include "model/event.h"
#include "model/meta.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

#define MEAN 524288.0

static void a_small_block_is_as_uncertain_as_the_mean(void **state)
{
    (void)state;
    assert_true(fabs(drawn_variance(MEAN, MEAN, 1) / (MEAN * MEAN) - 1) < 1e-9);
    assert_true(fabs(drawn_variance(MEAN, 7 * MEAN, 7) / (MEAN * MEAN) - 7) < 1e-9);
}

static void a_large_block_is_certain(void **state)
{
    (void)state;
    assert_true(drawn_variance(MEAN, 100 * MEAN, 1) < 1e-9 * MEAN * MEAN);
}

/* A block of 1.5 means is drawn with 0.777, and a sample of it stands for 1.931 means. */
static void a_block_of_some_size_is_in_between(void **state)
{
    (void)state;
    double p = 1 - exp(-1.5), weight = 1.5 / p;
    double expected = (1 - p) * weight * weight;
    assert_true(fabs(drawn_variance(MEAN, weight * MEAN, 1) / (MEAN * MEAN) - expected) < 1e-9);
}

static void one_large_block_hides_no_small_ones(void **state)
{
    (void)state;
    double v = drawn_variance(MEAN, 160 * MEAN + 9 * MEAN, 10) / (MEAN * MEAN);
    assert_true(fabs(v - 9) < 1e-9);
}

static void nothing_drawn_has_no_variance(void **state)
{
    (void)state;
    assert_true(drawn_variance(MEAN, 0, 0) == 0);
    assert_true(drawn_variance(MEAN, 0, 1) == 0);
}

/* --- in lists and trees --- */

static struct profile *new_drawn(bool with_mean)
{
    struct profile *p = profile_new();
    int stream = profile_add_stream(p, "heap", event_obtained(text_of("heap")));
    profile_add_value(p, stream, "allocated", "bytes");
    profile_add_value(p, stream, "samples", "count");
    if (with_mean)
        meta_set_u64(&p->meta, META_HEAP_SAMPLE_BYTES, (uint64_t)MEAN);
    return p;
}

static void drawn_took(struct profile *p, const char *function, double means, int64_t samples)
{
    struct err err;
    int64_t values[] = {(int64_t)(means * MEAN), samples};
    struct stack_id stack = stacks_push(&p->stacks, (struct stack_id){0},
                                        profile_add_named_frame(p, text_of(function), FRAME_USER));
    struct row row = {.stack = stack, .has_time = true, .time_ns = 1, .values = values};
    assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
}

/* A block of 300 means among 100 small ones, 60 of them in one function. */
static struct profile *large_among_small(bool with_mean)
{
    struct profile *p = new_drawn(with_mean);
    drawn_took(p, "large", 300, 1);
    drawn_took(p, "small", 60, 60);
    drawn_took(p, "other", 40, 40);
    return p;
}

static struct flat_share drawn_share(const struct selection *s, const char *function)
{
    struct err err;
    struct flat *f = flat_build(s, FLAT_FUNCTION);
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    assert_int_equal(flat_find(f, function, in_set, &err), 0);
    struct flat_share one = flat_share_of_set(f, in_set, FLAT_TOTAL);
    for (uint32_t i = 0; i < f->rows.n; i++) {
        struct flat_pair pair;
        flat_shares_of_rows(f, &i, 1, &pair);
        if (in_set[i]) { /* one by one and many at once agree */
            assert_true(fabs(pair.total.interval.low - one.interval.low) < 1e-12);
            assert_true(fabs(pair.total.interval.high - one.interval.high) < 1e-12);
        }
    }
    flat_free(f);
    return one;
}

/* By hand: the variance of small / whole is (60 * 0.85^2 + 40 * 0.15^2) / 400^2, half 0.0324. */
static void a_certain_block_leaves_the_others_intervals_narrow(void **state)
{
    (void)state;
    struct profile *p = large_among_small(true);
    struct selection s = selection_all(p, (struct value_ref){0, 0});
    struct flat_share small = drawn_share(&s, "small"), large = drawn_share(&s, "large");
    assert_true(fabs(small.share - 0.15) < 1e-9);
    assert_true(fabs(small.interval.high - small.interval.low - 2 * 0.0324) < 0.002);
    assert_true(large.interval.low > 0.70 && large.interval.high < 0.80);
    profile_free(p);
}

static void without_the_mean_a_large_block_is_a_great_weight(void **state)
{
    (void)state;
    struct profile *p = large_among_small(false);
    struct selection s = selection_all(p, (struct value_ref){0, 0});
    struct flat_share small = drawn_share(&s, "small");
    assert_true(small.interval.high - small.interval.low > 0.5);
    profile_free(p);
}

static void what_was_not_seen_may_be_three_means(void **state)
{
    (void)state;
    double n = drawn_effective_n(MEAN, 400 * MEAN, 0, 0, 100 * MEAN * MEAN);
    assert_true(n == 400);
    /* One that was seen for certain may have a block more that was not drawn. */
    n = drawn_effective_n(MEAN, 400 * MEAN, 0.5, 0, 0);
    assert_true(fabs(n - 0.25 * 400 * 400 / 0.5) < 1e-6);
}

static void a_tree_has_the_intervals_of_the_list(void **state)
{
    (void)state;
    struct profile *p = large_among_small(true);
    struct selection s = selection_all(p, (struct value_ref){0, 0});
    struct calltree *t = calltree_build(&s, &(struct calltree_opts){.keep_rows = true});
    struct treeshare *shares = treeshare_build(t, &s, 0);
    struct flat_share small = drawn_share(&s, "small");
    int found = 0;
    for (uint32_t i = 1; i < t->n; i++) {
        if (t->total[i] != (int64_t)(60 * MEAN))
            continue;
        found++;
        assert_true(shares[i].known);
        assert_true(fabs(shares[i].total.low - small.interval.low) < 1e-12);
        assert_true(fabs(shares[i].self.high - small.interval.high) < 1e-12);
    }
    assert_int_equal(found, 1);
    free(shares);
    calltree_free(t);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_block_is_as_uncertain_as_the_mean),
        cmocka_unit_test(a_large_block_is_certain),
        cmocka_unit_test(a_block_of_some_size_is_in_between),
        cmocka_unit_test(one_large_block_hides_no_small_ones),
        cmocka_unit_test(nothing_drawn_has_no_variance),
        cmocka_unit_test(a_certain_block_leaves_the_others_intervals_narrow),
        cmocka_unit_test(without_the_mean_a_large_block_is_a_great_weight),
        cmocka_unit_test(what_was_not_seen_may_be_three_means),
        cmocka_unit_test(a_tree_has_the_intervals_of_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
