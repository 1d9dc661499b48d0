/*
 * scopediff.h - how long scopes took before and after, for people and for programs.
 */
#pragma once
#include "analysis/scopediff.h"

#include <stdio.h>

struct scopediff_view {
    const struct scopediff *diff;
    const char *before, *after; /* the first file of each side */
    const char *unlike;         /* why they should not be compared, lines; "" = nothing */
};

void scopediff_print_text(FILE *out, const struct scopediff_view *v, int width, bool colour);
void scopediff_print_markdown(FILE *out, const struct scopediff_view *v);
void scopediff_print_html(FILE *out, const struct scopediff_view *v);
void scopediff_print_json(FILE *out, const struct scopediff_view *v);
