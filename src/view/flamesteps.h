/*
 * flamesteps.h - the flame graphs of several recordings in one HTML page, to step through.
 *
 * One is shown at a time: buttons, the arrow keys and a slider go from run to run. Without scripts
 * they stand one below the other. Recordings are drawn one by one, so that only one is in memory.
 */
#pragma once
#include "analysis/selection.h"

#include <stdio.h>

struct flamesteps {
    FILE *out;
    size_t n;
};

void flamesteps_begin(struct flamesteps *f, FILE *out, const char *title);

/* NAME is shown above the drawing: "2026-11-17 08:15, commit 3f9a1c2d". */
void flamesteps_add(struct flamesteps *f, const char *name, const struct selection *s);
void flamesteps_end(struct flamesteps *f);
