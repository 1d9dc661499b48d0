/*
 * lanes_inner.h - the parts of the timeline: threads, their states, marks, counters, scopes.
 */
#pragma once
#include "page/core_inner.h"

enum { LANES_MAX = 64 };

struct lanes {
    const struct profile *p;
    uint32_t *same;             /* by thread: the one whose lane it is in */
    uint64_t first_ns, last_ns; /* of all rows of the profile */
    double from_ns, to_ns;      /* since first_ns: what is seen */
    size_t bins;
    double bins_per_ns; /* 0 = nothing is seen */
};

/* From when to when the recording is, as ranges of time understand it; false = it has no times. */
bool lanes_span(const struct profile *p, uint64_t *ret_first, uint64_t *ret_last);

/* Add VALUE, spread over FROM..TO (nanoseconds since the first row), to the bins. */
void lanes_spread(const struct lanes *l, double *bins, double from, double to, double value);
void lanes_put_bins(struct json *j, const char *key, const double *bins, size_t n);

/* Its name and numbers. */
void lanes_put_thread(struct json *j, const struct profile *p, uint32_t thread);

/*
 * "states": of each thread nanoseconds running, runnable, blocked and not known by bin, and
 * "reasons": what it was blocked by, likewise, as far as stacks of waits show that. "summed": when
 * is not known of all its waits, so each bin has its part of sums over a while.
 */
void lanes_put_states(struct json *j, const struct lanes *l);

/*
 * "marks": what happened at moments and is not what is looked at (SHOWN): of each event and thread
 * [bin, how often]. "moments": those that a program names itself, [tid, seconds, name].
 */
void lanes_put_marks(struct json *j, const struct lanes *l, const struct stream *shown);
