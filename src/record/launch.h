/*
 * launch.h - a command that waits before its first instruction, until sampling is set up.
 */
#pragma once
#include "base/subprocess.h"

#include <signal.h>

/* Exit codes as env(1) and timeout(1) have them. */
enum { EXIT_OWN = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

/* Start it; it waits. Standard input and output are ours, signals as MASK has them. */
int launch_fork(struct subprocess *s, char **argv, const sigset_t *mask, struct err *err);

/* Let it exec. Fails with EXIT_NOT_FOUND or EXIT_CANNOT_RUN when that cannot be; it is gone then.
 */
int launch_go(struct subprocess *s, const char *command, struct err *err);
