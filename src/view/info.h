/*
 * info.h - what a profile is, what is in it, and how good it is; for people and for programs.
 *
 * Each stream with what is known of it; the selection says which is shown first elsewhere, and is
 * what the words on quality are about.
 */
#pragma once
#include "analysis/selection.h"

#include <stdio.h>

void info_print(FILE *out, const struct selection *shown);
void info_print_json(FILE *out, const struct selection *shown);
