/*
 * csv.h - texts in files of comma-separated values.
 *
 * Names come from anywhere: no control character or mark of direction gets through (utf8.h), and
 * a text that a spreadsheet would take for a formula gets an apostrophe in front.
 */
#pragma once
#include "base/text.h"

#include <stdio.h>

/* In quotes, with quotes doubled. */
void csv_quoted(FILE *out, struct text t);

/* The same, with quotes only where they are needed. */
void csv_text(FILE *out, struct text t);
