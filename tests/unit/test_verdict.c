/* test_verdict.c - two series become a verdict, a gate, an exit code and a sentence. */
#include "bench/baseline.h"
#include "bench/verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>

#include "support_series.h"

static const struct verdict_opts once = {
    .band = PAIRED_BAND, .risk = PAIRED_RISK, .look = PAIRED_ONLY_LOOK};

/* 30 runs before at 100 and after at AFTER, of the same blocks. */
static struct comparison pair_of(struct series_set sets[2], enum measure m, double after)
{
    support_series(&sets[0], "it", m, 100, 0.02, 30);
    support_series(&sets[1], "it", m, after, 0.02, 30);
    return (struct comparison){.before = &sets[0].series.at[0],
                               .after = &sets[1].series.at[0],
                               .measure = m,
                               .limit = NAN};
}

static void sets_done(struct series_set sets[2])
{
    series_set_done(&sets[0]);
    series_set_done(&sets[1]);
}

/* --- gates --- */

static void a_gate_holds_breaks_or_is_left_open(void **state)
{
    static const struct {
        double after, limit;
        enum gate gate;
    } cases[] = {{120, 0.1, GATE_BROKEN}, {120, 0.3, GATE_HOLDS}, {100, 0.05, GATE_HOLDS},
                 {80, 0, GATE_HOLDS},     {120, NAN, GATE_NONE},  {110, 0.1, GATE_UNDECIDED}};
    (void)state;
    for (int apart = 0; apart < 2; apart++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct series_set sets[2] = {0};
            struct comparison c = pair_of(sets, MEASURE_TIME, cases[i].after);
            for (size_t k = 0; k < 30; k++) /* noise that differs between the sides */
                sets[1].series.at[0].runs.at[k].value[MEASURE_TIME] *= 1 + 0.02 * ((k % 3) - 1.0);
            c.limit = cases[i].limit;
            c.apart = apart;
            verdict_compare(&c, &once);
            assert_int_equal(c.gate, cases[i].gate);
            sets_done(sets);
        }
}

