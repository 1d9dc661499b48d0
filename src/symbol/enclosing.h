/*
 * enclosing.h - the namespaces, types and functions around an entry of debug information.
 *
 * Compilers leave out the symbol of C++ functions that no other file can see: lambdas, what is
 * made from them, what is inlined everywhere. Entries do not say what they are inside of, so
 * this takes one more walk over the unit, made the first time such a function is met.
 */
#pragma once
#include "base/buf.h"

#include <elfutils/libdw.h>

enum { ENCLOSING_NAME_MAX = 8192 }; /* bytes that count of a name, and of what is around it */

struct enclosing_entry {
    Dwarf_Off start, end; /* of the entry and all that is in it */
    uint32_t outer;       /* index + 1; 0 = the unit itself */
};

struct enclosing {
    Dwarf_CU *cu;
    VEC(struct enclosing_entry) at; /* by start */
};

void enclosing_build(struct enclosing *s, Dwarf_CU *cu);
void enclosing_done(struct enclosing *s);

/* Append "outer::inner::" for what is around DIE, which must be of this unit. */
void enclosing_prefix(const struct enclosing *s, Dwarf_Die *die, struct buf *ret);
