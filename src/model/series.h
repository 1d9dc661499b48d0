/*
 * series.h - repeated measurements of one thing: what benchmarks give and baselines keep.
 *
 * A series is a named benchmark (or command) with one number per run for each thing that was
 * measured. Runs are in the order in which they were made; `block` says which runs of different
 * series belong together, because they were made side by side in the same conditions.
 */
#pragma once
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "model/meta.h"

/* What is measured of a run. Times in nanoseconds, sizes in bytes, the rest are counts. */
enum measure {
    MEASURE_TIME, /* of one run of a command, or one iteration of a benchmark: wall clock */
    MEASURE_USER,
    MEASURE_SYSTEM,
    MEASURE_CPU, /* user and system: exact where the kernel only guesses how they divide */
    MEASURE_PEAK_RSS,
    MEASURE_MINOR_FAULTS,
    MEASURE_MAJOR_FAULTS,
    MEASURE_SWITCHES_FREE, /* context switches: gave up the CPU by itself */
    MEASURE_SWITCHES_FORCED,
    MEASURE_INSTRUCTIONS,
    MEASURE_CYCLES,
    MEASURE_CACHE_MISSES, /* of the last level */
    MEASURE_BRANCH_MISSES,
    MEASURE_ALLOCATIONS, /* blocks of the heap */
    MEASURE_R2,          /* how well rounds of a benchmark lie on a line: 1 = all do */
    MEASURE_CPU_R2,      /* the same of their CPU times */
    MEASURE_METRIC,      /* a number that the program gave itself, in a unit of its own */
    MEASURES,
};

enum measure_unit { MEASURE_NS, MEASURE_BYTES, MEASURE_COUNT };

struct measure_info {
    const char *name;  /* a stable key: "time", "peak_rss" */
    const char *title; /* for people: "wall time" */
    enum measure_unit unit;
};

extern const struct measure_info measure_infos[MEASURES];

/* How its values are printed. */
static inline enum scaled measure_scaled(enum measure m)
{
    static const enum scaled kinds[] = {
        [MEASURE_NS] = SCALED_NS, [MEASURE_BYTES] = SCALED_BYTES, [MEASURE_COUNT] = SCALED_COUNT};
    return kinds[measure_infos[m].unit];
}

/* -1 where no measure has that name. */
int measure_find(const char *name);

struct series_run {
    uint32_t block;
    double value[MEASURES]; /* NAN = not measured */
};

struct series {
    char *name;          /* the stable key */
    char *command;       /* what ran, as one would type it; "" = a benchmark inside a program */
    double items, bytes; /* done by one call, for throughput; 0 = not known */
    double flops;        /* the same, floating-point operations. Not kept in baselines */
    double size;         /* the parameter that a sweep varies, NAN = none */
    char *parameter;     /* its name, "" = none */
    bool more_is_better; /* a rate or a score; else less is better. Not kept in baselines */
    VEC(struct series_run) runs;
};

struct series_set {
    struct meta meta; /* host, commit, build, how it was measured */
    VEC(struct series) series;
};

void series_set_done(struct series_set *s);

/* A new, empty series; NAME must not be there yet. */
struct series *series_add(struct series_set *s, const char *name);
struct series *series_find(const struct series_set *s, const char *name); /* may be NULL */

/* One value of all runs that have it, into RET of runs.n places; returns how many. */
size_t series_values(const struct series *s, enum measure m, double *ret);
