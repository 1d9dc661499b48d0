/*
 * kallcache.h - the running kernel's symbols, kept until it or its modules change.
 *
 * The kernel makes the text of /proc/kallsyms anew for every reader, which takes longer than
 * all the rest of naming a short recording.
 */
#pragma once
#include "base/buf.h"

#define KALLSYMS_RUNNING "/proc/kallsyms"

/* The text of /proc/kallsyms, from the cache or else read and kept. False if addresses are hidden
 * or it cannot be read. */
bool kallcache_read(struct buf *ret);
