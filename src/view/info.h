/*
 * info.h - what a profile is, what is in it, and how good it is; for people and for programs.
 */
#pragma once
#include "model/profile.h"

#include <stdio.h>

void info_print(FILE *out, const struct profile *p, int type);
void info_print_json(FILE *out, const struct profile *p, int type);
