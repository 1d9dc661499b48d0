/*
 * shortname.h - long names of functions, for a line that has little room.
 *
 * Names of C++ functions are mostly arguments of templates: cut off at the end, all members of a
 * map look alike. Here the arguments go first and the last part of the name stays:
 *
 *   std::map<std::__cxx11::basic_string<char, ...>, int, ...>::operator[]
 *   std::map<..>::operator[]
 */
#pragma once
#include "base/buf.h"

/*
 * Append NAME to B in at most WIDTH characters: as it is if it fits, else with std::string by its
 * usual name, else with ".." for the arguments of templates, and at last cut, with ".." at the end.
 * A function known by its place, "[module+0x12]", keeps the place: "[mod..+0x12]".
 */
void shortname_add(struct buf *b, struct text name, size_t width);

/*
 * Whether WORD is a form that NAME is shown in, uncut: what was read must be found. A variant is
 * found by the public name of its function (clone.h).
 */
bool shortname_is(struct text name, struct text word);
