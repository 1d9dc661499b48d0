/*
 * pool.h - recordings of several runs of a short program as one, with enough samples to be drawn.
 *
 * CPU time and duration of the pool are those of one run, the mean, so that it compares with
 * recordings of another number of runs.
 */
#pragma once
#include "suite/record.h"

struct pool {
    uint64_t enough;         /* samples: a first run that has so many is not read */
    struct profile *profile; /* NULL = no sample yet */
    uint64_t runs, samples, cpu_ns;
    uint64_t sampled_ns, sampled_of_ns;
    uint64_t queued_ns, queued_runs; /* of the runs that say so */
    double wall_s;
};

/* Add the recording in FILE, described by FACTS. One without samples counts as a run, too. */
int pool_add(struct pool *p, const char *file, const struct record_facts *facts, struct err *err);

/* Write all of it to FILE, as a recording. */
int pool_write(struct pool *p, const char *file, struct err *err);

void pool_done(struct pool *p);
