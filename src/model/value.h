/*
 * value.h - what a column of numbers means: its dimension, its role, and words for both.
 *
 * This is the one place that looks at the name of a column or unit to decide what it means. All
 * others ask for dimension and role.
 *
 * Values are decimal fixed-point: some inputs have fractions, and in binary floating point a sum
 * depends on the order of its terms, so that shuffled input would give other bytes. A sum past 2^63
 * is an error, not a wrong number.
 */
#pragma once
#include "base/text.h"
#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

struct str_id {
    uint32_t i; /* 0 = "" */
};

enum dimension {
    DIM_COUNT, /* a number of things: samples, cycles, allocations */
    DIM_TIME,  /* nanoseconds */
    DIM_BYTES,
    DIM_OTHER, /* of a unit that we know nothing about */
    DIMENSIONS,
};

enum value_role {
    ROLE_SAMPLES, /* how often the recorder looked */
    ROLE_FLOW,    /* adds up over time: CPU time, bytes allocated, page faults */
    ROLE_LEVEL,   /* holds at one moment: bytes live at the peak */
    VALUE_ROLES,
};

/* Values are fixed-point: value / 10^decimals, so that sums do not depend on their order. */
struct value_type {
    struct str_id name; /* "samples", "cpu", "alloc_space"... */
    struct str_id unit; /* "count", "nanoseconds", "bytes"; "" = not known */
    enum dimension dimension;
    enum value_role role;
    int decimals;
    int64_t total; /* sum of the column; never past INT64_MAX */
};

/* Names of units as we write them. */
#define UNIT_COUNT "count"
#define UNIT_TIME "nanoseconds"
#define UNIT_BYTES "bytes"

/* The name of the column that counts samples. */
#define VALUE_SAMPLES "samples"

/* What UNIT measures; "" counts things. */
enum dimension dimension_of_unit(struct text unit);

/* UNIT_* of a dimension; "" for DIM_OTHER. */
const char *dimension_unit(enum dimension d);

/* How its values are printed. */
static inline enum scaled dimension_scaled(enum dimension d)
{
    return d == DIM_TIME ? SCALED_NS : d == DIM_BYTES ? SCALED_BYTES : SCALED_COUNT;
}

/* The role of a column by what the field calls it: "samples", "inuse_space", "alloc_objects". */
enum value_role value_role_of(struct text name, enum dimension d);
