/*
 * record.h - the parts of `kelvin record`: its options, its labels, its gates and what it says.
 */
#pragma once
#include "analysis/quality.h"
#include "host/fingerprint.h"
#include "host/provenance.h"
#include "record/recorder.h"

struct record_opts {
    const char *output, *event, *engine;
    double rate_hz, duration_s;
    long pid, min_samples, stack_bytes;
    bool strict, allow_partial, quiet, user_only;
};

/* Where and on what the command runs: looked up before it starts, as that takes a while. */
struct record_host {
    struct fingerprint fingerprint;
    struct provenance provenance;
    char **args; /* our own options */
    int n_args;
};

/* What is known before the first sample. */
void record_label_start(struct recorder *r, const struct record_opts *o,
                        const struct record_host *host);

/* What is known when all is done. */
void record_label_end(struct recorder *r, const struct quality *q);

/* CPU time that the samples should stand for, 0 = not known. */
uint64_t record_cpu_ns(const struct recorder *r);

/* Limits of --strict, in percent of samples lost, of stacks unfinished, of frames unnamed. */
enum { STRICT_LOST = 1, STRICT_UNFINISHED = 1, STRICT_UNNAMED = 10 };

/* Whether the recording may be published; if not, ERR says why and what to do. */
int record_gate(const struct recorder *r, const struct record_opts *o, const struct quality *q,
                struct err *err);

/* A line on the terminal that is written anew each second. */
void record_status(const struct recorder *r);
void record_status_clear(void);

/* What was recorded, how good it is and what to do next. */
void record_summary(const struct recorder *r, const struct quality *q);
