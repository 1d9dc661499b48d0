/*
 * bench.h - the options of `kelvin bench`, and what its files share.
 */
#pragma once
#include "bench/outcome.h"
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
    bool arguments; /* show those of commands on pages */

    struct bench_store_opts store;
};

/* --- bench_run.c: from options to a session --- */

/* Run the N commands at LINES. The plan must outlive the session. */
int bench_run(struct session *s, struct plan *plan, const struct cmd_bench_opts *o, char **lines,
              size_t n, struct err *err);

/* Does every --max-regression make sense? */
int bench_check_gates(const struct cmd_bench_opts *o, struct err *err);

/* --- bench_work.c: does what became slower do more work? --- */

/* Count the instructions of commands whose times differ, and note where they are the same. */
/* Whether --count names what can be counted. */
int bench_check_count(const struct cmd_bench_opts *o, struct err *err);

void bench_count_work(struct outcome *outcome, const struct cmd_bench_opts *o);

/* --- bench_report.c: from what came of it to a report --- */

/* A report of O, and what it points to besides. */
struct bench_paper {
    struct bench_report report;
    struct comparisons comparisons; /* among the commands, then with the baseline */
    VEC(struct bench_growth) growths;
};

void bench_paper_init(struct bench_paper *p, const struct outcome *o);
void bench_paper_done(struct bench_paper *p);

/* Call it when O has all its comparisons. Nothing is printed where nothing was measured. */
int bench_paper_print(struct bench_paper *p, const struct outcome *o,
                      const struct cmd_bench_opts *opts, struct err *err);

int bench_report_print(const struct bench_report *r, const struct cmd_bench_opts *o,
                       struct err *err);

/* Say on standard error what the user should know besides. */
void bench_tell(const struct outcome *o, const struct cmd_bench_opts *opts);

/* Say which gates against a baseline do not hold. */
void bench_tell_baseline(const struct comparisons *c, const struct cmd_bench_opts *opts);
