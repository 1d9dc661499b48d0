/* test_diff_runs.c - comparing several runs a side, with a known CPU time. */
#include "analysis/diff.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support_diff.h"

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

/* It has all of the time in each run, so its share never moves. */
static void the_only_function_of_a_program_is_named(void **state)
{
    (void)state;
    for (int grew = 0; grew < 2; grew++) {
        struct many m;
        many_build(&m, (double[4]){40000}, (double[4]){grew ? 52000 : 40000}, "f");
        const struct diff_value *f = &find(m.d, "f")->self;
        assert_float_equal(f->after, 1, 1e-12);
        assert_int_equal(f->proven, grew);
        assert_int_equal(m.d->verdict, grew ? DIFF_REGRESSED : DIFF_UNCHANGED);
        assert_int_equal(strstr(m.d->why, "largest proven change: 'f'") != NULL, grew);
        many_done(&m);
    }
}

/* Two runs before and eight after can reach a p of 0.02. But two say nothing on how much runs
 * differ. */
static void two_runs_on_a_side_prove_nothing(void **state)
{
    (void)state;
    struct many m;
    const double before[] = {40000, 30000, 20000, 10000}, after[] = {60000, 30000, 20000, 10000};
    many_build(&m, before, after, "f");
    for (size_t few = 2; few <= 3; few++) {
        const struct selection *runs[RUNS];
        size_t n = 0;
        for (size_t i = 0; i < few; i++)
            runs[n++] = m.runs[i];
        for (size_t i = SIDE; i < RUNS; i++)
            runs[n++] = m.runs[i];
        struct diff_opts o = {.runs = runs, .n_before = few, .n_runs = n, .min_share = 0.005};
        diff_free(m.d);
        m.d = diff_build(&o);
        assert_true(m.d->least_p <= 0.05);
        assert_int_equal(find(m.d, "f")->self.proven, few == 3);
        assert_int_equal(m.d->verdict, few == 3 ? DIFF_REGRESSED : DIFF_INCONCLUSIVE);
        assert_int_equal(strstr(m.d->why, "too few runs to prove anything") != NULL, few == 2);
    }
    many_done(&m);
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

/* 8% of 30% of the time, in runs that vary by a percent. */
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

/* The largest change of all is one that got faster: no reason for "regressed". */
static void a_regression_names_what_grew(void **state)
{
    static const char *const names[] = {"main;lookup", "main;f",    "main;g",   "main;h",
                                        "main;rest",   "main;more", "main;most"};
    static const int64_t n[2][7] = {{5000, 2000, 2000, 2000, 5000, 5000, 5000},
                                    {500, 6000, 5500, 5500, 5000, 5000, 5000}};
    struct profile *p[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        p[i] = profile_new();
        support_value(p[i], "", "samples", "count");
        for (int k = 0; k < 7; k++)
            add(p[i], names[k], n[i][k]);
        profile_stream(p[i], 0)->obtained = BY_SOFTWARE_CLOCK;
        meta_set_u64(&p[i]->meta, META_CPU_TIME_NS, i ? 32500000000 : 26000000000);
    }
    const struct selection *runs[] = {SUPPORT_ALL(p[0], 0), SUPPORT_ALL(p[1], 0)};
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    assert_true(find(d, "lookup")->self.proven);
    assert_int_equal(d->verdict, DIFF_REGRESSED);
    assert_non_null(strstr(d->why, "'f' "));
    assert_null(strstr(d->why, "lookup"));
    diff_free(d);
    profile_free(p[0]);
    profile_free(p[1]);
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
    meta_set_u64(&p->meta, META_SAMPLED_NS, 1000000000);
    meta_set_u64(&p->meta, META_SAMPLED_OF_NS, 1050000000); /* as the kernel counted it */
    assert_float_equal(runcost_of(SUPPORT_ALL(p, 0)).value, 1.05, 1e-9);
    profile_free(p);
    p = profile_of(400, 600); /* counts of who knows what */
    assert_int_equal(runcost_of(SUPPORT_ALL(p, 0)).kind, RUNCOST_UNKNOWN);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_runs_on_a_side_prove_nothing),
        cmocka_unit_test(the_only_function_of_a_program_is_named),
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
        cmocka_unit_test(a_regression_names_what_grew),
        cmocka_unit_test(another_program_is_neither_better_nor_worse),
        cmocka_unit_test(work_that_only_changed_threads_is_not_called),
        cmocka_unit_test(cpu_time_is_that_of_what_was_sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
