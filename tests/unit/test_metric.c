/* test_metric.c - numbers that a program gives itself: where they stand, what is wrong with a
 * section, what is said. */
#include "bench/verdict.h"
#include "suite/metric.h"
#include "suite/workload.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <unistd.h>

#include <cmocka.h>

static struct conf conf_of(const char *text)
{
    autobuf struct buf errors = {0};
    struct conf c;
    struct err err;
    assert_int_equal(conf_parse(&c, "kelvin.conf", text_of(text), &errors, &err), 0);
    return c;
}

#define CHAT "[workload chat]\ncommand = ./chat\ncollect = bench\n"

static double read_output(const char *section, const char *output)
{
    autofree char *text = mem_printf(CHAT "[metric m]\n%s\n", section);
    struct conf c = conf_of(text);
    struct metrics m = {0};
    struct err err;
    assert_int_equal(metrics_build(&m, &c, "chat", &err), 0);
    assert_int_equal(m.at.n, 1);
    double v = metric_in_output(&m.at.at[0], text_of(output), &(size_t){0});
    metrics_done(&m);
    conf_done(&c);
    return v;
}

static void the_last_match_counts(void **state)
{
    (void)state;
    assert_true(read_output("pattern = rate ([0-9.]+)", "rate 3\nrate 41.5 done\n") == 41.5);
    assert_true(read_output("pattern = \"rate: ([0-9.e+]+) \"", "rate: 1.5e+3 x") == 1500);
    assert_true(read_output("pattern = ^[0-9]+$", "12\nx 13\n14\n") == 14);
    assert_true(read_output("pattern = a([0-9]*)", "a7 a") == 7); /* an empty group is no number */
    assert_true(read_output("pattern = x([0-9])|y([0-9])", "x1 y2") == 1);
}

static void no_match_is_no_number(void **state)
{
    (void)state;
    assert_true(isnan(read_output("pattern = rate ([0-9]+)", "speed 3\n")));
    assert_true(isnan(read_output("pattern = rate ([a-z]+)", "rate fast\n")));
    assert_true(isnan(read_output("pattern = rate ([0-9]+)", "")));
    assert_true(isnan(read_output("pattern = .*", "")));
}

static double read_json(const char *document, const char *field, struct timespec since)
{
    char path[] = "/tmp/kelvin-metric-XXXXXX";
    autoclose int fd = mkstemp(path);
    assert_int_equal(write(fd, document, strlen(document)), strlen(document));
    autofree char *text = mem_printf(CHAT "[metric m]\njson = %s\nfield = %s\n", path, field);
    struct conf c = conf_of(text);
    struct metrics m = {0};
    struct err err;
    assert_int_equal(metrics_build(&m, &c, "chat", &err), 0);
    double v = metric_in_file(&m.at.at[0], since);
    unlink(path);
    metrics_done(&m);
    conf_done(&c);
    return v;
}

static void a_field_is_found_by_its_path(void **state)
{
    static const char document[] = "{\"a\": [1, {\"b\": 2.5}], \"b\": {\"c\": \"x\"}, \"d\": 7}";
    struct timespec ever = {0};
    (void)state;
    assert_true(read_json(document, "a.1.b", ever) == 2.5);
    assert_true(read_json(document, "d", ever) == 7);
    assert_true(isnan(read_json(document, "a.2", ever)));
    assert_true(isnan(read_json(document, "b.c", ever))); /* a text */
    assert_true(isnan(read_json(document, "d.e", ever)));
    assert_true(isnan(read_json("{\"a\": ", "a", ever)));
}

static void a_file_of_an_earlier_run_does_not_count(void **state)
{
    struct timespec later;
    (void)state;
    clock_gettime(CLOCK_REALTIME, &later);
    later.tv_sec += 60;
    assert_true(isnan(read_json("{\"d\": 7}", "d", later)));
}

static void expect_refusal(const char *text, const char *why)
{
    struct conf c = conf_of(text);
    struct workload w;
    struct err err;
    assert_int_equal(workload_build(&w, &c, 0, &err), -1);
    if (!strstr(err.text, why))
        fail_msg("'%s' instead of '%s'", err.text, why);
    workload_done(&w);
    conf_done(&c);
}

