/*
 * csv.h - texts in files of comma-separated values.
 *
 * Names come from anywhere: no control character or mark of direction gets through (utf8.h), and
 * what a spreadsheet would take for a formula stays a text, behind an apostrophe.
 */
#pragma once
#include "base/text.h"

#include <stdio.h>

/* In quotes, with quotes doubled. */
void csv_quoted(FILE *out, struct text t);

/* The same, with quotes only where they are needed. */
void csv_text(FILE *out, struct text t);
