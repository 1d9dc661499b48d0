/*
 * export.h - a profile written in a format that other tools read.
 *
 * How to add a format: write src/view/NAME.c that ends in a `const struct exporter
 * exporter_NAME`, declare it here and add it to the table in export.c. An exporter only prints
 * to OUT; whether that is a file, a pipe or a test, the caller decides.
 */
#pragma once
#include "base/err.h"
#include "model/profile.h"

#include <stdio.h>

struct export_opts {
    int type; /* the sample type to write where the format holds one only, or -1 for all */
};

struct exporter {
    const char *name;   /* "pprof": for --to */
    const char *title;  /* "pprof profile, gzipped": for people */
    const char *suffix; /* ".pb.gz": recognised in output file names */
    bool binary;        /* not for a terminal */
    int (*write)(FILE *out, const struct profile *p, const struct export_opts *opts,
                 struct err *err);
};

extern const struct exporter exporter_firefox;
extern const struct exporter exporter_folded;
extern const struct exporter exporter_json;
extern const struct exporter exporter_kelvin;
extern const struct exporter exporter_pprof;
extern const struct exporter exporter_speedscope;

/* NULL-terminated. */
extern const struct exporter *const export_formats[];

/* By name, or NULL. */
const struct exporter *export_find(const char *name);

/* By what a file's name ends in, or NULL. */
const struct exporter *export_for_path(const char *path);
