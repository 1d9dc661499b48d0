/*
 * diff.h - a comparison of profiles for people (text, markdown, HTML, SVG) and programs (JSON).
 */
#pragma once
#include "analysis/diff.h"
#include "view/style.h"

#include <stdio.h>

struct diff_view {
    const struct selection *const *runs; /* those of before first, as in diff_opts */
    const char *unlike;    /* why the runs should not be compared, lines; "" = nothing */
    const char *arguments; /* what the sides were asked differently, or NULL; "" = nothing */
    size_t top;            /* rows a list */
    enum style_theme theme;
    int width; /* of text */
    bool colour;
};

void diff_print_text(FILE *out, const struct diff *d, const struct diff_view *v);
void diff_print_markdown(FILE *out, const struct diff *d, const struct diff_view *v);
void diff_print_json(FILE *out, const struct diff *d, const struct diff_view *v);

/* One page that needs nothing else, with the drawing inside. */
void diff_print_html(FILE *out, const struct diff *d, const struct diff_view *v);

/*
 * The call paths of both sides in one flame graph: as wide as the mean share, grey where nothing
 * is proven, red where a path grew and blue where it shrank. Each frame shows self and total.
 */
void diff_print_svg(FILE *out, const struct diff *d, const struct diff_view *v);

/* --- words that several of them use --- */

/* Append in a few words how sure the comparison is: "one run per side: sampling error only". */
void diff_basis(struct buf *b, const struct diff *d);

/*
 * Append "+10.2%", "x3.1", "from 0" or "to 0": what happened to the cost V of E; "-" where not
 * tested.
 */
void diff_cost(struct buf *b, const struct diff_entry *e, const struct diff_value *v);

/* "not seen before", "not seen after" or "". */
const char *diff_presence(const struct diff_value *total);
