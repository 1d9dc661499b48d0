/*
 * judge.h - the verdict on a workload: against the baseline, by its rules, by what valgrind found.
 *
 * From facts in the suite to facts in its results; nothing is run, read or printed.
 */
#pragma once
#include "suite/suite.h"

/* Fewer runs have no interval (paired.h): where nothing else is compared that is inconclusive. */
enum { JUDGE_LEAST_RUNS = 6 };

/* The baseline's series to hold NOW of R against: of runs in turns, else as it was kept. NULL where
 * there is none, or of another command, which R then tells; FORCE: that one, too. */
const struct series *judge_before(const struct suite *s, struct suite_result *r,
                                  const struct series *now, bool force);

/*
 * Compare wall time, CPU time and instructions of R with the baseline: with its program where it
 * ran in turns with today's, else with what was kept. All workloads share the risk. FORCE: also
 * where another command ran then.
 */
void judge_compare(const struct suite *s, struct suite_result *r, bool force);

/* At look LOOK (verdict.h) of runs in turns: has M of C->before and C->after decided its gate? True
 * as well where no run gave a number, as more of them would not. */
bool judge_metric_decided(const struct suite *s, const struct metric *m, struct comparison *c,
                          int look);

/* The file of rules for R; "" = none. */
const char *judge_rules_path(const struct suite *s, const struct suite_result *r);

/* Set the outcome of R from its comparisons, rules and findings; a failure stays one. */
void judge_result(const struct suite *s, struct suite_result *r);

/* EXIT_OK, EXIT_FAILS, EXIT_INCONCLUSIVE or EXIT_ERROR for the outcome of a suite. */
int judge_code(enum suite_outcome o);
