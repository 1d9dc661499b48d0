/*
 * notices.h - what went wrong in a run, in words that a forge shows beside the code.
 *
 *     github   ::error file=src/sort.c,line=12,title=...::...     workflow commands, a line each
 *     gitlab   [{"description": ..., "location": ...}]            a code quality report
 */
#pragma once
#include <stdio.h>

struct suite;

enum notices_format { NOTICES_GITHUB, NOTICES_GITLAB };

/* WHY is what ended the run before it was through; NULL = nothing did. */
void notices_print(FILE *out, const struct suite *s, const char *why, enum notices_format format);
