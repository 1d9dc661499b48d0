/*
 * meta_program.h - the program that a profile is of.
 */
#pragma once
#include "base/buf.h"
#include "model/meta.h"

/* Append the program's name, "app" of "/bin/app --fast". False where it is not known, as behind
 * perf, whose own command is in its files. */
bool meta_program(const struct meta *m, struct buf *b);
