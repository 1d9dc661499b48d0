/*
 * dwarf.h - functions, inlined functions, files and lines from debug information.
 */
#pragma once
#include "symbol/lookup.h"

#include <elfutils/libdw.h>

/*
 * Name the addresses that DW knows, with the functions inlined there unless NO_INLINES. Every
 * unit that holds an address is walked once, whatever the number of addresses in it. Addresses
 * in code without a function (assembly) get a line with no name, for a symbol to fill in.
 */
void dwarf_name(struct lookup *l, Dwarf *dw, bool no_inlines);
