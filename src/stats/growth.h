/*
 * growth.h - how cost grows with size: cost = a * size^exponent.
 *
 * Fitted as a straight line through the logarithms. With it comes how well n, n log n and n^2
 * would do instead.
 *
 * Three points that lie on a line by luck say nothing about how well each is known, so the interval
 * is at least what the points' own errors make of it.
 */
#pragma once
#include "stats/stats.h"

#include <stdbool.h>

struct growth_point {
    double size, cost; /* both above 0 */
    double error;      /* standard error of the cost as a part of it; 0 = not known */
};

/* Shapes that people think in; the one that fits the points best is named. */
enum growth_shape { GROWTH_1, GROWTH_LOG_N, GROWTH_N, GROWTH_N_LOG_N, GROWTH_N2, GROWTH_N3 };

struct growth {
    double exponent;
    struct interval interval; /* of the exponent, 95% */
    double r2;                /* share of the scatter that the fit explains */
    enum growth_shape shape;  /* the nearest of the shapes by squared error of the logarithms */
    double shape_error;       /* its typical error, a factor: 1.05 = 5% */
};

extern const char *const growth_shape_names[]; /* "constant", "log n", "n"... */

/*
 * Fit N points, at least two sizes; with three or more there is an interval, else it is
 * -INFINITY to INFINITY. False when there is nothing to fit.
 */
bool growth_fit(struct growth *g, const struct growth_point *points, size_t n);
