/* Comparing profiles: names, tests, and what is called proven. */
#include "analysis/canon.h"
#include "analysis/diff.h"
#include "analysis/difftest.h"
#include "view/diff.h"

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

/* Those with 30 % of the time at either end have no say: one and a half of five on each side. */
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
 * Five parts in five runs per side, 2,000 times: the runs differ by 1 %, sampling adds 3 %, and the
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
 * A standard error of 2 % has to show 9.5 %, although the part has only ten values of its own: 4.75
 * errors, where a test that knows the scatter asks for 3.1 and ten values alone for 5. Without the
 * others' runs 77 % are named.
 */
static void parts_learn_from_each_other_how_much_they_scatter(void **state)
{
    (void)state;
    struct named grown = name_parts(0.095), same = name_parts(0);
    assert_true(grown.first >= 1700);
    assert_true(grown.other <= 40);
    assert_true(same.first + same.other <= 20);
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

/* --- whole profiles: "main;f" N times --- */

static void add(struct profile *p, const char *path, int64_t n)
{
    struct err err;
    struct stack_id stack = {0};
    struct text rest = text_of(path);
    while (rest.n)
        stack = stacks_push(&p->stacks, stack,
                            profile_add_named_frame(p, text_cut(&rest, ';'), FRAME_USER));
    assert_int_equal(profile_add_row(p, 0, &(struct row){.stack = stack, .values = &n}, &err), 0);
}

static struct profile *profile_of(int64_t f, int64_t g)
{
    struct profile *p = profile_new();
    support_value(p, "", "samples", "count");
    add(p, "main;f", f);
    add(p, "main;g;g", g);
    return p;
}

static const struct diff_entry *find(const struct diff *d, const char *name)
{
    for (size_t i = 0; i < d->functions.n; i++)
        if (text_is(diff_name(d, &d->functions.at[i]), name))
            return &d->functions.at[i];
    return NULL;
}

static void a_large_change_is_proven_and_recursion_counts_once(void **state)
{
    (void)state;
    struct profile *a = profile_of(400, 600), *b = profile_of(600, 400);
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    struct diff *d = diff_build(
        &(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2, .min_share = 0.005});
    const struct diff_entry *f = find(d, "f"), *g = find(d, "g");
    assert_float_equal(g->total.before, 0.6, 1e-9);
    assert_float_equal(f->self.after, 0.6, 1e-9);
    assert_true(f->self.proven && g->self.proven);
    assert_false(find(d, "main")->total.proven);
    assert_int_equal(d->verdict, DIFF_INCONCLUSIVE); /* of two, either may have moved */
    diff_free(d);
    profile_free(a);
    profile_free(b);
}

static void the_same_profile_is_unchanged_only_with_enough_samples(void **state)
{
    (void)state;
    for (int64_t n = 100; n <= 1000000; n *= 10000) {
        struct profile *a = profile_of(n, 2 * n), *b = profile_of(n + 1, 2 * n);
        const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
        struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
        assert_int_equal(d->verdict, n == 100 ? DIFF_INCONCLUSIVE : DIFF_UNCHANGED);
        diff_free(d);
        profile_free(a);
        profile_free(b);
    }
}

static void set_program(struct profile *p, const char *command, const char *path, const char *build)
{
    meta_set_str(&p->meta, META_COMMAND, command);
    meta_set_str(&p->meta, META_KERNEL, "Linux 6.1");
    struct mapping m = {.path = profile_add_str(p, text_of(path)),
                        .build_id = profile_add_str(p, text_of(build))};
    profile_add_mapping(p, &m);
    m = (struct mapping){.path = profile_add_str(p, text_of("/lib/libc.so.6")),
                         .build_id = profile_add_str(p, text_of("c1"))};
    profile_add_mapping(p, &m);
}

static void one_run_each_of_the_same_program_proves_nothing(void **state)
{
    static const struct {
        const char *command, *path, *build;
        bool same;
    } others[] = {
        {"./app 1", "/bin/app", "a1", true},    {"./app 2", "/bin/app", "a1", false},
        {"./app 1", "/bin/app", "a2", false},   {"./app 1", "/bin/app", "", false},
        {"./app 1", "/other/app", "a1", false}, {"./app 1", "/bin/app2", "a1", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct profile *a = profile_of(400, 600), *b = profile_of(600, 400);
        set_program(a, "./app 1", "/bin/app", "a1");
        set_program(b, others[i].command, others[i].path, others[i].build);
        const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
        struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
        assert_int_equal(d->same, others[i].same);
        assert_int_equal(find(d, "f")->self.proven, !others[i].same);
        if (others[i].same)
            assert_non_null(strstr(d->why, "the same program with the same arguments"));
        diff_free(d);
        profile_free(a);
        profile_free(b);
    }
}

static char *print_diff(struct profile *a, struct profile *b)
{
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    char *out = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&out, &n);
    assert_non_null(f);
    diff_print_text(f, d, &(struct diff_view){.runs = runs, .unlike = "", .top = 3, .width = 200});
    fclose(f);
    diff_free(d);
    return out;
}

static void a_command_that_failed_is_told(void **state)
{
    (void)state;
    for (int failed = 0; failed < 2; failed++) {
        struct profile *a = profile_of(1000, 1000), *b = profile_of(1000, 1000);
        meta_set_str(&a->meta, META_EXIT_STATUS, "0");
        meta_set_str(&b->meta, META_EXIT_STATUS, failed ? "2" : "signal 15");
        autofree char *out = print_diff(a, b);
        assert_int_equal(strstr(out, "Careful: the command failed in 1 of 1 run after.") != NULL,
                         failed);
        assert_null(strstr(out, "run before."));
        profile_free(a);
        profile_free(b);
    }
}

/* Each clock misses what the other sees: no function ended because the program changed. */
static void unlike_clocks_are_told(void **state)
{
    (void)state;
    for (int unlike = 0; unlike < 2; unlike++) {
        struct profile *a = profile_of(1000, 1000), *b = profile_of(1000, 1000);
        meta_set_str(&a->meta, META_CLOCKS, "of CPUs");
        meta_set_str(&b->meta, META_CLOCKS, unlike ? "of threads" : "of CPUs");
        autofree char *out = print_diff(a, b);
        assert_int_equal(strstr(out, "by clocks of CPUs, some by clocks of threads") != NULL,
                         unlike);
        profile_free(a);
        profile_free(b);
    }
}

/* Each pair would look proven by itself; three runs a side cannot prove anything. */
static void three_runs_a_side_prove_nothing(void **state)
{
    (void)state;
    struct selection all[6];
    const struct selection *runs[6];
    for (int i = 0; i < 6; i++) {
        struct profile *p = profile_of(i < 3 ? 400 + i : 600 + i, 500);
        all[i] = selection_all(p, (struct value_ref){0, 0});
        runs[i] = &all[i];
    }
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 3, .n_runs = 6});
    assert_false(find(d, "f")->self.proven);
    assert_float_equal(d->least_p, 0.1, 1e-9);
    diff_free(d);
    for (int i = 0; i < 6; i++)
        profile_free((struct profile *)runs[i]->profile);
}

