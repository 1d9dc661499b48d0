/*
 * folder.h - a folder that is replaced as a whole or not at all.
 *
 * Files are written to a folder beside it, ".perf.new-XXXXXX", and the two change places in one
 * step at the end. Any failure before that, kill -9 included, leaves the old folder as it was. The
 * next run removes what killed runs left. A folder that was not made by kelvin is never
 * touched: ours have a file ".kelvin-published" in them.
 */
#pragma once
#include "base/err.h"

#include <stdbool.h>

struct folder {
    char *path;    /* the target */
    char *staging; /* write here */
    int lock;      /* held while we live */
    bool in_use;   /* another process was about to replace it when we began */
};

/* Start anew; folders above PATH that are missing are made. Fails at once when PATH is something
 * that must not be replaced. */
int folder_open(struct folder *f, const char *path, struct err *err);

/* "STAGING/NAME". Free it. */
char *folder_file(const struct folder *f, const char *name);

/* Change places, remove the old one. */
int folder_commit(struct folder *f, struct err *err);

/* Remove PATH, if it is a folder that was made by us. */
void folder_remove(const char *path);

/* Remove what killed runs left in PARENT for the folder NAME; NULL = for any. Returns whether there
 * is something of a run that goes on. */
bool folder_sweep(const char *parent, const char *name);

/* Make PATH and the folders above it that are missing. */
int folder_make(const char *path, struct err *err);

/* Copy what is in FROM, with its mode. TO is replaced whole or not at all. */
int folder_copy_file(const char *from, const char *to, struct err *err);

/* Forget it: the target stays as it was. Harmless after a commit. */
void folder_drop(struct folder *f);
