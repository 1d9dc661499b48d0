/*
 * bench_plot.h - small SVG charts for the benchmark page: a frame, axes, and places in it.
 *
 * Charts take their colours from the page (bench_html.c) by classes, so light and dark need no
 * second drawing. Units are pixels of the view box; the page scales it.
 */
#pragma once
#include "view/bench/bench_inner.h"

enum {
    PLOT_WIDTH = 480,
    PLOT_LEFT = 64,
    PLOT_RIGHT = 14,
    PLOT_TOP = 10,
    PLOT_BOTTOM = 24,
    PLOT_TICKS = 12,
};

struct plot_axis {
    double low, high; /* of the values; low < high */
    bool log;
};

struct plot {
    FILE *out;
    int height;
    struct plot_axis x, y;
    bool bare_y; /* the y axis has no meaning: no ticks, no margin */
};

/* Room around the values, so that none sits on the frame; equal ones get some too. */
struct plot_axis plot_axis_around(double low, double high, bool log);

void plot_open(const struct plot *p, const char *title);
void plot_close(const struct plot *p);

double plot_x(const struct plot *p, double v);
double plot_y(const struct plot *p, double v);

/* Round values within the axis, about WANT where it is not logarithmic; returns how many. */
size_t plot_ticks(const struct plot_axis *a, int want, double ret[PLOT_TICKS]);

/* Lines across and labels at round values of a measure. */
void plot_value_ticks_x(const struct plot *p, enum measure m);
void plot_value_ticks_y(const struct plot *p, enum measure m);

/* A text, escaped; ANCHOR is start, middle or end. */
void plot_label(const struct plot *p, double x, double y, const char *anchor, const char *text);

/* The same below the chart, at the middle of X as far as it fits. */
void plot_label_below(const struct plot *p, double x, const char *text);

/* Any text into HTML or SVG. */
void plot_escape(FILE *out, const char *text);
