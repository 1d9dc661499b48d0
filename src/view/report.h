/*
 * report.h - what a profile says, in words and tables: where the time goes, how sure that is, and
 * what to try.
 *
 * Built once, then printed for a terminal, as markdown, JSON, or one HTML page.
 *
 * Text, markdown and HTML are one `struct document`; JSON is written from the same numbers.
 */
#pragma once
#include "analysis/calltree.h"
#include "analysis/insight.h"
#include "analysis/runshares.h"

#include <stdio.h>

struct report_opts {
    size_t top;          /* rows of a table */
    const char *callers; /* only this function with its callers and callees; NULL = the whole */
    bool has_by;         /* one table by this instead of functions and paths */
    enum flat_by by;
    const char *by_key;          /* of FLAT_LABEL: see grouping.h */
    const struct simd_row *code; /* hot functions whose code is at hand, hottest first */
    size_t n_code;
    const struct selection *const *runs; /* all recordings, the first too; NULL = one */
    size_t n_runs;
    struct flat *functions; /* of the selection, where they are at hand: they stay their owner's */
    bool outline;           /* of the whole: what stands out, modules and threads, nothing longer */
};

struct report {
    const struct selection *selection;
    const struct profile *profile; /* of the selection */
    struct report_opts opts;
    struct quality quality;
    double time_ns;         /* that all of it stands for; 0 = not known, or it is no time */
    double mean_time_ns;    /* the same of a recording on average; with several only */
    struct runshares *runs; /* with several recordings, else NULL */
    struct flat *functions, *modules, *threads; /* modules and threads in the whole report only */
    struct flat *by;                            /* with has_by only */
    struct grouping groups;                     /* of it, by label */
    struct flat *processes;                     /* of a whole machine; NULL = of one program */
    struct grouping by_process;
    struct calltree *paths;  /* pruned */
    bool merged_recursion;   /* of them: a function that calls itself is one row */
    double paths_least;      /* the share below which paths are left out */
    uint32_t *node_of_stack; /* for each stack the last node of paths on it */
    struct insights insights;
    bool *of_callers; /* the function that was asked for, by row of functions */
};

/*
 * Fails when opts->callers is no function of the profile, or several. The selection must outlive
 * it. Free with report_done(). Printing only reads it.
 */
int report_build(struct report *r, const struct selection *s, const struct report_opts *opts,
                 struct err *err);
void report_done(struct report *r);

/* Nanoseconds that all of S stands for; 0 = not known, or it is no time. */
double report_time_of(const struct selection *s);

/* "report on COMMAND", for headings. Free it. */
char *report_title(const struct report *r);

/* The files, at most MOST, that have functions of a row's name. Returns how many. */
size_t report_modules(const struct flat *f, uint32_t row, size_t most, struct mapping_id *ret);

/* The rows whose entry in VALUES is above 0, largest first. Free it. */
uint32_t *report_rank(const struct flat *f, const int64_t *values, size_t *ret_n);

/* Share of what runs below a node of `paths`. */
struct flat_share report_share_of_path(const struct report *r, uint32_t node);

/* The part about the program as part of another page: insights, functions, paths, modules. */
struct document;
void report_add(struct document *d, const struct report *r, bool figure);

void report_print_text(FILE *out, const struct report *r, int width, bool colour);
void report_print_markdown(FILE *out, const struct report *r);
void report_print_json(FILE *out, const struct report *r);

/* END prints what stands before </body>, given END_CTX; NULL = nothing. */
void report_print_html(FILE *out, const struct report *r,
                       void (*end)(FILE *out, const void *end_ctx), const void *end_ctx);

/* The page without a script, and only what stands between <body> and </body>. */
void report_print_still(FILE *out, const struct report *r);
