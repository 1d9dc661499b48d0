/*
 * report_inner.h - what the files that write a report's words and tables share.
 */
#pragma once
#include "base/json.h"
#include "view/document.h"
#include "view/report.h"

/* A share with half of its interval, and its heat. */
void report_cell_share(struct document *d, const struct flat_share *s);

/* The time that a share stands for; empty where that is not known. */
const char *report_time_word(const struct report *r); /* " time", or "" */
void report_cell_time(struct document *d, const struct report *r, double share);

/* Functions with self and total. */
void report_add_functions(struct document *d, const struct report *r);

void report_put_functions(struct json *j, const struct report *r);

/* The same over several recordings. */
void report_add_runs(struct document *d, const struct report *r);
void report_put_runs(struct json *j, const struct report *r);

void report_put_share(struct json *j, const char *key, const struct flat_share *s);
void report_put_row(struct json *j, const struct report *r, const struct flat *f, uint32_t row,
                    const struct flat_pair *share);

/* The member "function": the rows of r->of_callers with their callers and callees. */
void report_put_function(struct json *j, const struct report *r);

/* The rank of a row with fewer samples means nothing. */
enum { REPORT_FEW_FOR_ORDER = 10 };

/* The time that a share stands for; 0 where that is not known. */
double report_time_ns(const struct report *r, double share);

/* The share of a node of `paths`, by the value that is shown. */
double report_part_of_path(const struct report *r, int64_t value);

/* Modules, threads or lines that were seen running. */
void report_add_by(struct document *d, const struct report *r, const struct flat *f, size_t top);

/* The hot paths as a pruned tree. */
void report_add_paths(struct document *d, const struct report *r);

/*
 * The callers of the function that was asked for, or its callees: the rows that are shown,
 * largest first. FLAT_NOBODY is what has no row: called by nothing, or spent in itself.
 */
struct report_calls {
    const char *title, *key, *rest_name;
    int64_t *values; /* by row of functions */
    uint32_t *of_stack;
    int64_t rest, whole; /* with no row; all */
    uint32_t *rows;
    size_t n;
};

void report_calls_build(struct report_calls *callers, struct report_calls *callees,
                        const struct report *r);
void report_calls_done(struct report_calls *callers, struct report_calls *callees);
struct text report_call_name(const struct report *r, const struct report_calls *c, uint32_t row);

/* Of all that is called by it, or calls it. */
double report_call_part(const struct report_calls *c, uint32_t row);

/* The function that was asked for, its callers and callees. */
void report_add_function(struct document *d, const struct report *r);

/* Rates of counters, where several were recorded; else nothing is added. */
void report_add_counters(struct document *d, const struct report *r);
void report_put_counters(struct json *j, const struct report *r);

/* Misses of caches and branches, where a simulator counted them; else nothing is added. */
void report_add_misses(struct document *d, const struct report *r);
void report_put_misses(struct json *j, const struct report *r);
