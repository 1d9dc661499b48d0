/*
 * kallcache.h - the running kernel's symbols, kept until it or its modules change.
 *
 * The kernel generates the text of /proc/kallsyms for every reader, which takes longer than all
 * the rest of naming a short recording.
 */
#pragma once
#include "base/buf.h"

#define KALLSYMS_RUNNING "/proc/kallsyms"

/*
 * The list of symbols at PATH: that of KALLSYMS_RUNNING from the cache, or else read and kept.
 * False if it cannot be read, or is the running kernel's and hides addresses.
 */
bool kallcache_read(const char *path, struct buf *ret);
