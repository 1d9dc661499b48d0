/*
 * gostacks.h - where Go's run-time system changes stacks, which its unwind rules do not say.
 *
 * The run-time system does much on a stack of the thread, not of the goroutine: systemstack,
 * mcall and morestack load the stack pointer and call on. Above that stack's top lies what a
 * function left there that is not part of the chain, and the rules lead into it. The frame that
 * changed stacks is the outermost one on its stack. Go's own signal trampoline has rules of a plain
 * function.
 */
#pragma once
#include "unwind/objfile.h"

/* Fix the rows of T, if O is a Go program with symbols. */
void gostacks_mend(struct unwind_table *t, const struct objfile *o);
