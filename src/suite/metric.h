/*
 * metric.h - numbers that a program gives itself, one per run: tokens per second, requests, a
 * score.
 *
 *     [metric tps]                          taken from what each run of `bench` prints...
 *     pattern = "achieved tok/s: ([0-9.]+)"
 *     better = higher
 *
 *     [metric loss]                         ...or from a file of JSON that each run writes
 *     json = result.json
 *     field = eval.loss
 *
 *     [workload chat]
 *     items = 50 tokens                     ...or from wall time: 50 tokens in each run
 *
 * A section of its own rather than a key of the workload: so a metric has a unit, a direction and a
 * limit as other keys have, with their checks and overrides, and may be of several workloads.
 *
 * Of several matches the last one counts: programs that report their progress end with the result.
 */
#pragma once
#include "base/units.h"
#include "suite/conf.h"

#include <regex.h>
#include <time.h>

struct metric {
    char *name, *unit;        /* the unit may be "" */
    const char *file, *field; /* of JSON; "" = none */
    regex_t *pattern;         /* NULL = none */
    double items;             /* per run, 0 = none */
    bool more_is_better;
    double limit;        /* 0.05 = 5% worse than the baseline fails; NAN = shown only */
    size_t most_matches; /* numbers that the pattern found in one run, once runs were made */
    bool was_long;       /* a run printed more than is searched: its end alone was */
};

struct metrics {
    VEC(struct metric) at;
};

/*
 * The metrics of WORKLOAD. Fails where a section is not whole, names a workload that is not there,
 * or is of one that does not collect bench; where bench is left out for one run, by an option or
 * the environment, so are they. Free with metrics_done() either way.
 */
int metrics_build(struct metrics *m, const struct conf *c, const char *workload, struct err *err);
void metrics_done(struct metrics *m);

/* The one that 'items =' of the workload makes; NULL = none. */
const struct metric *metrics_items(const struct metrics *m);

/* What stands in OUTPUT; NAN = nothing does. RET_MATCHES: how many numbers the pattern found. */
double metric_in_output(const struct metric *m, struct text output, size_t *ret_matches);

/* What stands in the file, if it was written at SINCE or later; else NAN. */
double metric_in_file(const struct metric *m, struct timespec since);

/* VALUE with the unit: "41.2 tokens/s". Appended. */
void metric_say_value(struct buf *b, const struct metric *m, double value);

struct comparison;

/*
 * One sentence without a full stop: "tps 41.2 -> 38.0 tok/s (-7.8%, -9.1 to -6.4%): worse by more
 * than the 5% allowed". Where the change of the pairs is not that of the medians: "tps medians 41.2
 * -> 40.8 tok/s; median change of the pairs (+0.3%, -0.8 to +1.2%): ...".
 */
void metric_say(struct buf *b, const struct metric *m, const struct comparison *c);
