/*
 * run.h - a suite from source to published evidence, in seven phases.
 *
 * Fill in `opts` and `suite.conf` (conf_read()), be in the folder of the suite file, then
 * run_suite(). What is going on is told by the callbacks of `opts`; nothing is printed here.
 */
#pragma once
#include "suite/suite.h"

struct run_opts {
    const char *against, *save; /* names of baselines; NULL = none */
    bool skip_build, force;
    int stop_fd; /* readable once the user wants to stop; stays so. -1 = none */
    void (*phase)(void *to, enum suite_phase phase); /* that begins; NULL = no matter */
    void (*say)(void *to, const char *line);         /* about the phase; NULL = no matter */
    void *to;
};

/* Why a run ended early, where the user can do something about it with an option. */
enum run_fault { RUN_NO_FAULT, RUN_BUILD_FAILED, RUN_NO_BASELINE, RUN_OTHER_HOST };

struct run {
    struct run_opts opts;
    struct suite suite;
    enum run_fault fault;
    char *log;       /* of the commands that are run */
    double away_s;   /* time spent in the build and in workloads */
    char *published; /* where the pages went; NULL = nowhere */
};

/*
 * All phases for the N workloads named in NAMES; 0 = for all. What fails in one workload is noted
 * in its result, and the others go on; -1 with ERR when the run cannot. Free with run_done().
 */
int run_suite(struct run *r, char *const *names, size_t n, struct err *err);
void run_done(struct run *r);
