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

/* Whether FILE can be preloaded: it is there, and its path has no blank or colon. */
int preload_check(const char *file, struct err *err);

/* Preload FILE, and set variable NAME to VALUE, which is freed. */
void preload_begin(struct preload *p, const char *file, const char *name, char *value);
void preload_end(struct preload *p); /* again is harmless */
