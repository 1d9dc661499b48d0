/* test_difftest.c - names that compilers made unlike, and the tests that decide whether a part
 * changed. */
#include "analysis/canon.h"
#include "analysis/difftest.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

static void canonical(const char *name, const char *want)
{
    struct buf b = {0};
    canon_add(&b, text_of(name));
    assert_string_equal(buf_cstr(&b), want);
    buf_done(&b);
}

static void names_lose_what_compilers_append(void **state)
{
    (void)state;
    canonical("parse.isra.0", "parse");
    canonical("parse.constprop.0.isra.3.cold", "parse");
    canonical("parse.llvm.1234567890", "parse");
    canonical("parse.lto_priv.0.localalias", "parse");
    canonical("parse.__uniq.42.cold.1", "parse");
    canonical("main.part", "main.part"); /* of Go */
    canonical("parse(int) [clone .part.2] [clone .cold]", "parse(int)");
    canonical("app::run::h0123456789abcdef", "app::run");
    canonical("f()::{lambda(int)#2}::operator()(int) const",
              "f()::{lambda(int)}::operator()(int) const");
    canonical("app::{closure#0}", "app::{closure}");
    canonical("f()::'lambda0'(int)", "f()::'lambda'(int)");
    canonical("f()::$_12::operator()", "f()::$_::operator()");
}

static void other_names_stay(void **state)
{
    (void)state;
    canonical("", "");
    canonical(".cold", ".cold");
    canonical("part.of.it", "part.of.it");
    canonical("h0123456789abcdef", "h0123456789abcdef");
    canonical("operator[]", "operator[]");
    canonical("[libc.so.6]", "[libc.so.6]");
    canonical("sha256", "sha256");
}

/* By hand: pooled 0.5, sd sqrt(0.25 * 2 / 1000), z = 0.05 / 0.02236 = 2.236, p = 0.02535. */
static void a_pair_is_tested_by_its_scores(void **state)
{
    (void)state;
    struct difftest t =
        difftest_pair((struct difftest_share){0.475, 1000}, (struct difftest_share){0.525, 1000});
    assert_float_equal(t.p, 0.02535, 0.0001);
    assert_true(t.low > 0.005 && t.low < 0.008);
    assert_true(t.high > 0.092 && t.high < 0.095);
}

/* 0 of 1000 and 4 of 1000: two tables of the five are as rare, 2 * C(1000,4) / C(2000,4). */
static void few_samples_are_counted_exactly(void **state)
{
    (void)state;
    struct difftest_share none = {0, 1000}, four = {0.004, 1000};
    assert_float_equal(difftest_pair(none, four).p, 0.1246, 0.0005);
    struct difftest_share all = {1, 1000}, most = {0.996, 1000};
    assert_float_equal(difftest_pair(all, most).p, 0.1246, 0.0005);
}

/* Pooled 0.25: 5 of 20, and z = 0.25 / sqrt(0.1875 / 10) = 1.826. With a sample less each, exactly:
 * 2 of 19 and 7 of 19 is 0.1245. */
static void from_five_on_scores_will_do(void **state)
{
    (void)state;
    struct difftest_share low = {0.125, 20}, high = {0.375, 20};
    assert_float_equal(difftest_pair(low, high).p, 0.0679, 0.0005);
    low.n_effective = high.n_effective = 19;
    assert_float_equal(difftest_pair(low, high).p, 0.1245, 0.0005);
}

/* A run of ten times the CPU time: the few samples of the short one weigh as many as there were. */
static void few_samples_stay_few_beside_a_change_of_the_whole(void **state)
{
    (void)state;
    struct difftest_share sixteen = {16.0 / 420, 420}, many = {94.0 / 4074, 4074};
    assert_true(difftest_pair_p(sixteen, many, (struct difftest_typical){log(0.1), 0}) < 1e-4);
    struct difftest_share two = {2.0 / 4000, 4000}, eight = {8.0 / 400, 400};
    assert_true(difftest_pair_p(two, eight, (struct difftest_typical){log(10), 0}) > 0.05);
}

