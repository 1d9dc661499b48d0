/*
 * profile.h - the one model that every source fills and every view reads.
 *
 * Columnar and interned: strings, mappings, functions, frames, stacks, threads and samples are
 * tables that only grow at the end, and everything refers to everything by a typed 32-bit id.
 * Equal things are stored once. Because ids only grow, "all that is new since last time" is a
 * slice of each table: that is how a recording is appended to its file.
 *
 *     string   <- mapping (path, build-id, range)
 *     string   <- function (name, file, line)
 *     function <- frame (mapping + address + the functions inlined there)
 *     frame    <- stack (a trie: parent stack + one more frame)
 *     stack, thread <- sample (time, one value per sample type)
 *
 * Only sources and symbolizers write a profile; from analysis on it is const.
 */
#pragma once
#include "base/err.h"
#include "base/intern.h"
#include "base/vec.h"
#include "model/meta.h"
#include "model/stacks.h"

struct str_id {
    uint32_t i; /* 0 = "" */
};
struct mapping_id {
    uint32_t i; /* 0 = not known */
};
struct function_id {
    uint32_t i; /* 0 = not known */
};
struct thread_id {
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

struct thread {
    struct str_id name; /* comm */
    int32_t pid, tid;   /* THREAD_NO_ID where not known */
};

/*
 * What a column of values means. A sampler gives two types an event: how often it looked
 * ("samples", unit "count") and what that stands for ("cycles", or "cpu" in "nanoseconds").
 * Values are fixed-point: value / 10^decimals, so that sums do not depend on their order.
 */
struct sample_type {
    struct str_id event; /* "" where the input knows of no events */
    struct str_id name;  /* "samples", "cpu", "alloc_space"... */
    struct str_id unit;  /* "count", "nanoseconds", "bytes"; "" = not known */
    int decimals;
    int count_type; /* index of the type that counts the samples behind this one, or -1 */
    int64_t total;  /* sum of the column; never past INT64_MAX */
};

enum { PROFILE_MAX_TYPES = 64, PROFILE_MAX_FRAME_LINES = 4096 };

struct samples {
    size_t n, cap;
    struct stack_id *stack;
    struct thread_id *thread;
    uint64_t *time_ns;                 /* NULL when no sample has a time */
    int64_t *value[PROFILE_MAX_TYPES]; /* one column a type */
};

struct profile {
    struct intern strings;
    VEC(struct mapping) mappings;   /* [0] = not known */
    VEC(struct function) functions; /* [0] = not known */
    VEC(struct line) lines;
    VEC(struct frame) frames;
    VEC(struct thread) threads; /* [0] = not known */
    struct stacks stacks;
    struct sample_type types[PROFILE_MAX_TYPES];
    int n_types;
    int default_type; /* what the input says to show first, or -1 */
    struct samples samples;
    struct meta meta;
    bool merge_samples; /* samples of the same stack and thread become one; time is dropped */
    struct idmap mapping_map, function_map, frame_map, thread_map, sample_map;
};

struct profile *profile_new(void);
void profile_free(struct profile *p); /* NULL is fine */

/* --- adding; equal things get the same id --- */

struct str_id profile_add_str(struct profile *p, struct text t);
struct mapping_id profile_add_mapping(struct profile *p, const struct mapping *m);
struct function_id profile_add_function(struct profile *p, const struct function *f);
struct thread_id profile_add_thread(struct profile *p, const struct thread *t);

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

/*
 * A new sample type; returns its index, or -1 past PROFILE_MAX_TYPES. Types may be added while
 * there are samples already: those get 0.
 */
int profile_add_type(struct profile *p, const char *event, const char *name, const char *unit);

struct sample {
    struct stack_id stack;
    struct thread_id thread;
    bool has_time;
    uint64_t time_ns;
    const int64_t *values; /* n_types of them, in the type's decimals, none negative */
    uint32_t *row;         /* which row it probably is, any number will do; becomes that; or NULL */
};

/* Add a sample. Fails when a column's sum would pass INT64_MAX. */
int profile_add_sample(struct profile *p, const struct sample *s, struct err *err);

/* Where samples are merged: the row of a stack and thread, or SIZE_MAX. */
size_t profile_find_row(const struct profile *p, struct stack_id stack, struct thread_id thread);

/*
 * VALUE / 10^DECIMALS as a value of TYPE, whose own decimals grow where VALUE needs more (the
 * column is rescaled). Fails when that does not fit 64 bits.
 */
int profile_scale_value(struct profile *p, int type, int64_t value, int decimals,
                        int64_t *ret_value, struct err *err);

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

/*
 * Which column to show. EVENT and VALUE may be NULL. VALUE is a type's name, or "samples", or
 * "weight" for the one that is not a count of samples. With neither: the input's default, else
 * the weight of the first event. Fails with the list of what there is.
 */
int profile_pick_type(const struct profile *p, const char *event, const char *value, int *ret_type,
                      struct err *err);

/* The type that counts the samples behind TYPE (perhaps TYPE itself), or -1 if not recorded. */
int profile_count_type(const struct profile *p, int type);

/* Number of different events; a profile without event names has one. */
int profile_count_events(const struct profile *p);
