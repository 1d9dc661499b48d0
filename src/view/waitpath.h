/*
 * waitpath.h - the stacks of a table of waits, each as a line of text.
 *
 * Many threads wait behind the same few functions, which are all that a terminal has room for:
 *
 *     ..WaitLatch > WaitEventSetWait > epoll_wait        what five rows would say
 *     ..CheckpointerMain > .. > epoll_wait               what they say in brief
 *
 * In brief a row leaves out what it has in common with others between its innermost function and
 * the one where they part.
 */
#pragma once
#include "analysis/waitsum.h"
#include "base/buf.h"

typedef VEC(struct text) waitpath_names; /* innermost first */

struct waitpaths {
    const struct waitsum *sum;
    bool brief;
    VEC(waitpath_names) rows;
};

/* The next row: the functions of a stack down to BOTTOM; 0 = all. */
void waitpaths_add(struct waitpaths *w, struct stack_id stack, struct stack_id bottom);
void waitpaths_done(struct waitpaths *w);

/* "main > serve > read" */
void waitpaths_inward(const struct waitpaths *w, size_t row, struct buf *ret);

/* "read < serve", or in brief ".. < serve": at most MOST functions. */
void waitpaths_outward(const struct waitpaths *w, size_t row, size_t most, struct buf *ret);