static struct profile *profile_of_four(int64_t f, int64_t rest)
{
    struct profile *p = profile_of(f, rest);
    add(p, "main;h", rest);
    add(p, "main;i", rest);
    return p;
}

/* f doubles, so the shares of all others fall by a third; their costs do not. */
static void what_only_makes_room_is_not_called(void **state)
{
    (void)state;
    struct profile *a = profile_of_four(10000, 5000), *b = profile_of_four(20000, 5000);
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    assert_true(find(d, "f")->self.proven);
    assert_float_equal(find(d, "f")->self.cost, 2, 1e-6);
    assert_false(find(d, "g")->self.proven || find(d, "h")->self.proven);
    assert_true(find(d, "h")->self.high < 0); /* though its share did fall */
    assert_int_equal(d->verdict, DIFF_REGRESSED);
    diff_free(d);
    profile_free(a);
    profile_free(b);
}

/* --- several runs with a known CPU time --- */

enum { SIDE = 5, RUNS = 2 * SIDE };

struct many {
    struct profile *p[RUNS];
    struct selection all[RUNS];
    const struct selection *runs[RUNS];
    struct diff *d;
};

/* Noise that is the same each time: -1 to 1. */
static double wobble(int run, int what)
{
    uint32_t x = (uint32_t)(run * 31 + what * 17 + 3) * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    return (double)((x ^ x >> 13) % 2001) / 1000 - 1;
}

