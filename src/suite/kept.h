/*
 * kept.h - the program of a baseline, kept to run beside that of today.
 *
 * A machine is not the same from one hour to the next, so times stored with a baseline prove
 * little. The baseline therefore keeps the program itself, and the two take turns. That is right
 * only where the program is all that changed: a script, and a program that loads libraries of the
 * project, would run with today's, so those are not kept.
 */
#pragma once
#include "base/err.h"

/* Why BINARY cannot be kept, NULL = it can. */
const char *kept_refuses(const char *binary);

/* Where it is in a folder: under its own name, which stacks and threads show. Free it. */
char *kept_path(const char *folder, const char *binary);

/* Copy it into FOLDER, which is there. */
int kept_copy(const char *folder, const char *binary, struct err *err);

/* A hash of a file, as 16 digits; NULL = it cannot be read. Free it. */
char *kept_hash(const char *path);
