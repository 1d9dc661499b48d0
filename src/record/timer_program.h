/*
 * timer_program.h - whether a library can be preloaded into a program.
 */
#pragma once
#include "base/err.h"

#include <stdbool.h>

/*
 * COMMAND is looked up as execvp does. Fails for programs that are static, of another machine or
 * libc, or run with more rights than ours. A file that is not there is left to exec to complain.
 * THEN is the end of the error's sentence: what cannot be done, and what can.
 */
int timer_program_check(const char *command, const char *then, struct err *err);

/* What matters of a static program. A dynamic one, or one with more rights than ours, has neither.
 */
struct timer_static {
    bool is_static;
    bool has_heap; /* libkelvin-heap.a is linked in */
};

struct timer_static timer_program_static(const char *command);
