/*
 * heapstory.h - what happened on a heap, for people and for programs.
 */
#pragma once
#include "analysis/heapstory.h"

#include <stdio.h>

struct heapstory_view {
    const struct heapstory *story;
    const char *subject; /* the file */
    size_t top;          /* rows of each table */
};

void heapstory_print_text(FILE *out, const struct heapstory_view *v, int width, bool colour);
void heapstory_print_markdown(FILE *out, const struct heapstory_view *v);
void heapstory_print_html(FILE *out, const struct heapstory_view *v);
void heapstory_print_json(FILE *out, const struct heapstory_view *v);

/* Live bytes and RSS over time. */
void heapstory_draw(FILE *out, const struct heapstory *s);
