/*
 * culprit.h - which function of a slower workload is proven to have grown, with its place.
 */
#pragma once
#include "suite/suite.h"

/* The function whose self time is proven to have grown most in R's diff; none where nothing is. */
void culprit_by_time(struct suite_result *r);

/* The function that executes more instructions than before, exactly: as they were simulated. Takes
 * the place of one found by time. */
void culprit_by_count(struct suite_result *r);
