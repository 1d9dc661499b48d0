/*
 * init.h - a first kelvin.conf from what is in the folder.
 *
 * Build systems are known by their files, the program by being an executable ELF file or, before
 * the first build, by the first program that CMakeLists.txt, meson.build or Cargo.toml names.
 * Findings become lines; every other key is written as a comment with its meaning.
 */
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

struct conf;

struct init_found {
    const char *build;   /* the command; NULL = nothing known */
    const char *env;     /* for the build; NULL = none */
    const char *because; /* the file it was found in: "Makefile" */
    char program[256];   /* "./app"; "" = none was found */
    bool to_be_built;    /* the program is not there yet: the file BECAUSE names it */
};

/* Look at the current folder. */
void init_look(struct init_found *f);

void init_print(FILE *out, const struct init_found *f);

/* Fails where the command of WORKLOAD is still the example that init_print() wrote. */
int init_check_filled(const struct conf *c, const char *workload, struct err *err);
