/*
 * path.h - what a path leads to.
 */
#pragma once
#include "base/buf.h"

#include <sys/stat.h>

enum path_kind {
    PATH_NOTHING, /* or something that may not be looked at: see errno */
    PATH_FILE,
    PATH_FOLDER,
    PATH_OTHER, /* a device, a pipe, a socket */
};

/* Links are followed. */
enum path_kind path_kind(const char *path);

/* The folder that PATH is in: "." of "x", "/" of "/x". Free it. */
char *path_folder(const char *path);

/*
 * The path that writing to PATH means: where its links lead, also where nothing is there yet. In a
 * folder that everybody may write to, a link counts only if it is ours or the folder owner's, the
 * kernel's own rule (fs.protected_symlinks). Code that replaces a file by renaming must check
 * that itself. Free it; NULL = there is none, with errno, which is EACCES for such a link.
 */
char *path_target(const char *path);

/*
 * Whether PATH itself, no link followed, belongs to another user who put it into a folder that
 * everybody may write to. False where there is nothing, and where it is the folder owner's.
 */
bool path_is_planted(const char *path);

/*
 * Whether a file that was not named but found may be believed: one in the current folder unless it
 * is planted, one ABOVE it if it belongs to us, to root or to the owner of the current folder.
 */
bool path_is_trusted(const char *path, bool above);

/* Append T to B with home folders, ours and those below /home, written as "~". */
void path_shorten(struct buf *b, struct text t);

/*
 * Open a plain file for reading, and nothing else: no pipe that would make us wait, no device. MORE
 * are further flags of open(), such as O_NOFOLLOW. -1 = there is none, with errno. RET may be NULL.
 */
int path_open_file(const char *path, int more, struct stat *ret);

/* The path of an open file as the kernel has it, without links: a path that was checked before
 * the file was opened may lead elsewhere by now. Free it; NULL if it is not known. */
char *path_of_open(int fd);

/*
 * Append a plain file to B, if it was written at SINCE or later and has at most MOST bytes. False
 * where there is none, an older or a larger one.
 */
bool path_read_fresh(struct buf *b, const char *path, struct timespec since, size_t most);
