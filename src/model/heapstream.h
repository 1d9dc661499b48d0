/*
 * heapstream.h - the heap in the model: what the columns of its stream and its counters mean.
 *
 * Recordings have all of the columns, files of other tools some. No other code looks at their
 * names.
 */
#pragma once
#include "model/streamkind.h"

enum heap_column {
    HEAP_ALLOCATIONS,
    HEAP_ALLOCATED,
    HEAP_FREES,
    HEAP_FREED,
    HEAP_TEMPORARY, /* blocks freed by the same thread before its next allocation */
    HEAP_SAMPLES,   /* where not every block is seen */
    HEAP_LOCKED,    /* blocks whose thread held a lock; where locks were recorded as well */
    HEAP_LEAKED,
    HEAP_LEAKED_BLOCKS,
    HEAP_PEAK,
    HEAP_LEAKED_SAMPLES, /* that the levels rest on, where not every block is seen */
    HEAP_PEAK_SAMPLES,
    HEAP_COLUMNS,
};

/* Returns the column, as profile_add_value() does. */
int heapstream_add_column(struct profile *p, int stream, enum heap_column column);

/* The column of STREAM that is COLUMN, or -1. */
int heapstream_find_column(const struct profile *p, int stream, enum heap_column column);

/* The first stream of a heap that has such a column, and where; false if there is none. */
bool heapstream_find(const struct profile *p, enum heap_column column, struct value_ref *ret);

/* Whether P is a heap profile of another kind: what was in use by stack (jemalloc, gperftools, Go).
 */
bool heapstream_has_inuse(const struct profile *p);

/* What a column of a heap's stream is; HEAP_COLUMNS for others, and those of other streams. */
enum heap_column heapstream_column_of(const struct profile *p, struct value_ref value);

/* Columns of the stream of sizes: see heap_tally.h. Older recordings have the first alone. */
enum heap_sizes_column {
    HEAP_SIZES_BLOCKS,
    HEAP_SIZES_ADDED,
    HEAP_SIZES_GROWN,
    HEAP_SIZES_COLUMNS
};

void heapstream_add_sizes_columns(struct profile *p, int stream);
int heapstream_find_sizes_column(const struct profile *p, int stream,
                                 enum heap_sizes_column column);

enum heap_counter { HEAP_COUNTER_LIVE, HEAP_COUNTER_BLOCKS, HEAP_COUNTER_RSS, HEAP_COUNTERS };

/* Returns the counter, as profile_add_counter() does. */
int heapstream_add_counter(struct profile *p, enum heap_counter counter, struct process_id of);

/* HEAP_COUNTERS for those of something else. */
enum heap_counter heapstream_counter_of(const struct profile *p, const struct counter *c);
