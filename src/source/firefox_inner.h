/*
 * firefox_inner.h - a Firefox Profiler file while it is read; see firefox.c.
 *
 * Meta and threads are kept as they come. When the file is over, streams and rows are made of them.
 */
#pragma once
#include "source/firefox_tables.h"

enum weight_kind { WEIGHT_SAMPLES, WEIGHT_TIME, WEIGHT_BYTES, WEIGHT_KINDS };

/* The stream of all threads whose samples weigh the same kind of thing. Columns are -1 if missing.
 */
struct weighed {
    bool used, has_cpu;
    int stream, samples, weight, cpu;
};

struct fact {
    struct str_id key, value;
};

/* What the threads of a raw profile's process share; a processed profile has one of these. */
struct fx_process {
    struct firefox_tables shared;
    firefox_kinds kinds;
    double start_ms; /* since 1970 */
};

struct fx_thread {
    struct fx_process *of;
    struct str_id name, process;
    int32_t pid, tid;
    double start_ms, end_ms;   /* of its process; 0 = not known */
    struct firefox_tables own; /* in older files */
    firefox_column stack;
    VEC(int64_t) time_ns; /* or the difference to the one before */
    VEC(int64_t) weight;  /* in millionths; negative = not usable */
    VEC(int64_t) cpu;
    bool deltas;
    struct str_id weight_type;
};

struct firefox {
    struct import *im;
    struct jsonread j;
    VEC(struct fx_process *) processes; /* the first is the profile's own */
    struct fx_process *process;         /* that is being read */
    VEC(struct fx_thread) threads;
    struct str_id cpu_unit;
    double interval_ms, profiling_ms[2];
    struct str_id product, misc, imported_from;
    bool untimed;                    /* kelvin had no times to write */
    bool own_meta;                   /* kelvin's own meta was there */
    struct str_id weight[3], cpu[3]; /* kelvin's own event, name and unit of the columns */
    struct weighed streams[WEIGHT_KINDS];
    VEC(struct fact) facts; /* kelvin's own, about the stream */
    int64_t show_first;     /* kelvin's own default column, -1 = none */
    uint64_t idle, in_text; /* samples without a stack; processes as a string (old Firefox) */
};

/* --- values: 0 or nothing where another kind of value stands there --- */

bool firefox_enter(struct firefox *f, enum json_token what);
struct str_id firefox_str(struct firefox *f);
double firefox_number(struct firefox *f);

/* A number of milliseconds in nanoseconds, a weight in millionths; INT64_MIN = it does not fit. */
int64_t firefox_millionths(double ms);

/* --- meta --- */

void firefox_read_meta(struct firefox *f);
void firefox_read_categories(struct firefox *f);

/* The file's own metadata, once all is read. */
void firefox_set_meta(struct firefox *f);

/* --- samples --- */

/* Streams and rows of the profile, once all is read. */
int firefox_build(struct firefox *f, struct err *err);
