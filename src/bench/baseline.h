/*
 * baseline.h - what was measured in another session: may it be compared with, under which names,
 * and what that means for the gates.
 */
#pragma once
#include "base/err.h"
#include "bench/verdict.h"

/* Why two sets should not be compared: another host, governor or method. NULL = they may be. Free
 * it. */
char *baseline_differences(const struct meta *before, const struct meta *now);

/* How the builds differ, which is the most common reason to compare. NULL = not known to. Free it.
 */
char *baseline_rebuilt(const struct meta *before, const struct meta *now);

/* Give the benchmark OLD of "OLD=NEW" its new name. One that SET does not have may be in another.
 */
int baseline_rename(struct series_set *set, const char *spec, struct err *err);

/* What all comparisons with a baseline come to. Without a benchmark in common nothing was compared:
 * undecided, with gates or without. */
enum gate baseline_gate(const struct comparisons *c);
