/*
 * comparison.h - one series compared with another, and the result: the one verdict type.
 *
 * The other series is another command of the same session, or the same benchmark of a baseline.
 * verdict_compare() (bench/verdict.h) fills it; reports, pages and gates read it.
 */
#pragma once
#include "base/buf.h"
#include "model/series.h"
#include "stats/paired.h"
#include "stats/tails.h"

struct comparison {
    const struct series *before, *after;
    enum measure measure;
    bool apart;   /* not measured side by side: the baseline is from another time */
    double band;  /* changes up to this do not matter: 0.01 = 1% */
    double limit; /* of the gate: 0.1 = more than 10% slower is too much; NAN = no gate */

    struct paired paired;
    enum gate gate;
    bool has_tails; /* slow runs come more often or less often, beyond chance: see `tails` */
    struct tails tails;
    bool mean_broke;  /* the median is within the limit and the mean is not: the gate is open */
    bool same_work;   /* the time changed, and the number of instructions did not */
    bool unconfirmed; /* wall time of two sessions differs, and CPU time does not match it */
};

struct comparisons { /* a VEC */
    struct comparison *at;
    size_t n, cap;
};

/* What may be the cause where `same_work` is true. */
#define COMPARISON_SAME_WORK \
    "where code and data lie in memory, or waiting, may be the cause, not more work"

/* The sentence's names for things. Those that are NULL have a default or are left out. */
struct comparison_words {
    const char *name;  /* of what is judged; NULL = that of the series */
    const char *than;  /* "in 'main'"; NULL = "in the baseline" or the other series */
    const char *limit; /* "--max-regression": what sets the limit */
    const char *more;  /* "give it more --time": what would decide it */
};

/*
 * One sentence without a full stop: whether it is slower, by how much, and what that means for its
 * gate. "'new' is 8.0% slower than 'old' (+8.0%, +7.1 to +8.9%): more than the 5% that
 * --max-regression allows"
 */
void comparison_say(struct buf *b, const struct comparison *c, const struct comparison_words *w);

/* Whether it is with the same benchmark of a baseline, not with another command. */
bool comparison_is_with_baseline(const struct comparison *c);

/* "slower", "same"...; where it is not a time "more", "less", "fewer"; "within the limit" where
 * that is all that is known. */
const char *comparison_word(const struct comparison *c);
