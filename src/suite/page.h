/*
 * page.h - what a run of a suite publishes: pages for people, a receipt for programs.
 *
 *     NAME.svg      the flame graph of a workload
 *     NAME.view.html  its recording, to explore in a browser (view/viewer.h)
 *     NAME.md       its page: where everything comes from, where the time goes, what to try;
 *                   NAME.html the same
 *     README.md     the index; index.html the same with the drawings
 *     run.json      every figure
 *     summary.md    at most one screen, for a pull request
 *
 * Nothing is left to be filled in: results that could not be had are called absent, with the
 * reason. Home folders are shortened; values of the environment are shown only where the suite
 * names them.
 */
#pragma once
#include "base/err.h"

#include <stdio.h>

struct buf;
struct suite;
struct words;
struct suite_result;
struct document;

/* Write all of it into the suite's folder. */
int page_write_all(const struct suite *s, struct err *err);

/* The parts, for pages of their own. */
void page_workload(struct document *d, const struct suite *s, const struct suite_result *r);

/* ENDING is that of the pages it leads to: "md" or "html". */
void page_index(struct document *d, const struct suite *s, const char *ending);
void page_summary(FILE *out, const struct suite *s);
void page_receipt(FILE *out, const struct suite *s);

/* PATH with the home folder as "~", in caller's storage. */
const char *page_shorten(const char *text, char *to, size_t size);

/* A command LINE as the suite wants it shown: without arguments, unless publish.arguments says so.
 */
void page_command(struct buf *b, const struct suite *s, const char *line);
