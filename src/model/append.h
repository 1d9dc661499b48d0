/*
 * append.h - append the rows of one profile to those of another: several runs of a program as one.
 */
#pragma once
#include "model/profile.h"

/*
 * Add the rows of each stream of FROM, with all that they refer to, to the stream of TO that has
 * the same event and columns; losses and unfinished stacks are summed. Traced streams (scopes,
 * events of the program) may be new. Counters of the same name and unit continue: the second of
 * FROM continues the second of TO if several processes have one, and counts go on from their last
 * value. Facts (meta) of FROM are left out. Fails where a sampled stream has no counterpart, or
 * a sum would pass INT64_MAX.
 */
int profile_append(struct profile *to, const struct profile *from, struct err *err);
