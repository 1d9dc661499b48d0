/* test_check_runs.c - rules about measured runs, counters and hotspots. */
#include "analysis/check.h"
#include "model/streamkind.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support.h"
#include "support_series.h"

/* --- asking --- */

static void comes_out(const struct check_input *in, const char *rule, enum check_verdict verdict,
                      const char *words)
{
    struct rules rules;
    struct check check;
    struct check_input with = *in;
    with.no_code = "";
    assert_int_equal(rules_parse(&rules, text_of(rule)), 0);
    if (check_build(&check, &rules, &with) != 0)
        fail_msg("'%s': %s", rule, rules.errors.at[0].text);
    assert_int_equal(check.results.n, 1);
    const struct check_result *r = &check.results.at[0];
    if (r->verdict != verdict || !strstr(r->why, words))
        fail_msg("'%s' %s: %s", rule, check_verdict_names[r->verdict], r->why);
    check_done(&check);
    rules_done(&rules);
}

static void is_refused(const struct check_input *in, const char *rule, const char *words)
{
    struct rules rules;
    struct check check;
    assert_int_equal(rules_parse(&rules, text_of(rule)), 0);
    assert_int_equal(check_build(&check, &rules, in), -1);
    if (!strstr(rules.errors.at[0].text, words))
        fail_msg("'%s': %s", rule, rules.errors.at[0].text);
    check_done(&check);
    rules_done(&rules);
}

/* --- runs --- */

/* Ten runs of a benchmark at 30 ns that spread over 4%, and of a command of 2 s. */
struct bench {
    struct series_set set;
    struct check_runs runs[3];
    struct check_input in;
};

static void bench_make(struct bench *b)
{
    *b = (struct bench){0};
    support_series(&b->set, "dot/n=64", MEASURE_TIME, 30, 0.04, 10);
    support_series(&b->set, "whole", MEASURE_TIME, 2e9, 0.3, 10);
    support_series(&b->set, "tps", MEASURE_METRIC, 41, 0.02, 10);
    struct series *dot = series_find(&b->set, "dot/n=64");
    dot->flops = 128;
    dot->items = 64;
    for (size_t i = 0; i < 10; i++) {
        dot->runs.at[i].value[MEASURE_R2] = 0.9 + 0.001 * (double)i;
        series_find(&b->set, "whole")->runs.at[i].value[MEASURE_PEAK_RSS] = 1e6 + (double)i;
    }
    b->runs[0] = (struct check_runs){"", series_find(&b->set, "whole"), MEASURE_TIME};
    b->runs[1] = (struct check_runs){"dot/n=64", dot, MEASURE_TIME};
    b->runs[2] = (struct check_runs){"tps", series_find(&b->set, "tps"), MEASURE_METRIC};
    b->in = (struct check_input){.runs = b->runs, .n_runs = 3};
}

static void a_time_is_judged_by_the_interval_of_its_median(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    comes_out(&b.in, "time dot/n=64 10..50 ns", CHECK_HOLDS, "median of 10 runs");
    comes_out(&b.in, "time dot/n=64 <= 20 ns", CHECK_FAILS, "outside");
    comes_out(&b.in, "time dot/n=64 <= 30 ns", CHECK_INCONCLUSIVE, "runs would");
    comes_out(&b.in, "time 1..3 s", CHECK_HOLDS, "inside");
    comes_out(&b.in, "cpu dot/n=64 <= 1 s", CHECK_INCONCLUSIVE, "CPU time is not known");
    series_find(&b.set, "dot/n=64")->runs.n = 5;
    comes_out(&b.in, "time dot/n=64 10..50 ns", CHECK_INCONCLUSIVE, "5 runs are too few");
    series_set_done(&b.set);
}

static void names_that_are_not_there_are_told_with_those_that_are(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    is_refused(&b.in, "time dto <= 5 ns", "no benchmark 'dto'; there are: dot/n=64");
    is_refused(&b.in, "metric tsp >= 5", "no metric 'tsp'; there are: tps");
    is_refused(&b.in, "time tps <= 5 ns", "no benchmark 'tps'");
    b.in.n_runs = 0;
    is_refused(&b.in, "time <= 5 ns", "no whole runs");
    is_refused(&b.in, "scatter <= 5%", "no measured runs");
    series_set_done(&b.set);
}

