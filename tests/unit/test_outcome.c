/* test_outcome.c - what a session came to: its comparisons, those with a baseline, and the exit
 * code. */
#include "bench/baseline.h"
#include "bench/outcome.h"
#include "bench/verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>

#include "support_series.h"

/* --- outcomes --- */

static void an_undecided_gate_never_exits_with_0(void **state)
{
    struct comparison among = {.gate = GATE_HOLDS}, against = {.gate = GATE_UNDECIDED};
    struct opt_list gates = {{"10%"}, 1};
    struct outcome o = {.session = {.comparisons = {&among, 1, 1}, .opts.gates = &gates}};
    (void)state;
    assert_int_equal(outcome_code(&o), EXIT_OK);
    o.has_baseline = true;
    assert_int_equal(outcome_code(&o), EXIT_INCONCLUSIVE); /* nothing in common with it */
    o.against = (struct comparisons){&against, 1, 1};
    assert_int_equal(outcome_code(&o), EXIT_INCONCLUSIVE);
    against.gate = GATE_HOLDS;
    assert_int_equal(outcome_code(&o), EXIT_OK);
    against.gate = GATE_BROKEN;
    assert_int_equal(outcome_code(&o), EXIT_FAILS);
    among.gate = GATE_UNDECIDED;
    against.gate = GATE_HOLDS;
    assert_int_equal(outcome_code(&o), EXIT_INCONCLUSIVE);
    among.gate = GATE_BROKEN;
    assert_int_equal(outcome_code(&o), EXIT_FAILS);
}

static void a_baseline_of_other_benchmarks_is_inconclusive_even_without_gates(void **state)
{
    struct opt_list none = {0};
    struct outcome o = {.session.opts.gates = &none, .has_baseline = true};
    (void)state;
    assert_int_equal(outcome_code(&o), EXIT_INCONCLUSIVE);
}

static void what_was_stopped_or_misspelt_proves_nothing(void **state)
{
    struct comparison among = {.gate = GATE_UNDECIDED}, against = {.gate = GATE_BROKEN};
    struct text name = text_of("srot");
    struct outcome o = {.session = {.comparisons = {&among, 1, 1}, .stopped = true},
                        .has_baseline = true,
                        .against = {&against, 1, 1}};
    (void)state;
    assert_int_equal(outcome_code(&o), EXIT_STOPPED);
    o.session.stopped = false;
    o.lost.at = &name;
    o.lost.n = 1;
    assert_int_equal(outcome_code(&o), EXIT_ERROR);
    among.gate = GATE_BROKEN; /* unless it is proven already */
    o.session.stopped = true;
    assert_int_equal(outcome_code(&o), EXIT_FAILS);
    assert_true(outcome_is_whole(EXIT_OK));
    assert_true(outcome_is_whole(EXIT_FAILS));
    assert_true(outcome_is_whole(EXIT_INCONCLUSIVE));
    assert_false(outcome_is_whole(EXIT_STOPPED));
    assert_false(outcome_is_whole(EXIT_ERROR));
}

/* --- a session of its own --- */

/* Run LINES, which answer as benchmark programs do. */
static void measure(struct outcome *o, struct plan *plan, char **lines, size_t n,
                    const struct opt_list *gates)
{
    static const struct opt_list none;
    struct plan_opts wanted = {
        .lines = lines, .n_lines = n, .names = &none, .list = &none, .range = &none};
    struct session_opts with = {.runs = 21,
                                .band = PAIRED_BAND,
                                .risk = PAIRED_RISK,
                                .seed = 7,
                                .unseen = true,
                                .gates = gates};
    struct err err;
    *o = (struct outcome){0};
    *plan = (struct plan){0};
    assert_int_equal(plan_build(plan, &wanted, &err), 0);
    assert_int_equal(session_run(&o->session, plan, &with,
                                 &(struct starter_opts){.stop_fd = -1, .ask = "measure_ms=1"},
                                 &err),
                     0);
    outcome_build(o);
}

#define ANSWERS(ns)                                                              \
    (char *)"sh -c 'echo \"{\\\"kelvin_bench\\\":1,\\\"program\\\":\\\"p\\\"}\n" \
            "{\\\"name\\\":\\\"x\\\",\\\"ns\\\":" #ns "}\" >&$KELVIN_BENCH_FD'"

