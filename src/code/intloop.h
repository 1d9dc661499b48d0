/*
 * intloop.h - loops that compute with integers, one at a time, and could use vectors.
 *
 * Looks at loops without branches inside, other than such that leave them when a counter or pointer
 * is at its end, and is careful to say no: what steps through memory by a constant, loads numbers
 * from there, perhaps chooses between two (cmov), and sums them up or writes them back. A loop that
 * follows pointers, looks up tables, mixes a hash or ends by what it read is none, nor one that
 * calls.
 */
#pragma once
#include "code/listing.h"

/* Whether B is in such a loop. */
bool intloop_is_candidate(const struct listing *l, const struct listing_block *b);
