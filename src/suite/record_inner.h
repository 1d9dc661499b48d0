/*
 * record_inner.h - what the files of record.h share.
 */
#pragma once
#include "suite/record.h"
#include "symbol/kallsyms.h"

/* Where and on what the command runs: looked up before it starts, as that takes a while. */
struct record_host {
    struct fingerprint fingerprint;
    struct provenance provenance;
};

/* The facts known before the first sample. */
void record_label_start(struct recorder *r, const struct record_opts *o,
                        const struct record_host *host);

/* Put the source files that are named into P, as far as they may go along. */
void record_pack_source(struct profile *p, const struct record_opts *o, struct record_packed *ret);

/* How many samples of its first event the recording at PATH has, however it ends. */
uint64_t record_count_saved(const char *path);

/* The facts known at the end. */
void record_label_end(struct recorder *r, const struct quality *q);

/* What is asked for of the machine. TICKS must outlive it; both are the caller's to free. */
int record_machine_init(struct engine_machine *m, const struct record_opts *o,
                        kallsyms_ranges *ticks, struct err *err);

/* What the kernel's functions say about a CPU on which no process runs: for engine_machine.tick. */
void record_ticks_init(kallsyms_ranges *ret);
enum engine_tick record_tick(const void *ranges, const uint64_t *pcs, size_t n);

/* The CPU time that samples could see; 0 = not known. */
uint64_t record_cpu_ns(const struct recorder *r);

/* No sample where several were due: what ran was there, but each part of it too short. */
bool record_was_too_short(const struct recorder *r);

/* Why the kernel shows nothing of the command, and what helps; NULL = it does. Free it. */
char *record_hidden(const struct recorder *r);
