/*
 * debugfile.h - the separate file that holds the debug information of a stripped one.
 */
#pragma once
#include "symbol/elffile.h"

/*
 * Find and open it in FOLDER ("/usr/lib/debug"): by build-id, by .gnu_debuglink, which may also
 * lead to the file's own folder, or by the place of the file. MAIN may be NULL when the file itself
 * is gone; then only the BUILD_ID (hex) helps, which is else the one of MAIN. -1: none.
 */
int debugfile_open(struct elffile *ret, const char *path, Elf *main, struct text build_id,
                   const char *folder);

/* The same from debuginfod, if DEBUGINFOD_URLS names any server. */
int debugfile_ask(struct elffile *ret, struct text build_id);
