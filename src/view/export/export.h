/*
 * export.h - a profile, or a part of it, written in a format that other tools read.
 *
 * How to add a format: write src/view/export/NAME.c that ends in a `const struct exporter
 * exporter_NAME`, declare it here and add it to the table in export.c. An exporter only prints
 * to OUT; whether that is a file, a pipe or a test, the caller decides.
 */
#pragma once
#include "analysis/selection.h"
#include "base/err.h"

#include <stdio.h>

struct export_opts {
    bool all; /* every stream and column where the format can hold them, not only the selected */
};

struct exporter {
    const char *name;   /* "pprof": for --to */
    const char *title;  /* "pprof profile, gzipped": for people */
    const char *suffix; /* ".pb.gz": recognised in output file names */
    bool for_viewers;   /* a program reads it: not for a terminal */

    /* All rows of the selection's stream are written, whichever rows it selects: see
     * export_write(). */
    int (*write)(FILE *out, const struct selection *s, const struct export_opts *opts,
                 struct err *err);
};

extern const struct exporter exporter_chrometrace;
extern const struct exporter exporter_firefox;
extern const struct exporter exporter_folded;
extern const struct exporter exporter_json;
extern const struct exporter exporter_kelvin;
extern const struct exporter exporter_otlp;
extern const struct exporter exporter_otlp_protobuf;
extern const struct exporter exporter_perfetto;
extern const struct exporter exporter_pprof;
extern const struct exporter exporter_speedscope;

/* NULL-terminated. */
extern const struct exporter *const export_formats[];

/* By name, or NULL. */
const struct exporter *export_find(const char *name);

/* By what a file's name ends in, or NULL. */
const struct exporter *export_for_path(const char *path);

/* Write S, and nothing that is not selected, with E. */
int export_write(const struct exporter *e, FILE *out, const struct selection *s,
                 const struct export_opts *opts, struct err *err);

/*
 * Some formats write each stack whole, so that a few megabytes of stacks that are thousands of
 * frames deep become gigabytes. 0 where BYTES of output are not too many for HELD_BYTES of profile,
 * else -1 with the reason: no file may fill somebody's disk.
 */
int export_check_size(uint64_t bytes, uint64_t held_bytes, struct err *err);

/* The same for a format that writes a number for each frame of each row of N streams. */
int export_check_stacks(const struct profile *p, const int *streams, size_t n, struct err *err);