static void few_runs_leave_gates_open_but_for_gross_changes(void **state)
{
    static const struct {
        double after;
        size_t n;
        bool apart;
        enum measure measure;
        enum gate gate;
    } cases[] = {
        {190, 3, false, MEASURE_TIME, GATE_UNDECIDED}, {900, 3, false, MEASURE_TIME, GATE_BROKEN},
        {900, 2, false, MEASURE_TIME, GATE_UNDECIDED}, {900, 3, true, MEASURE_TIME, GATE_UNDECIDED},
        {900, 1, true, MEASURE_CPU, GATE_BROKEN},      {210, 3, true, MEASURE_CPU, GATE_UNDECIDED},
        {20, 3, true, MEASURE_CPU, GATE_UNDECIDED},    {900, 1, false, MEASURE_CPU, GATE_BROKEN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct series_set sets[2] = {0};
        support_series(&sets[0], "it", cases[i].measure, 100, 0.01, cases[i].n);
        support_series(&sets[1], "it", cases[i].measure, cases[i].after, 0.01, cases[i].n);
        struct comparison c = {&sets[0].series.at[0], &sets[1].series.at[0], cases[i].measure};
        c.limit = 0.1;
        c.apart = cases[i].apart;
        verdict_compare(&c, &once);
        assert_int_equal(c.gate, cases[i].gate);
        assert_int_equal(c.paired.verdict,
                         cases[i].gate == GATE_BROKEN ? VERDICT_SLOWER : VERDICT_INCONCLUSIVE);
        c.limit = NAN;
        verdict_compare(&c, &once);
        assert_int_equal(c.gate, GATE_NONE);
        sets_done(sets);
    }
}

static void wall_time_of_another_session_needs_cpu_time_to_follow(void **state)
{
    static const struct {
        double time, cpu; /* 0 = not measured */
        bool apart, unconfirmed;
        enum gate gate;
    } cases[] = {
        {320, 90, true, true, GATE_UNDECIDED},
        {320, 290, true, false, GATE_BROKEN},
        {320, 0, true, false, GATE_BROKEN},
        {320, 90, false, false, GATE_BROKEN},
        {320, 110, true, true, GATE_UNDECIDED},  /* +22% of wall time's +220% is other work */
        {120, 96, true, true, GATE_UNDECIDED},   /* the gate allows what CPU time grew by */
        {115, 97.5, true, true, GATE_UNDECIDED}, /* and so here, where that is most of it */
        {60, 50, true, false, GATE_HOLDS},
        {60, 135, true, true, GATE_HOLDS}, /* two threads now, one before */
        {80, 85, true, true, GATE_HOLDS},
        {50, 90, true, true, GATE_HOLDS},
        {100, 90, true, false, GATE_HOLDS},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct series_set sets[2] = {0};
        support_series(&sets[0], "it", MEASURE_TIME, 100, 0.02, 20);
        support_series(&sets[1], "it", MEASURE_TIME, cases[i].time, 0.02, 20);
        support_series(&sets[0], "it", MEASURE_CPU, 90, 0.02, 20);
        if (cases[i].cpu > 0)
            support_series(&sets[1], "it", MEASURE_CPU, cases[i].cpu, 0.02, 20);
        struct comparison c = {&sets[0].series.at[0], &sets[1].series.at[0], MEASURE_TIME};
        c.limit = 0.1;
        c.apart = cases[i].apart;
        c.unconfirmed = true; /* at an earlier look */
        verdict_compare(&c, &once);
        assert_int_equal(c.unconfirmed, cases[i].unconfirmed);
        assert_int_equal(c.gate, cases[i].gate);
        if (c.unconfirmed)
            assert_int_equal(c.paired.verdict, VERDICT_INCONCLUSIVE);
        sets_done(sets);
    }
}

/* The baseline is of a busy hour: 400 ms for 90 of CPU time. What is twice the work now takes half
 * as long, and is not faster. */
static void a_baseline_of_a_busy_hour_hides_nothing(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        struct series_set sets[2] = {0};
        support_series(&sets[0], "it", MEASURE_TIME, 400, 0.02, 20);
        support_series(&sets[1], "it", MEASURE_TIME, threads == 1 ? 200 : 100, 0.02, 20);
        support_series(&sets[0], "it", MEASURE_CPU, 90, 0.02, 20);
        support_series(&sets[1], "it", MEASURE_CPU, 180, 0.02, 20);
        struct comparison c = {&sets[0].series.at[0], &sets[1].series.at[0], MEASURE_TIME};
        c.limit = 0.1;
        c.apart = true;
        verdict_compare(&c, &once);
        assert_int_equal(c.paired.verdict, VERDICT_INCONCLUSIVE);
        assert_int_equal(c.gate, threads == 1 ? GATE_UNDECIDED : GATE_HOLDS);
        sets_done(sets);
    }
}