/* A program of one function that takes a seventh of the time, or seven times as long. */
static void all_of_a_program_may_shrink_as_well_as_grow(void **state)
{
    struct difftest_share slow = {0.989, 1317}, fast = {0.995, 188};
    struct difftest_typical less = {log(7.2), 0}, more = {-log(7.2), 0};
    (void)state;
    assert_true(difftest_pair_p(slow, fast, less) < 1e-4);
    assert_true(difftest_pair_p(fast, slow, more) < 1e-4);
    assert_float_equal(difftest_pair_p(slow, fast, less), difftest_pair_p(fast, slow, more), 0);
}

static void no_samples_prove_nothing(void **state)
{
    (void)state;
    struct difftest_share unknown = {0.1, NAN}, some = {0.9, 100};
    assert_true(isnan(difftest_pair(unknown, some).p));
}

/* One quantity of N runs, by dealing them out. */
static double p_of_runs(const double *values, size_t n_before, size_t n)
{
    double noise = 0;
    struct difftest_effect e;
    struct difftest_family f = {
        .values = values, .noise = &noise, .m = 1, .n = n, .n_before = n_before};
    difftest_runs(&f, &e);
    return e.p;
}

static void runs_are_dealt_out_in_all_ways(void **state)
{
    (void)state;
    const double apart[] = {1, 2, 3, 4, 11, 12, 13, 14};
    assert_float_equal(p_of_runs(apart, 4, 8), 2.0 / 70, 1e-9);
    assert_float_equal(difftest_least_p(4, 8), 2.0 / 70, 1e-9);
    assert_float_equal(difftest_least_p(3, 6), 0.1, 1e-9);
    assert_float_equal(difftest_least_p(1, 4), 0.25, 1e-9);
    const double alike[] = {1, 2, 3, 4, 1, 2, 3, 4};
    assert_float_equal(p_of_runs(alike, 4, 8), 1, 1e-9);
    const double uneven[] = {9, 1, 2, 3};
    assert_float_equal(p_of_runs(uneven, 1, 4), 0.25, 1e-9);
}

/* Student's t = 2.25 / sqrt(13.75 / 6 / 2) = 2.1019; p of 6 and of 10 degrees of freedom. */
static void the_fine_test_is_students(void **state)
{
    (void)state;
    const double v[] = {1, 2, 3, 4, 3, 4, 5, 7}, noises[] = {0, 1e-9, 13.75 / 6 * 4};
    const double want[] = {0.080261, 0.061874, 0.318005};
    for (size_t i = 0; i < 3; i++) { /* noise not known, far below what is seen, and far above */
        struct difftest_effect e;
        struct difftest_family f = {
            .values = v, .noise = &noises[i], .m = 1, .n = 8, .n_before = 4};
        difftest_runs(&f, &e);
        assert_float_equal(e.fine, want[i], 1e-5);
        assert_float_equal(e.diff, 2.25, 1e-9);
    }
}

/* Means 2.5 and 12.5, each with an error of sqrt(5/3/4); 6 degrees of freedom, t = 2.447. */
static void runs_give_an_interval(void **state)
{
    (void)state;
    const double v[] = {1, 2, 3, 4, 11, 12, 13, 14};
    struct interval t = difftest_runs_interval(v, 4, 8);
    assert_float_equal(t.low, 10 - 2.447 * 0.91287, 0.01);
    assert_float_equal(t.high, 10 + 2.447 * 0.91287, 0.01);
    assert_true(isinf(difftest_runs_interval(v, 1, 8).high));
}

static void many_runs_are_dealt_out_alike_each_time(void **state)
{
    (void)state;
    double v[40];
    for (int i = 0; i < 40; i++)
        v[i] = (i * 7919 % 101) + (i >= 20 ? 20 : 0);
    double p = p_of_runs(v, 20, 40);
    assert_true(p > 0 && p < 0.2);
    assert_true(p == p_of_runs(v, 20, 40));
}