/* Milliseconds of f, g, h and i, each of which has a sample a ms and varies by a percent. */
static void many_build(struct many *m, const double *before, const double *after,
                       const char *f_after)
{
    static const char *const names[] = {"f", "g", "h", "i"};
    for (int r = 0; r < RUNS; r++) {
        double sum = 0;
        m->p[r] = profile_new();
        support_value(m->p[r], "", "samples", "count");
        for (int k = 0; k < 4; k++) {
            double ms = (r < SIDE ? before : after)[k] * (1 + 0.01 * wobble(r, k));
            char path[64];
            snprintf(path, sizeof path, "main;%s", k == 0 && r >= SIDE ? f_after : names[k]);
            if (ms >= 1)
                add(m->p[r], path, (int64_t)ms);
            sum += floor(ms);
        }
        profile_stream(m->p[r], 0)->obtained = BY_SOFTWARE_CLOCK;
        meta_set_u64(&m->p[r]->meta, META_CPU_TIME_NS, (uint64_t)(sum * 1e6));
        m->all[r] = selection_all(m->p[r], (struct value_ref){0, 0});
        m->runs[r] = &m->all[r];
    }
    m->d = diff_build(
        &(struct diff_opts){.runs = m->runs, .n_before = SIDE, .n_runs = RUNS, .min_share = 0.005});
}

static void many_done(struct many *m)
{
    diff_free(m->d);
    for (int r = 0; r < RUNS; r++)
        profile_free(m->p[r]);
}

/* By shares f would stay about as it is and the others would shrink. */
static void what_is_most_of_a_program_and_grew_is_called_grown(void **state)
{
    (void)state;
    struct many m;
    const double before[] = {97000, 1000, 1000, 1000}, after[] = {120000, 1000, 1000, 1000};
    many_build(&m, before, after, "f");
    const struct diff_value *f = &find(m.d, "f")->self;
    assert_true(f->proven && f->cost > 1.2 && f->cost < 1.27);
    assert_float_equal(f->before_cost, 97, 1);
    assert_false(find(m.d, "g")->self.proven || find(m.d, "h")->self.proven);
    assert_ptr_equal(diff_most_grown(m.d), find(m.d, "f"));
    assert_int_equal(m.d->verdict, DIFF_REGRESSED);
    assert_non_null(strstr(m.d->why, "CPU 1"));
    assert_non_null(strstr(m.d->why, "'f' "));
    many_done(&m);
}

/* Three of four functions got dearer together: by the typical function f would have shrunk. */
static void a_verdict_does_not_contradict_the_cpu_time(void **state)
{
    (void)state;
    struct many m;
    const double before[] = {40000, 5000, 5000, 5000}, after[] = {40000, 20000, 20000, 20000};
    many_build(&m, before, after, "f");
    assert_int_equal(m.d->verdict, DIFF_REGRESSED);
    assert_false(find(m.d, "f")->self.proven);
    assert_true(find(m.d, "g")->self.proven && find(m.d, "g")->self.cost > 3.8);
    many_done(&m);
}

static void the_same_program_is_unchanged(void **state)
{
    (void)state;
    struct many m;
    const double same[] = {40000, 30000, 20000, 10000};
    many_build(&m, same, same, "f");
    assert_int_equal(m.d->verdict, DIFF_UNCHANGED);
    assert_null(diff_most_grown(m.d));
    assert_non_null(strstr(m.d->why, "within the 2% that count as no change"));
    many_done(&m);
}

/* All of it changed by a percent and a half, and steadily so: within the band. */
static void a_change_within_the_band_is_not_called(void **state)
{
    (void)state;
    struct many m;
    const double before[] = {40000, 30000, 20000, 10000}, after[] = {40600, 30450, 20300, 10150};
    many_build(&m, before, after, "f");
    for (size_t i = 0; i < m.d->functions.n; i++)
        assert_false(m.d->functions.at[i].self.proven || m.d->functions.at[i].total.proven);
    assert_true(m.d->verdict == DIFF_UNCHANGED || m.d->verdict == DIFF_INCONCLUSIVE);
    many_done(&m);
}

