/*
 * changepoint.h - where the level of a series changed, and what of it is more than chance.
 *
 * E-divisive (Matteson and James): a series is cut where the two sides differ most in energy
 * distance, which sees changes of level and of spread and needs no bell curve. A cut counts when
 * few of many shuffles of the same values could be cut as well; then both sides are looked at
 * in turn. At the end each point must hold against its neighbours, and be large enough to matter.
 *
 * Few values cannot prove much: four against four are cut as well by 2 of 70 deals, however large
 * the step. Where all deals can be counted they are, and none is drawn by chance. A step that is
 * not proven but clear, with no value of one side near those of the other, is called likely.
 *
 * Values are looked at in windows of CHANGEPOINT_WINDOW that overlap by half, so time grows with
 * the length of the series, not its square. Shuffles have a fixed seed: same values, same points.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum {
    CHANGEPOINT_WINDOW = 100,
    CHANGEPOINT_LEAST = 3, /* values on each side of a cut */
};

struct changepoint_opts {
    double level;      /* how often a shuffle may be as good: 0.01 */
    double likely;     /* the same for what is likely only: 0.05; 0 = those are left out */
    double min_change; /* of the median, a share: 0.01 leaves out what is under 1% */
    double least;      /* the same in the values' own unit; 0 = none */
    size_t shuffles;   /* 999 */
};

#define CHANGEPOINT_DEFAULTS                                                \
    (struct changepoint_opts)                                               \
    {                                                                       \
        .level = 0.01, .likely = 0.05, .min_change = 0.005, .shuffles = 999 \
    }

struct changepoint {
    size_t at;            /* the first value of the new level */
    double before, after; /* medians from the point before to the point after */
    double p;
    bool likely; /* not proven */
};

/* The points of N values in order; returns how many. Free *RET. */
size_t changepoint_find(const double *values, size_t n, const struct changepoint_opts *opts,
                        struct changepoint **ret);
