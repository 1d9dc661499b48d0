/*
 * carry.h - pages of workloads that this run did not run.
 *
 * A run of some workloads replaces the published folder as a whole, as every run does. The files of
 * the others are taken along, with the run that made them: run.json of the folder says which.
 */
#pragma once
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct suite;

/* A workload whose files an earlier run made. */
struct carried {
    char *name, *outcome, *commit; /* as run.json has them; the commit may be "" */
    int64_t time_s;
};

struct carried_list {
    VEC(struct carried) at;
};

/* The workloads that the folder at PATH says it holds; none if that cannot be read. */
struct carried_list carried_read(const char *path);
void carried_done(struct carried_list *l);

/* Take the files of S's other workloads from the folder that is about to be replaced. */
int carried_take(struct suite *s, struct err *err);

/* Whether the folder at PATH holds a workload that S did not run and that was not ok. */
bool carried_has_failure(const struct suite *s, const char *path);