static void a_session_judges_and_shares_the_risk(void **state)
{
    char *lines[] = {ANSWERS(100), ANSWERS(120), ANSWERS(90)};
    struct opt_list gates = {{"10%", "nobody=1%"}, 2};
    struct series_set before = {0};
    struct outcome o;
    struct plan plan;
    (void)state;
    measure(&o, &plan, lines, 3, &gates);
    const struct comparisons *c = &o.session.comparisons;
    assert_int_equal(c->n, 2);
    assert_int_equal(c->at[0].gate, GATE_BROKEN);
    assert_int_equal(c->at[0].paired.verdict, VERDICT_SLOWER);
    assert_int_equal(c->at[1].gate, GATE_HOLDS);
    assert_int_equal(c->at[1].paired.verdict, VERDICT_FASTER);
    assert_ptr_equal(c->at[1].before, &o.session.set.series.at[0]);
    assert_ptr_equal(c->at[1].after, &o.session.set.series.at[2]);
    assert_float_equal(c->at[0].paired.miss, PAIRED_RISK / 2, 1e-12);
    assert_false(c->at[0].apart);
    assert_int_equal(o.lost.n, 1);
    assert_true(text_is(o.lost.at[0], "nobody"));
    support_series(&before, o.session.set.series.at[1].name, MEASURE_TIME, 119, 0, 21);
    outcome_compare(&o, &before);
    assert_int_equal(o.against.n, 1);
    assert_true(o.against.at[0].apart);
    assert_int_equal(o.against.at[0].gate, GATE_HOLDS);
    series_set_done(&before);
    outcome_done(&o);
    plan_done(&plan);
}

#define ANSWERS_TWO(one, one_ns, two, two_ns)                                    \
    (char *)"sh -c 'echo \"{\\\"kelvin_bench\\\":1,\\\"program\\\":\\\"p\\\"}\n" \
            "{\\\"name\\\":\\\"" one "\\\",\\\"ns\\\":" #one_ns "}\n"            \
            "{\\\"name\\\":\\\"" two "\\\",\\\"ns\\\":" #two_ns "}\" >&$KELVIN_BENCH_FD'"

static void benchmarks_of_programs_are_compared_by_name(void **state)
{
    char *lines[] = {ANSWERS_TWO("x", 100, "y", 10), ANSWERS_TWO("y", 12, "x", 90)};
    static const struct opt_list no_gates;
    struct outcome o;
    struct plan plan;
    (void)state;
    measure(&o, &plan, lines, 2, &no_gates);
    const struct comparisons *c = &o.session.comparisons;
    assert_int_equal(c->n, 2);
    for (size_t i = 0; i < 2; i++) {
        size_t series = (size_t)(c->at[i].after - o.session.set.series.at);
        bool is_y = strcmp(o.session.origins.at[series].benchmark, "y") == 0;
        assert_float_equal(c->at[i].paired.ratio, is_y ? 1.2 : 0.9, 1e-9);
        assert_int_equal(c->at[i].paired.verdict, is_y ? VERDICT_SLOWER : VERDICT_FASTER);
    }
    outcome_done(&o);
    plan_done(&plan);
}

static void as_many_runs_are_made_as_asked_for(void **state)
{
    char *lines[] = {ANSWERS(100), ANSWERS(120)};
    static const struct opt_list none;
    static const struct {
        long runs, min_runs, max_runs;
        size_t made;
    } cases[] = {{1, 0, 0, 1}, {4, 0, 0, 4}, {0, 1, 1, 1}, {0, 3, 3, 3}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_opts wanted = {
            .lines = lines, .n_lines = 2, .names = &none, .list = &none, .range = &none};
        struct session_opts with = {.runs = cases[i].runs,
                                    .min_runs = cases[i].min_runs,
                                    .max_runs = cases[i].max_runs,
                                    .time_s = 100,
                                    .band = PAIRED_BAND,
                                    .risk = PAIRED_RISK,
                                    .unseen = true,
                                    .gates = &none};
        struct starter_opts starter = {.stop_fd = -1, .ask = "measure_ms=1"};
        struct session s = {0};
        struct plan plan = {0};
        struct err err;
        assert_int_equal(plan_build(&plan, &wanted, &err), 0);
        assert_int_equal(session_run(&s, &plan, &with, &starter, &err), 0);
        for (size_t k = 0; k < 2; k++)
            assert_int_equal(s.set.series.at[k].runs.n, cases[i].made);
        session_done(&s);
        plan_done(&plan);
    }
}

static void runs_that_fail_end_a_session_unless_that_is_allowed(void **state)
{
    static char *const commands[] = {(char *)"sh -c 'exit 3'", (char *)"sh -c 'kill -9 $$'"};
    static const struct opt_list none;
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool ignore = i & 1;
        char *lines[] = {commands[i / 2]};
        struct plan_opts wanted = {
            .lines = lines, .n_lines = 1, .names = &none, .list = &none, .range = &none};
        struct session_opts with = {.runs = 2,
                                    .band = PAIRED_BAND,
                                    .risk = PAIRED_RISK,
                                    .unseen = true,
                                    .gates = &none,
                                    .ignore_failure = ignore};
        struct starter_opts starter = {.stop_fd = -1};
        struct session s = {0};
        struct plan plan = {0};
        struct err err;
        assert_int_equal(plan_build(&plan, &wanted, &err), 0);
        assert_int_equal(session_run(&s, &plan, &with, &starter, &err), ignore ? 0 : -1);
        if (ignore)
            assert_int_equal(s.failed_runs, 2);
        session_done(&s);
        plan_done(&plan);
    }
}

