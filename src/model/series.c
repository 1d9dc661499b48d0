/*
 * series.c - repeated measurements.
 */
#include "model/series.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

const struct measure_info measure_infos[MEASURES] = {
    [MEASURE_TIME] = {"time", "wall time", MEASURE_NS},
    [MEASURE_USER] = {"user", "user time", MEASURE_NS},
    [MEASURE_SYSTEM] = {"system", "system time", MEASURE_NS},
    [MEASURE_CPU] = {"cpu", "CPU time", MEASURE_NS},
    [MEASURE_PEAK_RSS] = {"peak_rss", "peak memory", MEASURE_BYTES},
    [MEASURE_MINOR_FAULTS] = {"minor_faults", "page faults", MEASURE_COUNT},
    [MEASURE_MAJOR_FAULTS] = {"major_faults", "page faults from disk", MEASURE_COUNT},
    [MEASURE_SWITCHES_FREE] = {"switches_voluntary", "voluntary switches", MEASURE_COUNT},
    [MEASURE_SWITCHES_FORCED] = {"switches_forced", "forced switches", MEASURE_COUNT},
    [MEASURE_INSTRUCTIONS] = {"instructions", "instructions", MEASURE_COUNT},
    [MEASURE_CYCLES] = {"cycles", "cycles", MEASURE_COUNT},
    [MEASURE_CACHE_MISSES] = {"cache-misses", "cache misses", MEASURE_COUNT},
    [MEASURE_BRANCH_MISSES] = {"branch-misses", "branch misses", MEASURE_COUNT},
    [MEASURE_ALLOCATIONS] = {"allocations", "allocations", MEASURE_COUNT},
    [MEASURE_R2] = {"r2", "R2 of the fit", MEASURE_COUNT},
    [MEASURE_CPU_R2] = {"cpu_r2", "R2 of the fit, CPU time", MEASURE_COUNT},
    [MEASURE_METRIC] = {"metric", "metric", MEASURE_COUNT},
};

int measure_find(const char *name)
{
    for (int i = 0; i < MEASURES; i++)
        if (strcmp(measure_infos[i].name, name) == 0)
            return i;
    return -1;
}

void series_set_done(struct series_set *s)
{
    for (size_t i = 0; i < s->series.n; i++) {
        free(s->series.at[i].name);
        free(s->series.at[i].command);
        free(s->series.at[i].parameter);
        vec_done(&s->series.at[i].runs);
    }
    vec_done(&s->series);
    meta_done(&s->meta);
}

struct series *series_add(struct series_set *s, const char *name)
{
    struct series *new = vec_push(&s->series);
    *new = (struct series){
        .name = mem_strdup(name),
        .command = mem_strdup(""),
        .parameter = mem_strdup(""),
        .size = NAN,
    };
    return new;
}

struct series *series_find(const struct series_set *s, const char *name)
{
    for (size_t i = 0; i < s->series.n; i++)
        if (strcmp(s->series.at[i].name, name) == 0)
            return &s->series.at[i];
    return NULL;
}

size_t series_values(const struct series *s, enum measure m, double *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < s->runs.n; i++)
        if (!isnan(s->runs.at[i].value[m]))
            ret[n++] = s->runs.at[i].value[m];
    return n;
}
