/*
 * init.h - a first kelvin.conf from what is in the folder.
 *
 * Build systems are known by their files, the program by being an executable ELF file. What is
 * found becomes lines; every other key stands there as a comment with what it means.
 */
#pragma once
#include "base/err.h"

#include <stdio.h>

struct conf;

struct init_found {
    const char *build;   /* the command; NULL = nothing known */
    const char *env;     /* for the build; NULL = none */
    const char *because; /* the file that told: "Makefile" */
    char program[256];   /* "./app"; "" = none was found */
};

/* Look at the current folder. */
void init_look(struct init_found *f);

void init_print(FILE *out, const struct init_found *f);

/* Fails where the command of WORKLOAD is still the example that init_print() wrote. */
int init_check_filled(const struct conf *c, const char *workload, struct err *err);
