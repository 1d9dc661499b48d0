/*
 * import.h - from a file in any known format to a profile.
 *
 * How to add a format: write src/source/NAME.c that ends in a `const struct source source_NAME`,
 * declare it in sources.h, add it to the table in import.c, and add a fuzz target and a page in
 * doc/formats.md. A source streams: it reads through `im->in` front to back, once.
 *
 * A source says by content, never by name, how sure it is that a stream is its own (`probe`), and
 * fills a profile (`read`). gzip, zstd, xz, bzip2 and UTF-16 are undone before it sees the bytes,
 * so a pipe and a file of any size will do.
 *
 * Everything outside is hostile until checked: ids that point nowhere, sizes that lie, cycles,
 * nesting. Invalid lines and records are counted. The first is kept with its position, and
 * `strict` makes it an error. Damage that would make the rest untrue is always an error: half a
 * gzip file is not a profile with fewer samples. Limits are written where they are kept (a line 64
 * MB, JSON nesting 512, a stack 100,000 frames), and walks over deep structures are loops, not
 * recursion.
 */
#pragma once
#include "base/reader.h"
#include "model/profile.h"
#include "wire/recording.h"

/* The parts that the caller uses; the rest need not be kept. */
struct import_opts {
    const char *format;  /* a source's name, or NULL to recognise it by content */
    bool merge;          /* time and order of samples do not matter: merge equal stacks */
    bool addresses;      /* keep each frame's address apart; false = same name, same frame */
    bool bare_addresses; /* keep the addresses of frames without a name, in any case */
    bool names_only;     /* but only to name them, so not where the format leaves no hope of that */
    bool strict;         /* the first flaw in the input is an error */
    bool empty_too;      /* of our own recordings also those in which nothing was seen */
    struct recording_sink rows; /* of our own recordings: see wire/recording.h */
    const char *folder; /* set by import_file(): PATH is a folder, of which its "data" is read */
};

/* The state of an import, and its report. */
struct import {
    struct reader *in;
    struct profile *profile;
    struct import_opts opts;
    const char *format;   /* name of the source that was used */
    uint64_t skipped;     /* lines or records that were left out as they made no sense */
    char first_skip[200]; /* the first of them: where and why */
    VEC(char *) notes;    /* other things the user should know, a sentence each */
};

struct source {
    const char *name;  /* "pprof": for --from and META_FORMAT */
    const char *title; /* "pprof profile (protobuf)": for people */

    /*
     * How sure are we that a stream starting with HEAD is ours: 0 no, 100 certain. HEAD is at
     * most IMPORT_HEAD_BYTES long; WHOLE says that it is all there is.
     */
    int (*probe)(struct text head, bool whole);

    /*
     * Fill im->profile. On failure the profile is thrown away. A reader that broke need not be
     * checked for: import_file() does that.
     */
    int (*read)(struct import *im, struct err *err);

    bool no_mappings; /* says not where files were mapped, so none can name its addresses */
};

enum { IMPORT_HEAD_BYTES = 64 << 10 };

/* NULL-terminated, most specific first. */
extern const struct source *const import_sources[];

/*
 * Read PATH ("-" = standard input, a folder = what perf record --threads writes). Fails on unknown
 * formats, damage, and inputs without a single sample (but see empty_too). Free the result with
 * profile_free(); call import_done() in any case.
 */
int import_file(struct import *im, const char *path, const struct import_opts *opts,
                struct profile **ret, struct err *err);

/* The same from a reader that is already open, e.g. on memory. NAME is used in messages. */
int import_reader(struct import *im, struct reader *in, const char *name,
                  const struct import_opts *opts, struct profile **ret, struct err *err);

void import_done(struct import *im);

/* --- for sources --- */

/*
 * Leave out the current line (or record) for a reason, which is counted and the first is kept.
 * Returns 0 to go on, or -1 with ERR set under --strict.
 */
int import_skip_line(struct import *im, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int import_skip_byte(struct import *im, uint64_t offset, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Report something that is not a flaw of a line. */
void import_note(struct import *im, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