static void slow_runs_that_come_more_often_are_not_the_same(void **state)
{
    struct series_set sets[2] = {0};
    autobuf struct buf said = {0};
    (void)state;
    support_series(&sets[0], "old", MEASURE_TIME, 100, 0.002, 200);
    support_series(&sets[1], "new", MEASURE_TIME, 100, 0.002, 200);
    struct comparison c = {&sets[0].series.at[0], &sets[1].series.at[0], MEASURE_TIME};
    c.limit = 0.1;
    verdict_compare(&c, &once);
    assert_int_equal(c.paired.verdict, VERDICT_SAME);
    assert_int_equal(c.gate, GATE_HOLDS);
    assert_false(c.has_tails);
    for (size_t i = 0; i < 200; i++) {
        sets[0].series.at[0].runs.at[i].value[MEASURE_TIME] *= i % 20 == 0 ? 3 : 1;
        sets[1].series.at[0].runs.at[i].value[MEASURE_TIME] *= i % 5 == 1 ? 3 : 1;
    }
    verdict_compare(&c, &once);
    assert_true(c.has_tails);
    assert_int_equal(c.paired.verdict, VERDICT_INCONCLUSIVE);
    assert_int_equal(c.gate, GATE_UNDECIDED);
    comparison_say(&said, &c, &(struct comparison_words){0});
    assert_non_null(strstr(buf_cstr(&said), "20% of its runs take more than 1.5 times the median, "
                                            "5% of the others do, and the mean is +2"));
    for (size_t i = 0; i < 200; i++)
        sets[1].series.at[0].runs.at[i].value[MEASURE_TIME] *= 2;
    verdict_compare(&c, &once);
    assert_int_equal(c.paired.verdict, VERDICT_SLOWER);
    assert_false(c.has_tails); /* all are slow: the median tells it */
    sets_done(sets);
}

/* Too few to prove that slow runs come more often (p 0.03), and too many to call it the same. */
static void slow_runs_that_may_come_more_often_are_not_called_the_same(void **state)
{
    struct series_set sets[2] = {0};
    (void)state;
    support_series(&sets[0], "old", MEASURE_TIME, 100, 0.002, 60);
    support_series(&sets[1], "new", MEASURE_TIME, 100, 0.002, 60);
    struct comparison c = {&sets[0].series.at[0], &sets[1].series.at[0], MEASURE_TIME};
    c.limit = 0.1;
    for (size_t i = 0; i < 60; i++) {
        sets[0].series.at[0].runs.at[i].value[MEASURE_TIME] *= i % 30 == 0 ? 3 : 1;
        sets[1].series.at[0].runs.at[i].value[MEASURE_TIME] *= i % 6 == 1 ? 3 : 1;
    }
    verdict_compare(&c, &once);
    assert_true(c.tails.p > 0.01 && c.tails.p < 0.05);
    assert_int_equal(c.paired.verdict, VERDICT_INCONCLUSIVE);
    assert_int_equal(c.gate, GATE_UNDECIDED);
    sets_done(sets);
}

/* Multiplies every EVERYth of NEW's 47 runs, beside an OLD that has none such. */
static struct comparison with_slow_runs(struct series_set *sets, size_t every, double times)
{
    support_series(&sets[0], "old", MEASURE_CPU, 100, 0.02, 47);
    support_series(&sets[1], "new", MEASURE_CPU, 100, 0.02, 47);
    struct comparison c = {&sets[0].series.at[0], &sets[1].series.at[0], MEASURE_CPU};
    c.limit = 0.05;
    for (size_t i = 0; i < 47; i += every)
        sets[1].series.at[0].runs.at[i].value[MEASURE_CPU] *= times;
    return c;
}

static void a_gate_does_not_hold_where_the_mean_breaks_it(void **state)
{
    struct series_set sets[3][2] = {0};
    (void)state;
    struct comparison tail = with_slow_runs(sets[0], 8, 6); /* p 0.03 */
    verdict_compare(&tail, &once);
    assert_true(tail.mean_broke && tail.has_tails);
    assert_int_equal(tail.gate, GATE_UNDECIDED);
    struct comparison slight = with_slow_runs(sets[1], 4, 1.4); /* none is slow enough to count */
    verdict_compare(&slight, &once);
    assert_true(slight.tails.slow_after == 0);
    assert_int_equal(slight.gate, GATE_UNDECIDED);
    struct comparison one = with_slow_runs(sets[2], 47, 6); /* once is chance */
    verdict_compare(&one, &once);
    assert_int_equal(one.gate, GATE_HOLDS);
    for (int i = 0; i < 3; i++)
        sets_done(sets[i]);
}

