/*
 * run.h - the phases of `kelvin run`; see suite.h for what they fill.
 */
#pragma once
#include "base/opt.h"
#include "suite/suite.h"

struct cmd_run_opts {
    const char *conf, *against, *save, *format;
    struct opt_list set;
    bool skip_build, explain, force, quiet;
};

struct run {
    const struct cmd_run_opts *opts;
    struct suite suite;
    char *log;          /* of the commands that are run */
    double away_s;      /* time spent in the build and in workloads */
    int stop_fd;        /* readable once the user has pressed Ctrl-C; stays so */
    char published[64]; /* where the pages went, as told at the end */
};

/* Tell what a phase is doing, indented below its line. */
void run_say(const struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* -1 with ERR once the user wants to stop. */
int run_go_on(const struct run *r, struct err *err);

/*
 * Each returns 0 to go on, or -1 with ERR when the run cannot: what fails in one workload is noted
 * in its result, and the others go on.
 */
int run_host(struct run *r, struct err *err);
int run_build(struct run *r, struct err *err);
int run_record(struct run *r, struct err *err);
int run_bench(struct run *r, struct err *err);
int run_analyse(struct run *r, struct err *err);
int run_check(struct run *r, struct err *err);
int run_publish(struct run *r, struct err *err);

/* Where the files of a baseline are. Free it. */
char *run_baseline_folder(const struct run *r, const char *name);
int run_copy_file(const char *from, const char *to, struct err *err);

/* Keep the program with the baseline that --save names. */
int run_keep_program(struct run *r, struct err *err);

/* The command of W with the program of the baseline; NULL where that would prove nothing. Free it.
 */
char *run_line_before(const struct run *r, const struct suite_result *w);

/* Load the baseline that --against names, before anything is measured. */
int run_load_baseline(struct run *r, struct err *err);

/* Keep what was measured as the baseline that --save names. */
int run_save_baseline(struct run *r, struct err *err);
