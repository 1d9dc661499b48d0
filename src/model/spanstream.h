/*
 * spanstream.h - columns of the stream of scopes (STREAM_SCOPES) that not every recorder fills:
 * what was allocated in a span and not in the scopes inside of it.
 *
 * No other code looks at the names of these columns.
 */
#pragma once
#include "model/profile.h"

/* Columns of the stream; -1 = it has none. */
struct span_blocks_columns {
    int blocks, bytes;
};

void spanstream_add_blocks(struct profile *p, int stream);

/* False where spans do not know what they allocated. */
bool spanstream_find_blocks(const struct profile *p, const struct stream *s,
                            struct span_blocks_columns *ret);
