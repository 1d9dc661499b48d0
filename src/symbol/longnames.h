/*
 * longnames.h - how much of very long names is kept.
 *
 * In a symbol table and in debug information a name is an offset into a section of text, so a small
 * file can have a name of a megabyte a hundred thousand times, each a byte shorter than the one
 * before. Honest programs have names of thousands of bytes, too, but not many.
 */
#pragma once
#include "base/text.h"

struct longnames {
    size_t bytes; /* of long names that were taken whole */
};

/* NAME, or its front. */
struct text longnames_fit(struct longnames *l, struct text name);

/* The same for a name that ends with a NUL, and is not looked at further than it counts. */
struct text longnames_fit_str(struct longnames *l, const char *name);
