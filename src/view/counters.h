/*
 * counters.h - a program's own numbers over time, in brief: what they are called, how many, the
 * last.
 */
#pragma once
#include "base/json.h"
#include "model/profile.h"
#include "view/document.h"

/*
 * As the member "counters", and as a table; none where there are no counters. What is counted has
 * a rate over SECONDS (0 = not known), and what is measured a minimum and a maximum.
 */
void counters_json(struct json *j, const struct profile *p, double seconds);
void counters_add(struct document *d, const struct profile *p, double seconds);
