/*
 * quantity.h - what a column of a stream measures: which advice and which words fit it.
 *
 * Decided by dimension, role and how the stream was obtained, and where these leave it open by
 * what the field calls events and columns. No other code looks at such names.
 */
#pragma once
#include "model/profile.h"

enum quantity {
    QUANTITY_UNKNOWN,  /* the input does not say; most often samples of CPU time */
    QUANTITY_CPU_TIME, /* clocks, timers, cycles */
    QUANTITY_ELAPSED,  /* time that is not spent on a CPU, or not only: waits, scopes */
    QUANTITY_WORK,     /* instructions: cost, but no time */
    QUANTITY_MEMORY,   /* bytes and objects, allocated or held */
    QUANTITY_EVENTS,   /* things that happen: page faults, switches, misses */
    QUANTITIES,
};

enum quantity quantity_of(const struct profile *p, struct value_ref value);

/* Whether a share of it may be called a share of the time. */
static inline bool quantity_is_time(enum quantity m)
{
    return m == QUANTITY_CPU_TIME || m == QUANTITY_ELAPSED;
}

/* "time", or "total" where it is none or not known: "5% of the time". */
static inline const char *quantity_noun(enum quantity m)
{
    return quantity_is_time(m) ? "time" : "total";
}

/*
 * What valgrind's simulators count, by the name of the column: instructions (Ir), data accesses
 * (Dr, Dw), misses of the first-level caches (D1mr, D1mw; I1mr), of the last level (ILmr, DLmr,
 * DLmw), branches (Bc, Bi) and mispredicted ones (Bcm, Bim).
 */
enum simulated {
    SIMULATED_OTHER,
    SIMULATED_INSTRUCTIONS,
    SIMULATED_READS,
    SIMULATED_WRITES,
    SIMULATED_I1_MISSES,
    SIMULATED_D1_READ_MISSES,
    SIMULATED_D1_WRITE_MISSES,
    SIMULATED_LL_CODE_MISSES,
    SIMULATED_LL_READ_MISSES,
    SIMULATED_LL_WRITE_MISSES,
    SIMULATED_BRANCHES,
    SIMULATED_JUMPS, /* indirect */
    SIMULATED_BRANCH_MISSES,
    SIMULATED_JUMP_MISSES,
    SIMULATED_FIGURES,
};

enum simulated simulated_of(const struct profile *p, const struct value_type *t);

/* The first column of P that counts FIGURE; false where there is none. */
bool simulated_pick(const struct profile *p, enum simulated figure, struct value_ref *ret);

/* The column of a stream that counts FIGURE, or -1. */
int simulated_find(const struct profile *p, const struct stream *s, enum simulated figure);

/* What a stream of a CPU's counter counts, by the name of its event, on whatever kind of core. */
enum counted {
    COUNTED_OTHER,
    COUNTED_CYCLES,
    COUNTED_INSTRUCTIONS,
    COUNTED_CACHE_MISSES, /* of the last level */
    COUNTED_L1_MISSES,    /* of data */
    COUNTED_BRANCHES,
    COUNTED_BRANCH_MISSES,
    COUNTED_FIGURES,
};

enum counted counted_of(const struct profile *p, const struct stream *s);
