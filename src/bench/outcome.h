/*
 * outcome.h - what a session came to: its comparisons, those with a baseline, and the exit code.
 */
#pragma once
#include "bench/session.h"
#include "bench/sweep.h"

struct outcome {
    struct session session; /* run by the caller */
    bool is_beside; /* its first command is the program that a baseline has kept: set by the caller
                     */
    struct series_set beside; /* what that gave; comparisons with it are in `against` */
    struct sweeps sweeps;
    char *design;               /* how it was measured, in one sentence */
    struct comparisons against; /* with a baseline */
    bool has_baseline;
    VEC(struct text) lost; /* gates whose name was not measured: misspelt, they would always hold */
};

/* After the session has run. A comparison of a command with itself is not a result, and is dropped.
 */
void outcome_build(struct outcome *o);

/* Hold what was measured against a baseline, which must outlive O. */
void outcome_compare(struct outcome *o, const struct series_set *before);

/*
 * A gate that is broken: EXIT_FAILS. Else what was stopped or has lost gates proves nothing about
 * the others. An undecided comparison is EXIT_INCONCLUSIVE, never EXIT_OK.
 */
int outcome_code(const struct outcome *o);

/* Whether a session that ends with CODE was measured to its end, and may be kept. */
bool outcome_is_whole(int code);

void outcome_done(struct outcome *o);
