/*
 * rounds.h - how many iterations come next.
 *
 * Linear sampling: n rounds of d, 2d ... nd iterations, with d such that all take the time that
 * was asked for. A slope through them is free of what each round costs once. The rounds are not
 * made in that order but scattered, so that a machine that gets slower by and by does not bend the
 * line. Where even d = 1 would take more than twice the time, all rounds are equal (flat), and
 * where one iteration of each is too long there are fewer.
 */
#pragma once
#include "loop.h"

struct rounds {
    struct loop_plan plan;
    double light_ns; /* of bodies as short as this half the time is left to empty loops */
    bool light;      /* this is one */
    bool warm;       /* the rounds that count have begun */
    double warm_ns;  /* spent in warming up */
    size_t batches;  /* made for that */
    size_t longest;  /* iterations of the largest of them */
    double each_ns;  /* time of an iteration in that one */
    double unit;     /* d, or the flat count */
    size_t n, next;  /* rounds, and the one that is to come */
    size_t stride;   /* from one to the next, modulo n */
    size_t count;    /* iterations of the round that goes on */
    bool flat;
};

/* Rounds fewer than this make no interval. */
enum { ROUNDS_LEAST = 6 };

void rounds_init(struct rounds *r, const struct loop_plan *plan);

/* Take note that the last round lasted so long (0 at first); returns the next count, 0 = enough. */
size_t rounds_next(struct rounds *r, double last_ns);

/* Does the last count belong to the measurement, or to the warm-up? */
static inline bool rounds_counts(const struct rounds *r)
{
    return r->warm;
}