static void scatter_is_over_enough_runs_and_of_the_worst(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    comes_out(&b.in, "scatter dot/n=64 <= 5 % over 10 runs", CHECK_HOLDS, "standard deviation");
    comes_out(&b.in, "scatter dot/n=64 <= 1%", CHECK_FAILS, "outside");
    comes_out(&b.in, "scatter dot/n=64 <= 5 % over 11 runs", CHECK_INCONCLUSIVE, "needs 11");
    comes_out(&b.in, "scatter <= 5%", CHECK_FAILS, "standard deviation of the runs of 10 runs");
    comes_out(&b.in, "scatter dot/n=64 <= 1%", CHECK_FAILS,
              "outside the expected range, at most 1%");
    b.runs[0].measure = MEASURE_PEAK_RSS; /* which hardly scatters */
    comes_out(&b.in, "scatter <= 5%", CHECK_HOLDS, "dot/n=64");
    series_set_done(&b.set);
}

static void where_cpu_time_decides_the_fit_is_that_of_cpu_times(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    struct series *dot = series_find(&b.set, "dot/n=64");
    for (size_t i = 0; i < 10; i++)
        dot->runs.at[i].value[MEASURE_CPU_R2] = 0.99;
    comes_out(&b.in, "r2 dot/n=64 >= 0.95", CHECK_FAILS, "0.9045");
    b.runs[1].measure = MEASURE_CPU;
    comes_out(&b.in, "r2 dot/n=64 >= 0.95", CHECK_HOLDS, "by CPU time");
    for (size_t i = 0; i < 10; i++)
        dot->runs.at[i].value[MEASURE_CPU_R2] = NAN; /* an older library */
    comes_out(&b.in, "r2 dot/n=64 >= 0.95", CHECK_FAILS, "0.9045");
    series_set_done(&b.set);
}

static void rates_are_by_the_clock_that_decides_and_of_items_or_else_bytes(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    struct series *dot = series_find(&b.set, "dot/n=64");
    for (size_t i = 0; i < 10; i++)
        dot->runs.at[i].value[MEASURE_CPU] = 10;
    b.runs[1].measure =
        MEASURE_CPU; /* as the page has them: 64 items and 128 operations in 10 ns */
    comes_out(&b.in, "rate dot/n=64 >= 6000000000", CHECK_HOLDS, "by CPU time");
    comes_out(&b.in, "gflops dot/n=64 12..13", CHECK_HOLDS, "by CPU time");
    dot->items = 0;
    dot->bytes = 640;
    comes_out(&b.in, "rate dot/n=64 63000000000..65000000000", CHECK_HOLDS, "/s");
    dot->bytes = 0;
    comes_out(&b.in, "rate dot/n=64 >= 1", CHECK_INCONCLUSIVE, "kelvin_items()");
    series_set_done(&b.set);
}

static struct frame_id named(struct profile *p, const char *name)
{
    return profile_add_named_frame(p, text_of(name), FRAME_USER);
}

/* What cachegrind counts: all instructions, last-level and first-level misses, branches. */
static struct profile *simulated(int64_t misses)
{
    static const char *const events[] = {"Ir", "Dr", "D1mr", "DLmr", "Bc", "Bcm"};
    struct profile *p = profile_new();
    struct err err;
    for (size_t i = 0; i < 6; i++)
        support_value(p, "", events[i], "count");
    struct frame_id hot = named(p, "hot"), cool = named(p, "cool");
    struct row rows[] = {{.stack = stacks_intern(&p->stacks, &hot, 1),
                          .values = (const int64_t[]){10000, 5000, 400, misses, 1000, 50}},
                         {.stack = stacks_intern(&p->stacks, &cool, 1),
                          .values = (const int64_t[]){90000, 5000, 0, 0, 1000, 0}}};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(profile_add_row(p, 0, &rows[i], &err), 0);
    profile_stream(p, 0)->obtained = BY_SIMULATION;
    return p;
}

/* Both are known, and the benchmark goes by wall time: 64 items in 30 ns, not in 10. */
static void a_rate_is_by_wall_time_where_that_decides(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    struct series *dot = series_find(&b.set, "dot/n=64");
    for (size_t i = 0; i < 10; i++)
        dot->runs.at[i].value[MEASURE_CPU] = 10;
    comes_out(&b.in, "rate dot/n=64 1900000000..2300000000", CHECK_HOLDS, "median of 10 runs");
    dot->bytes = 640; /* of items and bytes it is the items */
    comes_out(&b.in, "rate dot/n=64 1900000000..2300000000", CHECK_HOLDS, "median of 10 runs");
    b.runs[1].measure = MEASURE_CPU;
    comes_out(&b.in, "time dot/n=64 20..40 ns", CHECK_HOLDS, "median of 10 runs");
    series_set_done(&b.set);
}

