/*
 * record_inner.h - what the files of record.h share.
 */
#pragma once
#include "suite/record.h"

/* Where and on what the command runs: looked up before it starts, as that takes a while. */
struct record_host {
    struct fingerprint fingerprint;
    struct provenance provenance;
};

/* What is known before the first sample. */
void record_label_start(struct recorder *r, const struct record_opts *o,
                        const struct record_host *host);

/* What is known when all is done. */
void record_label_end(struct recorder *r, const struct quality *q);

/* The CPU time that samples could see; 0 = not known. */
uint64_t record_cpu_ns(const struct recorder *r);
