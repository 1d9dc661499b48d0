/*
 * recording.h - a profile as a .kelvin file: written slice by slice, read in one go.
 *
 * Each table of the profile has a chunk type. A chunk holds rows of its table that are new, in
 * order; ids are not written as tables only grow. Row 0 of strings, mappings, functions,
 * attributes, processes, threads and stacks is the same in every profile and not written either.
 * Chunks of one slice come in the order of this list, so that whatever a row names has been written
 * before it:
 *
 *     META  n, then n times: length, key, length, value          the last of a key counts
 *     CLCK  monotonic, wall: one moment on both clocks, ns
 *     STRS  n, column length, then all bytes in one piece
 *     MAPS  n, columns path build_id start end offset            path, build_id: strings
 *     FUNC  n, columns name system_name file line
 *     FRAM  n, columns pc mapping kind n_lines; then
 *           m, columns function line column                      m = sum of n_lines
 *     FSET  like FRAM with a column of frame ids in front: frames that were written before and
 *           are described anew
 *     ATTR  n, columns parent key is_number value unit           value: a string or a number
 *     PROC  n, columns pid parent executable host start end attrs
 *     PSET  like PROC with a column of process ids in front: processes described anew
 *     THRD  n, columns process name tid
 *     STCK  n, columns parent frame                              parent < own id
 *     STRM  all streams, whenever something about one is new: see recording_streams.c
 *     ROWS  stream, n, number of types, flags; columns stack thread [time] [duration] [attrs] and
 *           one of values for each type     flags: 1 = there are times, 2 = durations, 4 = attrs
 *     CNTR  n, columns name unit dimension process: counters that are new
 *     PNTS  counter, n, columns time value
 *     SRCF  flags, path, length, text: a source file that came along   path: a string
 *           flags: 1 = it is newer than the program; not counted in END., as one that does not know
 *           of it skips it
 *     END.  rows of strings, mappings, functions, frames, attrs, processes, threads, stacks;
 *           number of streams, for each: rows, number of types, the total of each; number of
 *           counters, for each: points
 *
 * Counts and lengths are LEB128; see column.h for columns. A chunk of an unknown type is skipped.
 *
 * Because whatever a row names is written before it, every prefix of whole chunks is a profile. A
 * reader takes all up to the first chunk that is cut or damaged and says what is missing. It never
 * invents a sample.
 */
#pragma once
#include "model/profile.h"
#include "wire/chunk.h"

/* Limits that a writer keeps and a reader insists on. */
enum {
    RECORDING_MAX_ROWS = 1 << 16,  /* in a chunk */
    RECORDING_MAX_LINES = 1 << 19, /* in a chunk of frames */
    RECORDING_MAX_META = 4096,
    RECORDING_MAX_DEPTH = 100000, /* frames in a stack */
};

/* --- writing --- */

struct recording_writer {
    struct chunk_writer chunks;
    FILE *out;
    struct buf raw, packed;
    uint64_t bytes; /* written so far */
};

enum recording_table {
    RECORDING_STRINGS,
    RECORDING_MAPPINGS,
    RECORDING_FUNCTIONS,
    RECORDING_FRAMES,
    RECORDING_ATTRS,
    RECORDING_PROCESSES,
    RECORDING_THREADS,
    RECORDING_STACKS,
    RECORDING_TABLES,
};

/* How far a profile was written. Zero-initialised: not at all. */
struct recording_mark {
    size_t rows[RECORDING_TABLES];
    VEC(struct frame) frames;      /* as they were written */
    VEC(struct process) processes; /* the same */
    VEC(uint64_t) meta;            /* hash of each entry */
    struct clock_pair clock;
    uint64_t streams;       /* hash of what is known about them */
    VEC(size_t) stream_row; /* of each stream, how far it was written */
    size_t counters;
    VEC(size_t) counter_point;
    size_t packed; /* source files */
};

/* Write the file header to OUT, which stays the caller's to flush and close. */
int recording_writer_init(struct recording_writer *w, FILE *out, struct err *err);
void recording_writer_done(struct recording_writer *w);

/* All of P at once. PLAIN: for a page, which has no zstd and gets source files in another way:
 * neither is in it. */
int recording_write(FILE *out, const struct profile *p, bool plain, struct err *err);

/*
 * Write all that is new in P since MARK and move MARK. Not for a profile that merges rows, whose
 * old rows change: such a one can only be written once, in whole. After a failure the writer is of
 * no more use; what it wrote before stands.
 */
int recording_append(struct recording_writer *w, const struct profile *p,
                     struct recording_mark *mark, struct err *err);

/* Write the chunk that says that nothing is missing. P must have been appended. */
int recording_end(struct recording_writer *w, const struct profile *p, struct err *err);

void recording_mark_done(struct recording_mark *mark);

/* --- reading --- */

/* How reading ended. */
struct recording_state {
    bool complete;           /* the closing chunk was there and its numbers fit */
    bool trailing;           /* bytes follow the closing chunk */
    uint64_t chunks;         /* that were read */
    uint64_t unknown_chunks; /* of them: of unknown type, skipped */
    char why[160];           /* unless complete: where reading stopped and why, no full stop */
};

/*
 * Read a recording into P, which must be fresh. A chunk counts as a whole or not at all. Reading
 * stops at the first one that is cut or invalid, and P then holds all that came before. Fails only
 * when IN is not a recording.
 */
int recording_read(struct reader *in, struct profile *p, struct recording_state *ret,
                   struct err *err);

/*
 * The same for callers that sum rows up as they come. TAKE is called after each chunk of rows,
 * while names may still be missing, and returns whether it has taken all rows of the stream,
 * which are then freed.
 */
struct recording_sink {
    bool (*take)(void *to, const struct profile *p, int stream);
    void *to;
};
int recording_read_into(struct reader *in, struct profile *p, const struct recording_sink *sink,
                        struct recording_state *ret, struct err *err);
