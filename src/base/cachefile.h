/*
 * cachefile.h - files that spare work next time, in the user's cache folder.
 *
 * Losing one costs only time, so nothing here fails: what cannot be read is made anew, what
 * cannot be written is not kept. Files are only for the user's own eyes, and only files of the
 * user are believed; that they are whole the caller must check.
 */
#pragma once
#include "base/buf.h"

/* $XDG_CACHE_HOME/kelvin or ~/.cache/kelvin, NULL for nowhere. Free the result. */
char *cachefile_folder(void);

/* The content of NAME, e.g. "unwind/1234.rows", below the folder. */
bool cachefile_read(const char *name, struct buf *ret);

/* Keep B as NAME. Replaced whole; not synced. */
void cachefile_write(const char *name, const struct buf *b);
