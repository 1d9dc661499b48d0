/*
 * run_metrics.h - takes the numbers of a workload (metric.h) from each run of its bench.
 */
#pragma once
#include "base/buf.h"
#include "bench/session.h"
#include "suite/suite.h"

enum { RUN_METRICS_KEPT = 64 << 10 }; /* bytes of what a run prints */

struct run_metrics {
    const struct suite *suite;
    struct suite_result *result;
    struct series_set of[2]; /* a series for each metric, by item of the session */
    struct timespec since;   /* the end of the run before: files that are older are not its own */
    struct buf said;         /* the end of what the last run printed */
};

/* For one session. Close it either way. */
void run_metrics_open(struct run_metrics *t, const struct suite *s, struct suite_result *w);
void run_metrics_close(struct run_metrics *t);

/* Have the session hand over what its runs print, and, where it runs until gates are decided, go on
 * until those of metrics are; nothing where W has no metrics. */
void run_metrics_ask(struct run_metrics *t, struct session_opts *with, struct starter_opts *start);

/* Move the series of ITEM to TO, which has the times of its runs already. */
void run_metrics_give(struct run_metrics *t, struct series_set *to, size_t item);

/* Write the output of the last run beside the pages; nothing where it was not read. */
int run_metrics_keep_output(const struct run_metrics *t, const struct folder *folder,
                            struct err *err);

/* Once no set grows any more: fill in the metrics of W. */
void run_metrics_find(const struct suite *s, struct suite_result *w);
