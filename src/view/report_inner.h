/*
 * report_inner.h - what the files that write a report's words and tables share.
 */
#pragma once
#include "base/json.h"
#include "view/document.h"
#include "view/report.h"

/* A share with half of its interval, and its heat. */
void report_cell_share(struct document *d, const struct flat_share *s);

/* The hot paths as a pruned tree. */
void report_add_paths(struct document *d, const struct report *r);

/* The function that was asked for, its callers and callees. */
void report_add_function(struct document *d, const struct report *r);

/* Misses of caches and branches, where a simulator counted them; else nothing is added. */
void report_add_misses(struct document *d, const struct report *r);
void report_put_misses(struct json *j, const struct report *r);