static void sections_that_are_not_whole_are_refused(void **state)
{
    (void)state;
    expect_refusal(CHAT "[metric m]\nunit = s\n", "needs either a pattern or a json file");
    expect_refusal(CHAT "[metric m]\npattern = a\njson = b\nfield = c\n", "needs either");
    expect_refusal(CHAT "[metric m]\njson = b\n", "needs both json and field");
    expect_refusal(CHAT "[metric m]\njson = b\n", "kelvin.conf:5: metric 'm'");
    expect_refusal(CHAT "[metric m]\nunit = s\npattern = (\n", "kelvin.conf:6: metric 'm'");
    expect_refusal(CHAT "[metric m]\npattern = (\n", "is not a regular expression");
    expect_refusal(CHAT "[metric m]\npattern = a\nworkload = chta\n", "no workload 'chta'");
    expect_refusal("[workload a]\ncommand = ./a\n[metric m]\npattern = a\nworkload = a\n",
                   "add it to 'collect' of workload 'a'");
    expect_refusal(CHAT "items = tokens\n", "items takes a number above 0 and a word");
    expect_refusal(CHAT "items = 50\n", "items takes a number above 0 and a word");
    expect_refusal(CHAT "[metric m]\nunit = s\npattern = x\nworkload = cht\n",
                   "kelvin.conf:7: metric 'm': there is no");
    expect_refusal("[workload a]\ncommand = ./a\nitems = 5 x\n", "counted in the runs of bench");
}

static void a_metric_is_of_the_workloads_that_it_names(void **state)
{
    struct conf c = conf_of(CHAT "[workload b]\ncommand = ./b\ncollect = bench\n"
                                 "[metric m]\npattern = x\nworkload = b\n");
    struct metrics m = {0};
    struct err err;
    (void)state;
    assert_int_equal(metrics_build(&m, &c, "chat", &err), 0);
    assert_int_equal(m.at.n, 0);
    assert_int_equal(metrics_build(&m, &c, "b", &err), 0);
    assert_int_equal(m.at.n, 1);
    metrics_done(&m);
    conf_done(&c);
}

/* --- verdicts --- */

static void fill(struct series_set *set, const char *name, double value)
{
    struct series *s = series_add(set, name);
    s->more_is_better = true;
    for (uint32_t i = 0; i < 20; i++) {
        struct series_run *r = vec_push(&s->runs);
        r->block = i;
        for (int m = 0; m < MEASURES; m++)
            r->value[m] = NAN;
        r->value[MEASURE_METRIC] = value * (1 + 0.001 * (i % 5));
    }
}

/* What is said of a rate that goes from 100 to AFTER, 5% less being allowed. */
static enum gate judge_rate(double after, char *to, size_t size)
{
    struct series_set set = {0};
    autobuf struct buf b = {0};
    fill(&set, "before", 100);
    fill(&set, "after", after);
    struct comparison c = {&set.series.at[0], &set.series.at[1], MEASURE_METRIC};
    struct metric m = {
        .name = (char *)"tps", .unit = (char *)"tok/s", .more_is_better = true, .limit = 0.05};
    c.limit = 1 / (1 - m.limit) - 1;
    struct verdict_opts o = {.band = PAIRED_BAND, .risk = PAIRED_RISK, .look = PAIRED_ONLY_LOOK};
    verdict_compare(&c, &o);
    metric_say(&b, &m, &c);
    snprintf(to, size, "%s", buf_cstr(&b));
    series_set_done(&set);
    return c.gate;
}

static void less_of_what_should_be_more_is_worse(void **state)
{
    char said[300];
    (void)state;
    assert_int_equal(judge_rate(80, said, sizeof said), GATE_BROKEN);
    assert_string_equal(
        said, "tps 100.2 -> 80.16 tok/s (-20.0%, -20.0 to -20.0%): worse by more than the 5% "
              "allowed");
    assert_int_equal(judge_rate(120, said, sizeof said), GATE_HOLDS);
    assert_non_null(strstr(said, "(+20.0%, "));
    assert_non_null(strstr(said, "): better"));
    assert_int_equal(judge_rate(100, said, sizeof said), GATE_HOLDS);
    assert_non_null(strstr(said, "): the same"));
    assert_int_equal(judge_rate(97, said, sizeof said), GATE_HOLDS);
    assert_non_null(strstr(said, "(-3.0%, "));
    assert_non_null(strstr(said, "): worse"));
}

