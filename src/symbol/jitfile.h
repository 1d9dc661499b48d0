/*
 * jitfile.h - files that programs leave about the code they made, in folders open to all.
 *
 * Anybody may put a file of such a name into /tmp and choose what functions are called in
 * somebody else's report. So only a plain file counts, not a link, and only one that belongs to
 * root, to us, or to the user whose process it is about.
 */
#pragma once
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { JITFILE_NONE = -1, JITFILE_FOREIGN = -2 };

/* A file descriptor, or why not. OWNER is the process's user, or NULL where not known. */
int jitfile_open(const char *path, const uid_t *owner);

/* The number in a file's name between FRONT and TAIL: "perf-" 123 ".map". */
bool jitfile_pid(struct text path, const char *front, const char *tail, uint64_t *ret_pid);
