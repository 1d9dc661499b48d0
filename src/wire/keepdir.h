/*
 * keepdir.h - a folder of recordings that follow one another, of which the oldest are removed.
 *
 *     DIR/kelvin-recordings                a mark: nothing is ever removed in a folder without it
 *     DIR/20261117T075512.123Z.kelvin      a recording, called after its start in UTC ...
 *     DIR/20261117T075612.123Z.kelvin.part ... and the one that grows, or that a crash has left
 *
 * Other files in the folder are left alone. Names sort by time.
 */
#pragma once
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct keepdir_file {
    char *path;
    uint64_t start_ns; /* since 1970, from its name */
    uint64_t size_bytes;
    bool part; /* not finished */
};

typedef VEC(struct keepdir_file) keepdir_files;

/* What is kept; 0 = without limit. */
struct keepdir_limits {
    double keep_s;      /* recordings that began earlier than that are removed */
    uint64_t max_bytes; /* of all together */
};

/* Whether PATH is such a folder. */
bool keepdir_is(const char *path);

/*
 * Make it one, with its folder if need be. Refuses a folder that has files of somebody else, and
 * one that belongs to another user, unless to root.
 */
int keepdir_open(const char *path, struct err *err);

/*
 * Keep other recorders out of it for as long as this process lives and the fd is open: each would
 * remove the other's files, and readers would count the machine twice. RET_FD is -1 where the
 * folder's file system has no locks.
 */
int keepdir_lock(const char *path, int *ret_fd, struct err *err);

/* The name of a recording that starts then, with its folder. Free it. */
char *keepdir_name(const char *path, uint64_t start_ns);

/* All recordings, oldest first. Free with keepdir_done(). */
int keepdir_list(const char *path, keepdir_files *ret, struct err *err);
void keepdir_done(keepdir_files *files);

/*
 * Remove the oldest until the limits hold at NOW_NS, or at least LEAST of them. The recording
 * called CURRENT, or CURRENT.part, stays. Returns how many were removed.
 */
size_t keepdir_trim(const char *path, const struct keepdir_limits *limits, uint64_t now_ns,
                    const char *current, size_t least);