static void a_change_left_open_but_allowed_is_told_as_that(void **state)
{
    struct series_set sets[2] = {0};
    autobuf struct buf said = {0};
    (void)state;
    support_series(&sets[0], "old", MEASURE_CPU, 100, 0, 3);
    support_series(&sets[1], "new", MEASURE_CPU, 100, 0, 3);
    struct comparison c = {&sets[0].series.at[0], &sets[1].series.at[0], MEASURE_CPU};
    c.limit = 0.05;
    c.gate = GATE_HOLDS;
    c.paired = (struct paired){.ratio = 1.004, .interval = {0.969, 1.045}};
    comparison_say(&said, &c, &(struct comparison_words){.limit = "--max-regression"});
    assert_string_equal(
        buf_cstr(&said),
        "'new' uses at most 4.5% more CPU time in the median than 'old' (+0.4%, -3.1 to +4.5%): "
        "within the 5% that --max-regression allows");
    assert_string_equal(comparison_word(&c), "within the limit");
    sets_done(sets);
}

static void other_programs_do_not_break_a_gate(void **state)
{
    struct verdict_opts busy = once;
    struct series_set sets[2] = {0};
    (void)state;
    busy.busy = true;
    struct comparison c = pair_of(sets, MEASURE_TIME, 150);
    c.limit = 0.1;
    verdict_compare(&c, &busy);
    assert_int_equal(c.gate, GATE_BROKEN); /* side by side they take part in both */
    c.apart = true;
    verdict_compare(&c, &busy);
    assert_int_equal(c.gate, GATE_UNDECIDED);
    verdict_compare(&c, &once);
    assert_int_equal(c.gate, GATE_BROKEN);
    c.limit = 0.9;
    verdict_compare(&c, &once);
    assert_int_equal(c.gate, GATE_HOLDS);
    verdict_compare(&c, &busy); /* the baseline's hour may have been as busy */
    assert_int_equal(c.gate, GATE_UNDECIDED);
    for (size_t i = 0; i < 30; i++)
        for (int k = 0; k < 2; k++)
            sets[k].series.at[0].runs.at[i].value[MEASURE_CPU] = (k ? 50 : 40) + (double)(i % 3);
    verdict_compare(&c, &busy);
    assert_int_equal(c.gate, GATE_HOLDS);
    c.limit = NAN;
    verdict_compare(&c, &busy);
    assert_int_equal(c.gate, GATE_NONE);
    c.limit = 0.1;
    support_series(&sets[0], "it", MEASURE_INSTRUCTIONS, 100, 0, 30);
    support_series(&sets[1], "it", MEASURE_INSTRUCTIONS, 150, 0, 30);
    c.measure = MEASURE_INSTRUCTIONS;
    verdict_compare(&c, &busy);
    assert_int_equal(c.gate, GATE_BROKEN); /* counts do not see them */
    sets_done(sets);
}

static void a_gate_that_others_leave_open_does_not_blame_the_runs(void **state)
{
    struct verdict_opts busy = once;
    struct series_set sets[2] = {0};
    autobuf struct buf said = {0};
    (void)state;
    busy.busy = true;
    struct comparison c = pair_of(sets, MEASURE_TIME, 2500);
    for (size_t i = 0; i < 30; i++)
        sets[1].series.at[0].runs.at[i].value[MEASURE_TIME] *= 1 + 0.1 * (double)(i % 3);
    c.limit = 0.1;
    c.apart = true;
    verdict_compare(&c, &busy);
    assert_int_equal(c.gate, GATE_UNDECIDED);
    comparison_say(&said, &c, &(struct comparison_words){.more = "ask again"});
    if (!strstr(buf_cstr(&said), ": ask again"))
        fail_msg("%s", buf_cstr(&said));
    sets_done(sets);
}

