/*
 * waitpath.h - the stacks of a table of waits, each as a line of text.
 *
 * Many threads wait in the same few functions, which are all that a terminal has room for:
 *
 *     ..WaitLatch > WaitEventSetWait > epoll_wait        what five rows would say
 *     .. > CheckpointerMain > .. > epoll_wait            what they say in brief
 *
 * In brief a row leaves out what it has in common with others between its innermost function and
 * the one where they part, and callers further out than there is room for. Rows that are alike
 * then are for the caller to add up.
 */
#pragma once
#include "analysis/waitsum.h"
#include "base/buf.h"

struct waitpath {
    VEC(struct text) names; /* innermost first */
    bool libc_entry;        /* the innermost is the C library's: what it calls inside is left out */
};

struct waitpaths {
    const struct waitsum *sum;
    size_t room; /* in brief: characters of a line; 0 = whole stacks */
    size_t near; /* the first rows, seen at once: in brief each is told apart from these */
    VEC(struct waitpath) rows;
};

/* The next row: the functions of a stack down to BOTTOM; 0 = all. */
void waitpaths_add(struct waitpaths *w, struct stack_id stack, struct stack_id bottom);
void waitpaths_done(struct waitpaths *w);

/* "main > serve > read", or in brief ".. > serve > .. > read". */
void waitpaths_inward(const struct waitpaths *w, size_t row, struct buf *ret);

/*
 * "read < serve", or in brief ".. < serve": at most MOST functions. A name of the C library is cut
 * before one of the program: "__pthread_mut.. < serve".
 */
void waitpaths_outward(const struct waitpaths *w, size_t row, size_t most, struct buf *ret);
