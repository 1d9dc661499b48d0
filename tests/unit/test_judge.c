/* test_judge.c - the verdict on a workload of a suite, and a whole run by a library call. */
#include "suite/judge.h"
#include "suite/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "support.h"
#include "support_series.h"

static void read_conf(struct suite *s, const char *text)
{
    struct buf errors = {0};
    struct err err;
    assert_int_equal(conf_parse(&s->conf, "kelvin.conf", text_of(text), &errors, &err), 0);
    buf_done(&errors);
}

/* A suite with N workloads "w", "x"... and a quiet host of 4 CPUs. */
static void make_suite(struct suite *s, size_t n)
{
    static const char *const names[] = {"w", "x", "y", "z"};
    *s = (struct suite){.folder.lock = -1, .against = "main"};
    read_conf(s, "[workload w]\ncommand = true\n");
    s->host.cpus_usable = 4;
    s->host.has_load = true;
    for (size_t i = 0; i < n; i++)
        *vec_push(&s->results) =
            (struct suite_result){.workload = {.name = names[i], .collect[COLLECT_BENCH] = true}};
}

/* N runs of the first workload, before in SET and now, by wall and CPU time. */
static void make_runs(struct suite *s, struct series_set *set, size_t n, double ratio)
{
    support_series(set, "w", MEASURE_TIME, 100, 0.02, n);
    support_series(set, "w", MEASURE_CPU, 90, 0.02, n);
    support_series(&s->series, "w", MEASURE_TIME, 100 * ratio, 0.02, n);
    support_series(&s->series, "w", MEASURE_CPU, 90 * ratio, 0.02, n);
    s->results.at[0].bench = series_find(&s->series, "w");
}

static enum suite_outcome judge(struct suite *s, bool force)
{
    struct suite_result *r = &s->results.at[0];
    r->outcome = SUITE_OK;
    judge_compare(s, r, force);
    judge_result(s, r);
    return r->outcome;
}

static void slower_than_allowed_is_a_regression(void **state)
{
    (void)state;
    for (int beside = 0; beside < 2; beside++) {
        struct suite s;
        make_suite(&s, 1);
        make_runs(&s, beside ? &s.beside : &s.before, 20, 1.5);
        assert_int_equal(judge(&s, false), SUITE_REGRESSED);
        assert_int_equal(s.results.at[0].compared[BY_TIME].apart, !beside);
        assert_false(s.results.at[0].has_compared[BY_INSTRUCTIONS]);
        assert_int_equal(judge_code(suite_outcome(&s)), EXIT_FAILS);
        suite_done(&s);
    }
}

static void what_is_as_fast_is_ok(void **state)
{
    struct suite s;
    (void)state;
    make_suite(&s, 1);
    make_runs(&s, &s.before, 20, 1);
    assert_int_equal(judge(&s, false), SUITE_OK);
    assert_int_equal(judge_code(suite_outcome(&s)), EXIT_OK);
    suite_done(&s);
}

/* N recordings before and M now, which take RATIO times as long. */
static enum suite_outcome judge_recordings(size_t n, size_t m, double ratio, bool counted)
{
    struct suite s;
    make_suite(&s, 1);
    support_series(&s.before, "w recorded", MEASURE_CPU, 100, 0.01, n);
    support_series(&s.series, "w recorded", MEASURE_CPU, 100 * ratio, 0.01, m);
    if (counted) {
        support_series(&s.before, "w instructions", MEASURE_INSTRUCTIONS, 1000, 0, 3);
        support_series(&s.series, "w instructions", MEASURE_INSTRUCTIONS, 1000, 0, 3);
        s.results.at[0].instructions = series_find(&s.series, "w instructions");
    }
    enum suite_outcome outcome = judge(&s, false);
    suite_done(&s);
    return outcome;
}