static void series_of_a_sweep_know_their_parameter_and_size(void **state)
{
    char *lines[] = {(char *)"true {n}"};
    static const struct opt_list none;
    const struct opt_list list = {{"n=10,20"}, 1};
    struct plan_opts wanted = {
        .lines = lines, .n_lines = 1, .names = &none, .list = &list, .range = &none};
    struct session_opts with = {
        .runs = 2, .band = PAIRED_BAND, .risk = PAIRED_RISK, .unseen = true, .gates = &none};
    struct session s = {0};
    struct plan plan = {0};
    struct err err;
    (void)state;
    assert_int_equal(plan_build(&plan, &wanted, &err), 0);
    assert_int_equal(session_run(&s, &plan, &with, &(struct starter_opts){.stop_fd = -1}, &err), 0);
    assert_int_equal(s.set.series.n, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(s.set.series.at[i].parameter, "n");
        assert_float_equal(s.set.series.at[i].size, 10.0 * (double)(i + 1), 0);
        assert_string_equal(s.set.series.at[i].command, i ? "true 20" : "true 10");
    }
    session_done(&s);
    plan_done(&plan);
}

static void the_reference_measured_once_more_is_no_result(void **state)
{
    char *lines[] = {ANSWERS(100), ANSWERS(120)};
    static const struct opt_list none;
    struct plan_opts wanted = {
        .lines = lines, .n_lines = 2, .names = &none, .list = &none, .range = &none, .aa = true};
    struct session_opts with = {.runs = 9,
                                .band = PAIRED_BAND,
                                .risk = PAIRED_RISK,
                                .seed = 7,
                                .unseen = true,
                                .gates = &none};
    struct outcome o = {0};
    struct plan plan = {0};
    struct err err;
    (void)state;
    assert_int_equal(plan_build(&plan, &wanted, &err), 0);
    assert_int_equal(session_run(&o.session, &plan, &with,
                                 &(struct starter_opts){.stop_fd = -1, .ask = "measure_ms=1"},
                                 &err),
                     0);
    assert_int_equal(o.session.set.series.n, 3);
    outcome_build(&o);
    assert_int_equal(o.session.set.series.n, 2);
    assert_int_equal(o.session.comparisons.n, 1);
    outcome_done(&o);
    plan_done(&plan);
}

/* The program that a baseline kept runs first: what it gave is the baseline, not a result. */
static void the_kept_program_beside_is_the_baseline(void **state)
{
    char *lines[] = {ANSWERS(100), ANSWERS(120)};
    static const struct opt_list none;
    struct plan_opts wanted = {
        .lines = lines, .n_lines = 2, .names = &none, .list = &none, .range = &none};
    struct session_opts with = {.runs = 9,
                                .band = PAIRED_BAND,
                                .risk = PAIRED_RISK,
                                .seed = 7,
                                .unseen = true,
                                .gates = &none};
    struct outcome o = {.is_beside = true};
    struct plan plan = {0};
    struct err err;
    (void)state;
    assert_int_equal(plan_build(&plan, &wanted, &err), 0);
    assert_int_equal(session_run(&o.session, &plan, &with,
                                 &(struct starter_opts){.stop_fd = -1, .ask = "measure_ms=1"},
                                 &err),
                     0);
    outcome_build(&o);
    assert_int_equal(o.beside.series.n, 1);
    assert_int_equal(o.session.set.series.n, 1);
    assert_int_equal(o.session.comparisons.n, 0); /* said once, as one with the baseline */
    assert_true(o.has_baseline);
    assert_int_equal(o.against.n, 1);
    assert_ptr_equal(o.against.at[0].before, &o.beside.series.at[0]);
    assert_ptr_equal(o.against.at[0].after, &o.session.set.series.at[0]);
    outcome_done(&o);
    plan_done(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_undecided_gate_never_exits_with_0),
        cmocka_unit_test(a_baseline_of_other_benchmarks_is_inconclusive_even_without_gates),
        cmocka_unit_test(what_was_stopped_or_misspelt_proves_nothing),
        cmocka_unit_test(a_session_judges_and_shares_the_risk),
        cmocka_unit_test(benchmarks_of_programs_are_compared_by_name),
        cmocka_unit_test(as_many_runs_are_made_as_asked_for),
        cmocka_unit_test(runs_that_fail_end_a_session_unless_that_is_allowed),
        cmocka_unit_test(series_of_a_sweep_know_their_parameter_and_size),
        cmocka_unit_test(the_reference_measured_once_more_is_no_result),
        cmocka_unit_test(the_kept_program_beside_is_the_baseline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
