/*
 * finder.h - where the file of a module is, and the one with its debug information.
 *
 * A module is known by its path and, mostly, by its build-id: a file with another is never used.
 * Places are asked in this order:
 *
 *     where it was running (or the same place below --symfs)
 *     each folder of symbols: by build-id, by path, then any file of that name below it
 *     ~/.debug, where perf keeps copies of what it recorded
 *     separate debug files: the folders of symbols, /usr/lib/debug, ~/.debug, servers
 *
 * Servers are asked only if the user's environment names any. Modules without names are listed with
 * the reason (symbolize_missing()), so that a comparison can know that one side has no names.
 */
#pragma once
#include "base/vec.h"
#include "symbol/elffile.h"

struct finder_opts {
    const char *const *symbols; /* folders, asked in their order */
    size_t n_symbols;
    const char *symfs;        /* what stands for "/" ; NULL = that itself */
    const char *debug_folder; /* "/usr/lib/debug" */
    const char *cache_folder; /* perf's, NULL = .debug in the home folder */
    bool ask_servers;
    /* Where to read the file that a mapping calls PATH; NULL = there. */
    const char *(*locate)(const void *locate_arg, const char *path, struct text build_id);
    const void *locate_arg;
};

struct finder {
    struct finder_opts opts;
    char *cache;        /* perf's folder, or NULL */
    VEC(char *) listed; /* files below the folders of symbols, once they were asked for */
    bool is_listed;
};

/* Why a module has no names. */
enum finder_end {
    FINDER_FOUND,
    FINDER_GONE,        /* no file there, nor elsewhere */
    FINDER_OTHER_BUILD, /* there, but with another build-id: replaced since */
    FINDER_FORBIDDEN,   /* there, but we may not read it */
    FINDER_NOT_ELF,
};

struct finder_files {
    struct elffile main, debug;
    bool has_main, has_debug; /* debug: apart from main */
};

void finder_init(struct finder *f, const struct finder_opts *o);
void finder_done(struct finder *f);

/* Open what there is. Close it in any case. */
enum finder_end finder_open(struct finder *f, struct finder_files *ret, const char *path,
                            struct text build_id);
void finder_close(struct finder_files *files);

/* Where the program or library itself is, or NULL. Free it. */
char *finder_path(struct finder *f, const char *path, struct text build_id);

/* Open the first of the kernels that might be the one with this build-id and release. */
int finder_open_kernel(struct finder *f, struct elffile *ret, struct text build_id,
                       const char *release, bool asked_only);
