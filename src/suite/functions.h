/*
 * functions.h - which functions of a program are asked for, by their names.
 */
#pragma once
#include "base/err.h"

/*
 * "all" where REGEX is "", else "only" and the places in the file of COMMAND of all functions whose
 * name matches it, in hex and sorted: see wire/scopes.h. Fails where none does. Free it.
 */
int functions_list(const char *command, const char *regex, char **ret, struct err *err);
