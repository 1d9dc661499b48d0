/*
 * inlined.h - functions that a compiler inlined, which may have no symbol.
 */
#pragma once
#include <elfutils/libdw.h>
#include <stdbool.h>

/*
 * Whether DW has an inlined function that IS agrees to: it is asked with the name in the symbol
 * table's form where there is one, else with its name in its scope. Walks all units, so seconds for
 * a gigabyte.
 */
bool inlined_any(Dwarf *dw, bool (*is)(const char *symbol, void *context), void *context);
