/*
 * history.h - runs over time: a list, a line for each number, and where it changed.
 */
#pragma once
#include "stats/trend.h"

#include <stdio.h>

/* A run as a row of the list. */
struct history_row {
    int64_t time_s;
    const char *commit, *branch, *host, *workload, *outcome;
    bool dirty;
    double cpu_ns, time_ns; /* NAN = not measured */
    double instructions, peak_bytes;
};

struct history_view {
    const struct history_row *rows; /* oldest first */
    size_t n_rows;
    const struct trend *trends;
    size_t n_trends;
    size_t n_hidden;  /* trends of functions without a change, not shown */
    const char *host; /* "" = all */
};

void history_print_text(FILE *out, const struct history_view *v, int width, bool colour);
void history_print_markdown(FILE *out, const struct history_view *v);
void history_print_json(FILE *out, const struct history_view *v);
void history_print_csv(FILE *out, const struct history_view *v); /* the runs, without trends */
void history_print_trends_csv(FILE *out, const struct history_view *v);
void history_print_html(FILE *out, const struct history_view *v);

/* The line of a trend as an SVG of its own colours, light and dark. */
void trend_print_svg(FILE *out, const struct trend *t);
