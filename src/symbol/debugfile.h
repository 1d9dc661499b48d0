/*
 * debugfile.h - the separate file that holds the debug information of a stripped one.
 */
#pragma once
#include "symbol/elffile.h"

struct debugfile_opts {
    const char *folder; /* "/usr/lib/debug" */
    bool ask_servers;   /* debuginfod, if DEBUGINFOD_URLS names any */
};

/*
 * Find and open it, by build-id, by .gnu_debuglink, by the place of the file, then from a server.
 * MAIN may be NULL when the file itself is gone; then only the BUILD_ID (hex) helps. -1: none.
 */
int debugfile_open(struct elffile *ret, const char *path, Elf *main, struct text build_id,
                   const struct debugfile_opts *o);
