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
void report_cell_time(struct document *d, const struct report *r, double share);

/* Functions with self and total. */
void report_add_functions(struct document *d, const struct report *r);

/* The same over several recordings. */
void report_add_runs(struct document *d, const struct report *r);
void report_put_runs(struct json *j, const struct report *r);

void report_put_share(struct json *j, const char *key, const struct flat_share *s);

/* Modules, threads or lines that were seen running. */
void report_add_by(struct document *d, const struct report *r, const struct flat *f, size_t top);

/* The hot paths as a pruned tree. */
void report_add_paths(struct document *d, const struct report *r);

/* The function that was asked for, its callers and callees. */
void report_add_function(struct document *d, const struct report *r);

/* Misses of caches and branches, where a simulator counted them; else nothing is added. */
void report_add_misses(struct document *d, const struct report *r);
void report_put_misses(struct json *j, const struct report *r);
