/*
 * bench.h - the options of `kelvin bench`, and what its files share.
 */
#pragma once
#include "base/opt.h"
#include "cmd/output.h"

struct cmd_bench_opts {
    struct output_opts output;

    /* what runs, and how */
    struct opt_list names, list, range, env;
    const char *prepare, *cleanup, *setup, *cwd, *input, *output_of, *filter;
    bool shell, show_output, ignore_failure;
    double timeout_s; /* 0 = none */

    /* how much */
    long warmup, runs, min_runs, max_runs; /* runs: 0 = until it is decided */
    double time_s;                         /* for each command; 0 = the default */
    double precision;                      /* percent */
    long seed;

    /* what is judged, and how */
    const char *measure, *count;
    double band, risk; /* percent */
    bool aa;
    struct opt_list max_regression; /* "10%", "NAME=10%" */
    bool quiet;
};
