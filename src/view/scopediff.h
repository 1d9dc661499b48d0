/*
 * scopediff.h - how long scopes took before and after, for people and for programs.
 */
#pragma once
#include "analysis/scopediff.h"
#include "view/document.h"

struct scopediff_view {
    const struct scopediff *diff;
    const char *before, *after; /* the first file of each side */
    const char *unlike;         /* why they should not be compared, lines; "" = nothing */
};

void scopediff_print(FILE *out, const struct scopediff_view *v, const struct document_paper *paper);
void scopediff_print_json(FILE *out, const struct scopediff_view *v);
