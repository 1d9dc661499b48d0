/*
 * run.h - a suite from source to published evidence, in seven phases.
 *
 * Fill in `opts` and `suite.conf` (conf_read()), be in the folder of the suite file, then
 * run_suite(). Progress is reported by the callbacks of `opts`; nothing is printed here.
 *
 * Each phase (run*.c) fills `struct suite`, and pages are made from that at the end (page.h).
 * Faults have codes, to which src/cmd/run.c adds the option that could help. A failure in one
 * workload is noted there and the others go on. An absent measurement that was asked for makes a
 * run incomplete, which is no result. The key `optional` says which may be absent.
 *
 * Workloads run as they are, recorded by record_take() in a process of its own, whose facts come
 * over a pipe: a crash there costs a workload only.
 *
 * Baselines keep the program, and the two take turns (run_beside.c), recordings too: times of
 * another hour say more about the hour. Counts of instructions need no such thing, and by function
 * they name the one that grew. The turns go on until the gate is decided, by wall time or by CPU
 * time, as in `kelvin bench`: a fixed number of runs would end undecided on a restless machine. The
 * look at which they stopped is part of the verdict's risk. Names of baselines become paths, so
 * only plain ones are taken.
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
enum run_fault {
    RUN_NO_FAULT,
    RUN_NO_WORKLOAD, /* a name that is not there, or kelvin.conf is not filled in: nothing began */
    RUN_BUILD_FAILED,
    RUN_NO_BASELINE,
    RUN_OTHER_HOST
};

struct run {
    struct run_opts opts;
    struct suite suite;
    enum run_fault fault;
    char *log;         /* of the commands that are run */
    double away_s;     /* time spent in the build and in workloads */
    char *published;   /* where the pages went; NULL = nowhere */
    char *tail;        /* the last lines of a build that failed; NULL = none */
    struct buf errors; /* all that is wrong in files of rules, a line each */
};

/*
 * All phases for the N workloads named in NAMES; 0 = for all. A failure in one workload is noted
 * in its result, and the others go on. -1 with ERR when the run cannot go on. Free with run_done().
 */
int run_suite(struct run *r, char *const *names, size_t n, struct err *err);
void run_done(struct run *r);

/*
 * After run_suite() failed: leave a summary with the reason, WHY, where that of a failed run
 * goes, so that the summary of the run before is not mistaken for this one's. What cannot be
 * written is left out.
 */
void run_ended_early(struct run *r, const char *why);

/* Read a recording with the addresses of its frames; REC->profile is to be freed either way. */
int run_load_recording(struct suite_recording *rec, const char *path, struct err *err);
