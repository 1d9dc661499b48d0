/*
 * path.h - what a path leads to.
 */
#pragma once
#include <sys/stat.h>

enum path_kind {
    PATH_NOTHING, /* or something that may not be looked at: see errno */
    PATH_FILE,
    PATH_FOLDER,
    PATH_OTHER, /* a device, a pipe, a socket */
};

/* Links are followed. */
enum path_kind path_kind(const char *path);

/*
 * Open a plain file for reading, and nothing else: no pipe that would make us wait, no device. MORE
 * are further flags of open(), such as O_NOFOLLOW. -1 = there is none, with errno. RET may be NULL.
 */
int path_open_file(const char *path, int more, struct stat *ret);
