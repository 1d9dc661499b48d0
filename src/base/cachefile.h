/*
 * cachefile.h - files that spare work next time, in the user's cache folder.
 *
 * Losing one costs only time, so nothing here fails: a file that cannot be read is made again,
 * one that cannot be written is not kept. Only the user can read these files, and only files of
 * the user are trusted. The caller must check that they are complete.
 */
#pragma once
#include "base/buf.h"

/*
 * $XDG_CACHE_HOME/kelvin or ~/.cache/kelvin, NULL for nowhere: also where that, or a folder above,
 * is another user's. Free the result.
 */
char *cachefile_folder(void);

/* The content of NAME, e.g. "unwind/1234.rows", below the folder. */
bool cachefile_read(const char *name, struct buf *ret);

/*
 * The same in place, for reading, which costs memory only where it is looked at. Kelvin replaces
 * such files and never cuts them. Give it back with cachefile_unmap().
 */
bool cachefile_map(const char *name, struct text *ret);
void cachefile_unmap(struct text content); /* empty is fine */

/* Release the memory of a mapped file: pages come back when they are read. */
void cachefile_rest(struct text content);

/* Keep B as NAME. Replaced whole; not synced. False where it is not kept. */
bool cachefile_write(const char *name, const struct buf *b);
