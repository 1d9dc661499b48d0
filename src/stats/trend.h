/*
 * trend.h - one number of one workload over time, and where its level changed.
 */
#pragma once
#include "base/vec.h"
#include "stats/changepoint.h"

#include <stdbool.h>

struct trend_point {
    int64_t time_s;
    char commit[65]; /* "" = not known */
    bool dirty;
    double value, low, high; /* low and high NAN where not known */
};

enum trend_unit { TREND_NS, TREND_BYTES, TREND_COUNT, TREND_SHARE, TREND_PLAIN };

struct trend {
    char *title; /* "small: CPU time" */
    enum trend_unit unit;
    bool more_is_better;            /* a rate or a score */
    VEC(struct trend_point) points; /* oldest first */
    struct changepoint *changes;
    size_t n_changes;
};

void trend_done(struct trend *t);

/* Fill in the changes. For shares a change counts in points: half a point is the least. */
void trend_find_changes(struct trend *t);

/* "12.3 ms", "4.5%". TO holds at least UNITS_MAX bytes. */
char *trend_value(const struct trend *t, double value, char *to);

/*
 * A sentence about change I: "rose by 10.2% from 1.20 s to 1.32 s; first bad commit
 * 3f9a1c2d04, last good 99aa00bb11 (p 0.001)". More is called bad, or less where more is better.
 * If it is not proven, "likely rose". Appended to B.
 */
struct buf;
void trend_say(const struct trend *t, size_t i, struct buf *b);
