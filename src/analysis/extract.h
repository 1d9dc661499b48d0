/*
 * extract.h - a selection as a profile of its own: its rows, and stacks without what is hidden.
 *
 * For what writes whole profiles. Ids of strings, mappings, functions, threads and attributes stay;
 * of the streams only the selected one is there, with all its columns.
 */
#pragma once
#include "analysis/selection.h"

/* Free it with profile_free(). */
struct profile *extract_build(const struct selection *s);
