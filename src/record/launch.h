/*
 * launch.h - a command that waits before its first instruction, until sampling is set up.
 */
#pragma once
#include "base/err.h"

#include <signal.h>

/* Exit codes as env(1) and timeout(1) have them. */
enum { EXIT_OWN = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

struct launch {
    int pid;
    int go_fd;   /* closed or written: the child execs */
    int fail_fd; /* the child's errno, if exec fails */
};

/*
 * Fork; the child waits. Its standard input and output are ours, it ignores the signals that we do,
 * and its signal mask will be MASK.
 */
int launch_fork(struct launch *l, char **argv, const sigset_t *mask, struct err *err);

/* Let it exec. Fails with EXIT_NOT_FOUND or EXIT_CANNOT_RUN when that cannot be; it is gone then.
 */
int launch_go(struct launch *l, const char *command, struct err *err);

/* End a child that never got to exec. Harmless after launch_go(). */
void launch_drop(struct launch *l);