/*
 * One of ten quantities moves far, the others scatter: its own p cannot go below 2 / 252, which
 * times ten proves nothing; the ten together can.
 */
static void one_of_many_can_stand_out_of_few_runs(void **state)
{
    (void)state;
    enum { M = 10, N = 10 };
    double v[M * N], noise[M] = {0}, fine[M];
    struct difftest_effect e[M];
    uint32_t random = 7;
    for (int i = 0; i < M; i++)
        for (int k = 0; k < N; k++) {
            random = random * 1664525u + 1013904223u;
            v[i * N + k] = (random >> 24) + (i == 3 && k >= 5 ? 2000.0 : 0);
        }
    struct difftest_family f = {.values = v, .noise = noise, .m = M, .n = N, .n_before = 5};
    difftest_runs(&f, e);
    for (int i = 0; i < M; i++)
        fine[i] = e[i].fine;
    assert_float_equal(e[3].p, 2.0 / 252, 1e-9);
    assert_true(fine[3] < 2.0 / 252 / M);
    difftest_adjust(fine, M);
    for (int i = 0; i < M; i++)
        assert_int_equal(fine[i] <= 0.05, i == 3);
}

/* Those with 30% of the time at either end have no say: one and a half of five on each side. */
static void the_typical_change_is_not_that_of_a_few(void **state)
{
    (void)state;
    const struct difftest_change at[] = {
        {9, 1, 1}, {0.1, 1, 1}, {0.2, 1, 1}, {0.3, 0.5, 1}, {-7, 1, 1}};
    struct difftest_typical t = difftest_typical(at, 5);
    assert_float_equal(t.log, (0.5 * 0.1 + 0.2 + 0.5 * 2 * 0.3) / 2.5, 1e-9);
    assert_float_equal(t.variance, 1 / 2.5, 1e-9);
    assert_true(difftest_typical(at, 2).log == 0);
}

/* Ten small functions that moved together are outweighed by three that hold the time. */
static void the_typical_change_goes_by_time_not_by_number(void **state)
{
    (void)state;
    struct difftest_change at[13];
    for (int i = 0; i < 13; i++)
        at[i] =
            i < 10 ? (struct difftest_change){1.5, 1, 0.01} : (struct difftest_change){0, 1, 0.3};
    assert_float_equal(difftest_typical(at, 13).log, 0, 1e-9);
}

/* From tables of Student's t. */
static void student_gives_the_p_of_the_tables(void **state)
{
    (void)state;
    assert_float_equal(stats_t_p(2.306, 8), 0.05, 0.0001);
    assert_float_equal(stats_t_p(-3.3554, 8), 0.01, 0.0001);
    assert_float_equal(stats_t_p(5.0413, 8), 0.001, 0.00001);
    assert_float_equal(stats_t_p(12.7062, 1), 0.05, 0.0001);
    assert_float_equal(stats_t_p(0.1, 8), 0.9228, 0.0001);
    assert_float_equal(stats_t_p(1.95996, 1e6), 0.05, 0.0001);
    assert_true(stats_t_p(0, 5) == 1);
}

/* Runs that happen to be close do not make a small function stand out: sampling has noise. */
static void scatter_counts_at_least_as_what_sampling_gives(void **state)
{
    (void)state;
    const double v[] = {1.00, 1.01, 1.00, 1.01, 1.00, 1.05, 1.06, 1.05, 1.06, 1.05};
    double noise = 0;
    struct difftest_effect e;
    struct difftest_family f = {.values = v, .noise = &noise, .m = 1, .n = 10, .n_before = 5};
    difftest_runs(&f, &e);
    assert_true(e.fine < 0.001);
    noise = 0.01;
    difftest_runs(&f, &e);
    assert_true(e.fine > 0.4);
}

/* A sum of twelve uniform numbers less 6 is nearly normal, with a variance of 1. */
static double normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*state >> 33) / 2147483648.0;
    }
    return sum;
}

