/*
 * gecko.h - raw Gecko profiles: what Firefox, simpleperf and perf's gecko.py write before
 * profiler.firefox.com has processed it.
 *
 *     {"meta": {"version": 31, "interval": ms, "startTime": ms, "stackwalk": 1, ...},
 *      "libs": [{"name": ..., "path": ..., "start": 4096, "end": 8192, "offset": 0}],
 *      "threads": [{"name": ..., "pid": 12, "tid": 12, "stringTable": [...],
 *                   "samples":    {"schema": {"stack": 0, "time": 1, ...}, "data": [[7, 1.5]]},
 *                   "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [...]},
 *                   "frameTable": {"schema": {"location": 0, ...}, "data": [...]}}],
 *      "processes": [profiles of the child processes, each with its own meta and libs]}
 *
 * Tables are rows, not columns, and a frame is one string. Once read, they are turned into the
 * columns of a processed profile (firefox_tables.h). Times are since the process's own startTime,
 * and addresses are those of the run: the caller's is the address behind the call.
 */
#pragma once
#include "source/firefox_tables.h"

enum { GECKO_FIELDS = 32 };

/* A table's rows as they stand in the file, and where in them the wanted fields are. */
struct gecko_table {
    const char *const *names; /* of the wanted fields */
    int n_names;
    int8_t position[GECKO_FIELDS]; /* of each wanted field in a row; -1 = not in the schema */
    VEC(double) cells;             /* NAN = not a number */
    VEC(size_t) starts;            /* of each row in cells */
};

/* NAMES are the N fields, at most GECKO_FIELDS, that the caller wants. */
void gecko_table_init(struct gecko_table *t, const char *const *names, int n);
void gecko_table_done(struct gecko_table *t);

/* Read the value of member KEY where it is "schema" or "data"; false leaves it alone. */
bool gecko_table_member(struct gecko_table *t, struct jsonread *j, struct text key);

/* Whether the schema has the field, and what a row has there: NAN if nothing or not a number. */
bool gecko_table_has(const struct gecko_table *t, int field);
double gecko_table_get(const struct gecko_table *t, size_t row, int field);

/*
 * Give the frames of T functions, addresses and libraries, by their locations. LIBS are those of
 * the process; libraries that only locations name are added to them. Does nothing where T has no
 * locations.
 */
void gecko_process(struct firefox_tables *t, struct import *im, struct firefox_tables *libs);
