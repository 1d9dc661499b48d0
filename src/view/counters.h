/*
 * counters.h - a profile's numbers over time, in brief: what they are called, how many, the last.
 */
#pragma once
#include "base/json.h"
#include "model/profile.h"

/* As the member "counters". */
void counters_json(struct json *j, const struct profile *p);