/*
 * Five parts in five runs per side, 2,000 times: the runs differ by 1%, sampling adds 3%, and the
 * first part of after grows by GREW. How often it is named, and how often another part is.
 */
struct named {
    int first, other, detectable, seen; /* seen: of those that are detectable */
};

static struct named name_parts(double grew)
{
    enum { M = 5, N = 10, TIMES = 2000 };
    struct named n = {0};
    uint64_t state = 42;
    for (int time = 0; time < TIMES; time++) {
        double v[M * N], common[N], noise[M], fine[M];
        struct difftest_effect e[M];
        for (int k = 0; k < N; k++)
            common[k] = 0.01 * normal(&state);
        for (int i = 0; i < M; i++) {
            noise[i] = 0.03 * 0.03;
            for (int k = 0; k < N; k++)
                v[i * N + k] = common[k] + 0.03 * normal(&state) + (!i && k >= 5 ? grew : 0);
        }
        struct difftest_family f = {
            .values = v, .noise = noise, .common = common, .m = M, .n = N, .n_before = 5};
        difftest_runs(&f, e);
        for (int i = 0; i < M; i++)
            fine[i] = e[i].fine;
        difftest_adjust(fine, M);
        bool first = fine[0] <= 0.01 && e[0].p <= 0.05;
        n.first += first;
        n.other += fine[1] <= 0.01 || fine[2] <= 0.01 || fine[3] <= 0.01 || fine[4] <= 0.01;
        bool detectable = difftest_detectable(&e[0], 0.01 / M, 0) <= grew;
        n.detectable += detectable;
        n.seen += detectable && first;
    }
    return n;
}

/*
 * A standard error of 2% has to show 9.5%, although the part has only ten values of its own: 4.75
 * errors, where a test that knows the scatter asks for 3.1 and ten values alone for 5. Without the
 * others' runs 77% are named.
 */
static void parts_learn_from_each_other_how_much_they_scatter(void **state)
{
    (void)state;
    struct named grown = name_parts(0.095), same = name_parts(0);
    assert_true(grown.first >= 1700);
    assert_true(grown.other <= 40);
    assert_true(same.first + same.other <= 20);
}

/*
 * Four parts, eight runs per side that scatter by 3%, 60 times, and RUN of them slowed to half its
 * speed by somebody else; the first part grows by GREW.
 */
static struct named name_beside_a_slow_run(double grew, int run)
{
    enum { M = 4, N = 16, TIMES = 60 };
    struct named n = {0};
    uint64_t state = 7;
    for (int time = 0; time < TIMES; time++) {
        double v[M * N], common[N], noise[M], fine[M];
        struct difftest_effect e[M];
        for (int k = 0; k < N; k++)
            common[k] = 0.01 * normal(&state) + (k == run ? log(2) : 0);
        for (int i = 0; i < M; i++) {
            noise[i] = 0.02 * 0.02;
            for (int k = 0; k < N; k++)
                v[i * N + k] = common[k] + 0.02 * normal(&state) + (!i && k >= N / 2 ? grew : 0);
        }
        struct difftest_family f = {
            .values = v, .noise = noise, .common = common, .m = M, .n = N, .n_before = N / 2};
        difftest_runs(&f, e);
        for (int i = 0; i < M; i++)
            fine[i] = e[i].fine;
        difftest_adjust(fine, M);
        struct interval in = difftest_effect_interval(&e[0]);
        assert_true(in.low <= e[0].diff && e[0].diff <= in.high);
        n.first += fine[0] <= 0.01 && in.low > log(1.02);
        n.other += fine[1] <= 0.01 || fine[2] <= 0.01 || fine[3] <= 0.01;
    }
    return n;
}

/* Student alone names none of them: the slow run makes a standard error of 12%. */
static void one_slow_run_does_not_hide_a_change(void **state)
{
    (void)state;
    struct named grown = name_beside_a_slow_run(0.08, 12), same = name_beside_a_slow_run(0, 12);
    assert_true(grown.first >= 45);
    assert_true(grown.other <= 2);
    assert_true(same.first + same.other <= 2);
}

