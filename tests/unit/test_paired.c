/*
 * test_paired.c - verdicts: how often equal things are called different, and how often real
 * differences are found. Seeds are fixed, so the counts are the same every time.
 */
#include "base/mem.h"
#include "stats/paired.h"
#include "stats/repeats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct paired_opts defaults = {PAIRED_BAND, PAIRED_RISK, 1};

static double draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* Nearly normal. */
static double draw_normal(uint64_t *rng)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += draw(rng);
    return sum;
}

/* --- the plan of looks --- */

/*
 * With what probability equal things ever cross the line: the walk of the number of blocks in
 * which "after" was slower, exact, with what crosses taken out at each look. LAST cuts the plan
 * short as a time budget does: a look takes place there, and it is the last one.
 */
static double crossing(const struct paired_opts *o, size_t last)
{
    autofree double *ways = mem_calloc(last + 2, sizeof *ways);
    autofree double *rank = mem_calloc(last + 1, sizeof *rank);
    for (size_t i = 0; i <= last; i++)
        rank[i] = (double)i;
    double crossed = 0;
    size_t n = 0;
    ways[0] = 1;
    for (int look = 0; n < last; look++) {
        for (size_t to = paired_look_at(look, last); n < to; n++) {
            for (size_t j = n + 1; j > 0; j--)
                ways[j] = (ways[j] + ways[j - 1]) / 2;
            ways[0] /= 2;
        }
        struct paired p;
        double one = 1;
        paired_compare(&p, &one, &one, 1, o, n < last ? look : PAIRED_LAST_LOOK + look);
        struct interval i = repeats_median_interval(rank, n, p.miss); /* ranks from 0 */
        for (size_t j = 0; isfinite(i.low) && j < (size_t)i.low + 1; j++) {
            crossed += ways[j] + ways[n - j];
            ways[j] = ways[n - j] = 0;
        }
    }
    return crossed;
}

static void all_looks_together_keep_the_risk(void **state)
{
    (void)state;
    static const size_t lasts[] = {12, 20, 50, 123, 400, 1111, 3502};
    static const double risks[] = {0.05, 0.01, 0.005, 0.001, 0.0001};
    for (size_t i = 0; i < sizeof lasts / sizeof *lasts; i++)
        for (size_t k = 0; k < sizeof risks / sizeof *risks; k++) {
            struct paired_opts o = {PAIRED_BAND, risks[k], 1};
            double p = crossing(&o, lasts[i]);
            if (p > risks[k])
                fail_msg("risk %g, %zu blocks: crosses with %g", risks[k], lasts[i], p);
        }
}

static void the_last_look_has_what_is_left(void **state)
{
    (void)state;
    double before[12], after[12], each = PAIRED_RISK * 1.5 / PAIRED_LOOKS;
    for (int i = 0; i < 12; i++) {
        before[i] = 1;
        after[i] = 2;
    }
    struct paired p;
    paired_compare(&p, before, after, 12, &defaults, 0);
    assert_int_equal(p.verdict, VERDICT_INCONCLUSIVE);
    paired_compare(&p, before, after, 12, &defaults, PAIRED_LAST_LOOK);
    assert_int_equal(p.verdict, VERDICT_SLOWER);
    assert_true(fabs(p.miss - PAIRED_RISK) < 1e-12);
    paired_compare(&p, before, after, 12, &defaults, PAIRED_LAST_LOOK + 3);
    assert_true(fabs(p.miss - (PAIRED_RISK - 3 * each)) < 1e-12);
    paired_compare(&p, before, after, 12, &defaults, PAIRED_LAST_LOOK + 15);
    assert_true(fabs(p.miss - each) < 1e-12);
    paired_compare(&p, before, after, 12, &defaults, PAIRED_LAST_LOOK + PAIRED_LOOKS);
    assert_int_equal(p.verdict, VERDICT_INCONCLUSIVE);
}

static void the_plan_grows_and_ends(void **state)
{
    (void)state;
    assert_int_equal(paired_look_at(0, 1000), 14);
    for (int i = 1; i < PAIRED_LOOKS; i++)
        assert_true(paired_look_at(i, 100000) > paired_look_at(i - 1, 100000));
    assert_int_equal(paired_look_at(3, 30), 30);
    double before[14], after[14]; /* the first look can prove something */
    for (int i = 0; i < 14; i++) {
        before[i] = 1;
        after[i] = 2;
    }
    struct paired p;
    paired_compare(&p, before, after, 14, &defaults, 0);
    assert_int_equal(p.verdict, VERDICT_SLOWER);
    assert_int_equal(paired_look_at(PAIRED_LOOKS, 777), 777);
}

