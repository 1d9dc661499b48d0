/*
 * intloop.h - loops that compute with integers, one at a time, and could use vectors.
 *
 * Looks at loops of one block only, and is careful to say no: what steps through memory by a
 * constant, loads numbers from there, and sums them up or writes them back. A loop that follows
 * pointers, looks up tables, mixes a hash or ends by what it read is none, nor one that calls.
 */
#pragma once
#include "code/listing.h"

bool intloop_is_candidate(const struct listing *l, const struct listing_block *b);