static void side_by_side_only_blocks_with_both_count(void **state)
{
    struct series_set sets[2] = {0};
    (void)state;
    struct comparison c = pair_of(sets, MEASURE_TIME, 150);
    struct series *after = &sets[1].series.at[0];
    after->runs.n -= 4;            /* stopped early */
    after->runs.at[0].block = 100; /* of no block before */
    memmove(after->runs.at, after->runs.at + 1, --after->runs.n * sizeof *after->runs.at);
    verdict_compare(&c, &once);
    assert_int_equal(c.paired.n, 25);
    assert_true(c.band == PAIRED_BAND);
    assert_float_equal(c.paired.ratio, 1.5, 1e-9); /* the same noise: paired, it cancels out */
    assert_float_equal(c.paired.interval.low, 1.5, 1e-9);
    sets_done(sets);
}

/* --- sets --- */

static void comparisons_made_at_once_share_the_risk(void **state)
{
    struct series_set sets[2] = {0};
    struct comparisons one = {0}, ten = {0};
    struct opt_list gates = {{"10%", "b=50%"}, 2};
    struct verdict_rules rules = {MEASURE_TIME, PAIRED_BAND, PAIRED_RISK, &gates};
    (void)state;
    support_series(&sets[0], "a", MEASURE_TIME, 100, 0.02, 30);
    support_series(&sets[1], "a", MEASURE_TIME, 120, 0.02, 30);
    verdict_compare_sets(&one, &sets[0], &sets[1], &rules);
    assert_int_equal(one.n, 1);
    assert_float_equal(one.at[0].paired.miss, PAIRED_RISK, 1e-12);
    for (char name[] = "b"; *name < 'k'; name[0]++) {
        support_series(&sets[0], name, MEASURE_TIME, 100, 0.02, 30);
        support_series(&sets[1], name, MEASURE_TIME, 120, 0.02, 30);
    }
    support_series(&sets[1], "new", MEASURE_TIME, 1, 0, 30); /* compared with nothing */
    verdict_compare_sets(&ten, &sets[0], &sets[1], &rules);
    assert_int_equal(ten.n, 10);
    for (size_t i = 0; i < ten.n; i++) {
        assert_float_equal(ten.at[i].paired.miss, PAIRED_RISK / 10, 1e-12);
        assert_true(ten.at[i].apart);
        assert_int_equal(ten.at[i].gate, i == 1 ? GATE_HOLDS : GATE_BROKEN);
    }
    assert_true(ten.at[0].paired.interval.high - ten.at[0].paired.interval.low >
                one.at[0].paired.interval.high - one.at[0].paired.interval.low);
    vec_done(&one);
    vec_done(&ten);
    sets_done(sets);
}

static void the_worst_gate_decides(void **state)
{
    struct comparison c[4] = {{.gate = GATE_NONE}, {.gate = GATE_HOLDS}};
    (void)state;
    assert_int_equal(verdict_worst(c, 0), GATE_NONE);
    assert_int_equal(verdict_worst(c, 1), GATE_NONE);
    assert_int_equal(verdict_worst(c, 2), GATE_HOLDS);
    c[2].gate = GATE_UNDECIDED;
    assert_int_equal(verdict_worst(c, 3), GATE_UNDECIDED);
    c[0].gate = GATE_BROKEN;
    assert_int_equal(verdict_worst(c, 3), GATE_BROKEN);
    assert_int_equal(verdict_code(GATE_NONE), EXIT_OK);
    assert_int_equal(verdict_code(GATE_HOLDS), EXIT_OK);
    assert_int_equal(verdict_code(GATE_UNDECIDED), EXIT_INCONCLUSIVE);
    assert_int_equal(verdict_code(GATE_BROKEN), EXIT_FAILS);
}

/* --- baselines --- */

