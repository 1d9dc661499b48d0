/*
 * insight_names.h - functions that are known by name.
 *
 * NULL-terminated lists of patterns: "malloc" is the whole name, "malloc*" how it starts,
 * "*malloc*" a part of it. A 'k:' in front: kernel code only; else the program's only.
 */
#pragma once
#include "base/text.h"

extern const char *const names_allocation[],
    *const names_hashing[], *const names_locks[], *const names_copies[],
                                                      *const names_faults[],
                                                          *const names_exceptions[],
                                                              *const names_format[];

bool names_match(const char *const *patterns, struct text name, bool kernel);
