/*
 * recording_inner.h - what the files that write and read a recording share.
 */
#pragma once
#include "wire/column.h"
#include "wire/recording.h"

/* Which columns a chunk of rows has besides. */
enum { ROWS_TIME = 1, ROWS_DURATION = 2, ROWS_ATTRS = 4, ROWS_FLAGS = 7 };

enum { PACKED_NEWER = 1 }; /* flag of a source file */

/* --- writing --- */

/* Write w->raw as a chunk, and empty it. */
int recording_write_chunk(struct recording_writer *w, const char *type, struct err *err);

/* The row after the last one of a chunk that starts with row FROM of N. */
static inline size_t recording_upto(size_t from, size_t n)
{
    return n - from < RECORDING_MAX_ROWS ? n : from + RECORDING_MAX_ROWS;
}

/* Write what is new in streams and counters. Everything that their rows name has been written. */
int recording_append_streams(struct recording_writer *w, const struct profile *p,
                             struct recording_mark *mark, struct err *err);

/* The part of the closing chunk that is about streams and counters. */
void recording_put_totals(struct buf *b, const struct profile *p);

/* --- reading --- */

struct stack_ref {
    uint32_t id, depth;
};

/*
 * A recording's ids in the profile: the same, unless the file contains equal rows twice. Frames,
 * processes, streams and counters may be equal and keep their ids.
 */
struct loader {
    struct profile *p;
    VEC(uint32_t) strings, mappings, functions, attrs, threads;
    VEC(struct stack_ref) stacks;
    VEC(uint64_t) stream_rows; /* of each stream; the profile has fewer when it merges */
    struct columns rows, lines;
    VEC(struct line) frame_lines; /* scratch for one frame */
    uint64_t left_bytes;          /* of the file, where it is in memory; 0 = not known */
    bool ended;
    const struct recording_sink *sink; /* NULL = rows stay */
};

/*
 * Each apply function takes one chunk's payload. It returns NULL, or why the payload is invalid,
 * and in that case has changed nothing. Rows that passed the check are then added without fail.
 */
const char *recording_apply_streams(struct loader *l, struct cursor *c);
const char *recording_apply_rows(struct loader *l, struct cursor *c);
const char *recording_apply_counters(struct loader *l, struct cursor *c);
const char *recording_apply_points(struct loader *l, struct cursor *c);

/* Whether the closing chunk says the same about streams and counters as was read. */
bool recording_same_totals(const struct loader *l, struct cursor *c);

#define LOADER_CUT_SHORT "it has fewer rows than it says"
#define LOADER_TOO_MANY "it has more rows than a chunk may have"
#define LOADER_TOO_LONG "it has bytes after its last row"
#define LOADER_BAD_ID "it names something that is not in the file"
#define LOADER_BAD_VALUE "a value is out of its range"
