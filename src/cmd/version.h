/*
 * version.h - which kelvin this is, and what it was built with.
 */
#pragma once
#include <stdio.h>

/* The first line is "kelvin VERSION" alone, for scripts; the others are for people and bug reports.
 */
void version_print(FILE *out);