/* 8 % of 30 % of the time, in runs that vary by a percent. */
static void a_small_change_of_one_function_is_found_and_no_other(void **state)
{
    (void)state;
    struct many m;
    const double before[] = {30000, 30000, 20000, 20000}, after[] = {32400, 30000, 20000, 20000};
    many_build(&m, before, after, "f");
    assert_true(find(m.d, "f")->self.proven && find(m.d, "f")->self.q < 0.005);
    assert_false(find(m.d, "g")->self.proven || find(m.d, "h")->self.proven);
    assert_int_equal(m.d->verdict == DIFF_REGRESSED, m.d->whole.cost > 1);
    many_done(&m);
}

static void a_rename_is_no_change(void **state)
{
    (void)state;
    struct many m;
    const double same[] = {40000, 30000, 20000, 10000};
    many_build(&m, same, same, "scan");
    const struct diff_entry *f = find(m.d, "f"), *scan = find(m.d, "scan");
    assert_int_equal(f->renamed, scan->name + 1);
    assert_int_equal(scan->renamed, f->name + 1);
    assert_false(f->self.proven || scan->self.proven || scan->total.proven);
    assert_int_equal(m.d->verdict, DIFF_UNCHANGED);
    many_done(&m);
}

/* Another cost, and it is another function. */
static void what_costs_more_under_another_name_is_new(void **state)
{
    (void)state;
    struct many m;
    const double before[] = {20000, 30000, 20000, 10000}, after[] = {40000, 30000, 20000, 10000};
    many_build(&m, before, after, "scan");
    assert_true(!find(m.d, "f")->renamed && find(m.d, "f")->self.proven);
    assert_true(!find(m.d, "scan")->renamed && find(m.d, "scan")->self.proven);
    assert_int_equal(m.d->verdict, DIFF_REGRESSED);
    many_done(&m);
}

/* Five runs, a pause, five runs: the machine may have changed as well. */
static void sides_that_were_not_recorded_in_turn_need_more(void **state)
{
    (void)state;
    struct many m;
    const double before[] = {40000, 30000, 20000, 10000}, after[] = {42000, 31500, 21000, 10500};
    many_build(&m, before, after, "f");
    assert_int_equal(m.d->verdict, DIFF_REGRESSED);
    for (int r = 0; r < RUNS; r++)
        meta_set_u64(&m.p[r]->meta, META_TIME_NS, (uint64_t)r + 1);
    diff_free(m.d);
    struct diff_opts o = {.runs = m.runs, .n_before = SIDE, .n_runs = RUNS, .min_share = 0.005};
    m.d = diff_build(&o);
    assert_true(m.d->apart && m.d->band == DIFF_BAND_APART);
    assert_int_equal(m.d->verdict, DIFF_INCONCLUSIVE);
    many_done(&m);
}

/* A third more in five runs after the others, while ten programs share two CPUs. */
static void a_busy_machine_and_no_turns_give_no_verdict(void **state)
{
    (void)state;
    struct many m;
    const double before[] = {40000, 30000, 20000, 10000}, after[] = {53000, 40000, 26600, 13300};
    struct diff_opts o = {.runs = m.runs, .n_before = SIDE, .n_runs = RUNS, .min_share = 0.005};
    many_build(&m, before, after, "f");
    for (int turn = 0; turn < 2; turn++) {
        for (int r = 0; r < RUNS; r++) {
            int place = turn ? r % SIDE * 2 + r / SIDE : r;
            meta_set_u64(&m.p[r]->meta, META_TIME_NS, (uint64_t)place + 1);
            meta_set_str(&m.p[r]->meta, META_LOAD, "11.95 12.09 11.00");
            meta_set_str(&m.p[r]->meta, META_CPUS, "2 online, 2 usable");
        }
        diff_free(m.d);
        m.d = diff_build(&o);
        assert_true(m.d->busy);
        assert_int_equal(m.d->verdict, turn ? DIFF_REGRESSED : DIFF_INCONCLUSIVE);
        assert_int_equal(find(m.d, "f")->self.proven, turn);
    }
    many_done(&m);
}

