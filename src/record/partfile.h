/*
 * partfile.h - FILE.part: where a recording grows until it is whole and gets its name.
 *
 * Folders may be shared and full. FILE.part is never opened through a symbolic link, a pipe or
 * another user's file, and is ours alone to write while it is open. FILE itself may be a link: then
 * what it points to is replaced, as other programs do.
 */
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

struct partfile {
    char *target, *path; /* FILE with its links followed; FILE.part; NULL = not open */
    FILE *out;
};

/*
 * Create OUTPUT.part, empty, with the mode of the file that it will replace, else 0600. A file that
 * another user put into a shared folder is replaced, but its mode is not kept. A file that is no
 * recording and is not called one (.kelvin) is refused.
 */
int partfile_open(struct partfile *f, const char *output, struct err *err);

/* Whether FILE.part is still the file that we write to: in a shared folder others may rename. */
bool partfile_is_there(const struct partfile *f);

/*
 * Give it its name. With RET_OLD a recording that was there before stays as FILE.old, whose path is
 * the caller's to free; NULL where there was none, or an empty file. After a failure FILE is as it
 * was and FILE.part is still there.
 */
int partfile_publish(struct partfile *f, char **ret_old, struct err *err);

/* Close; FILE.part is removed unless it was published or KEEP is true. Harmless when not open. */
void partfile_close(struct partfile *f, bool keep);
