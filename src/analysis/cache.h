/*
 * cache.h - how often memory and branches were missed, as valgrind's simulators count them.
 *
 * Needs a profile with their events (Ir, I1mr, ILmr, Dr, Dw, D1mr, D1mw, DLmr, DLmw, Bc, Bcm, Bi,
 * Bim); what is not there is not known. A function's figures are its own, without what it calls.
 */
#pragma once
#include "analysis/flat.h"

/* Above these a share of misses is worth a look. */
#define CACHE_D1_LIMIT 0.05
#define CACHE_LL_LIMIT 0.01

/* A function below this share of all data accesses is not flagged, whatever its rates. */
#define CACHE_LEAST 0.01

struct cache_counts {
    int64_t instructions, i1_misses, accesses, d1_misses, ll_misses, branches, branch_misses;
};

struct cache_row {
    uint32_t row; /* in the list of functions */
    struct cache_counts counts;
    bool d1_flag, ll_flag;
};

struct cache {
    bool has_i1, has_data, has_ll, has_branches; /* whether those events are there */
    bool d1_flag, ll_flag;                       /* of the whole */
    struct cache_counts whole;
    VEC(struct cache_row) rows; /* most misses first: D1, then LL, branches, instructions, name */
};

/* FUNCTIONS is the profile's list by function. Nothing is there (has_* false) without the events.
 */
struct cache cache_build(const struct flat *functions);
void cache_done(struct cache *c);

/* Misses of all that could miss, 0 to 1; 0 when there was nothing. */
static inline double cache_d1_rate(const struct cache_counts *c)
{
    return c->accesses > 0 ? (double)c->d1_misses / (double)c->accesses : 0;
}

static inline double cache_i1_rate(const struct cache_counts *c)
{
    return c->instructions > 0 ? (double)c->i1_misses / (double)c->instructions : 0;
}

/* Of instruction fetches and data accesses together, as valgrind has it. */
static inline double cache_ll_rate(const struct cache_counts *c)
{
    double all = (double)c->accesses + (double)c->instructions;
    return all > 0 ? (double)c->ll_misses / all : 0;
}

static inline double cache_branch_rate(const struct cache_counts *c)
{
    return c->branches > 0 ? (double)c->branch_misses / (double)c->branches : 0;
}
