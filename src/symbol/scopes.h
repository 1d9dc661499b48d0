/*
 * scopes.h - the namespaces, types and functions around an entry of debug information.
 *
 * Compilers leave out the symbol of C++ functions that no other file can see: lambdas, what is
 * made from them, what is inlined everywhere. Entries do not tell what they are inside of, so
 * this takes one more walk over the unit, made the first time such a function is met.
 */
#pragma once
#include "base/buf.h"

#include <elfutils/libdw.h>

struct scope {
    Dwarf_Off start, end; /* of the entry and all that is in it */
    uint32_t outer;       /* index + 1; 0 = the unit itself */
};

struct scopes {
    Dwarf_CU *cu;
    VEC(struct scope) at; /* by start */
};

void scopes_build(struct scopes *s, Dwarf_CU *cu);
void scopes_done(struct scopes *s);

/* Append "outer::inner::" for what is around DIE, which must be of this unit. */
void scopes_prefix(const struct scopes *s, Dwarf_Die *die, struct buf *ret);