/* A benchmark that declares no work has no rate: a metric or scope of its name is meant. */
static void a_rate_is_of_what_has_one(void **state)
{
    (void)state;
    struct bench b;
    struct profile *p = simulated(1);
    bench_make(&b);
    struct series *dot = series_find(&b.set, "dot/n=64");
    b.runs[2].name = "dot/n=64";
    comes_out(&b.in, "rate dot/n=64 <= 1000", CHECK_FAILS, "outside");
    dot->items = 0;
    comes_out(&b.in, "rate dot/n=64 <= 1000", CHECK_HOLDS, "median of 10 runs");
    b.runs[2].name = "tps";
    comes_out(&b.in, "rate dot/n=64 <= 1000", CHECK_INCONCLUSIVE, "kelvin_items()");
    b.in.selection = SUPPORT_ALL(p, 0);
    comes_out(&b.in, "rate dot/n=64 <= 1000", CHECK_INCONCLUSIVE, "kelvin_items()");
    struct err err;
    struct frame_id other = named(p, "other");
    int scopes = stream_kind_add(p, STREAM_SCOPES, BY_TRACE);
    profile_add_value(p, scopes, "spans", UNIT_COUNT);
    profile_add_value(p, scopes, "self", UNIT_TIME);
    struct row span = {.stack = stacks_intern(&p->stacks, &other, 1),
                       .has_time = true,
                       .duration_ns = 10,
                       .values = (const int64_t[]){1, 10}};
    assert_int_equal(profile_add_row(p, scopes, &span, &err), 0);
    is_refused(&b.in, "rate dot/n=64 <= 1000", "there is no counter or scope 'dot/n=64'");
    profile_free(p);
    series_set_done(&b.set);
}

static void fit_work_memory_and_metrics_have_rules(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    comes_out(&b.in, "r2 >= 0.95", CHECK_FAILS, "dot/n=64");
    comes_out(&b.in, "r2 dot/n=64 >= 0.9", CHECK_HOLDS, "0.9045");
    support_series(&b.set, "slow", MEASURE_TIME, 2e7, 0.04, 10);
    b.runs[0] = (struct check_runs){"slow", series_find(&b.set, "slow"), MEASURE_TIME, NULL};
    b.runs[1].series = series_find(&b.set, "dot/n=64");
    b.runs[2].series = series_find(&b.set, "tps");
    comes_out(&b.in, "r2 >= 0.9", CHECK_HOLDS,
              "0.9045 is inside the expected range, at least 0.9; 1 more has no R2");
    comes_out(&b.in, "r2 >= 0.95", CHECK_FAILS, "dot/n=64");
    comes_out(&b.in, "r2 slow >= 0.9", CHECK_INCONCLUSIVE, "does not give R2");
    for (size_t i = 0; i < 5; i++)
        b.runs[0].series->runs.at[i].value[MEASURE_R2] = 0.5;
    comes_out(&b.in, "r2 slow >= 0.9", CHECK_INCONCLUSIVE, "does not give R2");
    b.runs[0].series->runs.at[5].value[MEASURE_R2] = 0.5;
    comes_out(&b.in, "r2 >= 0.9", CHECK_FAILS, "slow: median of 6 runs");
    for (size_t i = 0; i < 6; i++)
        b.runs[0].series->runs.at[i].value[MEASURE_R2] = NAN;
    b.runs[1] = b.runs[0];
    comes_out(&b.in, "r2 >= 0.9", CHECK_INCONCLUSIVE, "does not give R2");
    b.runs[0] = (struct check_runs){"", series_find(&b.set, "whole"), MEASURE_TIME, NULL};
    b.runs[1] =
        (struct check_runs){"dot/n=64", series_find(&b.set, "dot/n=64"), MEASURE_TIME, NULL};
    comes_out(&b.in, "gflops dot/n=64 4..4.5", CHECK_HOLDS, "GFLOP/s"); /* 128 / 30 ns */
    comes_out(&b.in, "rate dot/n=64 >= 2000000000", CHECK_HOLDS, "/s");
    comes_out(&b.in, "rate tps >= 50", CHECK_FAILS, "/s");
    b.runs[2].name = "puts/s"; /* items = 80 puts */
    comes_out(&b.in, "rate puts >= 40", CHECK_HOLDS, "/s");
    comes_out(&b.in, "rate puts/s >= 50", CHECK_FAILS, "/s");
    b.runs[2].name = "tps";
    comes_out(&b.in, "memory <= 1000008 B", CHECK_FAILS, "largest of all runs");
    comes_out(&b.in, "memory <= 1000009 B", CHECK_HOLDS, "largest of all runs");
    comes_out(&b.in, "metric tps 40..42", CHECK_HOLDS, "median");
    comes_out(&b.in, "metric tps >= 42", CHECK_FAILS, "outside");
    series_find(&b.set, "dot/n=64")->flops = 0;
    comes_out(&b.in, "gflops dot/n=64 >= 1", CHECK_INCONCLUSIVE, "kelvin_flops()");
    series_set_done(&b.set);
}

