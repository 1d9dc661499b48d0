/*
 * folded.h - a selection as folded stacks, one per line, sorted.
 */
#pragma once
#include "analysis/calltree.h"
#include "base/err.h"

#include <stdio.h>

struct folded_opts {
    enum calltree_group group; /* dropped when the profile has no threads */
    const struct grouping *by; /* with GROUP_LABEL */
    const char *by_key;
    bool mark_kernel, mark_jit, mark_inlined_frames, addresses;
};

/* Fails, and prints nothing, where that would be far too much: see export_check_size(). */
int folded_print(FILE *out, const struct selection *s, const struct folded_opts *o,
                 struct err *err);
