/*
 * view_code.h - source and instructions of the hottest functions, to go with a page.
 *
 * A page has neither the program nor a disassembler. It gets the bytes of the functions, their
 * instructions as text with the lines they come from, and the source files that may be shown (as
 * `kelvin annotate -o page.html` decides), as JSON that page/code.h reads. Heat is added there, for
 * what is selected.
 */
#pragma once
#include "base/buf.h"
#include "cmd/input.h"

/* FOLDERS: whose source may be shown besides the project's. Nothing where no code is here. */
void view_code_build(struct buf *ret, const struct input *in, const struct input_opts *opts,
                     const struct opt_list *folders);
