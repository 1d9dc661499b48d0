/*
 * eventrates.h - what a CPU's counters say about functions: instructions per cycle, and misses per
 * thousand instructions.
 *
 * Needs a recording with several of these events, each a stream of its own (quantity.h:
 * counted_of). A function's figures are its own, without what it calls. Both sides of a rate are
 * estimated from samples, so the interval has the error of both: the variance of the logarithm is
 * the sum over rows of (value / sum)^2, on each side. Where the events were read as one group their
 * errors go together and the interval is wider than it need be.
 */
#pragma once
#include "analysis/flat.h"

enum eventrate { RATE_IPC, RATE_CACHE_MISSES, RATE_L1_MISSES, RATE_BRANCH_MISSES, EVENTRATES };

extern const char *const eventrate_names[EVENTRATES];  /* keys: "ipc"... */
extern const char *const eventrate_titles[EVENTRATES]; /* for people */

/* With fewer samples on either side no rate is shown. */
enum { EVENTRATE_FEW = 10 };

/* More kinds of cores than any CPU has. */
enum { EVENTRATE_CORES = 8 };

/* The counts of one function, or of all. */
struct eventrate_sum {
    double value[COUNTED_FIGURES], squares[COUNTED_FIGURES];
    uint64_t samples[COUNTED_FIGURES];
};

struct eventrates {
    bool has[EVENTRATES]; /* whether both events are there */
    bool has_event[COUNTED_FIGURES];
    struct eventrate_sum whole;
    struct eventrate_sum *rows; /* by row of the list of functions */
};

/*
 * FUNCTIONS is a list by function of a whole stream. Nothing is there (has[] false) without events.
 * CORE is a kind of core of a hybrid CPU, whose cycles are not those of another: only what was
 * counted there; 0 = on all.
 */
struct eventrates eventrates_build(const struct flat *functions, struct str_id core);

/* The kinds of cores that rows have as their label (CORE_KEY), 0 where there is but one kind. */
size_t eventrates_cores(const struct profile *p, struct str_id ret[EVENTRATE_CORES]);
void eventrates_done(struct eventrates *r);

/* Whether there is any rate to show. */
bool eventrates_any(const struct eventrates *r);

/* A rate with its interval; NAN where there are too few samples. */
struct eventrate_value {
    double value;
    struct interval interval;
};

struct eventrate_value eventrate_of(const struct eventrate_sum *s, enum eventrate rate);

/* The event that a rate counts. */
enum counted eventrate_event(enum eventrate rate);
