/*
 * viewer.h - the page in which profiles are explored: its parts for a server, or all in one file.
 *
 *     index.html    loads view.css and view.js, which loads the other modules of web/view*.js
 *     core.wasm.gz  src/page and the rooms below it, gzipped; runs in a worker
 *     data0.gz ...  the profiles, as .kelvin files of plain chunks, gzipped whole: browsers unpack
 *                   gzip by themselves, and no zstd
 *     code0.gz ...  source and instructions of their hottest functions (page/code.h), if any
 *     still.html    picture and tables, where scripts or WebAssembly are switched off
 *
 * In one file the modules are joined in the order of their list (lines that import are left out),
 * and core and data are base64. Same profiles, same bytes.
 */
#pragma once
#include "analysis/selection.h"

#include <stdio.h>

enum { VIEWER_FILES = 2, VIEWER_PARTS_MAX = 32 };

/* Rows that take more than this in memory no page holds: a browser gives it 4 GiB at most, and as
 * much again is built from them. */
#define VIEWER_BYTES_MAX ((uint64_t)1280 << 20)

/* Fails where the rows of P take more. A page that runs out of memory shows nothing, so this is
 * asked before a profile is packed, and by the page while it reads one. */
int viewer_check_size(const struct profile *p, uint64_t bytes_max, struct err *err);

struct viewer_opts {
    const struct profile *profiles[VIEWER_FILES];
    struct text code[VIEWER_FILES]; /* page/code.h; empty = none */
    size_t n;
    const struct selection *still; /* of the first, for the picture without scripts */
    const char *start;     /* what is selected at first, as in the address behind '#'; "" = all */
    const char *arguments; /* of two whose arguments are left out: "differ" or "same"; or NULL */
};

struct viewer;

/* Whether this program was built with the page. */
bool viewer_is_built(void);

/* Fails where a profile is too large, and says so before memory ends. */
struct viewer *viewer_new(const struct viewer_opts *o, struct err *err);
void viewer_free(struct viewer *v); /* NULL is fine */

/* Whether source or instructions are in it. */
bool viewer_has_code(const struct viewer *v);

struct viewer_part {
    const char *name, *type; /* "view.css", "text/css" */
    struct text bytes;
};

/* All parts; at most VIEWER_PARTS_MAX. They belong to V. */
size_t viewer_parts(const struct viewer *v, struct viewer_part *ret);

/* One file that needs nothing else. */
void viewer_print(FILE *out, const struct viewer *v);

/* The same packed into an HTML page, before its </body>, with a script that adds a button which
 * opens it. V is a struct viewer. Without scripts it is invisible. */
void viewer_print_packed(FILE *out, const void *v);
