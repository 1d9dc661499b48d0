/*
 * history.h - every run of a suite: which commit, which machine, what came out.
 *
 * Part of the store (store.h). A run is one workload of one `kelvin run`; it is written once and
 * never changed. Its metrics are totals ("cpu", "time", "instructions"), its functions carry shares
 * of the CPU time.
 */
#pragma once
#include "store/store.h"

struct history_metric {
    char name[128];
    double value, low, high; /* NAN = not known */
};

struct history_function {
    char *name;
    double self, total; /* 0 to 1 */
};

struct history_run {
    int64_t id, time_s;
    char commit[65], branch[128], host[48], workload[64];
    char outcome[16]; /* "ok", "regressed", "failed", "rules" */
    bool dirty;
    VEC(struct history_metric) metrics;
    VEC(struct history_function) functions; /* not in lists */
};

void history_run_done(struct history_run *r);
void history_add_metric(struct history_run *r, const char *name, double value, double low,
                        double high);
void history_add_function(struct history_run *r, struct text name, double self, double total);
double history_metric(const struct history_run *r,
                      const char *name); /* NAN where it is not there */

struct history_runs {
    VEC(struct history_run) at;
};

void history_runs_done(struct history_runs *h);

/* Which runs; "" = any. */
struct history_filter {
    const char *workload, *host, *commit; /* commit: how it begins */
    size_t last;                          /* the newest so many; 0 = all */
};

/* Write R; its id is given. */
int history_add(struct store *s, struct history_run *r, struct err *err);

/* Runs with their metrics, oldest first. */
int history_list(struct store *s, const struct history_filter *f, struct history_runs *ret,
                 struct err *err);

/* The names of the workloads there are, by name. Free each and the array. */
int history_workloads(struct store *s, char ***ret, size_t *ret_n, struct err *err);

/* A function's share in each run that has it. */
struct history_share {
    int64_t run_id;
    double self, total;
};

/* The functions that reach LEAST of self or total in some run of the filter. */
struct history_shares {
    char *name;
    VEC(struct history_share) at; /* by run id */
};

struct history_functions {
    VEC(struct history_shares) at; /* by name */
};

int history_functions(struct store *s, const struct history_filter *f, double least,
                      struct history_functions *ret, struct err *err);
void history_functions_done(struct history_functions *f);

/* Forget all but the newest KEEP runs of each workload and machine; returns how many went. */
int history_prune(struct store *s, size_t keep, size_t *ret_n, struct err *err);
