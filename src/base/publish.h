/*
 * publish.h - an output file that appears complete or not at all.
 *
 * Bytes go to a nameless file beside the target; publish_commit() syncs it and renames it over
 * the target. An error, a full disk or kill -9 before that leaves the old file as it was. "-",
 * pipes and devices are written through as they cannot be replaced.
 */
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

struct publish {
    FILE *out; /* write here */
    char *path, *temp;
    int direct; /* standard output, a pipe or a device */
};

/*
 * Start a file that will become PATH. Links and pipes that another user put into a shared folder
 * are refused.
 */
int publish_open(struct publish *p, const char *path, struct err *err);

/* The same for what only its owner should read: a new file has the mode 0600. */
int publish_open_private(struct publish *p, const char *path, struct err *err);

/*
 * Put the file in place. On failure the target is as it was. Closes P either way. If the reader
 * of the pipe has gone, as `head` does, the error's code is EXIT_NOBODY_READS.
 */
int publish_commit(struct publish *p, struct err *err);

/* Whether OUT is a pipe that nobody reads any more. */
bool publish_nobody_reads(FILE *out);

/* Discard the file: the target stays as it was. Harmless after a commit. */
void publish_drop(struct publish *p);

/* A stream that gzips what is written to it into OUT, same input same bytes. fclose() ends it. */
FILE *publish_gzip(FILE *out);