/* The largest of many runs is larger than that of few: one that needed twice as much is no change.
 */
static void memory_is_held_against_the_baselines_runs(void **state)
{
    (void)state;
    struct bench b;
    struct series_set before = {0};
    bench_make(&b);
    struct series *now = series_find(&b.set, "whole");
    b.in.no_before = "nothing to compare with";
    comes_out(&b.in, "diff memory <= +5%", CHECK_INCONCLUSIVE, "nothing to compare with");
    support_series(&before, "whole", MEASURE_PEAK_RSS, 1e6, 0.001, 8);
    b.runs[0].before = &before.series.at[0];
    now->runs.at[3].value[MEASURE_PEAK_RSS] = 2e6;
    comes_out(&b.in, "diff memory <= +5%", CHECK_HOLDS, "medians of 8 and 10 runs");
    comes_out(&b.in, "diff memory <= 0%", CHECK_INCONCLUSIVE, "partly inside");
    for (size_t i = 0; i < 10; i++)
        now->runs.at[i].value[MEASURE_PEAK_RSS] *= 1.2;
    comes_out(&b.in, "diff memory <= +5%", CHECK_FAILS, "outside");
    comes_out(&b.in, "diff memory <= +25%", CHECK_HOLDS, "inside");
    before.series.at[0].runs.n = 5;
    comes_out(&b.in, "diff memory <= +5%", CHECK_INCONCLUSIVE, "5 runs are too few");
    before.series.at[0].runs.n = 0;
    comes_out(&b.in, "diff memory <= +5%", CHECK_INCONCLUSIVE, "not known");
    b.in.n_runs = 0;
    is_refused(&b.in, "diff memory <= +5%", "no whole runs of the command were measured");
    series_set_done(&before);
    series_set_done(&b.set);
}

static void without_a_recording_other_rules_are_open(void **state)
{
    (void)state;
    struct bench b;
    bench_make(&b);
    comes_out(&b.in, "self f <= 5%", CHECK_INCONCLUSIVE, "no recording");
    comes_out(&b.in, "samples >= 5", CHECK_INCONCLUSIVE, "no recording");
    comes_out(&b.in, "hotspot f primary", CHECK_INCONCLUSIVE, "no recording");
    comes_out(&b.in, "cache-misses <= 5", CHECK_INCONCLUSIVE, "no recording");
    comes_out(&b.in, "rate tokens >= 5", CHECK_INCONCLUSIVE, "no recording");
    comes_out(&b.in, "rate dot/n=46 >= 5", CHECK_INCONCLUSIVE, "rates of: dot/n=64, tps");
    series_set_done(&b.set);
}

/* --- counters --- */

static void simulated_misses_decide_as_they_are(void **state)
{
    (void)state;
    struct profile *now = simulated(120), *then = simulated(100);
    struct check_input in = {.counts = SUPPORT_ALL(now, 0), .counts_before = SUPPORT_ALL(then, 0)};
    comes_out(&in, "cache-misses == 120", CHECK_HOLDS, "simulated");
    comes_out(&in, "cache-misses hot <= 119", CHECK_FAILS, "simulated");
    comes_out(&in, "cache-misses hot <= 12 per 1000", CHECK_HOLDS, "12 per 1000");
    comes_out(&in, "cache-misses <= 1.1 per 1000", CHECK_FAILS, "1.2 per 1000");
    comes_out(&in, "l1-misses cool == 0", CHECK_HOLDS, "simulated");
    comes_out(&in, "branch-misses 40..60", CHECK_HOLDS, "simulated");
    comes_out(&in, "diff cache-misses <= +25%", CHECK_HOLDS, "from 100 to 120");
    comes_out(&in, "diff cache-misses hot <= +5%", CHECK_FAILS, "from 100 to 120");
    comes_out(&in, "diff cache-misses <= +5%", CHECK_FAILS, "; most of the growth is by hot");
    comes_out(&in, "diff branch-misses <= 0%", CHECK_HOLDS, "from 50 to 50");
    is_refused(&in, "cache-misses hto <= 5", "hto");
    profile_free(now);
    profile_free(then);
}

