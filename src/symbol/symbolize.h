/*
 * symbolize.h - names, files, lines and inlined functions for the bare addresses of a profile.
 *
 * One pass over the frames that have an address and no lines: sorted by module, each module
 * opened once. What has no name afterwards stays bare and is shown as "[module+0x1234]".
 *
 * A frame's pc is looked up as it is: return addresses have had 1 taken off already. What it counts
 * depends on its mapping's path:
 *
 *     /usr/lib/libc.so.6       an address of the file (vaddr); its build-id must be the mapping's
 *     [vdso]                   the same, or an address between the mapping's start and end
 *     /tmp/perf-123.map        a run-time address, in code of process 123 that has no file
 *     .../jit-123.dump         the same, with the lines of a jitdump
 *     any, kind FRAME_KERNEL   a run-time address of the running kernel
 */
#pragma once
#include "base/err.h"
#include "model/profile.h"

struct symbolize_opts {
    const char *debug_folder; /* where separate debug files are; NULL = /usr/lib/debug */
    const char *map_folder;   /* where perf-PID.map files are; NULL = where their mapping says */
    const char *kallsyms;     /* the kernel's symbols; NULL = /proc/kallsyms */
    /* Where to read the file that a mapping calls PATH; NULL = there. */
    const char *(*locate)(const void *locate_arg, const char *path);
    const void *locate_arg;
    bool no_inlines;
    bool no_debuginfod; /* do not ask servers even if DEBUGINFOD_URLS is set */
};

struct symbolize_result {
    size_t frames;        /* looked at */
    size_t named;         /* of those */
    size_t with_lines;    /* of the named: with file and line */
    size_t missing_files; /* modules that could not be opened or have changed */
};

/* Name what can be named. Never fails: what cannot be read stays bare, and is counted. */
struct symbolize_result symbolize(struct profile *p, const struct symbolize_opts *o);
