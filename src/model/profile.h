/*
 * profile.h - the one model that every source fills and every view reads.
 *
 * Columnar and interned: strings, mappings, functions, frames, stacks, attributes, processes,
 * threads and the rows of each stream are tables that only grow at the end, and everything refers
 * to everything by a typed 32-bit id. Equal things are stored once. Because ids only grow, "all
 * that is new since last time" is a slice of each table: that is how a recording is appended to
 * its file.
 *
 *     string   <- mapping (path, build-id, range)
 *     string   <- function (name, file, line)
 *     function <- frame (mapping + address + the functions inlined there)
 *     frame    <- stack (a trie: parent stack + one more frame)
 *     string   <- attributes (a trie: parent set + one more pair)
 *     process  <- thread
 *     stack, thread, attributes <- row of a stream (time, duration, one value per type)
 *
 * Only sources and symbolizers write a profile; from analysis on it is const, in fact and not only
 * in the type: two threads may read it.
 */
#pragma once
#include "base/err.h"
#include "base/intern.h"
#include "base/vec.h"
#include "model/meta.h"
#include "model/stacks.h"
#include "model/stream.h"

struct mapping_id {
    uint32_t i; /* 0 = not known */
};
struct function_id {
    uint32_t i; /* 0 = not known */
};
struct process_id {
    uint32_t i; /* 0 = not known */
};

struct mapping {
    struct str_id path, build_id; /* build_id in lower-case hex */
    uint64_t start, end, offset;  /* address range, offset in the file; 0 where not known */
};

struct function {
    struct str_id name;        /* as shown: demangled, tidied */
    struct str_id system_name; /* as in the symbol table; 0 where it is the same or not known */
    struct str_id file;
    uint32_t line; /* where it starts; 0 = not known */
};

/* One function at an address. The functions inlined into it are further lines of the same frame. */
struct line {
    struct function_id function;
    uint32_t line, column; /* 0 = not known */
};

enum frame_kind {
    FRAME_USER, /* or not known */
    FRAME_KERNEL,
    FRAME_JIT,
    FRAME_INLINED, /* a frame of its own in the input, marked as inlined there */
    FRAME_WAKER,   /* belongs to the thread that woke this one */
    FRAME_KINDS,
};

struct frame {
    uint64_t pc; /* 0 = not known */
    struct mapping_id mapping;
    uint32_t first_line; /* in profile.lines: outermost function first, inlined ones after it */
    uint16_t n_lines;    /* 0 = no name known */
    uint8_t kind;        /* enum frame_kind */
};

#define THREAD_NO_ID (-1)

/* A pid that is used again is another process. */
struct process {
    int32_t pid; /* THREAD_NO_ID where not known */
    struct process_id parent;
    struct str_id executable, host; /* "" = not known */
    uint64_t start_ns, end_ns;      /* in the clock of the rows; 0 = not known */
    struct attrs_id attrs;
};

struct thread {
    struct process_id process;
    struct str_id name; /* comm */
    int32_t tid;        /* THREAD_NO_ID where not known */
};

/* A number over time: RSS, live heap, the length of a queue. Times never go back. */
struct counter_point {
    uint64_t time_ns;
    int64_t value;
};

struct counter {
    struct str_id name, unit;
    enum dimension dimension;
    struct process_id process; /* 0 = of all */
    VEC(struct counter_point) points;
};

/* A source file that came along: see packed.h. */
struct packed_file {
    struct str_id path;
    struct text text; /* owned */
    bool newer;       /* than the program that ran: lines may not be those of its code */
};

/* The same moment on both clocks; 0 and 0 = not known. */
struct clock_pair {
    uint64_t monotonic_ns, wall_ns;
};

/* One column of one stream. */
struct value_ref {
    int stream, type; /* stream -1 = none */
};

enum { PROFILE_MAX_STREAMS = 256, PROFILE_MAX_COUNTERS = 4096, PROFILE_MAX_FRAME_LINES = 4096 };

/* A stack that skips frames of our own libraries, and the parent that it was recorded with. */
struct standin {
    struct stack_id stack, parent;
};

