/*
 * walljoin.h - running and waiting in one stream: wall time by stack.
 *
 *     running    the samples of CPU time, scaled so that those of a thread add up to the time that
 *                the switches say it ran; where it ran and no sample saw it, "[running, not seen]"
 *     waiting    every wait at the function of the program that waits, with what it waits for as
 *                its innermost frame: "[blocked: lock]", "[runnable]"
 *
 * So the rows of a thread add up to its wall time, but for what is not known. The stream and its
 * column are called "wall". Rows of waits keep their times and labels, and last for their part of
 * the wait.
 */
#pragma once
#include "model/profile.h"

#define WALL_VALUE "wall"

/*
 * Add the stream to P, before anything is selected or built from it. Does nothing where P has such
 * a column already. Fails where P has no waits.
 */
int walljoin_add(struct profile *p, struct err *err);
