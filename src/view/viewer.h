/*
 * viewer.h - the page in which profiles are explored: its parts for a server, or all in one file.
 *
 *     index.html    loads view.css and view.js, which loads the other modules of web/view*.js
 *     core.wasm.gz  src/page and the rooms below it, gzipped; runs in a worker
 *     data0.gz ...  the profiles, as .kelvin files of plain chunks, gzipped whole: browsers unpack
 *                   gzip by themselves, and no zstd
 *     code0.gz ...  source and instructions of their hottest functions (page/code.h), where there
 * are any still.html    picture and tables, where scripts or WebAssembly are switched off
 *
 * In one file the modules are joined in the order of their list (lines that import are left out),
 * and core and data are base64. Same profiles, same bytes.
 */
#pragma once
#include "analysis/selection.h"

#include <stdio.h>

enum { VIEWER_FILES = 2, VIEWER_PARTS_MAX = 32 };

/* More than this the memory of a page cannot hold, with what is built from it. */
#define VIEWER_BYTES_MAX ((size_t)1 << 30)

struct viewer_opts {
    const struct profile *profiles[VIEWER_FILES];
    struct text code[VIEWER_FILES]; /* page/code.h; empty = none */
    size_t n;
    const struct selection *still; /* of the first, for the picture without scripts */
    const char *start; /* what is selected at first, as in the address behind '#'; "" = all */
};

struct viewer;

/* Whether this program was built with the page. */
bool viewer_is_built(void);

/* Fails where a profile is too large, and says so before memory ends. */
struct viewer *viewer_new(const struct viewer_opts *o, struct err *err);
void viewer_free(struct viewer *v); /* NULL is fine */

struct viewer_part {
    const char *name, *type; /* "view.css", "text/css" */
    struct text bytes;
};

/* All parts; at most VIEWER_PARTS_MAX. They belong to V. */
size_t viewer_parts(const struct viewer *v, struct viewer_part *ret);

/* One file that needs nothing else. */
void viewer_print(FILE *out, const struct viewer *v);

/* The same packed into an HTML page, before its </body>, with a script that adds a button which
 * opens it. V is a struct viewer. Without scripts nothing of it is seen. */
void viewer_print_packed(FILE *out, const void *v);