/* --- machines that are no friends of measurements --- */

struct machine {
    double noise;        /* deviation of one run, of the logarithm */
    double spikes, size; /* how often a run is hit, and by how much at most */
    double drift;        /* how far the level walks from block to block */
    double second;       /* what being second in a block costs */
};

static const struct machine machines[] = {
    {0.01, 0, 0, 0, 0},          /* quiet */
    {0.03, 0.1, 1.0, 0.01, 0},   /* a neighbour now and then */
    {0.05, 0.3, 0.7, 0.05, 0},   /* busy */
    {0.02, 0.02, 3.0, 0.1, 0.02} /* the second run of each block is slower */
};

static double one_run(const struct machine *m, double level, uint64_t *rng)
{
    double noise = m->noise * draw_normal(rng);
    if (draw(rng) < m->spikes)
        noise += m->size * draw(rng);
    return 1e7 * exp(level + noise);
}

enum { BLOCKS = 700 };

/* Blocks are made in couples: one has A first, the other B. */
static void measure(const struct machine *m, double slower, double *a, double *b, uint64_t *rng)
{
    double level = 0;
    bool flip = false;
    for (int i = 0; i < BLOCKS; i++) {
        level += m->drift * draw_normal(rng);
        flip = i % 2 ? !flip : draw(rng) < 0.5;
        double first = one_run(m, level, rng), second = one_run(m, level + m->second, rng);
        a[i] = flip ? second : first;
        b[i] = (flip ? first : second) * (1 + slower);
    }
}

/* As `kelvin bench` does: look after look, until there is a verdict. */
static enum verdict decide(const double *a, const double *b, const struct paired_opts *o)
{
    struct paired p = {0};
    size_t n = 0;
    for (int look = 0; n < BLOCKS && p.verdict == VERDICT_INCONCLUSIVE; look++) {
        n = paired_look_at(look, BLOCKS);
        paired_compare(&p, a, b, n, o, look);
    }
    return p.verdict;
}

enum { SAME = 1 << VERDICT_SAME, FASTER = 1 << VERDICT_FASTER, SLOWER = 1 << VERDICT_SLOWER };

static int count(const struct machine *m, double slower, int tries, int verdicts)
{
    double a[BLOCKS], b[BLOCKS];
    uint64_t rng = 0x9e3779b97f4a7c15u;
    int found = 0;
    for (int i = 0; i < tries; i++) {
        measure(m, slower, a, b, &rng);
        found += (verdicts >> decide(a, b, &defaults)) & 1;
    }
    return found;
}

static void equal_things_are_called_different_at_most_once_in_200(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        int wrong = count(&machines[i], 0, 1000, SLOWER | FASTER);
        print_message("machine %zu: %d of 1000 equal pairs called different\n", i, wrong);
        assert_true(wrong <= 5);
    }
}

static void slow_downs_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        int five = count(&machines[i], 0.05, 100, SLOWER);
        int three = count(&machines[i], 0.03, 100, SLOWER);
        print_message("machine %zu: 5 %% found in %d of 100, 3 %% in %d\n", i, five, three);
        assert_true(five >= 95 && three >= 80);
    }
}

static void on_a_quiet_machine_equal_is_called_same(void **state)
{
    (void)state;
    assert_true(count(&machines[0], 0, 100, SAME) >= 95);
}

static void many_comparisons_share_the_risk(void **state)
{
    (void)state;
    double a[BLOCKS], b[BLOCKS];
    uint64_t rng = 4;
    struct paired one, of_ten;
    struct paired_opts ten = {PAIRED_BAND, PAIRED_RISK, 10};
    measure(&machines[1], 0.01, a, b, &rng);
    paired_compare(&one, a, b, 100, &defaults, 3);
    paired_compare(&of_ten, a, b, 100, &ten, 3);
    assert_true(of_ten.interval.low < one.interval.low);
    assert_true(of_ten.interval.high > one.interval.high);
    assert_true(of_ten.detectable > one.detectable);
}

static void few_blocks_and_bad_values_prove_nothing(void **state)
{
    (void)state;
    const double a[] = {1, 1, 1, 1, 0, -1, NAN, 1}, b[] = {9, 9, 9, 9, 9, 9, 9, 1};
    struct paired p;
    paired_compare(&p, a, b, 8, &defaults, 0);
    assert_int_equal(p.n, 5);
    assert_int_equal(p.ties, 1);
    assert_int_equal(p.verdict, VERDICT_INCONCLUSIVE);
    assert_true(isinf(p.interval.high));
    paired_compare(&p, a, b, 0, &defaults, 0);
    assert_true(isnan(p.ratio) && p.verdict == VERDICT_INCONCLUSIVE);
    paired_compare_apart(&p, a, 0, b, 8, &defaults);
    assert_int_equal(p.verdict, VERDICT_INCONCLUSIVE);
    paired_compare_apart(&p, a, 3, b, 3, &defaults);
    assert_int_equal(p.verdict, VERDICT_INCONCLUSIVE);
}