static void few_recordings_leave_it_open_unless_the_change_is_gross(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 12; n++) {
        bool few = n < 6;
        if (few) {
            assert_int_equal(judge_recordings(n, 7, 1, false), SUITE_INCONCLUSIVE);
            assert_int_equal(judge_recordings(7, n, 1, false), SUITE_INCONCLUSIVE);
            assert_int_equal(judge_recordings(n, n, 1.5, false), SUITE_INCONCLUSIVE);
            assert_int_equal(judge_recordings(n, 7, 1, true), SUITE_OK); /* few on one side only */
            assert_int_equal(judge_recordings(7, n, 1, true), SUITE_OK);
        }
        assert_int_equal(judge_recordings(n, n, 1, true), SUITE_OK); /* counts tell */
        assert_int_equal(judge_recordings(n, n, 100, false), SUITE_REGRESSED);
        assert_int_equal(judge_recordings(n, n, 100, true), SUITE_REGRESSED);
        assert_int_equal(judge_recordings(n, n, 0.01, true), SUITE_OK);
    }
    assert_int_equal(judge_recordings(12, 12, 1, false), SUITE_OK);
}

static void on_a_busy_machine_one_slow_recording_proves_nothing(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 3; n++) {
        struct suite s;
        make_suite(&s, 1);
        s.host.load[0] = 20;
        support_series(&s.beside, "w recorded", MEASURE_CPU, 100, 0.01, n);
        support_series(&s.series, "w recorded", MEASURE_CPU, 260, 0.01, n);
        assert_int_equal(judge(&s, false), n < 3 ? SUITE_INCONCLUSIVE : SUITE_REGRESSED);
        support_series(&s.series, "w recorded", MEASURE_CPU, 600, 0.01, n); /* no load does that */
        assert_int_equal(judge(&s, false), SUITE_REGRESSED);
        suite_done(&s);
    }
}

static void on_a_busy_machine_times_of_another_hour_break_nothing(void **state)
{
    struct suite s;
    (void)state;
    make_suite(&s, 1);
    make_runs(&s, &s.before, 20, 1.5);
    s.host.load[0] = 2.1; /* more than half of 4 CPUs */
    assert_int_equal(judge(&s, false), SUITE_INCONCLUSIVE);
    s.host.load[0] = 1.9;
    assert_int_equal(judge(&s, false), SUITE_REGRESSED);
    s.host.has_load = false;
    s.host.load[0] = 90;
    assert_int_equal(judge(&s, false), SUITE_REGRESSED);
    s.host.has_load = true;
    support_series(&s.before, "w instructions", MEASURE_INSTRUCTIONS, 1000, 0, 3);
    support_series(&s.series, "w instructions", MEASURE_INSTRUCTIONS, 1200, 0, 3);
    s.results.at[0].bench = series_find(&s.series, "w");
    s.results.at[0].instructions = series_find(&s.series, "w instructions");
    assert_int_equal(judge(&s, false), SUITE_REGRESSED); /* counts do not see other programs */
    suite_done(&s);
}

static void beside_the_kept_program_a_busy_machine_decides(void **state)
{
    struct suite s;
    (void)state;
    make_suite(&s, 1);
    make_runs(&s, &s.beside, 20, 1.5);
    s.host.load[0] = 40;
    assert_int_equal(judge(&s, false), SUITE_REGRESSED);
    suite_done(&s);
}

