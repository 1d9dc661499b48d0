/*
 * rowfile.h - unwind tables kept on disk, by build-id.
 *
 *     0         8         12        16       24      32       40         48
 *     | "KELVUNW" version | machine | n segs | base | n rows | file size | checksum |
 *     segments, rows: as in memory
 *
 * The checksum covers all that follows the magic but itself. Files are for this machine only:
 * they are in its byte order, and another version of Kelvin makes its own. Rows are used where
 * they lie in the file: of the million of a compiler a walk looks at few.
 */
#pragma once
#include "unwind/table.h"

/* Fill T, whose build_id and machine are set, from the cache. FILE_BYTES is the ELF file's size. */
bool rowfile_read(struct unwind_table *t, uint64_t file_bytes);

/* Keep T for the next time; false where that is not worth it or not possible. */
bool rowfile_write(const struct unwind_table *t, uint64_t file_bytes);

/* All rows were checked once, and few will be read again. Rows in a file take no memory until then.
 */
void rowfile_rest(const struct unwind_table *t);

/* Free the rows of T, in memory or in a file. */
void rowfile_free(struct unwind_table *t);
