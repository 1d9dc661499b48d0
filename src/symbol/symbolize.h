/*
 * symbolize.h - names, files, lines and inlined functions for the bare addresses of a profile.
 *
 * One pass over the frames that have an address and no lines: sorted by module, each module
 * opened once. What has no name afterwards stays bare and is shown as "[module+0x1234]".
 * A frame's pc is an address of its file (vaddr) when its mapping has a path, else as it was.
 */
#pragma once
#include "base/err.h"
#include "model/profile.h"

struct symbolize_opts {
    const char *debug_folder; /* where separate debug files are; NULL = /usr/lib/debug */
    const char *map_folder;   /* where perf-PID.map files are; NULL = /tmp */
    bool no_inlines;
    bool no_debuginfod; /* do not ask servers even if DEBUGINFOD_URLS is set */
};

struct symbolize_result {
    size_t frames, named, with_lines; /* frames looked at, of which named, of which with file:line */
    size_t missing_files;             /* modules that could not be opened or have changed */
};

/* Name what can be named. Never fails: what cannot be read stays bare, and is counted. */
struct symbolize_result symbolize(struct profile *p, const struct symbolize_opts *o);