struct profile {
    struct intern strings;
    VEC(struct mapping) mappings;   /* [0] = not known */
    VEC(struct function) functions; /* [0] = not known */
    VEC(struct line) lines;
    VEC(struct frame) frames;
    VEC(struct process) processes; /* [0] = not known */
    VEC(struct thread) threads;    /* [0] = not known */
    struct stacks stacks;
    VEC(struct standin) standins; /* stacks that skip frames of ours (standin.h), in their order */
    struct attrs attrs;
    VEC(struct stream *) streams;
    VEC(struct counter) counters;
    VEC(struct packed_file) packed;
    struct value_ref default_value; /* what the input says to show first, or stream -1 */
    struct clock_pair clock;
    struct meta meta;
    bool merge_rows; /* rows of the same stack, thread and attributes become one; no times */
    struct idmap mapping_map, function_map, frame_map, process_map, thread_map;
};

struct profile *profile_new(void);
void profile_free(struct profile *p); /* NULL is fine */

/* --- adding; equal things get the same id --- */

/*
 * A text that is longer than this becomes its front and a number: a hundred thousand functions may
 * share a name of megabytes, and every view looks at each of them.
 */
enum { PROFILE_MAX_STR_BYTES = 1 << 16 };
struct str_id profile_add_str(struct profile *p, struct text t);
struct mapping_id profile_add_mapping(struct profile *p, const struct mapping *m);
struct function_id profile_add_function(struct profile *p, const struct function *f);

/* A new process, equal to no other: the next threads of its pid belong to it. */
struct process_id profile_add_process(struct profile *p, const struct process *process);

/* The newest process of that pid, or 0. */
struct process_id profile_find_process(const struct profile *p, int32_t pid);

/* A thread of the newest process of its pid, which is made if there is none. */
struct thread_key {
    struct str_id name;
    int32_t pid, tid; /* THREAD_NO_ID where not known */
};

struct thread_id profile_add_thread(struct profile *p, const struct thread_key *key);

/* The same for a process that is known. */
struct thread_id profile_add_thread_of(struct profile *p, const struct thread *t);

/* What a frame is made of, before it has an id. */
struct frame_key {
    uint64_t pc;
    struct mapping_id mapping;
    enum frame_kind kind;
    const struct line *lines; /* outermost first; at most PROFILE_MAX_FRAME_LINES */
    size_t n_lines;
};

struct frame_id profile_add_frame(struct profile *p, const struct frame_key *key);

/* A frame that is a name and nothing more. */
struct frame_id profile_add_named_frame(struct profile *p, struct text name, enum frame_kind kind);

/*
 * A frame of its own, equal to no other, to be described later with profile_set_frame(): for
 * inputs that name their frames after using them, and for symbolizers.
 */
struct frame_id profile_reserve_frame(struct profile *p);
void profile_set_frame(struct profile *p, struct frame_id id, const struct frame_key *key);

/* A new stream; returns its index, or -1 past PROFILE_MAX_STREAMS. */
int profile_add_stream(struct profile *p, const char *event, enum obtained obtained);

/*
 * A new column of a stream, whose dimension and role follow from NAME and UNIT (value.h); the
 * caller may set them anew. Returns its index, or -1 past STREAM_MAX_TYPES. Columns may be added
 * while there are rows already: those get 0.
 */
int profile_add_value(struct profile *p, int stream, const char *name, const char *unit);

/*
 * Let the rows of stream FROM be rows of TO, which has the same columns. FROM is then removed,
 * and later streams move up. Fails when a column's sum would pass INT64_MAX.
 */
int profile_join_streams(struct profile *p, int to, int from, struct err *err);

/* Add the label KEY = VALUE to all rows that the stream has by now. */
void profile_label_rows(struct profile *p, int stream, const char *key, struct text value);

/* N rows of STREAM have a stack that ends too early, because of WHY. Replaces an old number.
 */
void profile_set_unfinished(struct profile *p, int stream, const char *why, uint64_t n);

struct row {
    struct stack_id stack;
    struct thread_id thread;
    struct attrs_id attrs;
    bool has_time;
    uint64_t time_ns, duration_ns;
    const int64_t *values; /* one a type of the stream, in the type's decimals, none negative */
    uint32_t *hint;        /* which row it probably is, any number will do; becomes that; or NULL */
};

/* Add a row. Fails when a column's sum would pass INT64_MAX. */
int profile_add_row(struct profile *p, int stream, const struct row *r, struct err *err);

