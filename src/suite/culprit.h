/*
 * culprit.h - which function most likely made a workload slower, with the evidence and its place.
 */
#pragma once
#include "suite/suite.h"

/* The function whose self time grew most in R's diff, proven ones first. */
void culprit_by_time(struct suite_result *r);

/* The function that executes more instructions than before, exactly: as they were simulated. Takes
 * the place of one found by time. */
void culprit_by_count(struct suite_result *r);