static void a_baseline_made_in_another_way_is_named(void **state)
{
    struct meta a = {0}, b = {0};
    (void)state;
    meta_set_str(&a, META_HOST, "2c-8g-1");
    meta_set_str(&b, META_HOST, "2c-8g-1");
    meta_set_str(&a, META_BUILD, "gcc"); /* not known of the other: no difference */
    assert_null(baseline_differences(&a, &b));
    meta_set_str(&b, META_BUILD, "clang");
    meta_set_str(&a, META_GOVERNOR, "powersave");
    meta_set_str(&b, META_GOVERNOR, "performance");
    autofree char *why = baseline_differences(&a, &b);
    assert_string_equal(why, "the frequency governor differs ('powersave', now 'performance')");
    autofree char *rebuilt = baseline_rebuilt(&a, &b);
    assert_string_equal(rebuilt, "the build differs ('gcc', now 'clang')");
    meta_done(&a);
    meta_done(&b);
}

static void long_flags_are_shown_from_where_they_differ(void **state)
{
    struct meta a = {0}, b = {0};
    (void)state;
    meta_set_str(&a, META_BUILD, "GNU C17 12.2.0 -mtune=generic -O2 -g");
    meta_set_str(&b, META_BUILD, "GNU C17 12.2.0 -mtune=generic -O3 -g");
    assert_null(baseline_differences(&a, &b));
    autofree char *why = baseline_rebuilt(&a, &b);
    assert_string_equal(why, "the build differs ('...-O2 -g', now '...-O3 -g')");
    meta_done(&a);
    meta_done(&b);
}

static void a_renamed_benchmark_has_its_new_name(void **state)
{
    struct series_set set = {0};
    struct err err;
    (void)state;
    series_add(&set, "old");
    series_add(&set, "other");
    assert_int_equal(baseline_rename(&set, "gone=x", &err), 0); /* may be in another set */
    assert_int_equal(baseline_rename(&set, "old=new", &err), 0);
    assert_null(series_find(&set, "old"));
    assert_non_null(series_find(&set, "new"));
    assert_int_equal(baseline_rename(&set, "new=other", &err), -1);
    assert_string_equal(err.text, "the baseline has a 'other' already");
    series_set_done(&set);
}

/* --- the sentence --- */

