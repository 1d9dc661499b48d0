/*
 * tally.h - what was recorded so far, summed up by stack.
 *
 * Rows leave memory when they are written, so that a recording of a day needs no more of it than
 * one of a minute. The summary at the end (quality, hot functions) comes from here.
 */
#pragma once
#include "model/profile.h"

struct tally {
    VEC(int64_t) samples, value; /* by stack id */
};

void tally_done(struct tally *t);
void tally_add(struct tally *t, struct stack_id stack, int64_t value);

/*
 * The sums as a stream that looks like LIKE (a column of samples, one of values) and is in no
 * profile. Free with tally_free_stream().
 */
struct stream *tally_stream(const struct tally *t, const struct stream *like);
void tally_free_stream(struct stream *s); /* NULL is fine */
