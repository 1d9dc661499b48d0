/*
 * overlay.h - runs laid over each other by canonical names (canon.h): one tree of call paths, and
 * the share of every run at each place of it.
 *
 * Shares are of a run's own total, 0 to 1. A sample counts once for a function however often the
 * function is on its stack. The selections must outlive it.
 */
#pragma once
#include "analysis/sequence.h"

/* The profiles that are laid over each other. */
enum overlay_by {
    OVERLAY_FUNCTION,
    OVERLAY_LINE,  /* "parse.c:12", whatever the folder; functions where no line is known */
    OVERLAY_PLACE, /* of allocations, each without its callers: see heapwrappers.h */
};

struct overlay_run {
    const struct selection *s;
    uint32_t *node_of_stack;
    uint32_t *node_in_time;       /* of the samples in time order */
    double *self, *total;         /* by node */
    double *fun_self, *fun_total; /* by name */
    struct sequence time;
};

struct overlay {
    struct intern names;
    VEC(uint32_t) parent, name; /* of nodes; [0] is the root; parents come before children */
    struct idmap map;
    bool *outermost; /* by node: no caller further out has the same name */
    struct overlay_run *runs;
    size_t n_runs;
};

void overlay_build(struct overlay *o, const struct selection *const *runs, size_t n_runs,
                   enum overlay_by by);
void overlay_done(struct overlay *o);

/* How many independent samples the shares of a function rest on, in one run; 0 = not known. */
struct overlay_worth {
    double self, total;
};

/* That of the functions NAMES, of which each is there once. One walk over the samples for many. */
void overlay_worths(const struct overlay *o, size_t run, const uint32_t *names, size_t n,
                    struct overlay_worth *ret);
