/*
 * chosen.h - names for the variants of functions that the loader chooses from.
 *
 * memcpy() and its like are chosen when a program starts, by what the CPU can do (STT_GNU_IFUNC).
 * The symbol leads to the code that chooses; the variant that runs has a local name, which only
 * debug symbols know. But where the same file (by its build-id) is loaded into this process too,
 * the loader says what it chose. On this machine the other process ran the same variant, and
 * elsewhere it is at least one of the variants.
 */
#pragma once
#include "base/text.h"
#include "base/vec.h"

#include <gelf.h>
#include <stdint.h>

struct chosen_function {
    uint64_t start; /* as the file counts */
    char *name;
};

struct chosen {
    VEC(struct chosen_function) at;
};

/* The chosen variants of the functions of ELF; none if no file with BUILD_ID is loaded here. */
void chosen_find(struct chosen *c, Elf *elf, struct text build_id);

/* The public name of the variant that begins at START, or NULL. */
const char *chosen_name(const struct chosen *c, uint64_t start);
void chosen_done(struct chosen *c);
