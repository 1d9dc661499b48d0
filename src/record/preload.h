/*
 * preload.h - a library of ours that is loaded into the command and all it starts.
 *
 * Variables are set in our own environment before the command is forked, and put back after that:
 * what else kelvin starts must not have them.
 */
#pragma once
#include "base/err.h"

#include <stdbool.h>

enum { PRELOAD_VARIABLES = 3 };

struct preload {
    bool set;
    const char *names[PRELOAD_VARIABLES];
    char *before[PRELOAD_VARIABLES]; /* NULL = not set */
};

/* Where FILE is: beside kelvin or where it was installed. NULL = nowhere. Free it. */
char *preload_find(const char *file);

/* Whether FILE can be preloaded: it is there, and its path has no blank or colon. */
int preload_check(const char *file, struct err *err);

/*
 * Before or behind the libraries that are preloaded already: an allocator among them must come
 * after who stands in for malloc; a memory checker among them insists on being the first.
 */
enum preload_place { PRELOAD_FIRST, PRELOAD_LAST };

/* Preload FILE, and set variable NAME to VALUE, which is freed. */
void preload_begin(struct preload *p, const char *file, enum preload_place place, const char *name,
                   char *value);
void preload_end(struct preload *p); /* again is harmless */
