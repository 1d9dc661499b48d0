/*
 * heap_areas.h - the anonymous maps that a program holds. Unlike blocks they go in parts: what is
 * unmapped may be the middle of one, or several.
 */
#pragma once
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct heap_area {
    uint64_t start, end;
    uint64_t told_bytes; /* what counts as allocated; 0 for a part of one that counts elsewhere */
    uint64_t ticks;
    uint32_t site;
};

struct heap_areas {
    VEC(struct heap_area) at; /* by start; they do not overlap */
};

void heap_areas_done(struct heap_areas *a);

/* Put AREA in, where nothing is: heap_areas_cut() first. */
void heap_areas_add(struct heap_areas *a, const struct heap_area *area);

/* An area of which something was cut: as it was, and what is left of it. */
struct heap_cut {
    struct heap_area was, left[2];
    unsigned n_left;
};

/*
 * Cut START to END out of the first area that it touches; false when there is none. The parts
 * that are left stay, with told_bytes as it was in the first part. Call it until it is false.
 */
bool heap_areas_cut(struct heap_areas *a, uint64_t start, uint64_t end, struct heap_cut *ret);

/* A part that was left: NULL when it is not there. */
struct heap_area *heap_areas_find(struct heap_areas *a, uint64_t start);
