/*
 * alias.h - one name for a function that has several.
 *
 * Debug information and the parts that a compiler split off call a function by names that only
 * its own file knows: "__GI___libc_free", "_IO_new_fclose.cold". Where the symbol tables have such
 * a name once, at the start of a function with a better one, that is what it is called: "free",
 * "fclose". So are identical functions that the compiler or linker folded into one.
 *
 * ".cold", ".part.0", ".isra.0" and Rust's hashes are cut by base/clone.h, which also serves
 * comparisons.
 */
#pragma once
#include "symbol/elfsym.h"

/* Rename the functions found so far, inlined ones too. */
void alias_fold(const struct elfsyms *s, struct lookup *l);