/* A machine that is a third slower for a while is not a program that got slower. */
static void one_pair_on_a_slower_machine_is_inconclusive(void **state)
{
    (void)state;
    struct profile *a = profile_of_four(10000, 5000), *b = profile_of_four(13300, 6650);
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    profile_stream(a, 0)->obtained = profile_stream(b, 0)->obtained = BY_SOFTWARE_CLOCK;
    meta_set_u64(&a->meta, META_CPU_TIME_NS, 25000000000);
    meta_set_u64(&b->meta, META_CPU_TIME_NS, 33250000000);
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    assert_int_equal(d->verdict, DIFF_INCONCLUSIVE);
    assert_false(find(d, "f")->self.proven || find(d, "g")->self.proven);
    diff_free(d);
    profile_free(a);
    profile_free(b);
}

/* Two threads that share work: which of them does more differs from run to run. */
static void work_that_only_changed_threads_is_not_called(void **state)
{
    (void)state;
    struct profile *p[2];
    for (int i = 0; i < 2; i++) {
        p[i] = profile_new();
        support_value(p[i], "", "samples", "count");
        add(p[i], "one;sort", i ? 8000 : 3000);
        add(p[i], "two;sort", i ? 3000 : 8000);
        add(p[i], "one;read", 1000);
        add(p[i], "one;write", 1000);
        add(p[i], "two;merge", 1000);
        profile_stream(p[i], 0)->obtained = BY_SOFTWARE_CLOCK;
        meta_set_u64(&p[i]->meta, META_CPU_TIME_NS, 14000000000);
    }
    const struct selection *runs[] = {SUPPORT_ALL(p[0], 0), SUPPORT_ALL(p[1], 0)};
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    assert_false(find(d, "one")->total.proven || find(d, "two")->total.proven);
    for (size_t i = 0; i < d->paths.n; i++)
        assert_false(d->paths.at[i].total.proven || d->paths.at[i].self.proven);
    assert_int_equal(d->verdict, DIFF_INCONCLUSIVE);
    diff_free(d);
    profile_free(p[0]);
    profile_free(p[1]);
}

static void another_program_is_neither_better_nor_worse(void **state)
{
    (void)state;
    struct profile *p[2];
    for (int i = 0; i < 2; i++) {
        p[i] = profile_new();
        support_value(p[i], "", "samples", "count");
        add(p[i], i ? "start;sort;merge;compare" : "main;eval", i ? 6000 : 11000);
        add(p[i], i ? "start;read;fill" : "main;memcpy", i ? 2300 : 1000);
        add(p[i], i ? "start;write;memcpy" : "main;eval", 1000);
        profile_stream(p[i], 0)->obtained = BY_SOFTWARE_CLOCK;
        meta_set_u64(&p[i]->meta, META_CPU_TIME_NS, i ? 9300000000 : 13000000000);
    }
    const struct selection *runs[] = {SUPPORT_ALL(p[0], 0), SUPPORT_ALL(p[1], 0)};
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    assert_true(diff_is_of_others(d));
    assert_float_equal(d->common[0], 1.0 / 13, 1e-9);
    assert_float_equal(d->common[1], 1.0 / 9.3, 1e-9);
    assert_int_equal(d->verdict, DIFF_INCONCLUSIVE);
    assert_non_null(strstr(d->why, "hardly a function is found on both sides"));
    diff_free(d);
    profile_free(p[0]);
    profile_free(p[1]);
}

/* Without the kernel a share is one of the time in the program, not of all CPU time. */
static void cpu_time_is_that_of_what_was_sampled(void **state)
{
    (void)state;
    struct profile *p = profile_of(400, 600);
    profile_stream(p, 0)->obtained = BY_SOFTWARE_CLOCK;
    profile_stream(p, 0)->rate_hz = 1000;
    meta_set_u64(&p->meta, META_CPU_TIME_NS, 3000000000);
    struct runcost c = runcost_of(SUPPORT_ALL(p, 0));
    assert_int_equal(c.kind, RUNCOST_CPU);
    assert_float_equal(c.value, 3, 1e-9);
    meta_set_str(&p->meta, META_KERNEL_HIDDEN, "yes");
    assert_float_equal(runcost_of(SUPPORT_ALL(p, 0)).value, 1, 1e-9);
    profile_free(p);
    p = profile_of(400, 600); /* counts of who knows what */
    assert_int_equal(runcost_of(SUPPORT_ALL(p, 0)).kind, RUNCOST_UNKNOWN);
    profile_free(p);
}

