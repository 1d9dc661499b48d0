/*
 * changes_truth.c - how often changepoint_find() calls a change where there is none, and how often
 * it finds one that is there.
 *
 *     cc -O2 -Isrc bench/changes_truth.c build/libkelvin.a -lm -o changes_truth && ./changes_truth
 * [SERIES]
 *
 * Each line is SERIES made-up series (2,000; of 10,000 values a hundredth of that) with the options
 * of `kelvin history`. "proven" and "likely" are shares of the series that have such a point; where
 * a change was put in, of those that have a proven point within three values of it.
 */
#include "base/mem.h"
#include "stats/changepoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum scatter { NORMAL, LOG_NORMAL, TWO_MODES, OUTLIERS, STEPPED, N_SCATTERS };
static const char *const scatter_names[] = {"normal", "log-normal", "two modes", "outliers",
                                            "whole numbers"};

static uint64_t draw_state;

static double uniform(void)
{
    draw_state = draw_state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(draw_state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * 3.14159265358979 * uniform());
}

/* Deviation about 1, around 0. */
static double scattered(enum scatter s)
{
    switch (s) {
    case LOG_NORMAL:
        return exp(0.8 * normal()) / 1.3 - 1;
    case TWO_MODES:
        return (uniform() < 0.3 ? 2 : 0) + 0.3 * normal();
    case OUTLIERS:
        return uniform() < 0.05 ? 8 * fabs(normal()) : 0.8 * normal();
    case STEPPED:
        return round(normal());
    default:
        return normal();
    }
}

struct truth {
    size_t n, from, to; /* FROM..TO are higher; to == 0: none are */
    double step;        /* in deviations */
    enum scatter scatter;
};

static void measure(struct truth t, size_t series)
{
    autofree double *v = mem_calloc(t.n, sizeof *v);
    size_t proven = 0, likely = 0, points = 0;
    clock_t start = clock();
    draw_state = 42;
    for (size_t k = 0; k < series; k++) {
        struct changepoint *found;
        bool is_proven = false, is_likely = false;
        for (size_t i = 0; i < t.n; i++)
            v[i] = 100 + 2 * (scattered(t.scatter) + (i >= t.from && i < t.to ? t.step : 0));
        size_t n = changepoint_find(v, t.n, &CHANGEPOINT_DEFAULTS, &found);
        for (size_t i = 0; i < n; i++) {
            bool is_there = !t.to || found[i].at + 3 >= t.from && found[i].at <= t.from + 3;
            is_proven |= is_there && !found[i].likely;
            is_likely |= is_there && found[i].likely;
            points += !found[i].likely;
        }
        proven += is_proven;
        likely += is_likely && !is_proven;
        free(found);
    }
    printf("%6zu values, %-13s", t.n, scatter_names[t.scatter]);
    if (t.to)
        printf(", +%.1f deviations from %zu to %zu", t.step, t.from, t.to);
    printf(": proven %.2f %%, likely %.2f %%; %.3f points per 100 values; %.0f us per series\n",
           100.0 * (double)proven / (double)series, 100.0 * (double)likely / (double)series,
           100.0 * (double)points / (double)(series * t.n),
           1e6 * (double)(clock() - start) / CLOCKS_PER_SEC / (double)series);
}

int main(int argc, char **argv)
{
    static const size_t lengths[] = {8, 20, 50, 100, 10000};
    size_t series = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (enum scatter s = NORMAL; s < N_SCATTERS; s++)
            measure((struct truth){lengths[i], .scatter = s},
                    lengths[i] > 1000 ? (series + 99) / 100 : series);
    for (double step = 1; step <= 3; step += 0.5) {
        measure((struct truth){20, 10, 20, step, NORMAL}, series);
        measure((struct truth){50, 25, 50, step, NORMAL}, series);
        measure((struct truth){50, 44, 50, step, NORMAL}, series);
        measure((struct truth){100, 70, 100, step, LOG_NORMAL}, series);
        measure((struct truth){60, 20, 40, step, NORMAL}, series);
        measure((struct truth){100, 45, 55, step, NORMAL}, series);
        measure((struct truth){1000, 333, 1000, step, NORMAL}, (series + 9) / 10);
    }
    return 0;
}
