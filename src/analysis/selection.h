/*
 * selection.h - the part of a profile to analyse: every builder in analysis takes one.
 *
 * A selection is one column of one stream, the rows that count, and what is done with their stacks
 * on the way into a tree or list. It is built once from what a user asks for, and then read-only.
 * The profile must outlive it; so must the selection what was built from it, which reads the
 * profile from here: it may be one with other stacks.
 *
 *     rows    time range, threads, processes, attributes, focus and ignore: a row is in or out
 *     stacks  hide: a function is left out of every stack, and what was spent in it goes to its
 *             caller; merge_recursion: a function that calls itself directly stands once;
 *             collapse_modules, collapse_recursion, subtree: stacks of their own (restack.h)
 *
 * Options of the command line become one in cmd/input.c, so they mean the same everywhere. Hidden
 * functions are skipped where stacks are walked; nothing is copied. Only exporters, which write
 * whole profiles, get the selected part as a profile of its own (extract.h).
 */
#pragma once
#include "model/quantity.h"

/* What is asked for. Patterns are extended regular expressions that match a part of a name. */
struct selection_opts {
    const char
        *time; /* "1.5..3", "200ms..", "10%..20%": since the first row of the profile; NULL = all */
    const char *last; /* "10m": only what happened so long before the end; NULL = all */
    const char *const
        *threads; /* a tid, or a pattern for the name; NULL = all. Lists end with NULL */
    const char *const
        *processes; /* a pid, or a pattern for the executable or the first thread's name */
    const char *const *where; /* "key=value", "key=~pattern": attributes of a row or its process,
                                 or a key of grouping.h */
    const char *const
        *scopes;              /* only what was in a scope of the program that matches one of them */
    const char *const *focus; /* only stacks with a function that matches one of them */
    const char *const *ignore; /* no stack with a function that matches one of them */
    const char *const *hide;
    bool merge_recursion;
    const char *const *collapse_modules;   /* modules that match are one frame */
    const char *const *collapse_recursion; /* functions that match stand once on a stack */
    const char *subtree; /* "main;parse": only what is called from there; NULL = all */
};

/* From and to are inside. */
struct selection_moments {
    uint64_t from_ns, to_ns;
};

enum { SELECTION_RESTACKS = 2 };
struct restack;

struct selection {
    const struct profile *profile;
    const struct stream *stream;
    struct value_ref value;
    int type;                         /* value.type */
    int count_type;                   /* column of the stream that counts samples; -1 = none */
    int64_t total;                    /* of the rows that count */
    int64_t n_samples;                /* of the same; 0 where not recorded */
    size_t n_rows;                    /* that count */
    struct selection_moments moments; /* of what has a duration only this part is asked for */
    uint32_t *rows;                   /* which; NULL = all of the stream */
    int64_t *inside;      /* of waits: what of their values is inside of MOMENTS; NULL = all */
    uint8_t *hidden_line; /* by index in profile.lines; NULL = none */
    uint8_t *hidden_bare; /* by frame id, for frames without lines; NULL = none */
    bool merge_recursion;
    char *
        words; /* what was asked for, "time 1..3, thread worker"; NULL = everything. For captions */
    struct restack *restacks[SELECTION_RESTACKS]; /* what PROFILE is, where stacks are changed */
};

/* All rows of one column. Needs no selection_done(), but may have it. */
struct selection selection_all(const struct profile *p, struct value_ref value);

/*
 * What OPTS ask for of column VALUE. Fails on what cannot be understood and on what matches
 * nothing, with the names that it could have been.
 */
int selection_build(struct selection *ret, const struct profile *p, struct value_ref value,
                    const struct selection_opts *opts, struct err *err);
void selection_done(struct selection *s);

/* The moments that selection_opts.time means. Fails where none of it is inside of the recording. */
int selection_moments(const struct profile *p, const char *time, struct selection_moments *ret,
                      struct err *err);

/* The same rows of another column of the stream. Borrows from S; needs no selection_done(). */
struct selection selection_of_type(const struct selection *s, int type);

/*
 * Of waits that reach out of the range of time, by row: the part of their values of TYPE that is
 * inside. NULL where all of them count, as of other streams, and of the number of waits. Free it.
 */
int64_t *selection_cut(const struct selection *s, int type);

/* Whether every row counts and stacks stay as they are. */
static inline bool selection_is_all(const struct selection *s)
{
    return !s->rows && !s->hidden_line && !s->merge_recursion && !s->restacks[0];
}

/* The I-th row that counts, I < n_rows; in the order of the stream. */
static inline size_t selection_row(const struct selection *s, size_t i)
{
    return s->rows ? s->rows[i] : i;
}

static inline const int64_t *selection_values(const struct selection *s)
{
    return s->inside ? s->inside : s->stream->rows.value[s->type];
}

/* NULL where samples are not counted. */
static inline const int64_t *selection_counts(const struct selection *s)
{
    return s->count_type >= 0 ? s->stream->rows.value[s->count_type] : NULL;
}

static inline const struct value_type *selection_value(const struct selection *s)
{
    return &s->stream->types[s->type];
}

/* The event: the stream's, or the column where a simulator counts many in one stream; perhaps "".
 */
static inline struct text selection_event(const struct selection *s)
{
    bool by_column = !s->stream->event.i && obtained_exactly(s->stream->obtained);
    return profile_str(s->profile, by_column ? selection_value(s)->name : s->stream->event);
}

static inline enum quantity selection_quantity(const struct selection *s)
{
    return quantity_of(s->profile, s->value);
}

/* Whether the I-th function of a frame (outermost first; the only one of a bare frame) is hidden.
 */
static inline bool selection_hides(const struct selection *s, struct frame_id id, size_t i)
{
    if (!s->hidden_line)
        return false;
    const struct frame *f = profile_frame(s->profile, id);
    return f->n_lines ? s->hidden_line[f->first_line + i] : s->hidden_bare[id.i];
}

/* Whether no function of a frame is to be seen: what was spent there goes to its caller. */
static inline bool selection_hides_frame(const struct selection *s, struct frame_id id)
{
    if (!s->hidden_line)
        return false;
    size_t n = profile_frame(s->profile, id)->n_lines;
    for (size_t i = 0; i < (n ? n : 1); i++)
        if (!selection_hides(s, id, i))
            return false;
    return true;
}

/* The frame whose address a stack stands at: the innermost that is not hidden; 0 stack = none. */
static inline struct stack_id selection_visible(const struct selection *s, struct stack_id stack)
{
    const struct stack_node *nodes = s->profile->stacks.nodes.at;
    while (s->hidden_line && stack.i && selection_hides_frame(s, nodes[stack.i].frame))
        stack = nodes[stack.i].parent;
    return stack;
}

/* Whether a frame's every function is hidden or not, by frame id, for loops over many; NULL where
 * nothing is hidden. Free it. */
bool *selection_hidden_frames(const struct selection *s);
