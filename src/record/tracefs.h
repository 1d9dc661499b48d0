/*
 * tracefs.h - what the kernel's trace file system says about a tracepoint.
 *
 * If it is not mounted, root can mount it: a mount of our own that no folder shows and that ends
 * with its file descriptor (fsmount(2), Linux 5.2). Nothing on the machine changes.
 */
#pragma once
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether this user can look up tracepoints at all. */
bool tracefs_can_read(void);

/* The number of a tracepoint, as perf_event_open wants it. */
bool tracefs_id(struct text group, struct text event, uint64_t *ret);

/* Where a field lies in the raw data of its samples, in bytes; -1 = not known. */
int tracefs_offset(const char *group, const char *event, const char *field);

/* The same, in the text of a file "format". */
int tracefs_offset_in(const char *format, const char *field);
