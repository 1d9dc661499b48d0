/*
 * core.h - the page's half in C: files in, questions in, JSON out.
 *
 *     core_new() -> core_load() for each file -> core_ask(), as often as one likes -> core_free()
 *
 * The page runs it as WebAssembly in a worker, the tests as part of the program. Each answer is one
 * JSON object; {"error": "..."} where a question cannot be answered. Answers that a command of the
 * terminal gives too are printed by the code of that command, so that the two cannot differ.
 *
 * How to add a question: a function in one of the core_*.c files, declared in core_inner.h, and its
 * row in the table in core.c.
 *
 * The last selections are kept with what was built from them: panes of one page ask about the same
 * rows.
 */
#pragma once
#include "base/err.h"
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>

struct core;

struct core *core_new(void);
void core_free(struct core *c); /* NULL is fine */

/* Files whose rows take more memory are refused; VIEWER_BYTES_MAX unless it is said. */
void core_limit_rows(struct core *c, uint64_t bytes_max);

/* A .kelvin file as file number FILE, below QUESTION_FILES; replaces what was there. A file that is
 * cut gives all before the cut. */
int core_load(struct core *c, int file, struct text bytes, struct err *err);

/* Source and instructions that go with that file (code.h). */
int core_load_code(struct core *c, int file, struct text json, struct err *err);

void core_ask(struct core *c, struct text question, FILE *out);

/* What the last answer calls its "columns" where the question was "packed": one after the other, in
 * that order, N numbers each; uint32_t for "parent" and "label", double for all others. Good until
 * the next question. */
struct text core_columns(const struct core *c);
