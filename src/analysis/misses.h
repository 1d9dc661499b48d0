/*
 * misses.h - how often memory and branches were missed, as valgrind's simulators count them.
 *
 * Needs a stream with their columns (quantity.h has them); what is not there is not known. A
 * function's figures are its own, without what it calls.
 */
#pragma once
#include "analysis/flat.h"

/* Above these a share of misses is worth a look. */
#define MISSES_D1_LIMIT 0.05
#define MISSES_LL_LIMIT 0.01

/* A function below this share of all data accesses is not flagged, whatever its rates. */
#define MISSES_LEAST 0.01

struct misses_counts {
    int64_t instructions, i1_misses, accesses, d1_misses, ll_misses, branches, branch_misses;
};

struct misses_row {
    uint32_t row; /* in the list of functions */
    struct misses_counts counts;
    bool d1_flag, ll_flag;
};

struct misses {
    bool has_i1, has_data, has_ll, has_branches; /* whether those events are there */
    bool d1_flag, ll_flag;                       /* of the whole */
    struct misses_counts whole;
    VEC(struct misses_row) rows; /* most misses first: D1, then LL, branches, instructions, name */
};

/* FUNCTIONS is a list by function. Nothing is there (has_* false) without the columns. */
struct misses misses_build(const struct flat *functions);
void misses_done(struct misses *c);

/* Misses of all that could miss, 0 to 1; 0 when there was nothing. */
static inline double misses_d1_rate(const struct misses_counts *c)
{
    return c->accesses > 0 ? (double)c->d1_misses / (double)c->accesses : 0;
}

static inline double misses_i1_rate(const struct misses_counts *c)
{
    return c->instructions > 0 ? (double)c->i1_misses / (double)c->instructions : 0;
}

/* Of instruction fetches and data accesses together, as valgrind has it. */
static inline double misses_ll_rate(const struct misses_counts *c)
{
    double all = (double)c->accesses + (double)c->instructions;
    return all > 0 ? (double)c->ll_misses / all : 0;
}

static inline double misses_branch_rate(const struct misses_counts *c)
{
    return c->branches > 0 ? (double)c->branch_misses / (double)c->branches : 0;
}