/* An event with its samples, as a recording has them: each row one sample of WEIGHT. */
static int counter(struct profile *p, const char *event)
{
    int s = profile_add_stream(p, event, BY_HARDWARE);
    profile_add_value(p, s, "samples", "count");
    profile_add_value(p, s, event, "count");
    return s;
}

static void counts(struct profile *p, int stream, const char *function, int64_t weight, int n)
{
    struct frame_id f = named(p, function);
    struct err err;
    for (int i = 0; i < n; i++) {
        struct row row = {.stack = stacks_intern(&p->stacks, &f, 1),
                          .values = (const int64_t[]){1, weight}};
        assert_int_equal(profile_add_row(p, stream, &row, &err), 0);
    }
}

static void counted_misses_have_intervals(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    int instructions = counter(p, "instructions:u"), misses = counter(p, "cpu_core/cache-misses/u");
    counts(p, instructions, "hot", 1000000, 400);
    counts(p, misses, "hot", 1000, 400);
    counts(p, instructions, "cool", 1000000, 400);
    counts(p, misses, "cool", 1000, 5);
    struct check_input in = {.selection = SUPPORT_ALL(p, 1)};
    comes_out(&in, "cache-misses 300000..500000", CHECK_HOLDS, "counted by the CPU");
    comes_out(&in, "cache-misses <= 420000", CHECK_INCONCLUSIVE, "would decide");
    comes_out(&in, "cache-misses hot 0.8..1.2 per 1000", CHECK_HOLDS, "0.870");
    comes_out(&in, "cache-misses hot <= 0.5 per 1000", CHECK_FAILS, "outside");
    comes_out(&in, "cache-misses cool <= 5 per 1000", CHECK_INCONCLUSIVE, "too few samples");
    comes_out(&in, "branch-misses <= 5", CHECK_INCONCLUSIVE, "neither counted nor simulated");
    profile_free(p);
}

/* --- hotspots --- */

static void hotspots_have_tiers_and_a_gain(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    int64_t n[] = {600, 100, 20, 280};
    const char *names[] = {"main_loop", "second", "third", "rest"};
    struct err err;
    support_value(p, "cpu-clock", "samples", "count");
    for (int i = 0; i < 4; i++) {
        struct frame_id f = named(p, names[i]);
        struct row row = {.stack = stacks_intern(&p->stacks, &f, 1), .values = &n[i]};
        assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
    }
    struct check_input in = {.selection = SUPPORT_ALL(p, 0)};
    comes_out(&in, "hotspot main_loop primary", CHECK_HOLDS,
              "primary hotspot; twice as fast it would save 30.0% (speedup 1.43)");
    comes_out(&in, "hotspot main_loop secondary", CHECK_FAILS, "primary hotspot");
    comes_out(&in, "hotspot second secondary", CHECK_HOLDS, "secondary");
    comes_out(&in, "hotspot third tertiary", CHECK_HOLDS, "tertiary");
    is_refused(&in, "hotspot nosuch primary", "nosuch");
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_is_judged_by_the_interval_of_its_median),
        cmocka_unit_test(names_that_are_not_there_are_told_with_those_that_are),
        cmocka_unit_test(scatter_is_over_enough_runs_and_of_the_worst),
        cmocka_unit_test(where_cpu_time_decides_the_fit_is_that_of_cpu_times),
        cmocka_unit_test(rates_are_by_the_clock_that_decides_and_of_items_or_else_bytes),
        cmocka_unit_test(a_rate_is_by_wall_time_where_that_decides),
        cmocka_unit_test(a_rate_is_of_what_has_one),
        cmocka_unit_test(fit_work_memory_and_metrics_have_rules),
        cmocka_unit_test(memory_is_held_against_the_baselines_runs),
        cmocka_unit_test(without_a_recording_other_rules_are_open),
        cmocka_unit_test(simulated_misses_decide_as_they_are),
        cmocka_unit_test(counted_misses_have_intervals),
        cmocka_unit_test(hotspots_have_tiers_and_a_gain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