static void where_wall_time_cannot_tell_cpu_time_may(void **state)
{
    static const struct {
        enum gate time, cpu;
        enum suite_outcome outcome;
    } cases[] = {
        {GATE_UNDECIDED, GATE_HOLDS, SUITE_OK},
        {GATE_HOLDS, GATE_UNDECIDED, SUITE_OK},
        {GATE_UNDECIDED, GATE_UNDECIDED, SUITE_INCONCLUSIVE},
        {GATE_UNDECIDED, GATE_NONE, SUITE_INCONCLUSIVE}, /* not compared: nothing told */
        {GATE_NONE, GATE_UNDECIDED, SUITE_INCONCLUSIVE},
        {GATE_UNDECIDED, GATE_BROKEN, SUITE_REGRESSED},
        {GATE_HOLDS, GATE_HOLDS, SUITE_OK},
        {GATE_NONE, GATE_NONE, SUITE_OK},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct suite s;
        make_suite(&s, 1);
        struct suite_result *r = &s.results.at[0];
        r->compared[BY_TIME].gate = cases[i].time;
        r->compared[BY_CPU].gate = cases[i].cpu;
        r->has_compared[BY_TIME] = cases[i].time != GATE_NONE;
        r->has_compared[BY_CPU] = cases[i].cpu != GATE_NONE;
        judge_result(&s, r);
        assert_int_equal(r->outcome, cases[i].outcome);
        suite_done(&s);
    }
}

static void instructions_left_open_are_in_doubt(void **state)
{
    struct suite s;
    (void)state;
    make_suite(&s, 1);
    struct suite_result *r = &s.results.at[0];
    r->compared[BY_TIME].gate = GATE_HOLDS;
    r->compared[BY_INSTRUCTIONS].gate = GATE_UNDECIDED;
    r->has_compared[BY_TIME] = r->has_compared[BY_INSTRUCTIONS] = true;
    judge_result(&s, r);
    assert_int_equal(r->outcome, SUITE_INCONCLUSIVE);
    suite_done(&s);
}

static void workloads_share_the_risk(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 4; n++) {
        struct suite s;
        make_suite(&s, n);
        make_runs(&s, &s.before, 20, 1.5);
        judge(&s, false);
        for (int i = BY_TIME; i <= BY_CPU; i++)
            assert_float_equal(s.results.at[0].compared[i].paired.miss,
                               PAIRED_RISK / (2 * (double)n), 1e-12);
        suite_done(&s);
    }
    struct suite s;
    make_suite(&s, 4);
    for (size_t i = 1; i < 4; i++) /* benchmarks and counts have a risk of their own, or none */
        s.results.at[i].workload.collect[COLLECT_BENCH] = false;
    assert_int_equal(suite_comparisons(&s), 2);
    s.results.at[1].workload.collect[COLLECT_CPU] = true;
    assert_int_equal(suite_comparisons(&s), 4);
    suite_done(&s);
}

static void recordings_in_turns_are_part_of_the_verdict(void **state)
{
    static const struct {
        bool beside, proven;
        double low_s;
        enum diff_verdict verdict;
        enum gate time; /* by wall time */
        enum suite_outcome outcome;
    } cases[] = {
        {true, true, 0.06, DIFF_REGRESSED, GATE_NONE, SUITE_REGRESSED}, /* above 5% of 1 s */
        {true, true, 0.06, DIFF_REGRESSED, GATE_UNDECIDED, SUITE_REGRESSED},
        {true, true, 0.04, DIFF_REGRESSED, GATE_NONE, SUITE_INCONCLUSIVE},
        {true, true, 0.04, DIFF_REGRESSED, GATE_HOLDS, SUITE_OK},
        {true, false, 0.06, DIFF_INCONCLUSIVE, GATE_NONE, SUITE_OK},
        {true, true, -0.2, DIFF_IMPROVED, GATE_NONE, SUITE_OK},
        {false, true, 0.06, DIFF_REGRESSED, GATE_HOLDS, SUITE_OK}, /* of another time */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct suite s;
        make_suite(&s, 1);
        struct suite_result *r = &s.results.at[0];
        struct diff d = {.has_cpu = true, .verdict = cases[i].verdict};
        d.cpu_s =
            (struct diff_value){.before = 1, .low = cases[i].low_s, .proven = cases[i].proven};
        r->diff = &d;
        r->before_beside = cases[i].beside;
        r->compared[BY_TIME].gate = cases[i].time;
        r->has_compared[BY_TIME] = cases[i].time != GATE_NONE;
        judge_result(&s, r);
        assert_int_equal(r->outcome, cases[i].outcome);
        r->diff = NULL;
        suite_done(&s);
    }
}

