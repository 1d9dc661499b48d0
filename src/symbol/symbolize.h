/*
 * symbolize.h - names, files, lines and inlined functions for the bare addresses of a profile.
 *
 * One pass over the frames that have an address and no lines: sorted by module, each module
 * opened once. Frames without a name afterwards stay bare and are shown as "[module+0x1234]".
 *
 * A frame's pc is looked up as it is: return addresses have had 1 taken off already. What it counts
 * depends on its mapping's path:
 *
 *     /usr/lib/libc.so.6       see below; its build-id must be the mapping's
 *     [vdso]                   an address of the file, or between the mapping's start and end
 *     /tmp/perf-123.map        a run-time address, in code of process 123 that has no file
 *     .../jit-123.dump         the same, with the lines of a jitdump
 *     any, kind FRAME_KERNEL   a run-time address of the kernel; the offset of its mapping is where
 *                              the symbol _text was, if that is known
 *
 * In a file a pc counts as its mapping does. The mapping's start is where the file's byte OFFSET
 * is; the file's own headers say which address that byte was linked to, and the difference is
 * taken off. So recordings, whose mappings are in addresses of the file, profiles with run-time
 * addresses (pprof), and addresses relative to the image (start and offset 0: samply) are one.
 * Without a range (start and end 0) a pc is an address of the file. Named frames have addresses
 * of the file afterwards, in pc and mapping.
 *
 * libdw opens and decodes, our own code walks (dies.h, linetable.h): with libdw's own walk and
 * tables naming took five times as long, and damaged files could end the program in its assertions.
 *
 * Every frame with an address, a module and a build-id is looked up, whichever format it came from.
 * The kernel and code made at run time are looked up only for what was recorded here: perf.data,
 * and recordings that were cut off. Files are read, never mapped: overwriting one would end us by
 * SIGBUS. Control characters in names become '?'.
 */
#pragma once
#include "base/err.h"
#include "model/profile.h"

#include <sys/types.h>

/* Why a module has no names. */
enum symbolize_reason {
    SYMBOLIZE_GONE,        /* no file there, nor elsewhere */
    SYMBOLIZE_OTHER_BUILD, /* the file there has another build-id: it was replaced since */
    SYMBOLIZE_FORBIDDEN,   /* the file there may not be read */
    SYMBOLIZE_NOT_ELF,
    SYMBOLIZE_OTHER_KERNEL,  /* another kernel was running, and no copy of it is here */
    SYMBOLIZE_HIDDEN_KERNEL, /* the running kernel does not show its addresses to us */
    SYMBOLIZE_NO_MAP,        /* nothing describes the code made at run time */
    SYMBOLIZE_FOREIGN_MAP,   /* what does belongs to another user */
};

/* A module all of whose frames stay without a name. */
struct symbolize_missing {
    struct str_id path, build_id; /* path 0 is the kernel */
    size_t frames;
    enum symbolize_reason reason;
};

typedef VEC(struct symbolize_missing) symbolize_missing_list;

struct symbolize_opts {
    const char *const *symbols; /* folders to look in first, see symbol/finder.h */
    size_t n_symbols;
    const char *symfs;        /* the folder that stands for "/"; NULL = that itself */
    const char *debug_folder; /* where separate debug files are; NULL = /usr/lib/debug */
    const char *cache_folder; /* where perf keeps copies; NULL = .debug in the home folder */
    const char *map_folder;   /* where perf-PID.map files are; NULL = where their mapping says */
    const char *kallsyms;     /* the kernel's symbols; NULL = /proc/kallsyms */
    /* Where to read the file that a mapping calls PATH; NULL = there. */
    const char *(*locate)(const void *locate_arg, const char *path, struct text build_id);
    const void *locate_arg;
    /* The user that process PID belonged to; NULL = not known. Gets locate_arg. */
    bool (*owner)(const void *locate_arg, uint64_t pid, uid_t *ret);
    bool no_inlines;
    bool no_debuginfod;              /* do not ask servers even if DEBUGINFOD_URLS is set */
    bool files_only;                 /* not what only this machine knows now: kernel, JIT, vdso */
    bool places_too;                 /* also what is described by its place: "[libx.so+0x5e30]" */
    symbolize_missing_list *missing; /* modules without names are added here; NULL = not asked */
};

struct symbolize_result {
    size_t frames;        /* looked at */
    size_t named;         /* of those */
    size_t with_lines;    /* of the named: with file and line */
    size_t missing_files; /* modules that could not be opened or have changed */
};

/*
 * Name what can be named. Never fails: what cannot be read stays bare, and is counted. A profile of
 * which every file was at hand is marked (META_NAMED): what is bare in it has no name, and need not
 * be looked up again by each who reads it.
 */
struct symbolize_result symbolize(struct profile *p, const struct symbolize_opts *o);

/* Whether there is a frame that symbolize() would look at. */
bool symbolize_wanted(const struct profile *p, const struct symbolize_opts *o);
