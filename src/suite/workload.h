/*
 * workload.h - one workload of a suite, ready to run: its command with inputs, seed and threads put
 * in, its environment, and what to collect.
 */
#pragma once
#include "base/words.h"
#include "suite/conf.h"
#include "suite/metric.h"

enum collect {
    COLLECT_CPU,
    COLLECT_BENCH,
    COLLECT_BENCHMARKS,
    COLLECT_INSTRUCTIONS,
    COLLECT_CACHE,
    COLLECT_HEAP,
    COLLECT_SCOPES,
    COLLECT_SIMD,
    COLLECT_MEMCHECK,
    COLLECT_HELGRIND,
    COLLECT_ASAN,
    COLLECT_UBSAN,
    COLLECT_TSAN,
    COLLECTS,
};

extern const char *const collect_names[COLLECTS];

struct workload {
    const char *name;    /* of the conf */
    char *line;          /* the command as one would type it */
    struct words argv;   /* the same in words; a shell where asked for */
    struct words env;    /* of the suite and of determinism */
    const char *input;   /* "" = none */
    const char *filter;  /* of benchmarks; "" = all */
    const char *results; /* of other libraries' benchmarks; "" = none */
    const char *binary;  /* the program that a baseline keeps; "" = none */
    bool collect[COLLECTS];
    bool optional[COLLECTS]; /* what may be absent */
    long recordings, rate_hz, runs, min_samples;
    double timeout_s, pool_s, decide_s, size; /* size: 0 = not said */
    bool fixed_layout, shell;
    struct metrics metrics;
};

/*
 * Make workload number I of C. Fails when its command is missing, names an input that has no file
 * (with the hint), or has an unknown {word}. Free with workload_done() either way.
 */
int workload_build(struct workload *w, const struct conf *c, size_t i, struct err *err);
void workload_done(struct workload *w);

/* The words of LINE, or of a shell that runs it. Free them either way. */
int workload_split(struct words *to, const char *line, bool shell, struct err *err);