static void only_what_the_suite_names_gates(void **state)
{
    static const struct {
        const char *gates;
        enum suite_outcome outcome;
    } cases[] = {{"time", SUITE_REGRESSED}, {"cpu", SUITE_REGRESSED}, {"instructions", SUITE_OK}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct suite s;
        make_suite(&s, 1);
        autofree char *text = mem_printf("[check]\ngates = %s\n", cases[i].gates);
        conf_done(&s.conf);
        s.conf = (struct conf){0};
        read_conf(&s, text);
        make_runs(&s, &s.beside, 20, 1.5);
        assert_int_equal(judge(&s, false), cases[i].outcome);
        assert_int_equal(s.results.at[0].compared[BY_TIME].paired.verdict, VERDICT_SLOWER);
        assert_int_equal(s.results.at[0].compared[BY_TIME].gate, i == 0 ? GATE_BROKEN : GATE_NONE);
        suite_done(&s);
    }
}

static void runs_that_stopped_at_a_look_have_its_part_of_the_risk(void **state)
{
    struct suite s;
    (void)state;
    make_suite(&s, 1);
    make_runs(&s, &s.beside, 20, 1);
    judge(&s, false);
    double whole = s.results.at[0].compared[BY_TIME].paired.miss;
    s.results.at[0].looks = 2;
    s.results.at[0].look = 1;
    judge(&s, false);
    assert_float_equal(s.results.at[0].compared[BY_TIME].paired.miss, whole * 1.5 / PAIRED_LOOKS,
                       1e-12);
    s.results.at[0].look = PAIRED_LAST_LOOK + 1; /* the time was over */
    judge(&s, false);
    assert_float_equal(s.results.at[0].compared[BY_TIME].paired.miss,
                       whole * (1 - 1.5 / PAIRED_LOOKS), 1e-12);
    suite_done(&s);
}

static void a_metric_in_turns_is_decided_at_a_look_or_when_the_time_is_over(void **state)
{
    static const struct {
        double now;
        int look;
        bool decided;
        enum gate gate;
    } cases[] = {
        {86, 0, true, GATE_BROKEN}, /* 14% fewer */
        {100, 0, true, GATE_HOLDS},
        {93.5, 0, false, GATE_UNDECIDED},
        {93.5, PAIRED_LAST_LOOK, true, GATE_BROKEN},
    };
    struct metric m = {.more_is_better = true, .limit = 0.05};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct suite s;
        make_suite(&s, 1);
        support_series(&s.beside, "m", MEASURE_METRIC, 100, 0.02, 14);
        support_series(&s.series, "m", MEASURE_METRIC, cases[i].now, 0.02, 14);
        struct comparison c = {series_find(&s.beside, "m"), series_find(&s.series, "m")};
        s.series.series.at[0].more_is_better = true;
        s.beside.series.at[0].runs.at[3].value[MEASURE_METRIC] *=
            0.97; /* one block says otherwise */
        assert_int_equal(judge_metric_decided(&s, &m, &c, cases[i].look), cases[i].decided);
        assert_int_equal(c.gate, cases[i].gate);
        suite_done(&s);
    }
}

static void slower_with_as_many_instructions_is_no_more_work(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        struct suite s;
        make_suite(&s, 1);
        make_runs(&s, &s.beside, 20, 1.87);
        support_series(&s.before, "w instructions", MEASURE_INSTRUCTIONS, 1000, 0, 3);
        support_series(&s.series, "w instructions", MEASURE_INSTRUCTIONS, more ? 1870 : 1000, 0, 3);
        s.results.at[0].bench = series_find(&s.series, "w");
        s.results.at[0].instructions = series_find(&s.series, "w instructions");
        assert_int_equal(judge(&s, false), SUITE_REGRESSED);
        assert_int_equal(suite_same_work(&s.results.at[0]), !more);
        suite_done(&s);
    }
}