static void assert_unlike(const char *key, const char *x, const char *y, const char *want)
{
    struct profile *a = profile_of(1, 1), *b = profile_of(1, 1);
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    struct diff_opts o = {.runs = runs, .n_before = 1, .n_runs = 2};
    struct buf why = {0};
    if (x)
        meta_set_str(&a->meta, key, x);
    meta_set_str(&b->meta, key, y);
    diff_unlike(&o, &why);
    if (want)
        assert_non_null(strstr(buf_cstr(&why), want));
    else
        assert_int_equal(why.n, 0);
    buf_done(&why);
    profile_free(a);
    profile_free(b);
}

static void unlike_profiles_are_told(void **state)
{
    (void)state;
    assert_unlike(META_HOST, "one", "two", "host differs");
    assert_unlike(META_KERNEL_HIDDEN, "yes", "no", "scope differs: 'without the kernel'");
    assert_unlike(META_KERNEL_HIDDEN, "no", "no", NULL);
    assert_unlike(META_OPTIONS, "-q -- app --user-only", "-q --user-only -- app", NULL);
}

static void set_stream(struct profile *p, const char *event, enum obtained obtained, double rate_hz)
{
    struct stream *s = profile_stream(p, 0);
    s->event = profile_add_str(p, text_of(event));
    s->obtained = obtained;
    s->rate_hz = rate_hz;
}

/* What is known of the streams that are compared, not of others in the file. */
static void unlike_streams_are_told(void **state)
{
    (void)state;
    struct profile *a = profile_of(1, 1), *b = profile_of(1, 1);
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    struct diff_opts o = {.runs = runs, .n_before = 1, .n_runs = 2};
    struct buf why = {0};
    set_stream(b, "cycles:u", BY_HARDWARE, 999);
    diff_unlike(&o, &why);
    assert_int_equal(why.n, 0); /* nothing is known of the other */
    set_stream(a, "cycles:k", BY_SOFTWARE_CLOCK, 99);
    diff_unlike(&o, &why);
    assert_non_null(strstr(buf_cstr(&why), "the event differs: 'cycles:k' and 'cycles:u'"));
    assert_non_null(strstr(buf_cstr(&why), "rate differs: '99' and '999'"));
    assert_non_null(strstr(buf_cstr(&why), "'software clock' and 'hardware counter'"));
    assert_non_null(strstr(buf_cstr(&why), "scope differs: 'only the kernel'"));
    buf_done(&why);
    profile_free(a);
    profile_free(b);
}

/* Page faults are not CPU time: that of the run decides nothing, and no share is one of time. */
static void a_comparison_of_events_speaks_of_no_time(void **state)
{
    (void)state;
    struct profile *a = profile_of_four(10000, 5000), *b = profile_of_four(20000, 5000);
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    set_stream(a, "page-faults", BY_SOFTWARE_EVENT, 0);
    set_stream(b, "page-faults", BY_SOFTWARE_EVENT, 0);
    meta_set_u64(&a->meta, META_CPU_TIME_NS, 1000000000);
    meta_set_u64(&b->meta, META_CPU_TIME_NS, 9000000000);
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    assert_false(d->has_cpu);
    assert_int_equal(d->verdict, DIFF_REGRESSED);
    assert_non_null(strstr(d->why, "total 25000 -> 35000 (+40.0%)"));
    assert_null(strstr(d->why, "time"));
    diff_free(d);
    profile_stream(a, 0)->obtained = profile_stream(b, 0)->obtained = BY_SOFTWARE_CLOCK;
    d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    assert_true(d->has_cpu);
    assert_non_null(strstr(d->why, "CPU 1.000 s -> 9.000 s"));
    diff_free(d);
    profile_free(a);
    profile_free(b);
}

