/*
 * diff.h - a comparison of profiles for people (text, markdown, SVG) and programs (JSON).
 */
#pragma once
#include "analysis/diff.h"
#include "view/style.h"

#include <stdio.h>

struct diff_view {
    const char *unlike; /* why the runs should not be compared, lines; "" = nothing */
    size_t top;         /* rows a list */
    enum style_theme theme;
};

void diff_print_text(FILE *out, const struct diff *d, const struct diff_view *v);
void diff_print_markdown(FILE *out, const struct diff *d, const struct diff_view *v);
void diff_print_json(FILE *out, const struct diff *d, const struct diff_view *v);

/*
 * The call paths of both sides in one flame graph: as wide as the mean share, grey where nothing
 * is proven, red where a path grew and blue where it shrank. Each frame tells self and total.
 */
void diff_print_svg(FILE *out, const struct diff *d, const struct diff_view *v);

/* Append in a few words how sure the comparison is: "one run a side: sampling error only". */
void diff_basis(struct buf *b, const struct diff *d);

/* "new", "gone" or "". */
const char *diff_presence(const struct diff_value *total);