/* Slow before and not after is no proof of anything. */
static void one_slow_run_before_proves_nothing(void **state)
{
    (void)state;
    struct named same = name_beside_a_slow_run(0, 3);
    assert_true(same.first + same.other <= 2);
}

/* Nine of ten of what is said to be; a change of three errors is neither. */
static void what_is_called_detectable_is_seen(void **state)
{
    (void)state;
    struct named enough = name_parts(0.095), less = name_parts(0.06);
    assert_true(enough.detectable >= 900);
    assert_true(enough.seen >= 0.9 * enough.detectable);
    assert_true(less.detectable <= 20);
    assert_true(less.first < 1200);
}

/* A part that scatters much more than the others is judged by its own runs. */
static void a_part_unlike_the_others_speaks_for_itself(void **state)
{
    (void)state;
    enum { M = 6, N = 10 };
    double v[M * N], noise[M];
    struct difftest_effect e[M];
    uint64_t random = 7;
    for (int i = 0; i < M; i++) {
        noise[i] = 1e-4;
        for (int k = 0; k < N; k++)
            v[i * N + k] = (i == 2 ? 0.3 : 0.01) * normal(&random);
    }
    struct difftest_family f = {.values = v, .noise = noise, .m = M, .n = N, .n_before = 5};
    difftest_runs(&f, e);
    assert_true(e[2].dof == 8);
    assert_true(e[2].error > 0.1);
    assert_true(e[0].dof > 8);
    assert_true(e[0].error < 0.03);
}

/* Of one or two samples per run nobody knows enough to be as sure as of many. */
static void few_samples_are_no_more_sure_than_their_runs(void **state)
{
    (void)state;
    enum { M = 6, N = 10 };
    double v[M * N], noise[M];
    struct difftest_effect e[M];
    uint64_t random = 3;
    for (int i = 0; i < M; i++) {
        noise[i] = i ? 0.01 : 0.5;
        for (int k = 0; k < N; k++)
            v[i * N + k] = sqrt(noise[i]) * normal(&random);
    }
    struct difftest_family f = {.values = v, .noise = noise, .m = M, .n = N, .n_before = 5};
    difftest_runs(&f, e);
    assert_true(e[0].dof <= 12.001);
    assert_true(e[1].dof > 20);
}

static void the_t_of_a_p_is_found_again(void **state)
{
    (void)state;
    assert_float_equal(stats_t_above(0.05, 8), 2.306, 0.0001);
    assert_float_equal(stats_t_above(0.001, 8), 5.0413, 0.0001);
    assert_float_equal(stats_t_above(0.05, 1), 12.7062, 0.0001);
    assert_float_equal(stats_t_p(stats_t_above(0.0002, 30), 30), 0.0002, 1e-9);
}

/* The example of Benjamini and Hochberg's method with four tests, worked out by hand. */
static void many_tests_make_each_less_sure(void **state)
{
    (void)state;
    double p[] = {0.04, 0.01, NAN, 0.03, 0.02};
    difftest_adjust(p, 5);
    assert_float_equal(p[1], 0.04, 1e-9);
    assert_float_equal(p[0], 0.04, 1e-9);
    assert_true(isnan(p[2]));
    double q[] = {0.01, 0.5};
    difftest_adjust(q, 2);
    assert_float_equal(q[0], 0.02, 1e-9);
    assert_float_equal(q[1], 0.5, 1e-9);
}

