/*
 * heapstory.h - what happened on a heap, for people and for programs.
 */
#pragma once
#include "analysis/heapstory.h"
#include "view/document.h"

struct heapstory_view {
    const struct heapstory *story;
    const char *subject;   /* the file */
    size_t top;            /* rows of each table */
    const char *maps_hint; /* a sentence on how to see memory that malloc did not give; or NULL */
};

void heapstory_print(FILE *out, const struct heapstory_view *v, const struct document_paper *paper);
void heapstory_print_json(FILE *out, const struct heapstory_view *v);

/* Live bytes and RSS over time. */
void heapstory_draw(FILE *out, const struct heapstory *s);
