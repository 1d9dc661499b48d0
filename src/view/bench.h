/*
 * bench.h - what benchmarks measured, and how it compares: text, markdown, CSV, JSON and HTML.
 *
 * A report borrows everything it points to.
 */
#pragma once
#include "analysis/growth.h"
#include "analysis/paired.h"
#include "analysis/sample.h"
#include "model/series.h"

#include <stdio.h>

/* One series held against another: another command, or the same benchmark of a baseline. */
struct bench_comparison {
    const struct series *before, *after;
    enum measure measure;
    struct paired paired;
    double max_regression; /* the gate: 0.1 = 10 % slower is too much; NAN = no gate */
    bool broken;           /* the gate does not hold */
};

/* How a swept parameter bears on a measure. */
struct bench_growth {
    const char *name, *parameter; /* "./app --n {n}", "n" */
    enum measure measure;
    struct growth growth;
    const struct growth_point *points; /* sorted by size */
    size_t n_points;
};

/* Past medians of a benchmark, oldest first. */
struct bench_past {
    const char *name; /* of the series */
    struct bench_past_run {
        int64_t time_s; /* since 1970 */
        char commit[16], baseline[40];
        double median;
        struct interval interval;
        bool change_point; /* the level changed here */
    } * runs;
    size_t n_runs;
};

struct bench_report {
    const struct series_set *now;
    const struct series_set *before; /* a baseline, or NULL */
    const char *now_name, *before_name;
    const struct bench_comparison *comparisons;
    size_t n_comparisons;
    const struct bench_growth *growths;
    size_t n_growths;
    const struct bench_past *pasts;
    size_t n_pasts;
    const char *design;      /* how it was measured: "40 blocks in random order, 6.2 s" */
    const char *forced;      /* why the comparison would be refused without --force, or NULL */
    double false_alarm_rate; /* of the A/A arm: NAN = not asked for */
    size_t false_alarms, false_alarm_tries;
};

void bench_print_text(FILE *out, const struct bench_report *r, int width, bool colour);
void bench_print_markdown(FILE *out, const struct bench_report *r);
void bench_print_csv(FILE *out, const struct bench_report *r);
void bench_print_json(FILE *out, const struct bench_report *r);
void bench_print_html(FILE *out, const struct bench_report *r);

/* critcmp-style table: a row a benchmark, a column a set, the best of each row marked. */
void bench_print_compare(FILE *out, const struct series_set *const *sets, const char *const *names,
                         size_t n_sets, int width, bool colour);
