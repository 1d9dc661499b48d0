/*
 * restack.h - a profile in which one stream has other stacks: modules and recursion collapsed, or
 * only what is below a call path.
 *
 * To hide a function takes a mark where stacks are walked (selection.h). These change what stands
 * above what, so they get stacks of their own: each function is a frame by itself there, inlined
 * ones too. All else is the original's, which must outlive it: strings, functions, lines, mappings,
 * threads, the values and times of rows. Ids of the original stay good, so that its other streams
 * can be read as before.
 *
 *     collapse modules     functions of such a module that call each other are one frame,
 *                          "[libc.so.6]"
 *     collapse recursion   what is between the first and the last call of such a function on a
 *                          stack is left out, the last call too: a > f > g > f > h is a > f > h
 *     subtree "main;parse" of stacks that begin so, what is called from there; the last function
 *                          of the path is the root
 *
 * The path of a subtree is what a flame graph shows: after the two above, without hidden functions,
 * with recursion merged if asked. Functions that start a program or thread (_start, clone) may be
 * left out at its beginning.
 */
#pragma once
#include "analysis/selection.h"

struct restack;

/*
 * MODULES, by mapping id: the mapping that stands for its module, + 1, where that is collapsed; at
 * 0 kernel code of no mapping. RECURSION are marks by label of LABELS. Either may be NULL.
 */
struct labels;
struct restack *restack_collapse(const struct profile *p, int stream, const struct labels *labels,
                                 const uint32_t *modules, const uint8_t *recursion);

/*
 * Functions of the C and C++ libraries that start a program or a thread: a path need not name them.
 */
bool restack_is_start(struct text name);

/* A path of functions, root first, as texts. */
struct restack_path {
    const struct text *at;
    size_t n;
};

/*
 * The part below PATH of the rows that S selects by stack. OUT is set for rows that are elsewhere.
 * NULL where no stack begins like that.
 */
struct restack *restack_subtree(const struct selection *s, const struct restack_path *path,
                                uint8_t *out);

/* Whether MAPPING stands for a module that is one frame. NULL is fine. */
bool restack_is_module(const struct restack *r, struct mapping_id mapping);

const struct profile *restack_profile(const struct restack *r);
void restack_free(struct restack *r); /* NULL is fine */
