/*
 * label.h - what a frame is called in a drawing or a listing, as numbers that compare fast.
 *
 * A frame has one label for each function inlined there, outermost first. Frames without a name
 * are called after their module, "[libc.so.6]", or "[unknown]".
 */
#pragma once
#include "base/intern.h"
#include "model/profile.h"

struct label_opts {
    bool mark_kernel, mark_jit; /* "_[k]" and "_[j]" behind the name, as FlameGraph has it */
    bool mark_inlined;          /* "_[i]" behind functions inlined at a frame's address */
    bool mark_inlined_frames;   /* the same for frames that the input itself calls inlined */
    bool addresses;             /* "[libc.so.6 <7f3a>]" for frames without a name */
    bool merge_kinds;           /* the same name is the same label, kernel or not */
};

struct label {
    uint32_t text;             /* in labels.texts */
    uint8_t kind;              /* enum frame_kind */
    uint32_t same_text_plus_1; /* the next of that text, of another kind; 0 = none */
};

/* The label that frames of a function or module got last, and for which kind of them. */
struct label_memo {
    uint32_t label_plus_1, what;
};

struct labels {
    struct label_opts opts;
    struct intern texts;
    VEC(uint32_t) of_text; /* its first label + 1 */
    VEC(struct label) at;
    VEC(uint32_t) of_line; /* profile.lines index -> label + 1; 0 = not asked for yet */
    VEC(uint32_t) of_bare; /* frame id -> label + 1 of frames without lines */
    VEC(struct label_memo) of_function, of_mapping; /* many frames share one */
};

/* Labels are made as they are asked for (P may be NULL: then only by labels_add()) ... */
void labels_init(struct labels *l, const struct profile *p, const struct label_opts *opts);

/* ... or all at once: then labels_get() reads them, from several threads if need be. */
void labels_build(struct labels *l, const struct profile *p, const struct label_opts *opts);
void labels_done(struct labels *l);

/* Number of labels FRAME has: at least one. */
static inline size_t labels_count(const struct frame *f)
{
    return f->n_lines ? f->n_lines : 1;
}

/* The I-th label of a frame, outermost first. */
uint32_t labels_of_frame(struct labels *l, const struct profile *p, struct frame_id id, size_t i);

/* The same where it is made already, else LABEL_NONE: reads only. */
#define LABEL_NONE UINT32_MAX
static inline uint32_t labels_get(const struct labels *l, const struct profile *p,
                                  struct frame_id id, size_t i)
{
    const struct frame *f = profile_frame(p, id);
    return (f->n_lines ? l->of_line.at[f->first_line + i] : l->of_bare.at[id.i]) - 1;
}

/* A label that is not a frame's: a thread or process as the root of its stacks. */
uint32_t labels_add(struct labels *l, struct text text, enum frame_kind kind);

static inline struct text labels_text(const struct labels *l, uint32_t label)
{
    return intern_get(&l->texts, l->at.at[label].text);
}
