/*
 * lockstory.h - which locks a program waited for, for people and for programs.
 */
#pragma once
#include "analysis/lockstory.h"
#include "view/document.h"

struct lockstory_view {
    struct lockstory *story; /* labels are made as they are asked for */
    const char *subject;     /* the file */
    size_t top;              /* locks to show */
};

void lockstory_print(FILE *out, const struct lockstory_view *v, const struct document_paper *paper);
void lockstory_print_json(FILE *out, const struct lockstory_view *v);