/* Weights of 9 and 1 are 1.8 and 0.2 of their mean; equal ones change nothing. */
static void tests_weigh_as_much_as_they_matter(void **state)
{
    (void)state;
    double p[] = {0.01, 0.5, NAN}, q[] = {0.01, 0.5}, r[] = {0.5, 0.01};
    difftest_adjust_weighted(p, (const double[]){9, 1, 70}, 3);
    assert_float_equal(p[0], 0.01 / 1.8 * 2, 1e-9);
    assert_true(isnan(p[2]));
    difftest_adjust_weighted(q, (const double[]){3, 3}, 2);
    assert_float_equal(q[0], 0.02, 1e-9);
    difftest_adjust_weighted(r, (const double[]){9, 1}, 2);
    assert_float_equal(r[1], 0.01 / 0.2 * 2, 1e-9);
}

/* A chain of functions that call each other under a lock: the same few samples, ten times. */
static void a_chain_of_callers_says_no_more_than_one_of_them(void **state)
{
    enum { RUNS = 8, CHAIN = 10 };
    static const double hot[RUNS] = {5.93, 5.99, 5.97, 5.95, 6.17, 6.17, 6.20, 6.20},
                        lock[RUNS] = {2.8, 0.9, 2.2, 1.6, 0.7, 1.9, 0.4, 1.5};
    double values[(1 + CHAIN) * RUNS], noise[1 + CHAIN] = {1.0 / 400}, wide[1 + CHAIN][2];
    struct difftest_effect e[1 + CHAIN];
    (void)state;
    for (size_t n = 1; n <= CHAIN; n += CHAIN - 1) {
        memcpy(values, hot, sizeof hot);
        for (size_t i = 1; i <= n; i++) {
            memcpy(values + i * RUNS, lock, sizeof lock);
            noise[i] = 1.0 / 8;
        }
        struct difftest_family f = {
            .values = values, .noise = noise, .m = 1 + n, .n = RUNS, .n_before = RUNS / 2};
        difftest_runs(&f, e);
        struct interval i = difftest_effect_interval(&e[0]);
        wide[n == CHAIN][0] = i.low;
        wide[n == CHAIN][1] = i.high;
    }
    assert_true(wide[0][0] > 0.1);
    assert_float_equal(wide[0][0], wide[1][0], 0.02);
    assert_float_equal(wide[0][1], wide[1][1], 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lose_what_compilers_append),
        cmocka_unit_test(other_names_stay),
        cmocka_unit_test(a_pair_is_tested_by_its_scores),
        cmocka_unit_test(few_samples_are_counted_exactly),
        cmocka_unit_test(from_five_on_scores_will_do),
        cmocka_unit_test(few_samples_stay_few_beside_a_change_of_the_whole),
        cmocka_unit_test(all_of_a_program_may_shrink_as_well_as_grow),
        cmocka_unit_test(no_samples_prove_nothing),
        cmocka_unit_test(runs_are_dealt_out_in_all_ways),
        cmocka_unit_test(the_fine_test_is_students),
        cmocka_unit_test(runs_give_an_interval),
        cmocka_unit_test(many_runs_are_dealt_out_alike_each_time),
        cmocka_unit_test(the_typical_change_goes_by_time_not_by_number),
        cmocka_unit_test(student_gives_the_p_of_the_tables),
        cmocka_unit_test(scatter_counts_at_least_as_what_sampling_gives),
        cmocka_unit_test(parts_learn_from_each_other_how_much_they_scatter),
        cmocka_unit_test(one_slow_run_does_not_hide_a_change),
        cmocka_unit_test(one_slow_run_before_proves_nothing),
        cmocka_unit_test(what_is_called_detectable_is_seen),
        cmocka_unit_test(a_part_unlike_the_others_speaks_for_itself),
        cmocka_unit_test(few_samples_are_no_more_sure_than_their_runs),
        cmocka_unit_test(the_t_of_a_p_is_found_again),
        cmocka_unit_test(many_tests_make_each_less_sure),
        cmocka_unit_test(tests_weigh_as_much_as_they_matter),
        cmocka_unit_test(one_of_many_can_stand_out_of_few_runs),
        cmocka_unit_test(the_typical_change_is_not_that_of_a_few),
        cmocka_unit_test(a_chain_of_callers_says_no_more_than_one_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
