/*
 * counter.h - instructions of a process and all it starts, by the CPU's own counter.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

/* Count from the next exec of PID on, user code only. -1 where there is no such counter. */
int counter_open(pid_t pid);

/* NAN when the counter was not on the CPU all the time: a share is not a count. */
double counter_read(int fd);

/* Does it count here? Otherwise why not, in a few words. */
bool counter_works(const char **ret_why);
