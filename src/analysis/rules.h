/*
 * rules.h - what a profile is expected to be: a small language, one rule per line.
 *
 *     # comment                             names with blanks in quotes: "operator new"
 *     total forward 90..95% tolerance 5     share with what it calls; widened by 5 points
 *     self memcpy <= 10%                    share of its own code
 *     samples >= 200                        how good the recording is
 *     lost <= 1%                            also: unfinished, unnamed
 *     present parse                         seen in the profile, or not: absent
 *     diff total matmul <= +5%              against another profile; relative, or "+2 points"
 *     simd matmul packed >= 80% width >= 256
 *     growth matmul <= 1.2                  exponent over sizes; "growth total" is the whole
 *
 *     peak <= 200 MiB                       also leaked, allocated, allocations, temporary
 *     allocations render_frame == 0         below a function; or allocs(render_frame) == 0
 *
 *     allocs_per_op parse/n=64 == 0         of an iteration of a benchmark; also bytes_per_op
 *
 *     p99 decode <= 5 ms                    of a scope of the program; any pN, also mean, max
 *     calls layer == 24 * tokens            how often; a multiple of a counter or another scope
 *     rate tokens >= 40                     a counter or a scope, per second
 *
 *     time dot/n=64 10..50 ns               of a benchmark, or without a name of the command; cpu
 *     scatter <= 5% over 10 runs           also r2, gflops, memory, metric tps >= 40
 *     cache-misses parse <= 2 per 1000      of instructions; or a number; l1-misses, branch-misses
 *     hotspot matmul primary                its tier by its own share
 *
 * doc/rules.md is the reference. Every line with an error is reported, with its place.
 */
#pragma once
#include "base/arena.h"
#include "base/vec.h"
#include "stats/stats.h"

enum rule_kind {
    RULE_TOTAL,
    RULE_SELF,
    RULE_SAMPLES,
    RULE_LOST,
    RULE_UNFINISHED,
    RULE_UNNAMED,
    RULE_PRESENT,
    RULE_ABSENT,
    RULE_DIFF_TOTAL,
    RULE_DIFF_SELF,
    RULE_SIMD,
    RULE_GROWTH_TOTAL, /* without a function: of the whole */
    RULE_GROWTH_SELF,
    RULE_PEAK, /* of the heap; without a function: of all of it */
    RULE_LEAKED,
    RULE_ALLOCATED,
    RULE_ALLOCATIONS,
    RULE_TEMPORARY,
    RULE_ALLOCS_PER_OP, /* of a benchmark that ran, not of a function */
    RULE_BYTES_PER_OP,
    RULE_QUANTILE, /* of scopes */
    RULE_MEAN,
    RULE_MAX,
    RULE_CALLS,
    RULE_RATE,
    RULE_RUN_TIME, /* of measured runs: of a benchmark, or of the whole command */
    RULE_RUN_CPU,
    RULE_SCATTER, /* without a name: the worst of all */
    RULE_R2,
    RULE_FLOPS,
    RULE_MEMORY,
    RULE_METRIC,
    RULE_CACHE_MISSES, /* counted or simulated; without a function: of all of it */
    RULE_L1_MISSES,
    RULE_BRANCH_MISSES,
    RULE_HOTSPOT,
};

/* How hot a function is expected to be, by its own share. */
enum rule_tier { TIER_NONE, TIER_PRIMARY, TIER_SECONDARY, TIER_TERTIARY, TIERS };

extern const char *const rule_tier_names[TIERS]; /* "primary"... */

/* The shares of a tier: it begins at `low` and ends below `high`. */
struct interval rule_tier_range(enum rule_tier tier);

enum rule_unit {
    RULE_NONE,      /* there is no range: present, absent */
    RULE_SHARE,     /* of the whole, 0 to 1 */
    RULE_SCATTERED, /* a standard deviation as part of the mean: may be above 1 */
    RULE_COUNT,     /* samples */
    RULE_RELATIVE,  /* change, as part of what it was before */
    RULE_POINTS,    /* change of a share, as part of the whole: 0.05 is 5 points */
    RULE_EXPONENT,
    RULE_BITS, /* width of vectors */
    RULE_BYTES,
    RULE_BLOCKS,
    RULE_PER_OP, /* blocks of an iteration: need not be whole */
    RULE_TIME,   /* nanoseconds */
    RULE_SPANS,
    RULE_PER_SECOND,
    RULE_FIT, /* R2 */
    RULE_GFLOPS,
    RULE_NUMBER, /* of a unit that the program chose */
    RULE_EVENTS,
    RULE_PER_1000, /* events per 1000 instructions */
    RULE_UNITS,
};

/* Both ends belong to it; -INFINITY and INFINITY where it is open. */
struct rule_range {
    struct interval is;
    enum rule_unit unit;
};

struct rule {
    enum rule_kind kind;
    const char *function; /* or scope, or counter; NULL where the rule is about all of it */
    struct rule_range range;
    double tolerance;        /* widens the range at both ends, same unit */
    struct rule_range width; /* of simd only; RULE_NONE where not asked for */
    bool change;             /* of heap, counters, memory of runs: since the profile before */
    uint32_t least_runs;     /* of RULE_SCATTER; 0 = the default */
    enum rule_tier tier;     /* of RULE_HOTSPOT */
    double quantile;         /* of RULE_QUANTILE, 0 to 1 */
    const char *times;       /* of RULE_CALLS: the range is so many times this; NULL = once */
    uint32_t line, column;   /* column: of the function's name, else of the rule; from 1 */
    const char *text;        /* as it is written */
};

/* An error and its place. */
struct rule_error {
    uint32_t line, column; /* from 1; columns in characters */
    const char *text;
};

enum { RULES_MAX = 10000, RULES_MAX_BYTES = 1 << 20 };

struct rules {
    VEC(struct rule) at;
    VEC(struct rule_error) errors;
    bool lacks_before, lacks_sizes; /* rules_require() met a rule that needs them */
    struct arena arena;             /* of all texts */
};

/*
 * Read all of SOURCE. Returns -1 when there are errors; valid rules are there anyway. Call
 * rules_done() in any case.
 */
int rules_parse(struct rules *r, struct text source);
void rules_done(struct rules *r);

/* Whether any rule is about code; about scopes. */
bool rules_need_code(const struct rules *r);
bool rules_need_scopes(const struct rules *r);
bool rule_is_of_scopes(const struct rule *rule);
bool rule_compares(const struct rule *rule); /* with another profile */
bool rule_is_of_runs(const struct rule *rule);
bool rule_is_of_events(const struct rule *rule);

/*
 * What rules need besides a profile: another to compare with, several sizes. Rules that need what
 * there is not become errors; then -1.
 */
struct rules_have {
    bool before, counts_before; /* a profile of then; misses that were simulated then */
    bool sizes;
    bool may_lack_before; /* a rule without one is no error; the caller sees to it */
};

int rules_require(struct rules *r, const struct rules_have *have);

/* Note an error at a rule, as parsing does. TEXT is copied. Always returns -1. */
int rules_fail(struct rules *r, uint32_t line, uint32_t column, const char *text);

/* The range with its tolerance. */
struct interval rule_bounds(const struct rule *rule);
