/*
 * gofuncs.h - names of functions from the table that every Go program carries for its own stack
 * traces. It stays when symbols are stripped (-ldflags=-s, Debian's packages), where nothing else
 * knows the functions. Section .gopclntab of Go 1.16 and newer:
 *
 *     magic 4, zero 2, 1, bytes of a pointer 1
 *     functions 8, files 8, [1.18: address of the code 8]
 *     offsets in the section, 8 each: names, units, files, positions, functions
 *     functions: start W, offset of the rest W ... end W    W is 4, before 1.18 8 and an address
 *     the rest, at functions + offset: start W, offset of the name 4 ...
 *
 * All numbers are checked: the file may be anybody's.
 */
#pragma once
#include "symbol/lookup.h"

#include <gelf.h>

struct gofuncs {
    const uint8_t *at; /* the section, as long as the file is open */
    size_t n_bytes;
    uint64_t code;             /* what starts are counted from */
    uint64_t names, functions; /* offsets in the section */
    size_t n;                  /* functions */
    int width;                 /* W */
};

struct gofunc {
    uint64_t start, end;
    struct text name; /* in the section */
};

/* False where ELF has no such table, or one of another kind. Nothing to close. */
bool gofuncs_open(struct gofuncs *g, Elf *elf);

/* Function I of G, by start; false if the entry is invalid. */
bool gofuncs_get(const struct gofuncs *g, size_t i, struct gofunc *ret);

/* Name the addresses that have no name yet. */
void gofuncs_name(struct lookup *l, Elf *elf);
