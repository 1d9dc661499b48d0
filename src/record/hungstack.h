/*
 * hungstack.h - where a thread waits that waits already when we come.
 *
 * It may never leave its CPU while we look, as in a deadlock: then no record will ever say where it
 * is. /proc says it without stopping the thread: the kernel's functions in task/TID/stack (root),
 * or the innermost in task/TID/wchan; the stack pointer and pc of the program in task/TID/syscall,
 * with which its stack is read and walked. Other registers are not known, so a walk may end early.
 */
#pragma once
#include "process/process.h"

struct hungstack_who {
    int pid, tid;
    bool user; /* the program's functions too */
};

/*
 * The stack of a thread that does not run, the kernel's functions by name; it was there at
 * *RET_TIME_NS. The empty one where it cannot be had, or the thread has run meanwhile.
 */
struct stack_id hungstack_of(struct processes *ps, const struct hungstack_who *who,
                             uint64_t *ret_time_ns);

/*
 * Names of functions in the text of a task's stack, innermost first, at most MOST. They are cut off
 * at their offset: "[<0>] do_futex+0x10/0x20" is "do_futex". Returns how many.
 */
size_t hungstack_names(char *text, const char **ret, size_t most);

/* Stack pointer and pc in a line of a task's syscall; false where the thread runs. */
bool hungstack_place(const char *line, uint64_t *ret_sp, uint64_t *ret_pc);
