/*
 * linetable.h - from an address to file and line, by the line program of one unit.
 *
 * The program is run once for all addresses asked for, and nothing is kept of it but their lines.
 * (libdw makes a sorted table of every line with an allocation for each, which took more time than
 * all the rest of naming.) DWARF 2 to 5.
 */
#pragma once
#include "base/buf.h"
#include "base/cursor.h"
#include "base/vec.h"

#include <elfutils/libdw.h>

struct linetable_file {
    const char *name;
    uint64_t folder;
};

struct linetable {
    Dwarf_CU *cu;
    Elf_Data *strings, *line_strings;
    const char *unit_folder;   /* where the compiler ran */
    VEC(const char *) folders; /* version 5: [0] is the unit's; before: counted from 1 */
    VEC(struct linetable_file) files;
    struct cursor program;
    unsigned version, offset_bytes;
    uint8_t instruction_bytes, line_range, opcode_base;
    int8_t line_base;
    const uint8_t *opcode_operands; /* opcode_base - 1 of them */
};

/* Read the header of the line program of UNIT. One that cannot be read is empty. */
void linetable_init(struct linetable *t, Dwarf_Die *unit);
void linetable_done(struct linetable *t);

/* Append the whole path of a file by its number. False if there is none. */
bool linetable_path(const struct linetable *t, uint64_t number, struct buf *ret);

struct linetable_line {
    uint32_t file, line, column;
    bool known;
};

/* The lines of N sorted addresses into RET, which must be zeroed. */
void linetable_find(const struct linetable *t, const uint64_t *pcs, size_t n,
                    struct linetable_line *ret);
