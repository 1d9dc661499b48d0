/*
 * perfmap.h - names of code made at run time, from the text file that JITs write for perf.
 *
 *     7f51a0c04000 1e0 LazyCompile:*parse /srv/app.js:12      start, size (hex), name
 *
 * Code moves and memory is used again: where entries overlap the last one in the file counts.
 */
#pragma once
#include "symbol/lookup.h"

enum { PERFMAP_MAX_BYTES = 512 << 20 };

/* Whether PATH is called like such a file, "perf-123.map"; RET_PID is the number in it. */
bool perfmap_is(struct text path, uint64_t *ret_pid);

/* Name run-time addresses from FD, which is taken over. -1 if it cannot be read. */
int perfmap_name(struct lookup *l, int fd);
