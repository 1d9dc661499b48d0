/*
 * heap_own.h - programs whose allocations an agent cannot see, though it is loaded: they have a
 * malloc of their own, or do without.
 */
#pragma once
#include "base/err.h"
#include "base/text.h"

#include <stdbool.h>

/*
 * Whether the program with these maps (the text of /proc/PID/maps) defines malloc itself: then
 * the agent's is never called. PID's program is looked at, or the file that is mapped first where
 * the process is gone. RET_NAME has its name without folders then; free it.
 */
bool heap_own_malloc(int pid, struct text maps, char **ret_name);

/* Fails for a COMMAND (as execvp finds it) that is Go's or AddressSanitizer's, and says what to do.
 */
int heap_own_check(const char *command, struct err *err);
