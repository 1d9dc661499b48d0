/*
 * program_names.h - whether a program has a function, whatever was sampled of it.
 *
 * Asks the symbol tables of the files that a profile was recorded from, and their debug information
 * for what was inlined everywhere. Files that are missing or have changed since are skipped.
 */
#pragma once
#include "model/profile.h"

/* Whether a file of P has a function NAME: as its symbol, or as that is shown to people. */
bool program_has_function(const struct profile *p, const char *name);
