/*
 * flame.h - a call tree drawn as a flame graph, in one SVG file that needs nothing else.
 *
 * Useful as a still picture: every frame has its numbers in a <title>, and a caption says how the
 * profile was obtained. Where scripts run it can be zoomed, searched and walked by keyboard. All
 * ids, classes and style rules are kept to the drawing, so that several fit on one HTML page.
 * Same tree and options, same bytes.
 *
 *     <svg id>                        one user unit = one pixel
 *       <metadata>                    the numbers, and what is too narrow to draw, for the script
 *       <style>
 *       <rect class="kbg">            background
 *       <g class="khead">             title, subtitle, warnings
 *       <g class="kg" translate>      rows, the root's first
 *         <g translate>               a row: frames from left to right
 *           <g class="SHADE"><title/><rect x width height/><text x y/></g>
 *       <g class="kfoot" translate>   legend, caption
 *       <script>
 *
 * Drawn from a tree and a paint, which says how each node is coloured and labelled. Children are
 * sorted by name. Frames too narrow to draw are left out, together, at the right end of their
 * parent: the others keep their true width, and the gap is what is missing. Colours depend on the
 * name and the kind of code only; inlining is in italics. Ids come from a hash of the drawing.
 *
 * In a chart frames have a place in real time. A sample stands for the time up to the one before it
 * of its thread, but never across a gap of three periods: then the thread did not run, and nothing
 * is drawn there.
 *
 * The script does not read numbers from the drawing, where they are rounded: <metadata> has them
 * exactly, with the nodes too narrow to draw (up to 20,000; beyond, a search gives a range). That
 * is why a search and a table agree.
 */
#pragma once
#include "analysis/calltree.h"
#include "analysis/treeshare.h"
#include "view/style.h"

#include <stdio.h>

/*
 * How the nodes of a tree are coloured and labelled, and the texts about the whole. Texts must
 * have no " (" in them, by which the script tells a frame's name from the rest.
 */
struct paint {
    const void *context;
    struct shade (*shade)(const void *context, uint32_t node);              /* not of the root */
    void (*add_about)(const void *context, uint32_t node, struct buf *xml); /* its numbers */
    const char *caption, *warnings; /* as caption.h has them */
    const char *which;              /* a line under the heading; "" = none */

    /* For the script; each may be NULL. */
    const struct value_type *type;  /* of the tree's values */
    const char *unit;               /* what they are called, where they are counts */
    const struct treeshare *shares; /* by node */
    const int64_t *time_ns; /* total and self of each node, where the values are something else */
    void (*add_place)(const void *context, uint32_t label, struct buf *plain); /* "MODULE\tFILE" */
};

struct flame_opts {
    const char *title;             /* NULL = a default */
    const char *subtitle;          /* NULL = none */
    const char *notes;             /* for the <desc>; NULL = none */
    const char *font;              /* font-family; NULL = the system's sans-serif */
    const char *count_name;        /* what a value is called; NULL = as in the profile */
    const char *id;                /* prefix of ids; NULL = from a hash of the drawing */
    const char *hidden;            /* what is not drawn, for the caption; NULL = nothing */
    const struct palette *palette; /* NULL = the default */
    enum style_theme theme;
    double width_px, row_px, font_px; /* 0 = 1200, 17, 12 */
    double factor;                    /* multiplies the values shown; 0 = 1 */
    double min_share;                 /* frames below it are not drawn, but counted in searches */
    bool flames;                      /* root at the bottom, not on top */
    bool still;                       /* no script */
};

/* Pixels between the drawing's edges and its frames. */
#define FLAME_MARGIN_PX 10

/* As many nodes that are too narrow to draw are worth keeping for searches (a few bytes each). */
#define FLAME_KEEP_UP_TO 20000

/* Print T. Returns 0, or -1 when OUT has failed. */
int flame_print(FILE *out, const struct calltree *t, const struct paint *paint,
                const struct flame_opts *o);

/*
 * The same of a tree that was built from S: coloured by name, labelled with its numbers. Intervals
 * are given where it was built with keep_rows.
 */
int flame_print_selection(FILE *out, const struct selection *s, const struct calltree *t,
                          const struct flame_opts *o);
