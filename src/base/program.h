/*
 * program.h - find the file that a command's first word names.
 *
 * A word with a slash is a path; any other is looked up in PATH as execvp() does: an empty part of
 * PATH is the current folder, folders and files without the right to run them are passed over.
 */
#pragma once
#include "base/err.h"

#include <stdbool.h>

enum program_state {
    PROGRAM_FOUND,
    PROGRAM_NOT_FOUND,
    PROGRAM_FOLDER,         /* the word names a folder */
    PROGRAM_NOT_EXECUTABLE, /* a file that nobody may execute: 'chmod +x' is missing */
    PROGRAM_FORBIDDEN,      /* a file that others may execute, or on a noexec mount */
    PROGRAM_CLOSED,         /* it may be there: a folder on the way may not be entered */
};

/*
 * Where COMMAND is, in *RET_PATH if that is not NULL. Free it. Where it was not found, the path is
 * what stands in the way: the file, the folder that may not be entered, or NULL.
 */
enum program_state program_find(const char *command, char **ret_path);

/* Whether COMMAND could be started. */
bool program_exists(const char *command);

/*
 * Why COMMAND could not be started when exec said ERRNUM, in ERR, as an EXIT_ERROR. PROGRAM_FOUND
 * means that the file is there, and something about it is wrong.
 */
enum program_state program_explain(const char *command, int errnum, struct err *err);

/*
 * Why the kernel hides COMMAND from users without more rights while it runs: "runs with the
 * rights of its owner (setuid)". NULL if it does. As root: why it takes events of threads away,
 * and leaves those of CPUs.
 */
const char *program_hidden(const char *command);
