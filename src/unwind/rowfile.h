/*
 * rowfile.h - unwind tables kept on disk, by build-id.
 *
 *     0         8         12        16       24      32       40         48
 *     | "KELVUNW" version | machine | n segs | base | n rows | file size | checksum |
 *     segments, rows: as in memory
 *
 * The checksum covers all that follows the magic but itself. Files are for this machine only:
 * they are in its byte order, and another version of Kelvin makes its own.
 */
#pragma once
#include "unwind/table.h"

/* Fill T, whose build_id and machine are set, from the cache. FILE_BYTES is the ELF file's size. */
bool rowfile_read(struct unwind_table *t, uint64_t file_bytes);

/* Keep T for the next time; where that is not possible nothing happens. */
void rowfile_write(const struct unwind_table *t, uint64_t file_bytes);
