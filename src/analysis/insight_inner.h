/*
 * insight_inner.h - what the files of the insights share: how a rule answers, and its words.
 */
#pragma once
#include "analysis/insight.h"

/* What a rule found. */
struct insight_found {
    struct buf evidence; /* a sentence without a full stop */
    struct buf advice;   /* empty = that of the rule */
    bool *stacks;        /* the samples it speaks of, by stack; NULL = of none in particular */
};

#define INSIGHT_TEST(name)                                                     \
    bool name(const struct insight_input *in, const struct insight_rule *self, \
              struct insight_found *ret)

/* Of the recording, in insight_data.c. */
INSIGHT_TEST(insight_test_few);
INSIGHT_TEST(insight_test_lost);
INSIGHT_TEST(insight_test_failed);
INSIGHT_TEST(insight_test_unfinished);
INSIGHT_TEST(insight_test_unnamed);
INSIGHT_TEST(insight_test_strays);
INSIGHT_TEST(insight_test_empty);
INSIGHT_TEST(insight_test_waiting);
INSIGHT_TEST(insight_test_off_cpu);
INSIGHT_TEST(insight_test_busy);
INSIGHT_TEST(insight_test_bursts);
INSIGHT_TEST(insight_test_interpreter);
INSIGHT_TEST(insight_test_copies);
INSIGHT_TEST(insight_test_agent);

/* Of its instructions, in insight_code.c. */
INSIGHT_TEST(insight_test_unoptimised);
INSIGHT_TEST(insight_test_scalar);

/* Of the program, in insight_program.c. */
INSIGHT_TEST(insight_test_spinning);
INSIGHT_TEST(insight_test_dominating);
INSIGHT_TEST(insight_test_hot);
INSIGHT_TEST(insight_test_flat);
INSIGHT_TEST(insight_test_recursion);
INSIGHT_TEST(insight_test_names);
INSIGHT_TEST(insight_test_locks);
INSIGHT_TEST(insight_test_kernel);

/* Where the true share is; see insight.c. */
struct interval insight_bounds(const struct flat *f, const struct flat_share *s);

/* The share that can be counted on. */
static inline double insight_surely(const struct flat *f, const struct flat_share *s)
{
    return insight_bounds(f, s).low;
}

/* A name that fits into a sentence. */
void insight_name(struct buf *b, struct text name);

/* Share of the run without the program on a CPU; below 0 with several threads, NAN = not known. */
double insight_waited(const struct insight_input *in);

/* Past this share of waiting nothing that CPU time shows comes first. */
#define INSIGHT_WAITS 0.4

/* CPU time was sampled of a program that spent INSIGHT_WAITS or more of its run off-CPU. */
bool insight_waits(const struct insight_input *in);

/* It was off-CPU for that long, but may have queued for a CPU that others used: not known. */
bool insight_may_wait(const struct insight_input *in);

/* The frame in the place of the callers that a stack lacks. */
bool insight_is_unfinished_mark(const struct profile *p, const struct frame *f);

/*
 * Whether much runs in code compiled without optimization: how much, and where most of it. Either
 * may be NULL, and is not set where there is no such code.
 */
bool insight_is_unoptimised(const struct insight_input *in, struct flat_share *ret_share,
                            const struct simd_row **ret_most);
