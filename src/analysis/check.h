/*
 * check.h - rules checked against profiles: each passed, failed, or inconclusive.
 *
 * Shares are known only as 95% intervals. A rule passes when the whole interval is inside its
 * range, fails when all of it is outside, and is inconclusive else. Counts (samples, lost ones,
 * instructions) are not estimated: they are either in the range or not.
 *
 * Quantiles and means of scopes have intervals as well, which allow for spans in a row being alike
 * (scopequantile.h). Counts of scopes and counters are exact unless records were lost.
 *
 * Parsing and naming collect every error before anything is decided. A function that was never
 * sampled takes at most the share that this many samples can miss; the program's symbols say
 * whether there is one of that name (program_names.h).
 */
#pragma once
#include "analysis/rules.h"
#include "analysis/selection.h"
#include "code/simd.h"
#include "model/series.h"

struct scaling;
struct suppressions;

/* CHECK_SKIPPED is no verdict: the rule does not apply, and is not counted. */
enum check_verdict {
    CHECK_HOLDS,
    CHECK_FAILS,
    CHECK_INCONCLUSIVE,
    CHECK_VERDICTS,
    CHECK_SKIPPED = CHECK_VERDICTS,
};

extern const char *const check_verdict_names[]; /* "passed"... */

/* Measured runs that rules may name. */
struct check_runs {
    const char *name; /* of a benchmark or metric; "" = the whole command */
    const struct series *series;
    enum measure measure; /* what scatter is of, and what decides: wall or CPU time, a metric */
    const struct series *before; /* of the baseline, for diff rules; NULL = none */
};

/* What there is to check. All of it must outlive the check. */
struct check_input {
    const struct selection *selection; /* NULL = no recording, only runs and counts */
    const struct profile *heap;        /* for rules about the heap; NULL = the selection's */
    const struct selection *before;    /* for diff rules; NULL = none */
    const struct profile *heap_before; /* the same of the heap; NULL = that of before */
    const char *no_before;       /* why diff rules may have none; NULL = then they are errors */
    bool skip_diffs;             /* they do not apply then; else they are inconclusive */
    const struct simd_row *code; /* the functions that ran, for simd rules */
    size_t n_code;
    const char *no_code;            /* why some or all code is missing; "" = it is not */
    struct scaling *scaling;        /* for growth rules; NULL = none */
    const struct selection *scopes; /* for rules about scopes; NULL = all of them */
    const struct check_runs *runs;  /* for rules about measured runs */
    size_t n_runs;
    const struct suppressions *known_leaks; /* which are no matter to rules; NULL = reserves only */
    const struct selection *counts;         /* simulated misses; NULL = counters of the selection */
    const struct selection *counts_before;

    /* Whether the program has a function that was never sampled; NULL = nobody knows. */
    bool (*has_function)(const struct profile *p, const char *name);
};

struct check_result {
    const struct rule *rule;
    enum check_verdict verdict;
    enum rule_unit unit;      /* of value and interval; RULE_NONE = neither is known */
    double value;             /* what was observed */
    struct interval interval; /* of it, 95%; no wider than the value where that is exact */
    const char *expected;     /* the range in words, tolerance included: "85 to 100%" */
    const char *observed;     /* "91.2% ±1.4" */
    const char *why;          /* the evidence: a sentence without a full stop */
};

struct check {
    VEC(struct check_result) results; /* in the order of the rules */
    size_t n[CHECK_VERDICTS];         /* how many of each */
    enum check_verdict verdict;       /* of all: the worst, a failure being worse than doubt */
    struct arena arena;
};

/*
 * Hold RULES, which must be free of errors and outlive C, against IN. Functions that a rule names
 * but no profile has, and rules that need what IN does not have, become errors of RULES, all of
 * them; then it returns -1 and nothing is decided. Call check_done() in any case.
 */
int check_build(struct check *c, struct rules *rules, const struct check_input *in);
void check_done(struct check *c);
