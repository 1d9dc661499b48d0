/*
 * page_parts.h - what the files of the pages share.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct document;
struct suite;
struct suite_result;

/* "2026-01-31 09:05:00 UTC" */
void page_time(int64_t time_s, char *to, size_t size);

/* What changed since the baseline; nothing without one. */
void page_comparison(struct document *d, const struct suite *s, const struct suite_result *r);

/* Cache and branch misses as they were simulated; nothing without them. */
void page_cache(struct document *d, const struct suite_result *r);