/*
 * N more rows at once, where rows are not merged. The caller fills in all columns from the index
 * that is returned on, those of the extras that it asks for included, and adds to the totals, which
 * it must know to fit.
 */
struct row_extras {
    bool time, duration, attrs;
};
size_t profile_make_rows(struct profile *p, int stream, size_t n, struct row_extras with);

/* Room for about N more rows, once; a guess. */
void profile_reserve_rows(struct profile *p, int stream, size_t n);

/* Where rows are merged: the one of a stack, thread and set of attributes, or SIZE_MAX. */
size_t profile_find_row(const struct profile *p, int stream, const struct row *r);

/*
 * VALUE / 10^DECIMALS as a value of column REF, whose own decimals grow where VALUE needs more
 * (the column is rescaled). Fails when that does not fit 64 bits.
 */
int profile_scale_value(struct profile *p, struct value_ref ref, int64_t value, int decimals,
                        int64_t *ret_value, struct err *err);

/* Free the rows of all streams; totals and the number of rows stay known. */
void profile_forget_rows(struct profile *p);
void profile_forget_rows_of(struct profile *p, int stream);

/* A new counter; returns its index, or -1 past PROFILE_MAX_COUNTERS. */
int profile_add_counter(struct profile *p, const char *name, const char *unit,
                        struct process_id process);
void profile_add_point(struct profile *p, int counter, uint64_t time_ns, int64_t value);

/* --- reading --- */

static inline struct text profile_str(const struct profile *p, struct str_id id)
{
    return intern_get(&p->strings, id.i);
}

static inline const struct frame *profile_frame(const struct profile *p, struct frame_id id)
{
    return &p->frames.at[id.i];
}

static inline const struct line *profile_lines(const struct profile *p, const struct frame *f)
{
    return f->n_lines ? &p->lines.at[f->first_line] : NULL;
}

/* Name of a function; "" where not known. */
static inline struct text profile_function_name(const struct profile *p, struct function_id id)
{
    return profile_str(p, p->functions.at[id.i].name);
}

/* "[libx.so+0x5e30]": not a name but where a function without one starts. */
bool profile_name_is_place(struct text name);

/* Last part of a mapping's path; "" where not known. */
struct text profile_module_name(const struct profile *p, struct mapping_id id);

/* Whether it is one of our own libraries, which recording loads into programs. */
static inline bool profile_is_agent(const struct profile *p, struct mapping_id id)
{
    return text_starts(profile_module_name(p, id), "libkelvin-");
}

/* Whether it is one of the C and C++ libraries, or the dynamic linker. */
bool profile_is_runtime(const struct profile *p, struct mapping_id id);

/* The first stream of an event, and a column of a stream, by name; -1 = there is none. */
int profile_find_stream(const struct profile *p, const char *event);
int profile_find_column(const struct profile *p, int stream, const char *name);

/* Whether a column is a time in whole nanoseconds, and whether a counter counts things. */
bool profile_is_ns(const struct profile *p, const struct value_type *t);
bool profile_counts(const struct profile *p, const struct counter *c);

static inline struct stream *profile_stream(const struct profile *p, int stream)
{
    return p->streams.at[stream];
}

static inline const struct value_type *profile_value(const struct profile *p, struct value_ref ref)
{
    return &p->streams.at[ref.stream]->types[ref.type];
}

static inline int32_t profile_pid(const struct profile *p, const struct thread *t)
{
    return p->processes.at[t->process.i].pid;
}

/* Where the programs are that ran, without their libraries: "/" where it is not known. Returns how
 * many, 1 to N. */
size_t profile_programs(const struct profile *p, const char **ret, size_t n);

/* Rows of all streams, freed ones included. */
size_t profile_count_rows(const struct profile *p);

/*
 * Which column to show. EVENT and VALUE may be NULL. VALUE is a column's name, or "samples", or
 * "weight" for the one that is not a count of samples. With neither: the input's default, else
 * the weight of the first stream. A column may also be named as EVENT where no stream has that
 * name (simulators count many events in one stream). Fails with the list of what there is.
 */
int profile_pick_value(const struct profile *p, const char *event, const char *value,
                       struct value_ref *ret, struct err *err);

/* Whether S is the only stream with a column of that name: then VALUE chooses the event as well. */
bool profile_value_chooses(const struct profile *p, const char *value, const struct stream *s);