static void another_command_is_not_compared_unless_forced(void **state)
{
    struct suite s;
    (void)state;
    make_suite(&s, 1);
    make_runs(&s, &s.before, 20, 1.5);
    struct series *before = series_find(&s.before, "w");
    free(before->command);
    before->command = mem_strdup("./other");
    assert_int_equal(judge(&s, false), SUITE_INCONCLUSIVE); /* asked for, and not had */
    assert_string_equal(s.results.at[0].unlike, "the baseline ran './other'");
    assert_int_equal(judge(&s, true), SUITE_REGRESSED);
    suite_done(&s);
}

static void a_failure_stays_one(void **state)
{
    struct suite s;
    (void)state;
    make_suite(&s, 2);
    make_runs(&s, &s.before, 20, 1);
    suite_fail(&s.results.at[0], "ended with exit code 2", NULL);
    judge_compare(&s, &s.results.at[0], false);
    judge_result(&s, &s.results.at[0]);
    assert_int_equal(s.results.at[0].outcome, SUITE_FAILED);
    s.results.at[1].outcome = SUITE_REGRESSED;
    assert_int_equal(judge_code(suite_outcome(&s)), EXIT_ERROR);
    suite_done(&s);
}

static void findings_beyond_what_is_allowed_fail(void **state)
{
    struct suite s;
    (void)state;
    make_suite(&s, 1);
    struct suite_result *r = &s.results.at[0];
    r->findings[FOUND_MEMCHECK] = (struct suite_findings){.made = true, .n = 1};
    assert_int_equal(judge(&s, false), SUITE_FINDINGS);
    assert_true(r->too_many_findings);
    r->findings[FOUND_MEMCHECK].n = 0;
    assert_int_equal(judge(&s, false), SUITE_OK);
    suite_absent(r, COLLECT_MEMCHECK, "no valgrind");
    assert_int_equal(judge(&s, false), SUITE_INCOMPLETE);
    assert_int_equal(judge_code(SUITE_INCOMPLETE), EXIT_INCONCLUSIVE);
    r->workload.optional[COLLECT_MEMCHECK] = true;
    assert_int_equal(judge(&s, false), SUITE_OK); /* nobody named a number */
    conf_done(&s.conf);
    s.conf = (struct conf){0};
    read_conf(&s, "[check]\nmax-findings = 0\n");
    assert_int_equal(judge(&s, false), SUITE_INCONCLUSIVE);
    suite_done(&s);
}

static void rules_without_a_recording_are_in_doubt(void **state)
{
    struct suite s;
    (void)state;
    make_suite(&s, 1);
    conf_done(&s.conf);
    s.conf = (struct conf){0};
    read_conf(&s, "[check]\nrules = a.rules\n[workload x]\ncommand = true\nrules = x.rules\n");
    assert_int_equal(judge(&s, false), SUITE_INCONCLUSIVE);
    assert_int_equal(judge_code(SUITE_INCONCLUSIVE), EXIT_INCONCLUSIVE);
    assert_string_equal(judge_rules_path(&s, &s.results.at[0]), "a.rules");
    s.results.at[0].workload.name = "x";
    assert_string_equal(judge_rules_path(&s, &s.results.at[0]), "x.rules");
    s.results.at[0].has_check = true;
    s.results.at[0].check.verdict = CHECK_FAILS;
    assert_int_equal(judge(&s, false), SUITE_RULES);
    s.results.at[0].has_check = false;
    suite_done(&s);
}

/* --- a whole run --- */

struct heard {
    int phases;
    struct buf lines;
};

static void hear_phase(void *to, enum suite_phase phase)
{
    struct heard *h = to;
    assert_int_equal(phase, h->phases);
    h->phases++;
}

