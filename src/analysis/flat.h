/*
 * flat.h - what is spent where, as a list: by function, module, thread, label, source line or file.
 *
 * A row's self is what was spent in it, its total what was spent in it and in all it called. A
 * sample counts once for a row however often the row is on its stack, so that the total of a
 * recursive function is never above 100%. Functions are distinguished by name, and kernel code
 * from the program's. The selection must outlive the list.
 *
 * Totals take one walk over the trie of stacks, which adds a stack's sum to a function only where
 * the function is met first from the root. Intervals are Wilson's on an effective number of samples
 * (stats.h). Without times, samples are taken as independent, and the report says so.
 */
#pragma once
#include "analysis/grouping.h"
#include "analysis/sequence.h"
#include "stats/stats.h"

enum flat_by { FLAT_FUNCTION, FLAT_MODULE, FLAT_THREAD, FLAT_LINE, FLAT_FILE, FLAT_LABEL };

struct flat_row {
    uint32_t name;             /* in flat.names */
    bool kernel, jit;          /* code of the kernel; code made at run time */
    struct mapping_id mapping; /* where it was met first; 0 for threads */
    int64_t self, total;
    int64_t self_count, total_count; /* samples behind them; 0 where not recorded */
    uint32_t nested;                 /* how often at most on one stack */
};

struct flat {
    const struct selection *selection;
    const struct profile *profile; /* of the selection */
    int type, count_type;          /* count_type is -1 where samples are not counted */
    int64_t whole;                 /* sum of all samples, those without a stack included */
    struct intern names;
    VEC(uint32_t) row_of_name[2]; /* its row + 1, of the program's and of kernel code; 0 = none */
    VEC(struct flat_row) rows;
    uint32_t *row_of_line, *row_of_bare; /* of profile.lines; of frames without; NULL by thread */
    uint32_t *row_of_place;              /* by thread or label only */
    struct sequence time;
    /* A place is a stack; by thread, a thread; by label, a group. */
    size_t n_places;
    const uint32_t *place_of_row;  /* of the stream */
    int64_t *value_of_place;       /* sum of the samples there */
    double *variance_of_place;     /* where blocks were drawn by size (drawn.h), else NULL */
    double variance;               /* sum of those */
    const uint32_t *place_in_time; /* of the rows of time.order */
    bool *hidden;                  /* by frame: nothing of it is to be seen; NULL = none is */
    uint32_t *own_places;          /* what place_in_time points to, unless that is in the profile */
};

struct flat *flat_build(const struct selection *s, enum flat_by by); /* not by label */

/* By the groups of a label, KEY; G must outlive the list. */
struct flat *flat_build_groups(const struct selection *s, const struct grouping *g,
                               const char *key);
void flat_free(struct flat *f); /* NULL is fine */

static inline struct text flat_name(const struct flat *f, uint32_t row)
{
    return intern_get(&f->names, f->rows.at[row].name);
}

/* On nearly all stacks and doing next to nothing itself: main() and what is around it. */
static inline bool flat_is_passed_through(const struct flat *f, uint32_t row)
{
    const struct flat_row *r = &f->rows.at[row];
    double whole = (double)f->whole;
    return (double)r->total >= 0.98 * whole && (double)r->self < 0.01 * whole;
}

/*
 * Number of rows that a frame stands for, and the I-th, outermost first; FLAT_NOBODY where that
 * function is hidden. Not by thread.
 */
#define FLAT_NOBODY UINT32_MAX /* also: not called, or calls nothing */

static inline size_t flat_count(const struct frame *f)
{
    return f->n_lines ? f->n_lines : 1;
}

static inline uint32_t flat_row_of(const struct flat *f, struct frame_id id, size_t i)
{
    const struct frame *frame = profile_frame(f->profile, id);
    return frame->n_lines ? f->row_of_line[frame->first_line + i] : f->row_of_bare[id.i];
}

/* The row of a frame's innermost function that is to be seen, or FLAT_NOBODY. */
static inline uint32_t flat_leaf_of(const struct flat *f, struct frame_id id)
{
    for (size_t i = flat_count(profile_frame(f->profile, id)); i-- > 0;)
        if (flat_row_of(f, id, i) != FLAT_NOBODY)
            return flat_row_of(f, id, i);
    return FLAT_NOBODY;
}

enum flat_what { FLAT_SELF, FLAT_TOTAL };

/* The rows with the most of WHAT, at most N, zeros left out; ties by name. Returns how many. */
size_t flat_top(const struct flat *f, enum flat_what what, size_t n, uint32_t *ret_rows);

/* How many have any, and at least LEAST. */
size_t flat_count_above(const struct flat *f, enum flat_what what, double least);

/*
 * Mark the rows that NAME means in RET_IN_SET, an entry a row: all of just that name (the kernel
 * may have a function of the same name), else the one that NAME is a part of. Fails with the names
 * it could mean, or the nearest.
 */
int flat_find(const struct flat *f, const char *name, bool *ret_in_set, struct err *err);

/* Mark all rows that were met and whose canonical name (canon.h) is NAME; where there is none,
 * those of overloads with their parameters, "NAME(int)". Returns how many. */
size_t flat_find_canonical(const struct flat *f, struct text name, bool *ret_in_set);

/* A share of the whole, with the interval that holds the true one 95 times of 100. */
struct flat_share {
    double share;
    struct interval interval;
    double n_effective; /* 0 = the number of samples is not known, and so is the interval */
};

/* By stack id, whether a row of the set is on it (or is what ran). Not by thread. Free it. */
bool *flat_mark_stacks(const struct flat *f, const bool *in_set, enum flat_what what);

/* Share of the samples with any row of a set on their stack (or as what ran, for FLAT_SELF). */
struct flat_share flat_share_of_set(const struct flat *f, const bool *in_set, enum flat_what what);
struct flat_share flat_share_of_stacks(const struct flat *f, const bool *marked); /* by stack id */
struct flat_share flat_share_of_row(const struct flat *f, uint32_t row, enum flat_what what);

/* The same for N rows, each once: 64 of them take one walk over stacks and samples. */
struct flat_pair {
    struct flat_share self, total;
};
void flat_shares_of_rows(const struct flat *f, const uint32_t *rows, size_t n,
                         struct flat_pair *ret);

/*
 * The callers of the rows of a set, and their callees: an entry per row, in the unit of the type.
 * Of nested calls the outermost gives the caller and the innermost the callee, so each sums up to
 * the total of the set: callers with `from_nothing`, callees with `self`. Not by thread.
 */
struct flat_calls {
    int64_t *callers, *callees; /* one for each row of the list */
    int64_t from_nothing, self;
    uint32_t *caller_of, *callee_of; /* for each stack a row, FLAT_NOBODY or FLAT_OUTSIDE */
};
#define FLAT_OUTSIDE (UINT32_MAX - 1) /* no row of the set is on the stack */

struct flat_calls flat_calls_of_set(const struct flat *f, const bool *in_set);

/* Share of the samples whose stack has just ROW in OF_STACK, a caller_of or callee_of. */
struct flat_share flat_share_of_calls(const struct flat *f, const uint32_t *of_stack, uint32_t row);
void flat_calls_done(struct flat_calls *c);
