/*
 * bench_inner.h - what the files of the benchmark report share.
 */
#pragma once
#include "base/units.h"
#include "view/bench/bench.h"
#include "view/document.h"

enum { BENCH_VALUE_MAX = 64 };

/* The statistics of one measure of a series. */
struct bench_summary {
    struct repeats_summary s;
    double *values; /* in order of time */
};

/* False when SERIES lacks it; else free with bench_summary_done(). */
bool bench_summarize(struct bench_summary *ret, const struct series *series, enum measure m);
void bench_summary_done(struct bench_summary *b);

/* A value in its unit, four digits: "12.34 ms", "1.205 MiB", "1,234". TO has BENCH_VALUE_MAX. */
char *bench_value(char *to, enum measure m, double v);

/* A round value, without needless zeros: "12 ms". */
char *bench_tick(char *to, enum measure m, double v);

/* Half of an interval as a share of the value: "0.8%"; "?" where nothing is known. */
char *bench_half(char *to, double value, const struct interval *i);

/* "+12.3%" of a ratio 1.123. */
char *bench_change(char *to, double ratio);

/* Items or bytes per second, "" where neither is known. TIME_NS is for one call. */
char *bench_throughput(char *to, const struct series *s, double time_ns);

/* The name of a comparison: "sort", or "new vs old". Free it. */
char *bench_comparison_name(const struct comparison *c);

/* The spread of past medians since the level last changed, as a share; NAN below three of them. */
double bench_between_sd(const struct past *p, size_t *ret_n);

/* The new level over the old one at the change point AT, which is not the first run. */
double bench_past_step(const struct past *p, size_t at);

/* The heading of a page and of a text. Free it. */
char *bench_title(const struct bench_report *r);

/* Where and on what it was measured: "2026-11-16 ...", never empty. Free it. */
char *bench_fact(const struct series_set *set, const char *key);

/* The median of a measure, NAN where SERIES lacks it. */
double bench_median(const struct series *series, enum measure m);

/* The table of several sets; the columns are kept in D. */
void bench_table_add(struct document *d, const struct bench_table *t, enum measure m);

/*
 * Everything but figures. With FIGURES it has places for up to three, in this order: all violins,
 * all growths, all pasts, the latter two only if there are any. With SYSTEM it ends with a table of
 * what is known about the machine.
 */
void bench_document(struct document *d, const struct bench_report *r, bool figures, bool system);

/* A chart with its caption, as HTML. */
void bench_violin_print(FILE *out, const struct bench_report *r, const struct series *s);
void bench_growth_print(FILE *out, const struct bench_growth *g);
void bench_past_print(FILE *out, const struct past *p, enum measure m);

/* The result in plain sentences: "'new' ran 1.98 times as fast as 'old'." */
void bench_add_short(struct document *d, const struct bench_report *r);

static inline void benchdoc_cell(struct document *d, const char *s)
{
    document_cell(d, text_of(s), 0);
}

/* Earlier sessions as a part of a report. FIGURES asks for room for their drawing. */
void bench_add_pasts(struct document *d, const struct bench_report *r, bool figures);