/* A loss or a count of errors: 20 runs each, which are BEFORE and OTHER in turns, and AFTER. */
static enum gate judge_score(double before, double other, double after, char *to, size_t size)
{
    struct series_set set = {0};
    autobuf struct buf b = {0};
    fill(&set, "before", 0);
    fill(&set, "after", 0);
    for (size_t i = 0; i < 20; i++) {
        set.series.at[0].more_is_better = set.series.at[1].more_is_better = false;
        set.series.at[0].runs.at[i].value[MEASURE_METRIC] = i % 10 ? before : other;
        set.series.at[1].runs.at[i].value[MEASURE_METRIC] = i % 10 != 1 ? after : other;
    }
    struct comparison c = {&set.series.at[0], &set.series.at[1], MEASURE_METRIC, .limit = 0.05};
    struct metric m = {.name = (char *)"loss", .unit = (char *)"", .limit = 0.05};
    struct verdict_opts o = {.band = PAIRED_BAND, .risk = PAIRED_RISK, .look = PAIRED_ONLY_LOOK};
    verdict_compare(&c, &o);
    metric_say(&b, &m, &c);
    snprintf(to, size, "%s", buf_cstr(&b));
    series_set_done(&set);
    return c.gate;
}

static void scores_that_are_zero_or_negative_are_compared(void **state)
{
    static const struct {
        double before, other, after;
        enum gate gate;
        const char *said;
    } cases[] = {
        {0, 0, 0, GATE_HOLDS, "loss 0 -> 0: the same"},
        {0, 0, 5, GATE_BROKEN, "loss 0 -> 5: worse by more than the 5% allowed"},
        {0, 100, 1, GATE_BROKEN, "loss 0 -> 1: worse by more than the 5% allowed"},
        {5, 5, 0, GATE_HOLDS, "loss 5 -> 0 (-100.0%, -100.0 to -100.0%): better"},
        {-4, -4, -4, GATE_HOLDS, "loss -4 -> -4 (+0.0%, +0.0 to +0.0%): the same"},
        {-4, -4, -3, GATE_BROKEN,
         "loss -4 -> -3 (+25.0%, +25.0 to +25.0%): worse by more than the 5% allowed"},
        {-4, -4, -5, GATE_HOLDS, "loss -4 -> -5 (-25.0%, -25.0 to -25.0%): better"},
        /* most runs have no errors any more: those that have some must not decide */
        {1, 2, 0, GATE_HOLDS, "loss 1 -> 0 "},
    };
    char said[300];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum gate gate =
            judge_score(cases[i].before, cases[i].other, cases[i].after, said, sizeof said);
        if (gate != cases[i].gate || strncmp(said, cases[i].said, strlen(cases[i].said)) != 0)
            fail_msg("%zu: %s, not %s (%d)", i, said, cases[i].said, gate);
    }
}

/* Half of the pairs are of a slow hour: each pair gained 3%, and the medians fell. */
static void medians_that_contradict_the_change_are_named_as_such(void **state)
{
    struct series_set set = {0};
    autobuf struct buf b = {0};
    (void)state;
    fill(&set, "before", 100);
    fill(&set, "after", 103);
    for (size_t i = 0; i < 20; i++) {
        double slow = i < 9 ? 0.5 : 1;
        set.series.at[0].runs.at[i].value[MEASURE_METRIC] = slow * (100 + (double)i);
        set.series.at[1].runs.at[i].value[MEASURE_METRIC] = slow * 1.03 * (100 + (double)i);
    }
    for (size_t i = 9; i < 11; i++) /* pairs that went the other way */
        set.series.at[1].runs.at[i].value[MEASURE_METRIC] = 60;
    struct comparison c = {&set.series.at[0], &set.series.at[1], MEASURE_METRIC, .limit = NAN};
    struct metric m = {.name = (char *)"rps", .unit = (char *)"", .more_is_better = true};
    struct verdict_opts o = {.band = PAIRED_BAND, .risk = PAIRED_RISK, .look = PAIRED_ONLY_LOOK};
    verdict_compare(&c, &o);
    metric_say(&b, &m, &c);
    if (!strstr(buf_cstr(&b), "rps medians 109.5 -> 60; median change of the pairs (+3.0%, "))
        fail_msg("%s", buf_cstr(&b));
    c.apart = true;
    buf_done(&b);
    metric_say(&b, &m, &c);
    assert_non_null(strstr(buf_cstr(&b), "; change between the sessions (+3.0%"));
    series_set_done(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_match_counts),
        cmocka_unit_test(no_match_is_no_number),
        cmocka_unit_test(a_field_is_found_by_its_path),
        cmocka_unit_test(a_file_of_an_earlier_run_does_not_count),
        cmocka_unit_test(sections_that_are_not_whole_are_refused),
        cmocka_unit_test(a_metric_is_of_the_workloads_that_it_names),
        cmocka_unit_test(less_of_what_should_be_more_is_worse),
        cmocka_unit_test(scores_that_are_zero_or_negative_are_compared),
        cmocka_unit_test(medians_that_contradict_the_change_are_named_as_such),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