/* One says that it could not see the kernel; the other says nothing, but shows kernel code. */
static void a_hidden_kernel_in_one_profile_is_told(void **state)
{
    (void)state;
    struct profile *a = profile_of(1, 1), *b = profile_of(1, 1);
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    struct diff_opts o = {.runs = runs, .n_before = 1, .n_runs = 2};
    struct buf why = {0};
    meta_set_str(&a->meta, META_KERNEL_HIDDEN, "yes");
    diff_unlike(&o, &why);
    assert_int_equal(why.n, 0);
    profile_add_named_frame(b, text_of("do_syscall_64"), FRAME_KERNEL);
    diff_unlike(&o, &why);
    assert_non_null(strstr(buf_cstr(&why), "'without the kernel' and 'with the kernel'"));
    buf_done(&why);
    meta_set_str(&a->meta, META_KERNEL_HIDDEN, "no");
    diff_unlike(&o, &why);
    assert_int_equal(why.n, 0);
    meta_set_str(&a->meta, META_OPTIONS, "-q --user-only -- app");
    diff_unlike(&o, &why);
    assert_non_null(strstr(buf_cstr(&why), "'without the kernel' and 'with the kernel'"));
    buf_done(&why);
    profile_free(a);
    profile_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lose_what_compilers_append),
        cmocka_unit_test(other_names_stay),
        cmocka_unit_test(a_pair_is_tested_by_its_scores),
        cmocka_unit_test(few_samples_are_counted_exactly),
        cmocka_unit_test(from_five_on_scores_will_do),
        cmocka_unit_test(no_samples_prove_nothing),
        cmocka_unit_test(runs_are_dealt_out_in_all_ways),
        cmocka_unit_test(the_fine_test_is_students),
        cmocka_unit_test(runs_give_an_interval),
        cmocka_unit_test(many_runs_are_dealt_out_alike_each_time),
        cmocka_unit_test(the_typical_change_goes_by_time_not_by_number),
        cmocka_unit_test(student_gives_the_p_of_the_tables),
        cmocka_unit_test(scatter_counts_at_least_as_what_sampling_gives),
        cmocka_unit_test(parts_learn_from_each_other_how_much_they_scatter),
        cmocka_unit_test(what_is_called_detectable_is_seen),
        cmocka_unit_test(a_part_unlike_the_others_speaks_for_itself),
        cmocka_unit_test(few_samples_are_no_more_sure_than_their_runs),
        cmocka_unit_test(the_t_of_a_p_is_found_again),
        cmocka_unit_test(many_tests_make_each_less_sure),
        cmocka_unit_test(tests_weigh_as_much_as_they_matter),
        cmocka_unit_test(a_large_change_is_proven_and_recursion_counts_once),
        cmocka_unit_test(the_same_profile_is_unchanged_only_with_enough_samples),
        cmocka_unit_test(one_run_each_of_the_same_program_proves_nothing),
        cmocka_unit_test(a_command_that_failed_is_told),
        cmocka_unit_test(unlike_clocks_are_told),
        cmocka_unit_test(three_runs_a_side_prove_nothing),
        cmocka_unit_test(one_of_many_can_stand_out_of_few_runs),
        cmocka_unit_test(the_typical_change_is_not_that_of_a_few),
        cmocka_unit_test(what_only_makes_room_is_not_called),
        cmocka_unit_test(what_is_most_of_a_program_and_grew_is_called_grown),
        cmocka_unit_test(a_verdict_does_not_contradict_the_cpu_time),
        cmocka_unit_test(the_same_program_is_unchanged),
        cmocka_unit_test(a_change_within_the_band_is_not_called),
        cmocka_unit_test(a_small_change_of_one_function_is_found_and_no_other),
        cmocka_unit_test(a_rename_is_no_change),
        cmocka_unit_test(what_costs_more_under_another_name_is_new),
        cmocka_unit_test(sides_that_were_not_recorded_in_turn_need_more),
        cmocka_unit_test(a_busy_machine_and_no_turns_give_no_verdict),
        cmocka_unit_test(one_pair_on_a_slower_machine_is_inconclusive),
        cmocka_unit_test(another_program_is_neither_better_nor_worse),
        cmocka_unit_test(work_that_only_changed_threads_is_not_called),
        cmocka_unit_test(cpu_time_is_that_of_what_was_sampled),
        cmocka_unit_test(unlike_profiles_are_told),
        cmocka_unit_test(unlike_streams_are_told),
        cmocka_unit_test(a_comparison_of_events_speaks_of_no_time),
        cmocka_unit_test(a_hidden_kernel_in_one_profile_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