static void the_sentence_leads_with_the_verdict(void **state)
{
    static const struct comparison_words words = {.limit = "--max-regression",
                                                  .more = "give it more --time"};
    struct series a = {.name = (char *)"old"}, b = {.name = (char *)"new"};
    struct {
        struct comparison c;
        const char *text;
    } cases[] = {
        {{&a,
          &b,
          MEASURE_TIME,
          false,
          0.01,
          0.05,
          {.ratio = 1.08, .interval = {1.07, 1.09}, .verdict = VERDICT_SLOWER},
          GATE_BROKEN},
         "'new' is 8.0% slower than 'old' (+8.0%, +7.0 to +9.0%): more than the 5% that "
         "--max-regression allows"},
        {{&a,
          &b,
          MEASURE_TIME,
          true,
          0.01,
          0.05,
          {.ratio = 1.05, .interval = {1.03, 1.07}, .verdict = VERDICT_SLOWER},
          GATE_UNDECIDED},
         "not decided whether 'new' is more than 5% slower than in the baseline (+5.0%, +3.0 to "
         "+7.0%): give it more --time"},
        {{&a,
          &b,
          MEASURE_TIME,
          false,
          0.01,
          0.05,
          {.ratio = 0.5, .interval = {0.4, 0.6}, .verdict = VERDICT_FASTER},
          GATE_HOLDS},
         "'new' is 50.0% faster than 'old' (-50.0%, -60.0 to -40.0%)"},
        {{&a,
          &b,
          MEASURE_TIME,
          false,
          0.01,
          NAN,
          {.ratio = 1.001, .interval = {0.999, 1.003}, .verdict = VERDICT_SAME},
          GATE_NONE},
         "'new' is as fast as 'old' (+0.1%, -0.1 to +0.3%)"},
        {{&a,
          &b,
          MEASURE_TIME,
          true,
          0.01,
          0.05,
          {.ratio = 1.5, .interval = {0, INFINITY}},
          GATE_UNDECIDED},
         "not decided whether 'new' is more than 5% slower than in the baseline (+50.0%, too few "
         "runs for an interval): give it more --time"},
        {{&a,
          &b,
          MEASURE_INSTRUCTIONS,
          true,
          0.01,
          0.05,
          {.ratio = 1.2, .interval = {1.2, 1.2}, .verdict = VERDICT_SLOWER},
          GATE_BROKEN},
         "'new' uses 20.0% more instructions than in the baseline (+20.0%, +20.0 to +20.0%): more "
         "than the 5% that --max-regression allows"},
        {{&a,
          &b,
          MEASURE_CPU,
          false,
          0.01,
          NAN,
          {.ratio = 0.9, .interval = {0.88, 0.92}, .verdict = VERDICT_FASTER},
          GATE_NONE},
         "'new' uses 10.0% less CPU time than 'old' (-10.0%, -12.0 to -8.0%)"},
        {{&a,
          &b,
          MEASURE_TIME,
          false,
          0.01,
          NAN,
          {.ratio = 1.001, .interval = {0.999, 1.003}, .verdict = VERDICT_SAME},
          GATE_NONE,
          true,
          {.slow_before = 0.05, .slow_after = 0.2, .mean_ratio = 1.19}},
         "'new' is as fast as 'old' (+0.1%, -0.1 to +0.3%); 20% of its runs take more than 1.5 "
         "times the median, 5% of the others do, and the mean is +19.0%"},
        {{&a,
          &b,
          MEASURE_TIME,
          true,
          0.01,
          NAN,
          {.ratio = 1.04, .interval = {0.99, 1.09}},
          GATE_NONE,
          .unconfirmed = true},
         "not decided whether 'new' is slower than in the baseline (+4.0%, -1.0 to +9.0%): CPU "
         "time does not match, so other processes or waiting may be the cause"},
        {{&a,
          &b,
          MEASURE_TIME,
          false,
          0.01,
          NAN,
          {.ratio = NAN, .interval = {NAN, NAN}},
          GATE_NONE},
         "not decided whether 'new' is slower than 'old' (nothing to compare): give it more "
         "--time"},
        {{&a,
          &b,
          MEASURE_TIME,
          false,
          0.01,
          NAN,
          {.ratio = 1.3, .interval = {0.5, 2.5}},
          GATE_NONE},
         "not decided whether 'new' is slower than 'old' (+30.0%, -50.0 to +150.0%): its runs "
         "differ too much; a quieter machine or longer runs would help"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        autobuf struct buf said = {0};
        comparison_say(&said, &cases[i].c, &words);
        assert_string_equal(buf_cstr(&said), cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gate_holds_breaks_or_is_left_open),
        cmocka_unit_test(few_runs_leave_gates_open_but_for_gross_changes),
        cmocka_unit_test(wall_time_of_another_session_needs_cpu_time_to_follow),
        cmocka_unit_test(a_baseline_of_a_busy_hour_hides_nothing),
        cmocka_unit_test(slow_runs_that_come_more_often_are_not_the_same),
        cmocka_unit_test(slow_runs_that_may_come_more_often_are_not_called_the_same),
        cmocka_unit_test(a_gate_does_not_hold_where_the_mean_breaks_it),
        cmocka_unit_test(a_change_left_open_but_allowed_is_told_as_that),
        cmocka_unit_test(other_programs_do_not_break_a_gate),
        cmocka_unit_test(a_gate_that_others_leave_open_does_not_blame_the_runs),
        cmocka_unit_test(side_by_side_only_blocks_with_both_count),
        cmocka_unit_test(comparisons_made_at_once_share_the_risk),
        cmocka_unit_test(the_worst_gate_decides),
        cmocka_unit_test(a_baseline_made_in_another_way_is_named),
        cmocka_unit_test(long_flags_are_shown_from_where_they_differ),
        cmocka_unit_test(a_renamed_benchmark_has_its_new_name),
        cmocka_unit_test(the_sentence_leads_with_the_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
