/*
 * support_series.h - series with known values. Include it after cmocka.h.
 */
#pragma once
#include "model/series.h"

#include <math.h>

/* Add N runs around LEVEL of the measure M, spread evenly by SPREAD (0.01 = 1%) in a shuffled
 * order, to the series NAME, which is made if it is not there. */
static inline struct series *support_series(struct series_set *set, const char *name,
                                            enum measure m, double level, double spread, size_t n)
{
    struct series *s = series_find(set, name);
    bool made = !s;
    if (made)
        s = series_add(set, name);
    for (size_t i = 0; i < n; i++) {
        double at = n > 1 ? (double)(i * 7 % n) / (double)(n - 1) : 0.5;
        if (made) {
            struct series_run *run = vec_push(&s->runs);
            run->block = (uint32_t)i;
            for (int k = 0; k < MEASURES; k++)
                run->value[k] = NAN;
        }
        s->runs.at[i].value[m] = level * (1 + spread * (at - 0.5));
    }
    return s;
}
