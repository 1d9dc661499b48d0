/*
 * lockstory.h - which locks a program waited for, for people and for programs.
 */
#pragma once
#include "analysis/lockstory.h"

#include <stdio.h>

struct lockstory_view {
    struct lockstory *story; /* labels are made as they are asked for */
    const char *subject;     /* the file */
    size_t top;              /* locks to show */
};

void lockstory_print_text(FILE *out, const struct lockstory_view *v, int width, bool colour);
void lockstory_print_markdown(FILE *out, const struct lockstory_view *v);
void lockstory_print_html(FILE *out, const struct lockstory_view *v);
void lockstory_print_json(FILE *out, const struct lockstory_view *v);