static void hear_line(void *to, const char *line)
{
    struct heard *h = to;
    buf_printf(&h->lines, "%s\n", line);
}

static int run_once(struct run *r, struct heard *h, struct err *err)
{
    static const char conf[] = "[workload quick]\ncommand = true\ncollect = bench\nruns = 4\n";
    *h = (struct heard){0};
    r->opts.stop_fd = -1;
    r->opts.phase = hear_phase;
    r->opts.say = hear_line;
    r->opts.to = h;
    r->suite.folder.lock = -1;
    read_conf(&r->suite, conf);
    return run_suite(r, NULL, 0, err);
}

static void a_suite_runs_by_a_call_and_says_what_it_does(void **state)
{
    struct heard h;
    struct err err;
    struct run first = {.opts.save = "main"};
    (void)state;
    assert_int_equal(run_once(&first, &h, &err), 0);
    assert_int_equal(h.phases, PHASES);
    assert_non_null(strstr(buf_cstr(&h.lines), "quick: timed runs"));
    assert_string_equal(first.published, "perf/index.html");
    assert_int_equal(access("perf/index.html", R_OK), 0);
    assert_int_equal(first.suite.results.at[0].bench->runs.n, 4);
    buf_done(&h.lines);
    run_done(&first);

    struct run second = {.opts.against = "main"};
    assert_int_equal(run_once(&second, &h, &err), 0);
    /* Four runs prove nothing, and that is not "ok". */
    assert_int_equal(judge_code(suite_outcome(&second.suite)), EXIT_INCONCLUSIVE);
    assert_non_null(strstr(buf_cstr(&h.lines), "not decided whether 'quick' is more than 5% slower "
                                               "than in the baseline 'main' ("));
    buf_done(&h.lines);
    run_done(&second);
}

static void a_baseline_that_is_not_there_is_a_fault_with_a_code(void **state)
{
    struct heard h;
    struct err err;
    struct run r = {.opts.against = "nobody"};
    (void)state;
    assert_int_equal(run_once(&r, &h, &err), -1);
    assert_int_equal(r.fault, RUN_NO_BASELINE);
    assert_string_equal(err.text, "there is no baseline 'nobody'"); /* and no option's name */
    buf_done(&h.lines);
    run_done(&r);
}

static char folder[] = "/tmp/kelvin-judge-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("/") == 0 ? support_remove(folder) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slower_than_allowed_is_a_regression),
        cmocka_unit_test(what_is_as_fast_is_ok),
        cmocka_unit_test(few_recordings_leave_it_open_unless_the_change_is_gross),
        cmocka_unit_test(on_a_busy_machine_one_slow_recording_proves_nothing),
        cmocka_unit_test(on_a_busy_machine_times_of_another_hour_break_nothing),
        cmocka_unit_test(beside_the_kept_program_a_busy_machine_decides),
        cmocka_unit_test(where_wall_time_cannot_tell_cpu_time_may),
        cmocka_unit_test(instructions_left_open_are_in_doubt),
        cmocka_unit_test(workloads_share_the_risk),
        cmocka_unit_test(recordings_in_turns_are_part_of_the_verdict),
        cmocka_unit_test(only_what_the_suite_names_gates),
        cmocka_unit_test(runs_that_stopped_at_a_look_have_its_part_of_the_risk),
        cmocka_unit_test(a_metric_in_turns_is_decided_at_a_look_or_when_the_time_is_over),
        cmocka_unit_test(slower_with_as_many_instructions_is_no_more_work),
        cmocka_unit_test(another_command_is_not_compared_unless_forced),
        cmocka_unit_test(a_failure_stays_one),
        cmocka_unit_test(findings_beyond_what_is_allowed_fail),
        cmocka_unit_test(rules_without_a_recording_are_in_doubt),
        cmocka_unit_test(a_suite_runs_by_a_call_and_says_what_it_does),
        cmocka_unit_test(a_baseline_that_is_not_there_is_a_fault_with_a_code),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
