/*
 * bench.h - the options of `kelvin bench`, and what its files share.
 */
#pragma once
#include "bench/session.h"
#include "bench/sweep.h"
#include "cmd/bench_store.h"
#include "cmd/command.h"
#include "cmd/output.h"
#include "view/bench/bench.h"

struct cmd_bench_opts {
    struct output_opts output;

    /* what runs, and how */
    struct opt_list names, list, range, env;
    const char *prepare, *cleanup, *setup, *cwd, *input, *output_of, *filter;
    bool shell, show_output, ignore_failure, quick;
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

    struct bench_store_opts store;
};

/* What was measured, and the report of it. */
struct bench_outcome {
    struct session session;
    struct sweeps sweeps;
    VEC(struct bench_comparison) comparisons;
    VEC(struct bench_growth) growths;
    struct bench_report report; /* points to all of these */
    char *design;
};

/* --- bench_run.c: from options to a session --- */

/* Run the N commands at LINES. The plan must outlive the session. */
int bench_run(struct session *s, struct plan *plan, const struct cmd_bench_opts *o, char **lines,
              size_t n, struct err *err);

/* --- bench_report.c: from a session to a report --- */

/* Fill the report of o->session. */
void bench_outcome_build(struct bench_outcome *b);
void bench_outcome_done(struct bench_outcome *b);

/* Print to where the options say. */
int bench_outcome_print(const struct bench_outcome *b, const struct cmd_bench_opts *o,
                        struct err *err);

int bench_report_print(const struct bench_report *r, const struct cmd_bench_opts *o,
                       struct err *err);

/* Tell on standard error what the user should know besides; returns the exit code. */
int bench_outcome_tell(const struct bench_outcome *b, const struct cmd_bench_opts *o);
