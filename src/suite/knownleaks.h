/*
 * knownleaks.h - files of known leaks, as `kelvin heap`, `kelvin check` and suites take them.
 */
#pragma once
#include "analysis/suppressions.h"

/* Add what the N files at PATHS list to RET. Free with suppressions_done() in any case. */
int knownleaks_read(const char *const *paths, size_t n, struct suppressions *ret, struct err *err);
