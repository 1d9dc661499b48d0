/*
 * page_inner.h - what the files of the pages share.
 */
#pragma once
#include "model/series.h"

struct document;
struct suite;
struct suite_result;

/* "2026-01-31 09:05:00 UTC" */
void page_time(int64_t time_s, char *to, size_t size);

/* The median of a measure of all runs; NAN where there is none. */
double page_median(const struct series *s, enum measure m);

/* A cell for scatter, "7.1% !" where that is marked; and what the mark means. */
struct repeats_summary;
void page_scatter_cell(struct document *d, const struct repeats_summary *s);
#define PAGE_SCATTER_MEANS \
    "Scatter is the standard deviation as a share of the mean; ! marks more than 5%%."

/* A list of the absent results; empty if there are none. */
void page_absent(struct document *d, const struct suite_result *r);

/* Its flame graph, which opens the page to explore it where there is one. */
void page_flame(struct document *d, const struct suite_result *r);

/* Whether the first recording gets a page to explore it, and that page's name. Free it. */
bool page_has_view(const struct suite_result *r);
char *page_view_file(const struct suite_result *r);

/* The changes since the baseline; nothing without one. */
void page_comparison(struct document *d, const struct suite *s, const struct suite_result *r);

/* Cache and branch misses as they were simulated; nothing without them. */
void page_cache(struct document *d, const struct suite_result *r);

/* How long the program's scopes took, where that was asked for: page_scopes.c. */
struct json;
void page_scopes(struct document *d, const struct suite_result *r);
void receipt_scopes(struct json *j, const struct suite_result *r);

/* The numbers that the program gives itself: page_metrics.c. */
void page_metrics(struct document *d, const struct suite_result *r);
void receipt_metrics(struct json *j, const struct suite_result *r);

/* The benchmarks inside its program: page_benchmarks.c. */
void page_benchmarks(struct document *d, const struct suite *s, const struct suite_result *r);
void receipt_benchmarks(struct json *j, const struct suite_result *r);

/* Several builds of its program beside each other: page_variants.c. */
void page_variants(struct document *d, const struct suite *s, const struct suite_result *r);
void receipt_variants(struct json *j, const struct suite_result *r);

/* Every measure of a series, null without one; and what came of a comparison, where there is one.
 */
struct comparison;
void receipt_series(struct json *j, const char *key, const struct series *s);
void receipt_compared(struct json *j, const char *key, bool known, const struct comparison *c);

/* Peak, leaks and allocations, where they were recorded: page_heap.c. */
void page_heap(struct document *d, const struct suite_result *r);
