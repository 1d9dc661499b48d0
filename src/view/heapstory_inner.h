/*
 * heapstory_inner.h - the figures of a place on the heap: one table, from which tables for people
 * take their columns and JSON its keys.
 */
#pragma once
#include "view/heapstory.h"

enum heapfigure {
    HEAP_PEAK_SHARE,
    HEAP_PEAK,
    HEAP_LEAKED_SHARE,
    HEAP_LEAKED,
    HEAP_LEAKED_BLOCKS,
    HEAP_LEAKED_SAMPLES,
    HEAP_PEAK_SAMPLES,
    HEAP_SAMPLES,
    HEAP_GROWTH,
    HEAP_LIVE_HALF,
    HEAP_LIVE_END,
    HEAP_ALLOCATIONS_SHARE,
    HEAP_ALLOCATIONS,
    HEAP_BLOCKS, /* the same with the heading of other tables */
    HEAP_ALLOCATED_SHARE,
    HEAP_ALLOCATED,
    HEAP_MEAN,
    HEAP_TEMPORARY_SHARE,
    HEAP_RANGE_GROWTH,
    HEAP_RANGE_START,
    HEAP_RANGE_END,
    HEAPFIGURES,
};

/* How a figure comes from a value of its place. */
enum heapfigure_from {
    HEAP_AS_IT_IS,
    HEAP_PART_OF_ALL,     /* of the same value of the whole heap */
    HEAP_PER_ALLOCATION,  /* whole bytes */
    HEAP_PART_OF_ITS_OWN, /* of the place's allocations */
    HEAP_OVER_TIME,       /* from what was live when */
    HEAP_IN_RANGE,        /* of the range that was asked for */
};

struct heapfigure_kind {
    const char *column;
    const char *key;  /* NULL: JSON has it among the values of a place */
    const char *unit; /* of units_scaled(); NULL = a share, 1 = all */
    enum heapfigure_from from;
    enum heapstory_value value;
};

extern const struct heapfigure_kind heapfigures[HEAPFIGURES];

/* Whether the input knows it. */
bool heapfigure_is_known(const struct heapstory *s, enum heapfigure figure);

/* And, where blocks are sampled, whether enough samples of the place do. */
bool heapfigure_is_known_of(const struct heapstory *s, const struct heapstory_place *p,
                            enum heapfigure figure);
double heapfigure_get(const struct heapstory *s, const struct heapstory_place *p,
                      enum heapfigure figure);

/* 0 where the whole is. */
double heapstory_part(int64_t part, int64_t whole);

/* 0 = not known. */
double heapstory_allocations_per_second(const struct heapstory *s);

/* All blocks of CLASSES. */
int64_t heapstory_classes_sum(const int64_t *classes);
