/*
 * bench.h - what benchmarks measured, and how it compares: text, markdown, CSV, JSON and HTML.
 *
 * A report borrows everything it points to.
 */
#pragma once
#include "model/comparison.h"
#include "model/past.h"
#include "stats/growth.h"
#include "stats/repeats.h"

#include <stdio.h>

/* How a swept parameter bears on a measure. */
struct bench_growth {
    const char *name, *parameter; /* "./app --n {n}", "n" */
    enum measure measure;
    struct growth growth;
    const struct growth_point *points; /* sorted by size */
    size_t n_points;
};

/* Several sets side by side: a row a benchmark, a column a set, the best of each row marked. */
struct bench_table {
    const struct series_set *const *sets;
    const char *const *names;
    size_t n_sets;    /* at most BENCH_TABLE_SETS */
    double threshold; /* rows whose sets differ by less are left out: 0.05 = 5%; 0 = show all */
};

enum { BENCH_TABLE_SETS = 7 };

struct bench_report {
    const struct series_set *now;
    const struct series_set *before; /* a baseline, or NULL */
    const char *now_name, *before_name;
    enum measure measure;            /* what the tables lead with; 0 = wall time */
    const struct bench_table *table; /* shown instead of the results of `now`; or NULL */
    const struct comparison *comparisons;
    size_t n_comparisons;
    const struct bench_growth *growths;
    size_t n_growths;
    const struct past *pasts;
    size_t n_pasts;
    const char *design;      /* how it was measured: "40 blocks in random order, 6.2 s" */
    const char *busy;        /* what else kept the machine busy, a sentence; or NULL */
    const char *forced;      /* why the comparison would be refused without --force, or NULL */
    double false_alarm_rate; /* of the A/A arm: NAN = not asked for */
    size_t false_alarms, false_alarm_tries;
};

/* The same words and tables in three dresses. */
void bench_print_text(FILE *out, const struct bench_report *r, int width, bool colour);
void bench_print_markdown(FILE *out, const struct bench_report *r);
void bench_print_html(FILE *out, const struct bench_report *r);

/* A row for each run and measure, with a line of titles; missing values have no row. */
void bench_print_csv(FILE *out, const struct bench_report *r);

/* All runs, and what is made of them. */
void bench_print_json(FILE *out, const struct bench_report *r);
