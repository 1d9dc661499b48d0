/*
 * stackhole.h - pages of a stack that the program never touched.
 *
 * The kernel copies a stack in an interrupt, where it cannot wait for memory: the copy ends at the
 * first page that is not there. A function that uses its large buffer in part leaves such a page
 * between itself and its callers, and all stacks through it end there (seen: 1,101 of 1,102 samples
 * of flac, in every other run, as stacks begin at a random place).
 *
 * Reading the page from outside loads it, as zeros, which is what the program would find. The
 * next copies then continue past it.
 */
#pragma once
#include "unwind/walk.h"

/*
 * Load the pages after the copy S of a stack of process PID, so that copies of MOST bytes find
 * them.
 * False where nothing does: the stack ends there, or PID is gone or somebody else's.
 */
bool stackhole_fill(int pid, const struct unwind_stack *s, size_t most);
