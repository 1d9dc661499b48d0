/*
 * counters.h - a program's own numbers over time, in brief: what they are called, how many, the
 * last.
 */
#pragma once
#include "base/json.h"
#include "model/profile.h"
#include "view/document.h"

/*
 * As the member "counters", and as a table; none where there are no counters. Counters have a
 * rate over SECONDS (0 = not known), gauges a minimum and a maximum.
 */
void counters_json(struct json *j, const struct profile *p, double seconds);
void counters_add(struct document *d, const struct profile *p, double seconds);
