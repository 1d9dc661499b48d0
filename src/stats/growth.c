/* growth.c - straight lines through logarithms; see growth.h. */
#include "stats/growth.h"

#include "base/calc.h"

#include <math.h>

enum { SHAPES = GROWTH_N3 + 1 };

const char *const growth_shape_names[] = {
    [GROWTH_1] = "constant",      [GROWTH_LOG_N] = "log n", [GROWTH_N] = "n",
    [GROWTH_N_LOG_N] = "n log n", [GROWTH_N2] = "n^2",      [GROWTH_N3] = "n^3",
};

static bool usable(const struct growth_point *p)
{
    return p->size > 0 && p->cost > 0 && isfinite(p->size) && isfinite(p->cost);
}

/* Sums over the logarithms of the usable points, as distances from their means. */
struct sums {
    double n, x, y;    /* x and y: means */
    double xx, xy, yy; /* of the distances */
    double xxee;       /* the same of x and the points' own errors */
};

static struct sums growth_sum_up(const struct growth_point *points, size_t n)
{
    struct sums s = {0};
    for (size_t i = 0; i < n; i++) {
        if (!usable(&points[i]))
            continue;
        s.n++;
        s.x += calc_log(points[i].size);
        s.y += calc_log(points[i].cost);
    }
    s.x /= fmax(s.n, 1);
    s.y /= fmax(s.n, 1);
    for (size_t i = 0; i < n; i++) {
        if (!usable(&points[i]))
            continue;
        double x = calc_log(points[i].size) - s.x, y = calc_log(points[i].cost) - s.y;
        s.xx += x * x;
        s.xy += x * y;
        s.yy += y * y;
        s.xxee += x * x * points[i].error * points[i].error;
    }
    return s;
}

/* Of one shape at SIZE. log(1 + n) in place of log n, which has no logarithm at 1. */
static double log_of_shape(enum growth_shape shape, double size)
{
    double x = calc_log(size), more = calc_log(calc_log1p(size));
    const double of[SHAPES] = {0, more, x, x + more, 2 * x, 3 * x};
    return of[shape];
}

/* The sum of squared distances that are left when only the factor in front may be chosen. */
static double misfit(enum growth_shape shape, const struct growth_point *points, size_t n)
{
    double sum = 0, squares = 0, used = 0;
    for (size_t i = 0; i < n; i++) {
        if (!usable(&points[i]))
            continue;
        double off = calc_log(points[i].cost) - log_of_shape(shape, points[i].size);
        double from_mean = used ? off - sum / used : 0;
        used++;
        sum += off;
        squares += from_mean * (off - sum / used);
    }
    return squares;
}

static void find_shape(struct growth *g, const struct growth_point *points, size_t n, double used)
{
    double best = INFINITY;
    for (int shape = 0; shape < SHAPES; shape++) {
        double left = misfit((enum growth_shape)shape, points, n);
        if (left >= best)
            continue;
        best = left;
        g->shape = (enum growth_shape)shape;
    }
    g->shape_error = calc_exp(sqrt(fmax(best, 0) / (used - 1)));
}

bool growth_fit(struct growth *g, const struct growth_point *points, size_t n)
{
    struct sums s = growth_sum_up(points, n);
    *g = (struct growth){.interval = {-INFINITY, INFINITY}};
    if (s.n < 2 || s.xx < 1e-12) /* all of one size */
        return false;
    g->exponent = s.xy / s.xx;
    double left = fmax(0, s.yy - g->exponent * s.xy);
    g->r2 = s.yy > 0 ? 1 - left / s.yy : 1;
    if (s.n > 2) {
        double scatter = stats_t95(s.n - 2) * sqrt(left / (s.n - 2) / s.xx);
        double half = fmax(scatter, STATS_Z95 * sqrt(s.xxee) / s.xx);
        g->interval = (struct interval){g->exponent - half, g->exponent + half};
    }
    find_shape(g, points, n, s.n);
    return true;
}