/* --- apart --- */

static void sessions_apart_need_a_change_beyond_the_band(void **state)
{
    (void)state;
    double a[100], b[100];
    uint64_t rng = 11;
    struct paired p;
    for (int i = 0; i < 100; i++) {
        a[i] = one_run(&machines[0], 0, &rng);
        b[i] = one_run(&machines[0], 0, &rng) * 1.05;
    }
    paired_compare_apart(&p, a, 100, b, 100, &defaults);
    assert_int_equal(p.verdict, VERDICT_SLOWER);
    assert_true(p.interval.low > 1.03 && p.interval.high < 1.07);
    paired_compare_apart(&p, b, 100, a, 30, &defaults);
    assert_int_equal(p.verdict, VERDICT_FASTER);
    for (int i = 0; i < 100; i++)
        b[i] /= 1.04; /* about 1% is left */
    paired_compare_apart(&p, a, 100, b, 100, &defaults);
    assert_int_equal(p.verdict, VERDICT_INCONCLUSIVE);
    for (int i = 0; i < 100; i++)
        b[i] = one_run(&machines[0], 0, &rng);
    paired_compare_apart(&p, a, 100, b, 100, &defaults);
    assert_int_equal(p.verdict, VERDICT_SAME);
}

static void rank_intervals_miss_as_seldom_as_they_say(void **state)
{
    (void)state;
    enum { TRIES = 2000, N = 10 };
    struct paired_opts o = {PAIRED_BAND, 0.05, 1};
    double a[N], b[N];
    uint64_t rng = 77;
    int missed = 0;
    for (int i = 0; i < TRIES; i++) {
        for (int k = 0; k < N; k++) {
            a[k] = one_run(&machines[2], 0, &rng);
            b[k] = one_run(&machines[2], 0, &rng);
        }
        struct paired p;
        paired_compare_apart(&p, a, N, b, N, &o);
        missed += p.interval.low > 1 || p.interval.high < 1;
    }
    assert_in_range(missed, TRIES * 2 / 100, TRIES * 6 / 100); /* exactly 4.3% for 10 and 10 */
}

/* --- counts and gates --- */

static void counts_need_few_runs(void **state)
{
    (void)state;
    const double a[] = {1000000, 1000001, 1000000}, b[] = {1020000, 1020000, 1020003};
    struct paired p;
    paired_compare_counts(&p, a, b, 3, &defaults);
    assert_int_equal(p.verdict, VERDICT_SLOWER);
    assert_true(p.interval.low > 1.0199 && p.interval.high < 1.0201);
    paired_compare_counts(&p, a, a, 3, &defaults);
    assert_int_equal(p.verdict, VERDICT_SAME);
}

static void a_gate_holds_breaks_or_is_not_decided(void **state)
{
    (void)state;
    struct paired p = {.interval = {1.03, 1.06}};
    assert_int_equal(paired_gate(&p, 0.1, 0.01), GATE_HOLDS);
    assert_int_equal(paired_gate(&p, 0.05, 0.01), GATE_UNDECIDED);
    assert_int_equal(paired_gate(&p, 0.02, 0.01), GATE_BROKEN);
    p.interval = (struct interval){0.995, 1.005};
    assert_int_equal(paired_gate(&p, 0, 0.01), GATE_HOLDS);
    p.interval = (struct interval){0, INFINITY};
    assert_int_equal(paired_gate(&p, 10, 0.01), GATE_UNDECIDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_looks_together_keep_the_risk),
        cmocka_unit_test(the_last_look_has_what_is_left),
        cmocka_unit_test(the_plan_grows_and_ends),
        cmocka_unit_test(equal_things_are_called_different_at_most_once_in_200),
        cmocka_unit_test(slow_downs_are_found),
        cmocka_unit_test(on_a_quiet_machine_equal_is_called_same),
        cmocka_unit_test(many_comparisons_share_the_risk),
        cmocka_unit_test(few_blocks_and_bad_values_prove_nothing),
        cmocka_unit_test(sessions_apart_need_a_change_beyond_the_band),
        cmocka_unit_test(rank_intervals_miss_as_seldom_as_they_say),
        cmocka_unit_test(counts_need_few_runs),
        cmocka_unit_test(a_gate_holds_breaks_or_is_not_decided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
