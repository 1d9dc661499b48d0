/*
 * turns.h - threads that run one at a time, as a schedule says.
 *
 * Real threads, so that thread-local variables and sanitizers work; a baton says who runs, and the
 * others wait for it. Locks and conditions of the code under test are only modelled: no thread
 * ever holds a real one, so that a schedule can be left halfway. Then each thread jumps out of its
 * body.
 */
#pragma once
#include "schedule.h"

enum { TURNS_MAIN = 0 }; /* the thread that made the others */

/* What a thread did. */
struct turns_step {
    unsigned thread;
    const char *what; /* "load": static */
    const volatile void *at;
    const char *file;
    int line;
};

struct turns_opts {
    void (*body)(void);
    struct schedule *schedule;
};

struct turns_result {
    VEC(struct turns_step) steps;
    char *failure; /* a sentence without a full stop; NULL = it holds */
};

/* Run the body once. Only one at a time in a program. */
void turns_run(const struct turns_opts *o, struct turns_result *ret);
void turns_result_done(struct turns_result *r);
