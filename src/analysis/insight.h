/*
 * insight.h - what a profile says in words: a table of rules, each with evidence and advice.
 *
 * A rule speaks only when it is sure: a share counts with the low end of its interval. Inputs that
 * do not say how many samples they hold get the interval of the most that they may hold.
 *
 * How long threads queued for a CPU (META_QUEUED_NS) is no waiting of their own; if that is not
 * known and the host was busy, there is no insight on waiting.
 *
 * Samples that two insights count are reported in the second: shares of insights do not add up.
 *
 * A rule applies only to quantities that it fits (quantity.h): there is no advice to vectorise
 * page faults.
 *
 * How to add a rule: a row in the table in insight_rules.c (for functions known by name a list of
 * patterns in insight_names.c will do; else a test in insight_program.c, insight_code.c or
 * insight_data.c) and a test in tests/unit/test_insight.c.
 */
#pragma once
#include "analysis/flat.h"
#include "analysis/quality.h"
#include "base/buf.h"
#include "code/simd.h"

struct insight_input {
    const struct flat *functions; /* by function; its selection is what is spoken of */
    const struct quality *quality;
    const struct simd_row *code; /* hot functions whose code is at hand, hottest first */
    size_t n_code;
};

struct insight_found; /* insight_inner.h */

struct insight_rule {
    const char *id;     /* "allocation"; several rows may say the same of unlike quantities */
    bool about_data;    /* of the recording's worth, not of the program */
    unsigned fits;      /* the quantities it applies to, a bit each; 0 = all */
    const char *advice; /* what to try, whole sentences */

    /* Whether it applies; if so what it found. */
    bool (*test)(const struct insight_input *in, const struct insight_rule *self,
                 struct insight_found *ret);

    /* For functions known by name, else NULL and 0: see insight_names.h. */
    const char *const *names;
    const char *what;     /* "memory allocation" */
    enum flat_what count; /* with what they call, or without */
    double least;         /* share from which it is worth a word */
};

struct insight {
    const struct insight_rule *rule;
    char *evidence; /* a sentence without a full stop */
    char *advice;   /* the rule's, or what fits better here */
    bool *stacks;   /* the samples it speaks of, by stack id; NULL = of none in particular */
};

struct insights {
    VEC(struct insight) at;
};

/* NULL id at the end. */
extern const struct insight_rule insight_rules[];

/* Ask all rules, in the order of the table. */
struct insights insights_build(const struct insight_input *in);
void insights_done(struct insights *s);

/* "5.0% +-1.4", or "5.0%" where nothing is known of how sure it is. */
void insight_share(struct buf *b, const struct flat_share *s);

/* The second half of that alone: "+-1.4", "(0.3-11.0)", or nothing. */
void insight_half(struct buf *b, const struct flat_share *s);

/*
 * An interval beside its share: "+-1.4", half of its width. Few samples give lopsided intervals:
 * where the half would reach below 0 or above 100%, both ends, "(0.3-11.0)".
 */
void insight_interval(struct buf *b, double share, struct interval i, int digits);
